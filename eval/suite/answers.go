package suite

import (
	"context"
	"errors"
	"slices"
	"time"

	"sotto/icl"
	"sotto/lm"
)

// answers to all test items, as they are kept. Metrics are not: they are worked out anew.
type answers struct {
	// Raw are without calibration, Calibrated with, if it was asked for.
	Raw        []string `json:"raw"`
	Calibrated []string `json:"calibrated,omitempty"`
	// How they were found.
	How     string   `json:"how"`
	Usage   lm.Usage `json:"usage"`
	Seconds float64  `json:"seconds"`

	key string
}

// answers returns those to the test items with a demonstration set, from the cache if they
// are there.
func (r *runner) answers(ctx context.Context, c Cell, demos []icl.Demo, m model, d *dataset) (*answers, error) {
	calibrate := slices.Contains(c.Calibrate, true)
	key, err := keyOf("answers", string(c.Task.Canonical()), demos, m.id, d.inputs, calibrate)
	if err != nil {
		return nil, err
	}
	out := &answers{key: key}
	there, err := r.store.get("answers", key, out)
	if err != nil {
		return nil, err
	}
	if there {
		r.tell(Event{Kind: Answered, Cell: c, Cached: true})
		return out, nil
	}
	if out, err = ask(ctx, c, demos, m, d.inputs, calibrate, r.PassTokens); err != nil {
		return nil, err
	}
	out.key = key
	if err := r.store.put("answers", key, out); err != nil {
		return nil, err
	}
	r.tell(Event{Kind: Answered, Cell: c, Tokens: out.Usage.Computed})
	return out, nil
}

// ask answers all questions in one go, with calibration and without.
func ask(ctx context.Context, c Cell, demos []icl.Demo, m model, inputs []string, calibrate bool, pass int) (out *answers, err error) {
	began := time.Now()
	a, err := icl.Open(ctx, m.answers, c.Task, demos, icl.Options{Calibrate: calibrate, PassTokens: pass})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	out = &answers{How: a.How()}
	switch a := a.(type) {
	case *icl.Classifier:
		predictions, err := a.Classify(ctx, inputs)
		if err != nil {
			return nil, err
		}
		for _, p := range predictions {
			out.Raw = append(out.Raw, p.Raw.Label)
			if calibrate {
				out.Calibrated = append(out.Calibrated, p.Label)
			}
		}
	case *icl.Writer:
		out.Raw, err = a.Answer(ctx, inputs)
	default:
		// Without sessions, what one call costs is told from what the model has cost: one
		// at a time.
		m.turn.Lock()
		defer m.turn.Unlock()
		out.Raw, err = a.Answer(ctx, inputs)
	}
	if err != nil {
		return nil, err
	}
	out.Usage, out.Seconds = a.Usage(), time.Since(began).Seconds()
	return out, nil
}
