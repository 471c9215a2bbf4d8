package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/internal/icl"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/lm"
)

// answered is the answer to a question.
type answered struct {
	text string
	// raw is the answer without calibration, scores are the labels' probabilities; both
	// are empty where the model wrote.
	raw    string
	scores []float64
}

// answer asks all questions with one set. How it went is noted in the row.
func (s *setting) answer(ctx context.Context, r *evalResult, row *evalRow, set demoSet) (answers []answered, err error) {
	a, err := s.openAnswerer(ctx, r, set)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	r.How, row.raw = a.Describe(), false
	classifier, scored := a.(*icl.Classifier)
	if sized, ok := a.(interface{ Tokens() int }); ok {
		row.PromptTokens = sized.Tokens()
	}
	bar := s.Bar(set.name)
	defer bar.Clear()
	bar.Tell(0, len(s.items), "questions")
	for done := 0; done < len(s.items); {
		inputs := inputsOf(s.items[done:min(len(s.items), done+answersAtOnce)])
		if scored {
			some, err := classifier.Classify(ctx, inputs)
			if err != nil {
				return nil, err
			}
			for _, p := range some {
				answers = append(answers, answered{p.Label, p.Raw.Label, p.Scores})
			}
		} else {
			some, err := a.Answer(ctx, inputs)
			if err != nil {
				return nil, err
			}
			for _, text := range some {
				answers = append(answers, answered{text: text})
			}
		}
		done += len(inputs)
		bar.Tell(done, len(s.items), "questions")
	}
	row.raw = scored && r.Calibrated
	row.ModelTokens = a.Usage().Computed
	return answers, nil
}

// answersAtOnce is some passes through the model: people see that it goes on.
const answersAtOnce = 64

func inputsOf(items []eval.Item) []string {
	inputs := make([]string, len(items))
	for i, item := range items {
		inputs[i] = item.Input
	}
	return inputs
}

// openAnswerer lays out the prompt. A model without scores cannot be calibrated, which is
// an error for whoever asked for it.
func (s *setting) openAnswerer(ctx context.Context, r *evalResult, set demoSet) (icl.Answerer, error) {
	target := s.target
	r.Calibrated = s.calibrate && listed(target)
	if c := set.chosen; c != nil {
		target = c.For(target)
		if !s.asked("calibrate") {
			r.Calibrated = c.Calibrated && listed(target)
		}
	}
	o := icl.Options{Calibrate: r.Calibrated, Normalise: s.normalise}
	a, err := icl.Open(ctx, s.model, target, set.demos, o)
	if ui.Is[*lm.UnsupportedError](err) && o.Calibrate && !o.Normalise && !s.asked("calibrate") {
		o.Calibrate, r.Calibrated, r.scoreless = false, false, true
		a, err = icl.Open(ctx, s.model, target, set.demos, o)
	}
	if err != nil {
		return nil, fmt.Errorf("answer with %s: %w", set.name, err)
	}
	return a, nil
}

// predictions are all answers, a JSON object a line, in a file for the owner to read:
// questions are in it, and answers may repeat demonstrations.
type predictions struct {
	file *os.File // nil if nobody wants them
}

// openPredictions makes the file before anything is asked, so that a path that cannot be
// written costs no work. Inputs are files that it must not be.
func openPredictions(path string, inputs ...string) (predictions, error) {
	if path == "" {
		return predictions{}, nil
	}
	for _, input := range inputs {
		if sameFile(path, input) {
			return predictions{}, usage("--predictions %s would write over what is read: name another file", path)
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return predictions{}, usage("write the answers: %w", err)
	}
	return predictions{f}, nil
}

// sameFile reports whether two paths are of one file that is there.
func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

type prediction struct {
	Demos string `json:"demos"`
	// Item is the place of the question among those that were asked, from 1.
	Item   int       `json:"item"`
	Input  string    `json:"input"`
	Want   string    `json:"want"`
	Got    string    `json:"got"`
	Raw    string    `json:"uncalibrated,omitempty"`
	Score  float64   `json:"score"`
	Scores []float64 `json:"probabilities,omitempty"`
}

// add writes the answers with one set.
func (b predictions) add(lines []prediction) error {
	if b.file == nil {
		return nil
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	for _, line := range lines {
		if err := e.Encode(line); err != nil {
			return fmt.Errorf("write the answers: %w", err)
		}
	}
	if _, err := b.file.Write(out.Bytes()); err != nil {
		return fmt.Errorf("write the answers: %w", err)
	}
	return nil
}

func (b predictions) close() error {
	if b.file == nil {
		return nil
	}
	return b.file.Close()
}
