package grader

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/reply"
	"github.com/sotto-dp/sotto/prompt"
)

// openEvidence checks the evidence and the encoder that reads records by it.
func (j *Grader) openEvidence() (err error) {
	if j.Evidence == nil {
		return nil
	}
	if !j.Encoder.Valid() {
		return errors.New("records may only be shown to a trusted encoder, and there is none")
	}
	if j.reader, err = evidence.Open(j.Evidence, j.Encoder); err != nil {
		return err
	}
	j.said = map[string]string{}
	return j.Evidence.Suits(j.Task.Labels)
}

// weigh reads each record by the evidence, from its input alone, if a prompt uses it.
func (j *Grader) weigh(ctx context.Context, prompts []prompt.Prompt, cases []item) (err error) {
	if !slices.ContainsFunc(prompts, func(p prompt.Prompt) bool { return p.Evidence.Used() }) {
		return nil
	}
	if len(cases) == 0 {
		return nil
	}
	inputs := make([]string, len(cases))
	for i, c := range cases {
		inputs[i] = c.input
	}
	reader := j.reader
	if j.kept != nil {
		if store := j.kept.Vectors(j.Encoder, false); store != nil { // who was drawn is not to be seen on disk
			defer store.Close()
			if reader, err = evidence.Open(j.Evidence, store); err != nil {
				return err
			}
		}
	}
	all, err := reader.Texts(ctx, inputs)
	if err != nil {
		return fmt.Errorf("read records by the evidence: %w", err)
	}
	for i := range cases {
		cases[i].evidence = all[i]
	}
	return nil
}

// byEvidence are the grades on evidence alone, without a model.
func (j *Grader) byEvidence(cases []item, records int) []int64 {
	out := make([]int64, records)
	for _, c := range cases {
		out[c.record] = j.grade(reply.Alone(c.evidence), c.label)
	}
	return out
}

// hinted returns a prompt whose examples have the hints that its questions have. Examples are public, and
// what evidence says of them is kept.
func (j *Grader) hinted(ctx context.Context, p prompt.Prompt) (prompt.Prompt, error) {
	if p.Evidence.How != prompt.Hinted {
		return p, nil
	}
	var inputs []string
	for _, e := range p.Examples {
		if _, ok := j.said[e.Input]; !ok {
			inputs = append(inputs, e.Input)
		}
	}
	if len(inputs) > 0 {
		all, err := j.reader.Texts(ctx, inputs)
		if err != nil {
			return p, fmt.Errorf("read examples by the evidence: %w", err)
		}
		for i, logs := range all {
			j.said[inputs[i]] = j.reader.Said(logs)
		}
	}
	examples := make([]prompt.Example, len(p.Examples))
	for i, e := range p.Examples {
		examples[i] = prompt.Example{Input: prompt.Hint(p.Evidence.Wording, e.Input, j.said[e.Input]), Output: e.Output}
	}
	p.Examples = examples
	return p, nil
}
