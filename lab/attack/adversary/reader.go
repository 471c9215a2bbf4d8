// Package adversary asks a model what one would ask who has released texts and looks for records behind
// them: how likely labels, records and texts are with others in the prompt.
package adversary

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/icl"
	"github.com/sotto-dp/sotto/internal/likelihood"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// Reader asks a model what an adversary wants to know. It sees records that may be shown.
type Reader struct {
	model lm.Scorer
	// Task with its defaults.
	Task prompt.Task
}

// NewReader refuses models that cannot be asked, and tasks without a list of labels.
func NewReader(m lm.Scorer, t prompt.Task) (*Reader, error) {
	switch info := m.Info(); {
	case !info.Can.Given && !info.Can.All:
		return nil, &lm.UnsupportedError{Backend: info.Backend, What: "attack texts by their likelihood", Missing: "it does not score texts that are given; use the embedded engine"}
	case !info.Can.Candidates:
		return nil, &lm.UnsupportedError{Backend: info.Backend, What: "attack answers", Missing: "it does not score labels; use the embedded engine"}
	}
	t = t.WithDefaults()
	if t.Kind == prompt.Generate || t.Open() {
		return nil, errors.New("the attacks are about records with a label of a list")
	}
	return &Reader{m, t}, nil
}

// Answers returns the log-probability of each record's own label, with demonstrations in the prompt.
func (r *Reader) Answers(ctx context.Context, demos, of []prompt.Example) (out []float64, err error) {
	if len(of) == 0 {
		return nil, nil
	}
	c, err := icl.NewClassifier(ctx, r.model, r.Task, demos, icl.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	inputs := make([]string, len(of))
	for i, e := range of {
		inputs[i] = e.Input
	}
	found, err := c.Classify(ctx, inputs)
	if err != nil {
		return nil, err
	}
	for i, p := range found {
		at := slices.Index(r.Task.Labels, of[i].Output)
		if at < 0 {
			return nil, fmt.Errorf("a record has the label %q, which is not one of the task's", of[i].Output)
		}
		out = append(out, math.Log(max(p.Scores[at], 1e-300)))
	}
	return out, nil
}

// Reads returns the log-probability of each whole record, a question and its label, with demonstrations in
// the prompt.
func (r *Reader) Reads(ctx context.Context, demos, of []prompt.Example) (out []float64, err error) {
	if len(of) == 0 {
		return nil, nil
	}
	session, err := r.model.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	root, err := r.Root(ctx, session, (prompt.Prompt{Examples: demos}).Segments(r.Task)...)
	if err != nil {
		return nil, err
	}
	var all []likelihood.Continuation
	for _, e := range of {
		text, err := r.cut(ctx, e.Input)
		if err != nil {
			return nil, err
		}
		tokens, err := r.model.Tokenizer().Encode(ctx, strings.TrimSpace(r.Task.AnswerDemo(text, e.Output)))
		if err != nil {
			return nil, err
		}
		all = append(all, likelihood.Continuation{From: root, Tokens: tokens[:1], Output: tokens[1:]})
	}
	return r.sums(ctx, session, all)
}

// sums are log-probabilities of whole outputs.
func (r *Reader) sums(ctx context.Context, session lm.Session, of []likelihood.Continuation) (out []float64, err error) {
	const together = 16
	scores, err := likelihood.Score(ctx, session, r.model.Info(), of, together)
	if err != nil {
		return nil, err
	}
	for _, s := range scores {
		total := 0.
		for _, lp := range s.LogProbs {
			total += max(lp, -1e3)
		}
		out = append(out, total)
	}
	return out, nil
}

// Writes returns how much likelier a text is after each record than after none, as logarithms: in the
// layout in which records are shown to the model that writes.
func (r *Reader) Writes(ctx context.Context, text prompt.Example, after []prompt.Example) (out []float64, err error) {
	out = make([]float64, len(after))
	if len(after) == 0 || strings.TrimSpace(text.Input) == "" {
		return out, nil
	}
	session, err := r.model.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	root, err := r.Root(ctx, session, r.Task.GenerationPrefix())
	if err != nil {
		return nil, err
	}
	head, err := r.model.Tokenizer().Encode(ctx, r.Task.GenerationHead(text.Output))
	if err != nil {
		return nil, err
	}
	written, err := r.cut(ctx, text.Input)
	if err != nil {
		return nil, err
	}
	output, err := r.model.Tokenizer().Encode(ctx, " "+written)
	if err != nil {
		return nil, err
	}
	all := []likelihood.Continuation{{From: root, Tokens: head, Output: output}}
	for _, e := range after {
		demo, err := r.Shown(ctx, e)
		if err != nil {
			return nil, err
		}
		all = append(all, likelihood.Continuation{From: root, Tokens: slices.Concat(demo, head), Output: output})
	}
	logs, err := r.sums(ctx, session, all)
	if err != nil {
		return nil, err
	}
	for i := range after {
		out[i] = logs[i+1] - logs[0]
	}
	return out, nil
}

// Shown lays a record out as writing methods do.
func (r *Reader) Shown(ctx context.Context, e prompt.Example) ([]lm.Token, error) {
	text, err := r.cut(ctx, e.Input)
	if err != nil {
		return nil, err
	}
	return r.model.Tokenizer().Encode(ctx, r.Task.GenerationDemo(e.Output, text))
}

// cut leaves of a text what methods see of it.
func (r *Reader) cut(ctx context.Context, text string) (string, error) {
	text = strings.Join(strings.Fields(text), " ")
	tokens, err := r.model.Tokenizer().Encode(ctx, text)
	if limit := r.Task.Limits.RecordTokens; err == nil && len(tokens) > limit {
		text, err = r.model.Tokenizer().Decode(ctx, tokens[:limit])
		text = strings.ToValidUTF8(text, "")
	}
	return text, err
}

// Root starts a sequence that others are forks of, with pieces of text that are encoded one by one.
func (r *Reader) Root(ctx context.Context, s lm.Session, pieces ...string) (lm.Sequence, error) {
	root, err := s.New()
	if err != nil {
		return 0, err
	}
	var tokens []lm.Token
	if first, ok := r.model.Tokenizer().Beginning(); ok {
		tokens = append(tokens, first)
	}
	for _, text := range pieces {
		if text == "" {
			continue
		}
		more, err := r.model.Tokenizer().Encode(ctx, text)
		if err != nil {
			return 0, err
		}
		tokens = append(tokens, more...)
	}
	if len(tokens) == 0 {
		return root, nil
	}
	_, err = s.Step(ctx, []lm.Step{{Sequence: root, Tokens: tokens}})
	return root, err
}
