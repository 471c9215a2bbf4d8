package run

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/sotto-dp/sotto/internal/plan/search"
	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/prompt"
)

// progress is what a journal says, folded.
type progress struct {
	header header
	// began is the day on which the run did; zero if it is of a seed.
	began  time.Time
	keyed  bool
	charge ledger.ChargeID
	// account is how the ledger stood after the last charge.
	account  *release.Account
	sizes    []int64
	found    []string
	labelled bool
	// ending that most records share, if one was found; ended says that it was looked for.
	ending     string
	ended      bool
	conditions []string
	texts      []text
	recharges  []recharge
	// evidence is what all records say about labels.
	evidence json.RawMessage
	// winners of the rounds in which records chose; looking says that the next one was begun,
	// of a model that does not replay.
	winners []search.Point
	looking bool
	// varied are texts like the examples of winners, by the rounds that they came after.
	varied map[int64][]prompt.Example
	// measured are noisy counts of prompts; attempt of a measurement is under way, of a model
	// that does not replay, and paid is the last that is charged.
	measured      json.RawMessage
	attempt, paid int
	files         []certificate.Subject
	// signer is the id of the key that files name.
	signer string
	// tabled is the profile of a table; perturbed says that rows are, and how many.
	tabled    json.RawMessage
	perturbed bool
	rows      int64
	// apart are files that the work wrote by itself; they are among files.
	apart      []certificate.Subject
	committed  bool
	checkpoint string
}

// text is one of the run, as far as it is.
type text struct {
	// attempt that is under way or done. begun is set for models that do not replay.
	attempt  int
	begun    bool
	released bool
	// paid is the last attempt that is charged.
	paid      int
	condition string
	output    string
	steps     int
}

// recharge is a text that was paid for again.
type recharge struct {
	text, attempt int
	charge        ledger.ChargeID
	event         string
}

// fold replays a journal.
func fold(entries []entry) (*progress, error) {
	p := &progress{}
	for i, e := range entries {
		if (i == 0) != (e.State == planned) {
			return nil, fmt.Errorf("line %d of the journal is out of place", i+1)
		}
		if err := p.add(e); err != nil {
			return nil, fmt.Errorf("line %d of the journal: %w", i+1, err)
		}
	}
	return p, nil
}

// add takes one entry into account.
func (p *progress) add(e entry) error {
	switch e.State {
	case planned:
		if e.Header == nil {
			return fmt.Errorf("it does not say what the run is about")
		}
		p.header, p.began = *e.Header, e.Time
	case keyed:
		p.keyed = true
	case reserved:
		p.charge, p.account = e.Charge, e.Account
	case counted:
		p.sizes = e.Sizes
	case labelled:
		p.found, p.labelled = e.Found, true
	case ended:
		p.ending, p.ended = e.Ending, true
	case chosen:
		p.conditions = e.Conditions
		p.texts = make([]text, len(e.Conditions))
		for i, c := range e.Conditions {
			p.texts[i].condition = c
		}
	case begun, recharged, released:
		if e.State == begun && e.Round > 0 {
			p.looking = true
			return nil
		}
		if e.State == recharged && e.Account != nil {
			p.account = e.Account
		}
		if e.State == recharged && e.Text == 0 {
			p.paid = e.Attempt
			p.recharges = append(p.recharges, recharge{0, e.Attempt, e.Charge, e.Event})
			return nil
		}
		return p.addText(e)
	case summed:
		// Once, before anything is chosen by it.
		if len(e.Evidence) == 0 || p.evidence != nil || len(p.winners) > 0 || p.looking || p.measured != nil {
			return fmt.Errorf("evidence is out of place")
		}
		p.evidence = e.Evidence
	case won:
		return p.addWinner(e)
	case varied:
		return p.addVaried(e)
	case measuring:
		p.attempt, p.looking = e.Attempt, true
	case measured:
		p.measured, p.looking = e.Measured, false
	case profiled:
		p.tabled = e.Profile
	case perturbed:
		p.perturbed, p.rows, p.apart = true, e.Rows, e.Files
	case written:
		p.files, p.signer = e.Files, e.Signer
	case committed:
		p.committed, p.checkpoint = true, e.Checkpoint
	default:
		return fmt.Errorf("the state %q is not known to this version of the program", e.State)
	}
	return nil
}

// addWinner notes the outcome of a round.
func (p *progress) addWinner(e entry) error {
	if e.Point == nil || e.Round != int64(len(p.winners))+1 {
		return fmt.Errorf("the winner of round %d is out of place", e.Round)
	}
	p.winners, p.looking = append(p.winners, *e.Point), false
	return nil
}

// addVaried notes texts like the last winner's.
func (p *progress) addVaried(e entry) error {
	if _, twice := p.varied[e.Round]; twice || e.Round < 1 || e.Round != int64(len(p.winners)) || p.looking {
		return fmt.Errorf("texts like the winner's of round %d are out of place", e.Round)
	}
	if p.varied == nil {
		p.varied = map[int64][]prompt.Example{}
	}
	p.varied[e.Round] = e.Varied
	return nil
}

func (p *progress) addText(e entry) error {
	if e.Text < 1 || e.Text > len(p.texts) {
		return fmt.Errorf("there is no text %d", e.Text)
	}
	t := &p.texts[e.Text-1]
	switch e.State {
	case begun:
		t.attempt, t.begun = e.Attempt, true
	case recharged:
		t.paid = e.Attempt
		p.recharges = append(p.recharges, recharge{e.Text, e.Attempt, e.Charge, e.Event})
	case released:
		if t.released {
			return fmt.Errorf("text %d is there twice", e.Text)
		}
		t.attempt, t.released = e.Attempt, true
		t.condition, t.output, t.steps = e.Condition, e.Output, e.Steps
	}
	return nil
}

// done counts released texts; none before there is a journal.
func (p *progress) done() int {
	n := 0
	if p == nil {
		return n
	}
	for _, t := range p.texts {
		if t.released {
			n++
		}
	}
	return n
}

// steps is how many tokens the first texts have together.
func (p *progress) steps(first int) int64 {
	var n int64
	for _, t := range p.texts[:min(first, len(p.texts))] {
		n += int64(t.steps)
	}
	return n
}

// closed reports whether the journal has its last line.
func (p *progress) closed() bool {
	if p.charge != "" {
		return p.committed
	}
	return p.files != nil
}

// names of the written files.
func (p *progress) names() []string {
	var out []string
	for _, f := range p.files {
		out = append(out, f.Name)
	}
	slices.Sort(out)
	return out
}
