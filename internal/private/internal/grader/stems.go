package grader

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sotto-dp/sotto/internal/evidence/nearest"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/internal/reply"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// stem is what questions come after.
type stem struct {
	tokens []lm.Token
	// readings of the answers that prompts ask for.
	readings []reading
	// hint is the wording of its questions' hints, from 1; 0 is none.
	hint int
	// chat lays questions out, where they are turns.
	chat *reply.Conversation
	// near are the examples of which a record's question gets the nearest, and the stem has none of them; nil
	// where all records get the same. prompt is what it is of.
	near   *nearest.Examples
	prompt prompt.Prompt
}

// reading is how a label is read off the scores of all.
type reading struct {
	calibrated bool
	// weight of the evidence, 0 without.
	weight float64
}

// readingOf is how a prompt reads.
func readingOf(p prompt.Prompt) reading { return reading{p.Calibrated, p.Evidence.Weight} }

// hintOf is the wording of a prompt's hints, from 1; 0 is none.
func hintOf(p prompt.Prompt) int {
	if p.Evidence.How == prompt.Hinted {
		return 1 + p.Evidence.Wording
	}
	return 0
}

// calibrates reports whether a reading is calibrated.
func (s stem) calibrates() bool {
	return slices.ContainsFunc(s.readings, func(r reading) bool { return r.calibrated })
}

// stems are the tokens that questions come after, each once, and which of them a prompt has: however
// labels are read off, raw or calibrated, with evidence of any weight, it is off the same scores.
func (j *Grader) stems(ctx context.Context, prompts []prompt.Prompt) (stems []stem, of []int, err error) {
	known := map[string]int{}
	for _, p := range prompts {
		alike := p
		if alike.Calibrated = false; p.Evidence.How == prompt.Combined {
			alike.Evidence = prompt.Use{}
		}
		key, err := json.Marshal(alike)
		if err != nil {
			return nil, nil, err
		}
		at, ok := known[string(key)]
		if !ok {
			s, err := j.stem(ctx, p)
			if err != nil {
				return nil, nil, err
			}
			at = len(stems)
			known[string(key)] = at
			stems = append(stems, s)
		}
		if r := readingOf(p); !slices.Contains(stems[at].readings, r) {
			stems[at].readings = append(stems[at].readings, r)
		}
		of = append(of, at)
	}
	return stems, of, nil
}

func (j *Grader) stem(ctx context.Context, p prompt.Prompt) (s stem, err error) {
	s.hint = hintOf(p)
	if p, err = j.hinted(ctx, p); err != nil {
		return s, err
	}
	if p.Nearest.Used() {
		if s.near, err = j.encoder.Examples(ctx, p); err != nil {
			return s, err
		}
		p = p.With(nil)
	}
	s.prompt = p
	if !p.Form.Turns() {
		s.tokens, err = reply.Prefix(ctx, j.Model.Tokenizer(), j.Task, p)
		return s, err
	}
	s.chat = reply.NewConversation(j.Task, p, j.Model.Tokenizer())
	if j.generates() {
		return s, nil // the model lays turns out itself
	}
	s.tokens, _, err = s.chat.Common(ctx, j.Model)
	return s, err
}

// item is a record as a question with its answer.
type item struct {
	record int
	input  string
	label  int        // of a closed list
	output []lm.Token // else: the answer, and what ends it
	answer string     // as a text
	// evidence are log-probabilities of labels by the record's input, if a prompt uses them.
	evidence []float64
	// vector of the input, if a prompt gives it the nearest examples.
	vector []float32
	// asked are the layouts of the question, by the wording of its hint: the first has none.
	asked []layout
}

// layout of a question.
type layout struct {
	text   string     // of one in turns
	tokens []lm.Token // of one in a text
	length int        // tokens that come after a stem, at most
}

// cases are the records as questions. Those with a label that the task does not know are left out: their
// grades are 0.
func (j *Grader) cases(records []seal.Record) (out []item) {
	for i, r := range records {
		input, answer := seal.Text(r), seal.Condition(r)
		if j.Task.Kind == prompt.Generate {
			input, answer = answer, input
		}
		c := item{record: i, input: input, answer: answer}
		if reply.Listed(j.Task) {
			c.answer, _ = j.Task.ResolveLabel(c.answer)
			c.label = slices.Index(j.Task.Labels, c.answer)
		}
		if c.label >= 0 {
			out = append(out, c)
		}
	}
	return out
}

// lay lays records out for stems. Those that a model could not answer are left out.
func (j *Grader) lay(ctx context.Context, cases []item, stems []stem, turns bool) (out []item, err error) {
	wanted := make([]bool, 1+prompt.Hints())
	for _, s := range stems {
		wanted[s.hint] = true
	}
	for _, c := range cases {
		if c.asked, err = j.layouts(ctx, c, wanted, turns); err != nil {
			return nil, fmt.Errorf("lay out a record: %w", err)
		}
		if !reply.Listed(j.Task) {
			if c.output, err = reply.Output(ctx, j.Model.Tokenizer(), j.Task, c.answer); err != nil {
				return nil, fmt.Errorf("lay out a record: %w", err)
			}
			if len(c.output) == 0 {
				continue
			}
		}
		for i := range c.asked {
			c.asked[i].length = len(c.asked[i].tokens) + j.after(c, turns)
		}
		out = append(out, c)
	}
	return out, nil
}

// layouts are the question of a record with the hints that are wanted.
func (j *Grader) layouts(ctx context.Context, c item, wanted []bool, turns bool) (out []layout, err error) {
	out = make([]layout, len(wanted))
	for hint := range out {
		if !wanted[hint] {
			continue
		}
		out[hint].text = c.input
		if hint > 0 {
			if out[hint].text, err = reply.Hinted(ctx, j.Model.Tokenizer(), j.Task, hint-1, c.input, j.reader.Said(c.evidence)); err != nil {
				return nil, err
			}
		}
		if turns {
			continue
		}
		if out[hint].tokens, err = reply.Item(ctx, j.Model.Tokenizer(), j.Task, out[hint].text); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// after is how many tokens come after a question at most.
func (j *Grader) after(c item, turns bool) int {
	switch {
	case j.writes(turns):
		return j.limit
	case j.labels != nil:
		return j.labels.Depth()
	}
	return len(c.output)
}
