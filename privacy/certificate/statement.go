package certificate

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/privacy"
)

// Evaluator turns events into ε, as the accountants do.
type Evaluator interface {
	// Name identifies the evaluator in certificates.
	Name() string
	// Epsilon encloses the least ε at which e is (ε, δ)-differentially private.
	Epsilon(e privacy.Event, adj privacy.Adjacency, delta float64) (privacy.Interval, error)
}

// Standing states how well founded the events of a mechanism are.
type Standing int

const (
	// Unstated is the zero value. It is refused: callers must choose.
	Unstated Standing = iota
	// Proven: a theorem, cited in [Claim.Proof], covers the mechanism that ran.
	Proven
	// Unproven: a published or plausible rule without a proof.
	Unproven
	// Baseline: a run without a guarantee, made for comparison.
	Baseline
)

// Claim holds what a release states about itself, except ε.
type Claim struct {
	// Subjects are the released files; required. See [HashFiles].
	Subjects []Subject
	// Events ran on the same records and compose; at least one.
	Events []privacy.Event
	// Adjacency is [privacy.AddRemove] when empty.
	Adjacency privacy.Adjacency
	// Unit is [privacy.Record] when empty.
	Unit privacy.Unit
	// Delta is in [0, 1).
	Delta float64
	// Method and Proof are required; see [Predicate].
	Method, Proof string
	// Standing must be [Proven].
	Standing Standing
	// Randomness must be [OSRandom].
	Randomness Randomness
	// Samplers are those that ran; at least one.
	Samplers []Sampler
	// Sizes are required when Events take credit for sampling.
	Sizes []Size
	// Model is nil when no model saw private records.
	Model *Model
	// Version of the program; required.
	Version string
	// Assumptions beyond those that follow from the other fields.
	Assumptions []string
	// Created is now when zero; it is cut to the day.
	Created time.Time
	// Ledger is optional.
	Ledger *LedgerReference
}

// RefusedError reports why a release can never have a certificate.
type RefusedError struct{ Reason string }

// Error returns the reason.
func (e *RefusedError) Error() string { return "no certificate for this release: " + e.Reason }

func refuse(format string, args ...any) error {
	return &RefusedError{fmt.Sprintf(format, args...)}
}

// Statement is a claim with its ε, ready to be signed. Only [NewStatement] makes one, so
// its ε always comes from an evaluator.
type Statement struct {
	predicate Predicate
	subjects  []Subject
	payload   []byte
}

// Predicate returns what the statement claims.
func (s *Statement) Predicate() Predicate { return s.predicate }

// Subjects returns the files it is about.
func (s *Statement) Subjects() []Subject { return slices.Clone(s.subjects) }

// NewStatement evaluates the events of a claim and states the result. Releases
// that must not have a certificate get a [*RefusedError].
func NewStatement(c Claim, ev Evaluator) (*Statement, error) {
	if ev == nil {
		return nil, fmt.Errorf("a statement needs an evaluator for its events")
	}
	if err := c.refusal(); err != nil {
		return nil, err
	}
	p, total := c.predicate()
	if err := privacy.CheckDelta(p.Delta); err != nil {
		return nil, err
	}
	var err error
	if p.Epsilon, err = evaluate(total, p.Adjacency, p.Delta, ev); err != nil {
		return nil, err
	}
	if p.Drawn, err = p.drawn(total, ev); err != nil {
		return nil, err
	}
	b := body{statementType, slices.Clone(c.Subjects), PredicateType, p}
	slices.SortFunc(b.Subject, func(x, y Subject) int { return strings.Compare(x.Name, y.Name) })
	payload, err := encode(b)
	if err != nil {
		return nil, fmt.Errorf("statement: %w", err)
	}
	if _, err := parseStatement(payload); err != nil {
		return nil, fmt.Errorf("statement: %w", err)
	}
	for _, ch := range p.checks() {
		if !ch.OK {
			return nil, fmt.Errorf("%s: %s", ch.Name, ch.Detail)
		}
	}
	return &Statement{p, b.Subject, payload}, nil
}

