package certificate

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sotto-dp/sotto/privacy"
)

// Limits on what is read from outside.
const (
	maxEnvelope = 4 << 20
	maxSubjects = 10_000
	maxText     = 4096
	maxWhole    = 1 << 53 // the largest whole number that every JSON reader keeps
)

// Check is one line of a conclusion.
type Check struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	// Warning: the check holds, but Detail has something to know.
	Warning bool   `json:"warning,omitempty"`
	Detail  string `json:"detail"`
}

// caution is the error of a check that holds with a warning.
type caution struct{ detail string }

func (c caution) Error() string { return c.detail }

// outcome turns the result of a check into its line.
func outcome(name, detail string, err error) Check {
	var c caution
	switch {
	case err == nil:
		return Check{Name: name, OK: true, Detail: detail}
	case errors.As(err, &c):
		return Check{Name: name, OK: true, Warning: true, Detail: c.detail}
	}
	return Check{Name: name, Detail: err.Error()}
}

// checks runs the checks that need the predicate alone.
func (p *Predicate) checks() []Check {
	origin, err := p.checkOrigin()
	out := []Check{outcome("origin", origin, err)}
	events, total, err := p.checkEvents()
	out = append(out, outcome("events", events, err))
	if err != nil {
		return out
	}
	for _, c := range []struct {
		name string
		run  func(privacy.Event) (string, error)
	}{
		{"adjacency and unit", p.checkMeaning},
		{"delta", p.checkDelta},
		{"samplers and sizes", p.checkSampling},
		{"known draws", p.checkDrawn},
		{"assumptions", p.checkAssumptions},
	} {
		detail, err := c.run(total)
		out = append(out, outcome(c.name, detail, err))
	}
	return out
}

func (p *Predicate) checkOrigin() (string, error) {
	if p.Randomness != OSRandom {
		return "", fmt.Errorf("randomness is %q; only %q protects", p.Randomness, OSRandom)
	}
	for _, t := range []struct{ what, text string }{
		{"the method", p.Method},
		{"the proof", p.Proof},
		{"the program's name", p.Program.Name},
		{"the program's version", p.Program.Version},
	} {
		if err := checkText(t.what, t.text); err != nil {
			return "", err
		}
	}
	if err := errors.Join(p.Model.check(), p.Ledger.check(), checkTime("created", p.Created)); err != nil {
		return "", err
	}
	model := "no model saw private records"
	if p.Model != nil {
		model = fmt.Sprintf("model %s on %s", p.Model.Name, p.Model.Backend)
	}
	return fmt.Sprintf("method %s by %s %s, %s; %s", p.Method, p.Program.Name, p.Program.Version, p.Created.Format(time.DateOnly), model), nil
}

func (m *Model) check() error {
	if m == nil {
		return nil
	}
	if _, known := isolated(m.Isolation); m.Isolation != "" && (!known || m.BatchInvariant) {
		return errors.New("how the model's prompts were kept apart is not one of the known ways, or is stated for a back-end that promises independent scores")
	}
	return errors.Join(
		checkText("the model's name", m.Name),
		checkText("the model's fingerprint", m.Fingerprint),
		checkText("the model's back-end", m.Backend))
}

func (l *LedgerReference) check() error {
	if l == nil {
		return nil
	}
	return errors.Join(checkText("the ledger's charge", l.Charge), checkText("the ledger's head", l.Head))
}

// checkTime accepts whole seconds of UTC, so that a time has one spelling.
func checkTime(what string, t time.Time) error {
	if t.IsZero() || t.Location() != time.UTC || t.Nanosecond() != 0 {
		return fmt.Errorf("%s is %s, it should be a time in whole seconds of UTC", what, t.Format(time.RFC3339Nano))
	}
	return nil
}

// checkEvents parses the events and returns them composed.
func (p *Predicate) checkEvents() (string, privacy.Event, error) {
	if len(p.Events) == 0 {
		return "", nil, errors.New("the statement lists no events")
	}
	var all privacy.Compose
	for i, text := range p.Events {
		e, err := parseCanonical(text)
		if err != nil {
			return "", nil, fmt.Errorf("event %d: %w", i+1, err)
		}
		all.Events = append(all.Events, e)
	}
	total := privacy.Canonical(all)
	return total.String(), total, nil
}

func parseCanonical(text string) (privacy.Event, error) {
	e, err := privacy.Parse(text)
	if err != nil {
		return nil, err
	}
	if c := privacy.Canonical(e).String(); c != text {
		return nil, fmt.Errorf("%q is not canonical, it should be %q", text, c)
	}
	return e, privacy.Walk(e, func(n privacy.Event, offset int) error {
		if _, ok := n.(privacy.NonPrivate); ok {
			return fmt.Errorf("nonprivate() at column %d gives no guarantee", offset+1)
		}
		return nil
	})
}

