package run

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"math"

	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/internal/run/account"
	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// spec is what a plan says about privacy and size.
type spec struct {
	// Name is how the ledger shows the run, before the run's own name.
	Name string
	// Private: the plan has a proof.
	Private bool
	// Event is all that is done to the data, at most.
	Event     privacy.Event
	Adjacency privacy.Adjacency
	Unit      privacy.Unit
	// Epsilon was asked for, at Delta.
	Epsilon, Delta float64
	// Texts are written, of at most MaxTokens; none by runs on tables.
	Texts, MaxTokens int
	// Engine that computes, if it is not this process.
	Engine string
}

// dataset is the data of a run, as the ledger sees it.
type dataset interface {
	// fingerprint of the data; false if none is read.
	fingerprint() ([sha256.Size]byte, bool)
	// leftOut is how many records could not be used.
	leftOut() int64
	// identify sets in an account what the ledger recognises the data by.
	identify(context.Context, *account.Account) error
}

// execution is a run under way: its environment, folder, journal and key. Jobs work with
// it; it knows no job.
type execution struct {
	env      *env.Environment
	folder   folder
	identity dataset
	spec     spec
	// evaluator works ε out.
	evaluator certificate.Evaluator

	journal  *journal
	progress *progress
	key      noise.Key
	asked    bool
	resumed  bool
	warnings []string
}

func newExecution(e *env.Environment, of dataset, dir string, d disk) *execution {
	return &execution{env: e, identity: of, folder: folder{dir: dir, disk: d}, evaluator: &memo{of: accountant.Auto{}}}
}

// certified reports whether the run gets a certificate.
func (r *execution) certified() bool { return r.spec.Private && r.env.Seed == nil }

// mode returns the mode of files with texts: those that have no privacy guarantee are for their owner.
func (r *execution) mode() fs.FileMode {
	if r.certified() {
		return 0o644
	}
	return 0o600
}

// charged reports whether the run needs the ledger. What reads no record does not.
func (r *execution) charged() bool {
	terms, err := privacy.Terms(r.spec.Event)
	return r.certified() && (err != nil || len(terms) > 0)
}

// note adds to the journal, and to what is known.
func (r *execution) note(e entry) error {
	if err := r.journal.append(e); err != nil {
		return err
	}
	return r.progress.add(e)
}

// announce adds to the journal, and then reports it.
func (r *execution) announce(e entry, p env.Progress) error {
	if err := r.note(e); err != nil {
		return err
	}
	r.report(p)
	return nil
}

// account pays for the run.
func (r *execution) account(ctx context.Context) (*account.Account, error) {
	a := &account.Account{
		Ledger: r.env.Ledger, Name: r.env.Dataset, Known: r.env.Known, Adjacency: r.spec.Adjacency, Unit: r.spec.Unit, Labels: r.env.Labels,
		// It has numbers of records: the result, which is kept, does not.
		Report: func(message string) { r.report(env.Progress{Kind: env.Noted, Message: message}) },
	}
	return a, r.identity.identify(ctx, a)
}

// charge reserves an event under a key.
func (r *execution) charge(ctx context.Context, key string, e privacy.Event) (ledger.Charge, error) {
	a, err := r.account(ctx)
	if err != nil {
		return ledger.Charge{}, err
	}
	r.asked = true
	// Plans without a proof are not charged: see Plan.Private.
	return a.Reserve(ctx, account.Use{Event: e, Run: fmt.Sprintf("%s %s", r.spec.Name, r.progress.header.Run), Key: key})
}

// events are all that the run did to the data, at most.
func (r *execution) events() ([]privacy.Event, error) {
	all := []privacy.Event{r.spec.Event}
	if r.progress == nil {
		return all, nil
	}
	for _, again := range r.progress.recharges {
		e, err := privacy.Parse(again.event)
		if err != nil {
			return nil, r.folder.refuse("its journal holds no event for the second charge of text %d: %v", again.text, err)
		}
		all = append(all, e)
	}
	return all, nil
}

// guarantee evaluates an event as the plan means it.
func (r *execution) guarantee(e privacy.Event) (privacy.Guarantee, error) {
	i, err := r.evaluator.Epsilon(e, r.spec.Adjacency, r.spec.Delta)
	if err != nil {
		return privacy.Guarantee{}, fmt.Errorf("compute ε: %w", err)
	}
	return privacy.Guarantee{Event: e, Adjacency: r.spec.Adjacency, Unit: r.spec.Unit, Epsilon: i, Delta: r.spec.Delta, Accountant: r.evaluator.Name()}, nil
}

// guarantees returns the guarantee of the whole, and what is left of it where it is known who
// was drawn, all of it together: nil where nothing is sampled, or nothing is left.
func (r *execution) guarantees() (whole privacy.Guarantee, drawn *privacy.Guarantee, err error) {
	events, err := r.events()
	if err != nil {
		return whole, nil, err
	}
	if whole, err = r.guarantee(privacy.Canonical(privacy.Compose{Events: events})); err != nil {
		return whole, nil, err
	}
	if !privacy.Sampled(whole.Event) {
		return whole, nil, nil
	}
	known, err := r.guarantee(privacy.Unsampled(whole.Event))
	if err != nil || math.IsInf(known.Epsilon.Upper, 1) {
		return whole, nil, err
	}
	return whole, &known, nil
}

// guaranteed adds to a release on which day it was made, and its guarantees, who paid and who signs, if
// there are any.
func (r *execution) guaranteed(out *release.Release) error {
	out.Date = r.progress.began
	if !r.certified() {
		return nil
	}
	out.Account, out.Signer = r.progress.account, r.signerID()
	whole, drawn, err := r.guarantees()
	out.Guarantee, out.Drawn = &whole, drawn
	return err
}

// report reports progress, with how many texts are done.
func (r *execution) report(e env.Progress) {
	if r.env.Observe == nil {
		return
	}
	e.Done, e.Texts, e.MaxTokens = r.progress.done(), r.spec.Texts, r.spec.MaxTokens
	r.env.Observe(e)
}

// warn reports progress, and adds its message to the result.
func (r *execution) warn(e env.Progress) {
	r.warnings = append(r.warnings, e.Message)
	r.report(e)
}

// uncharged reports a message as long as nothing is charged; "" is nothing. It may depend on
// the records: the result, which is kept, does not have it.
func (r *execution) uncharged(message string) {
	if message != "" && r.progress.charge == "" {
		r.report(env.Progress{Kind: env.Noted, Message: message})
	}
}

// warnOfClaim warns of a δ that has no privacy guarantee, and of a server whose scores depend on what
// else it is asked.
func (r *execution) warnOfClaim(delta float64, size int64) {
	if !r.certified() {
		return
	}
	r.warnOf(privacy.LargeDelta(delta, size))
	if r.progress.header.Model.Isolation.Declared() {
		r.warnOf("the guarantee assumes that nobody else uses the server while this runs, as you say; the certificate says so too")
	}
}

// warnOf warns of what weakens the guarantee; "" is nothing.
func (r *execution) warnOf(message string) {
	if message != "" {
		r.warn(env.Progress{Kind: env.Cautioned, Message: message})
	}
}