// refusal reports why a claim can never be certified.
func (c *Claim) refusal() error {
	switch c.Randomness {
	case OSRandom:
	case Seeded:
		return refuse("its randomness was seeded, so anyone with the seed can undo the noise; run again without a seed")
	default:
		return refuse("the source of its randomness is %q; only %q protects", c.Randomness, OSRandom)
	}
	switch c.Standing {
	case Proven:
	case Unproven:
		return refuse("the privacy of its method is claimed but not proven; choose a method with a proof")
	case Baseline:
		return refuse("it is a non-private baseline, for comparison only")
	default:
		return refuse("nobody stated that its method is proven")
	}
	if m := c.Model; m != nil && !m.BatchInvariant && m.Isolation == "" {
		return refuse("the model's back-end does not keep the scores of a record apart from the other records, which every proof needs; score each record alone, or use the embedded engine")
	}
	if len(c.Events) == 0 {
		return refuse("it declares no privacy event")
	}
	for _, e := range c.Events {
		if e == nil {
			return refuse("one of its privacy events is nil")
		}
		if err := privacy.Validate(e); err != nil {
			return fmt.Errorf("event: %w", err)
		}
		if err := privacy.Walk(e, refuseNonPrivate); err != nil {
			return err
		}
	}
	return nil
}

func refuseNonPrivate(n privacy.Event, offset int) error {
	if _, ok := n.(privacy.NonPrivate); ok {
		return refuse("its events hold nonprivate(), at column %d", offset+1)
	}
	return nil
}

// predicate fills in the defaults and everything except ε.
func (c *Claim) predicate() (Predicate, privacy.Event) {
	created := c.Created
	if created.IsZero() {
		created = time.Now()
	}
	p := Predicate{
		Method: c.Method, Proof: c.Proof, Randomness: c.Randomness,
		Adjacency: c.Adjacency, Unit: c.Unit, Delta: c.Delta,
		Samplers: slices.Compact(slices.Sorted(slices.Values(c.Samplers))),
		Sizes:    slices.Clone(c.Sizes),
		Program:  Program{"sotto", c.Version},
		Created:  Day(created),
	}
	p.Adjacency = cmp.Or(p.Adjacency, privacy.AddRemove)
	p.Unit = cmp.Or(p.Unit, privacy.Record)
	if c.Model != nil {
		m := *c.Model
		p.Model = &m
	}
	if c.Ledger != nil {
		l := *c.Ledger
		p.Ledger = &l
	}
	for _, e := range c.Events {
		p.Events = append(p.Events, privacy.Canonical(e).String())
	}
	total := privacy.Canonical(privacy.Compose{Events: c.Events})
	p.Assumptions = append(requiredAssumptions(&p, total), c.Assumptions...)
	return p, total
}

// Day is the day of a time, as midnight UTC.
func Day(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// drawn is what is left of events of which it is known who was drawn; nil if nobody is, or
// nothing is left.
func (p *Predicate) drawn(total privacy.Event, ev Evaluator) (*DrawnGuarantee, error) {
	if !privacy.Sampled(total) {
		return nil, nil
	}
	known := privacy.Unsampled(total)
	epsilon, err := evaluate(known, p.Adjacency, p.Delta, ev)
	var refused *RefusedError
	switch {
	case errors.As(err, &refused): // no finite ε
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &DrawnGuarantee{known.String(), epsilon}, nil
}

// evaluate computes ε and refuses an event without a guarantee.
func evaluate(e privacy.Event, adj privacy.Adjacency, delta float64, ev Evaluator) (Epsilon, error) {
	i, err := ev.Epsilon(e, adj, delta)
	if err != nil {
		return Epsilon{}, fmt.Errorf("ε of %s: %w", e, err)
	}
	if math.IsInf(i.Upper, 1) {
		return Epsilon{}, refuse("its events have no finite ε at δ = %v", delta)
	}
	got := Epsilon{i.Lower, i.Upper, ev.Name()}
	if err := got.check(); err != nil {
		return Epsilon{}, fmt.Errorf("the %s accountant returned no usable ε for %s: %w", ev.Name(), e, err)
	}
	return got, nil
}

func (e Epsilon) check() error {
	if err := privacy.CheckEpsilon(e.Upper); err != nil {
		return err
	}
	if !(e.Lower >= 0 && e.Lower <= e.Upper) {
		return fmt.Errorf("the interval from %v to %v is not one", e.Lower, e.Upper)
	}
	return checkText("the accountant's name", e.Accountant)
}

// parseStatement decodes exactly the bytes that were signed.
func parseStatement(payload []byte) (*body, error) {
	var b body
	if err := decode(payload, &b); err != nil {
		return nil, err
	}
	if b.Type != statementType {
		return nil, fmt.Errorf("its type is %q, it should be %q", b.Type, statementType)
	}
	if b.PredicateType != PredicateType {
		return nil, fmt.Errorf("its predicate type is %q, this version of the program reads %q", b.PredicateType, PredicateType)
	}
	if c := b.Predicate.Created; !c.Equal(Day(c)) {
		return nil, fmt.Errorf("created is %s, it should be a day: a time tells how long a run took", c.Format(time.RFC3339Nano))
	}
	return &b, checkSubjects(b.Subject)
}