func (p *Predicate) checkMeaning(privacy.Event) (string, error) {
	if p.Adjacency != privacy.AddRemove && p.Adjacency != privacy.ReplaceOne {
		return "", fmt.Errorf("unknown adjacency %q: known are %s and %s", p.Adjacency, privacy.AddRemove, privacy.ReplaceOne)
	}
	if p.Unit != privacy.Record {
		column, ok := strings.CutPrefix(string(p.Unit), "user:")
		if !ok {
			return "", fmt.Errorf("unknown unit of privacy %q: known are %q and \"user:COLUMN\"", p.Unit, privacy.Record)
		}
		if err := checkText("the column of the unit", column); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%s, per %s", p.Adjacency, p.Unit), nil
}

func (p *Predicate) checkDelta(privacy.Event) (string, error) {
	if err := privacy.CheckDelta(p.Delta); err != nil {
		return "", err
	}
	n := 0.0
	for _, s := range p.Sizes {
		n += float64(s.Records)
	}
	detail := fmt.Sprintf("δ = %v", p.Delta)
	switch {
	case n == 0:
		return detail + ", no size is declared to compare it with", nil
	case p.Delta >= 1/n:
		return "", caution{privacy.LargeDelta(p.Delta, int64(min(n, 1<<62)))}
	}
	return fmt.Sprintf("%s is below 1/n for the %v declared records", detail, n), nil
}

// checkSampling compares the samplers that ran with those that the events take credit for:
// one must never be accounted as another.
func (p *Predicate) checkSampling(total privacy.Event) (string, error) {
	if len(p.Samplers) == 0 {
		return "", fmt.Errorf("no sampler is named; name %q when every record is used", SampleAll)
	}
	for i, s := range p.Samplers {
		switch s {
		case SampleAll, SampleDisjoint, SampleFixedSize, SamplePoisson:
		default:
			return "", fmt.Errorf("unknown sampler %q", s)
		}
		if i > 0 && p.Samplers[i-1] >= s {
			return "", fmt.Errorf("samplers are not sorted or not distinct at %q", s)
		}
	}
	credited := samplersOf(total)
	for _, s := range credited {
		if !slices.Contains(p.Samplers, s) {
			return "", fmt.Errorf("the events take credit for %s sampling, and that is not among the samplers that ran: %v", s, p.Samplers)
		}
	}
	if err := p.checkSizes(total, len(credited) > 0); err != nil {
		return "", err
	}
	return fmt.Sprintf("ran %v, credited %v, %d declared sizes", p.Samplers, credited, len(p.Sizes)), nil
}

func (p *Predicate) checkSizes(total privacy.Event, sampled bool) error {
	if sampled && len(p.Sizes) == 0 {
		return errors.New("the events take credit for sampling, and no size of the records is declared")
	}
	known := map[int64]bool{}
	sum := int64(0)
	for i, s := range p.Sizes {
		if err := checkText("the part of a size", s.Part); err != nil {
			return err
		}
		if s.Records < 1 || s.Records > maxWhole-sum {
			return fmt.Errorf("part %q has %d records, it should be at least 1, and all parts at most 2^53", s.Part, s.Records)
		}
		if i > 0 && p.Sizes[i-1].Part >= s.Part {
			return fmt.Errorf("sizes are not sorted by part or not distinct at %q", s.Part)
		}
		sum += s.Records
		known[s.Records] = true
	}
	known[sum] = true
	return privacy.Walk(total, func(n privacy.Event, _ int) error {
		if f, ok := n.(privacy.FixedSize); ok && !known[f.N] {
			return fmt.Errorf("%s draws from %d records, and no part of that size is declared", f, f.N)
		}
		return nil
	})
}

// checkDrawn checks that what is stated of known draws is about all the events, without their
// sampling.
func (p *Predicate) checkDrawn(total privacy.Event) (string, error) {
	if p.Drawn == nil {
		return "nothing is stated", nil
	}
	if want := privacy.Unsampled(total).String(); !privacy.Sampled(total) || p.Drawn.Event != want {
		return "", fmt.Errorf("against someone who knows whose records were drawn it states %s, and the events without their sampling are %s", p.Drawn.Event, want)
	}
	return p.Drawn.Event, nil
}

func (p *Predicate) checkAssumptions(total privacy.Event) (string, error) {
	for i, want := range requiredAssumptions(p, total) {
		if i >= len(p.Assumptions) || p.Assumptions[i] != want {
			return "", fmt.Errorf("assumption %d is missing or worded otherwise: %q", i+1, want)
		}
	}
	for _, a := range p.Assumptions {
		if err := checkText("an assumption", a); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d stated", len(p.Assumptions)), nil
}

// checkText accepts printable text that is neither empty nor huge.
func checkText(what, s string) error {
	switch {
	case strings.TrimSpace(s) == "":
		return fmt.Errorf("%s is empty", what)
	case len(s) > maxText:
		return fmt.Errorf("%s has %d bytes, at most %d are allowed", what, len(s), maxText)
	case !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("%s holds characters that do not print", what)
	}
	return nil
}

// checkSubjects accepts clean local names, sorted and distinct.
func checkSubjects(subjects []Subject) error {
	if len(subjects) == 0 || len(subjects) > maxSubjects {
		return fmt.Errorf("it names %d files, it should name between 1 and %d", len(subjects), maxSubjects)
	}
	for i, s := range subjects {
		if err := checkName(s.Name); err != nil {
			return err
		}
		if sum, err := hex.DecodeString(s.Digest.SHA256); err != nil || len(sum) != 32 || strings.ToLower(s.Digest.SHA256) != s.Digest.SHA256 {
			return fmt.Errorf("file %q has no SHA-256 in lower-case hex", s.Name)
		}
		if i > 0 && subjects[i-1].Name >= s.Name {
			return fmt.Errorf("files are not sorted by name or not distinct at %q", s.Name)
		}
	}
	return nil
}

// checkName accepts what can only be a file at or below the certificate, on
// every operating system.
func checkName(name string) error {
	if err := checkText("the name of a file", name); err != nil {
		return err
	}
	if !fs.ValidPath(name) || name == "." || strings.ContainsAny(name, `\:`) || !filepath.IsLocal(filepath.FromSlash(name)) {
		return fmt.Errorf("file name %q is not a clean path below the certificate: use slashes, no \"..\", no drive", name)
	}
	if strings.EqualFold(name, FileName) {
		return fmt.Errorf("file name %q is the certificate's own", name)
	}
	return nil
}
