package jury

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/internal/reply"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/labels"
	"github.com/sotto-dp/sotto/prompt"
)

// Utility is what a record's verdict on a prompt is.
type Utility string

// The utilities there are.
const (
	// Hard: is the answer right?
	Hard Utility = "hard"
	// Soft: how probable is the right answer?
	Soft Utility = "soft"
	// Written: how probable are the tokens of the record's output, on average?
	Written Utility = "written"
	// Rouge: how much of the record's output is in what the model writes, by ROUGE-L?
	Rouge Utility = "rouge"
)

// Fine is the number of binary places of verdicts, and One the largest of them.
const (
	Fine = 20
	One  = 1 << Fine
)

// Options of a [Jury].
type Options struct {
	// Model and Task are required.
	Model   lm.Trusted
	Task    prompt.Task
	Utility Utility
	// PassTokens is about how many tokens of questions go through the model at once, and
	// bounds memory. Default 2048, which suits a processor; a GPU wants more.
	PassTokens int
	// Prompts is how many prompts are held at once, 8 by default.
	Prompts int
	// Usage, if set, receives what the model has done so far in this call. It depends on the
	// records that were drawn: it is not to be published.
	Usage func(lm.Usage)
}

// Jury judges prompts. It is for one goroutine at a time.
type Jury struct {
	Options
	layout decode.Layout
	info   lm.Info
	labels *labels.List // of a closed list
	// free are the questions without content, in tokens.
	free [][]lm.Token
}

// New checks the options.
func New(ctx context.Context, o Options) (*Jury, error) {
	if !o.Model.Valid() {
		return nil, errors.New("records may only be shown to a trusted model, and there is none")
	}
	o.Task = o.Task.WithDefaults()
	if err := Suits(o.Utility, o.Task); err != nil {
		return nil, err
	}
	o.PassTokens, o.Prompts = atOnce(o.PassTokens, o.Prompts)
	j := &Jury{Options: o, layout: decode.Layout{Task: o.Task, Tokenizer: o.Model.Tokenizer(), Answering: true}, info: o.Model.Info()}
	if !listed(o.Task) && j.writes() && !j.info.Can.Top {
		return nil, &lm.UnsupportedError{Backend: j.info.Backend, What: "write answers to records", Missing: "it does not report its best token; use another model, or the utility written"}
	}
	if !listed(o.Task) {
		return j, nil
	}
	var err error
	if j.labels, err = labels.New(ctx, o.Model.Tokenizer(), o.Task.Labels); err != nil {
		return nil, err
	}
	if err := j.labels.Check(j.info, false); err != nil {
		return nil, err
	}
	for _, input := range prompt.ContentFree() {
		tokens, err := reply.Item(ctx, o.Model.Tokenizer(), o.Task, input)
		if err != nil {
			return nil, err
		}
		j.free = append(j.free, tokens)
	}
	return j, nil
}

func atOnce(passTokens, prompts int) (int, int) {
	return cmp.Or(max(0, passTokens), 2048), cmp.Or(max(0, prompts), 8)
}

// Loads bounds what a jury with these options holds at once, with prompts and questions of
// at most so many tokens each.
func Loads(passTokens, prompts, stem, question int) []lm.Load {
	passTokens, prompts = atOnce(passTokens, prompts)
	sequences := sequencesOf(passTokens)
	// A question has the end of its prompt's last page to itself, and of one of its own.
	const page = 32
	return []lm.Load{
		{Sequences: prompts, Tokens: stem},
		{Sequences: sequences, Tokens: min(question, (max(question, passTokens)+sequences-1)/sequences) + 2*page},
	}
}

// Suits checks that a utility is one for a task.
func Suits(u Utility, t prompt.Task) error {
	switch u {
	case Hard, Soft:
		if t.Kind == prompt.Generate {
			return fmt.Errorf("the outputs of task %q are texts, of which few come out word for word: use the utility %s or %s", t.Name, Rouge, Written)
		}
	case Written, Rouge:
		if listed(t) {
			return fmt.Errorf("the answers of task %q are labels of a list: use the utility %s or %s", t.Name, Hard, Soft)
		}
	default:
		return fmt.Errorf("unknown utility %q: one of %s, %s, %s, %s", u, Hard, Soft, Written, Rouge)
	}
	return nil
}

// listed reports whether answers are of a closed list.
func listed(t prompt.Task) bool { return t.Kind != prompt.Generate && !t.Open() }

// Judge gives the verdict of each record on each prompt, in steps of 2^-[Fine]:
// verdicts[p][r], from 0 to [One].
func (j *Jury) Judge(ctx context.Context, prompts []prompt.Prompt, records []seal.Record) (verdicts [][]int64, err error) {
	if err := j.check(prompts); err != nil {
		return nil, err
	}
	cases, err := j.cases(ctx, records)
	if err != nil {
		return nil, err
	}
	stems, of, err := j.stems(ctx, prompts)
	if err != nil {
		return nil, err
	}
	session, err := j.Model.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closing := session.Close(); err == nil && closing != nil {
			verdicts, err = nil, closing
		}
	}()
	h := &hearing{Jury: j, session: session, cases: cases, records: len(records)}
	verdicts = make([][]int64, len(prompts))
	for from := 0; from < len(stems); from += j.Prompts {
		some := stems[from:min(from+j.Prompts, len(stems))]
		heard, err := h.hear(ctx, some)
		if err != nil {
			return nil, err
		}
		for i, p := range prompts {
			if at := of[i] - from; at >= 0 && at < len(some) {
				verdicts[i] = heard[at].verdicts(p.Calibrated)
			}
		}
	}
	return verdicts, nil
}

func (j *Jury) check(prompts []prompt.Prompt) error {
	for i, p := range prompts {
		if err := p.Check(j.Task); err != nil {
			return fmt.Errorf("prompt %d: %w", i+1, err)
		}
	}
	return nil
}

// stems are the tokens that questions come after, each once, and which of them a prompt
// has: raw and calibrated answers are read off the same scores.
func (j *Jury) stems(ctx context.Context, prompts []prompt.Prompt) (stems []stem, of []int, err error) {
	known := map[string]int{}
	for _, p := range prompts {
		alike := p
		alike.Calibrated = false
		key, err := json.Marshal(alike)
		if err != nil {
			return nil, nil, err
		}
		at, ok := known[string(key)]
		if !ok {
			tokens, err := reply.Prefix(ctx, j.Model.Tokenizer(), j.Task, p)
			if err != nil {
				return nil, nil, err
			}
			at = len(stems)
			known[string(key)] = at
			stems = append(stems, stem{tokens: tokens})
		}
		stems[at].calibrate = stems[at].calibrate || p.Calibrated
		of = append(of, at)
	}
	return stems, of, nil
}

// stem is what questions come after.
type stem struct {
	tokens    []lm.Token
	calibrate bool
}

// situation is a record as a question with its answer.
type situation struct {
	record int
	tokens []lm.Token
	label  int        // of a closed list
	output []lm.Token // else: the answer, and what ends it
	answer string     // as a text
	length int        // tokens that come after a stem, at most
}

// cases lays out records. Those that cannot be asked are left out: their verdicts are 0.
func (j *Jury) cases(ctx context.Context, records []seal.Record) ([]situation, error) {
	var out []situation
	for i, r := range records {
		input, answer := seal.Text(r), seal.Condition(r)
		if j.Task.Kind == prompt.Generate {
			input, answer = answer, input
		}
		c := situation{record: i}
		var err error
		if c.tokens, err = reply.Item(ctx, j.Model.Tokenizer(), j.Task, input); err != nil {
			return nil, fmt.Errorf("lay out a record: %w", err)
		}
		c.length = len(c.tokens)
		if j.labels != nil {
			label, _ := j.Task.ResolveLabel(answer)
			if c.label = slices.Index(j.Task.Labels, label); c.label < 0 {
				continue
			}
			c.length += j.labels.Depth()
		} else {
			if c.output, err = j.output(ctx, answer); err != nil {
				return nil, fmt.Errorf("lay out a record: %w", err)
			}
			if len(c.output) == 0 {
				continue
			}
			if c.answer = answer; j.writes() {
				c.length += j.Task.Limits.AnswerTokens
			} else {
				c.length += len(c.output)
			}
		}
		out = append(out, c)
	}
	return out, nil
}

// fixed puts a verdict on the grid.
func fixed(g float64) int64 {
	switch {
	case !(g > 0): // also what is no number
		return 0
	case g >= 1:
		return One
	}
	return int64(math.Floor(math.Ldexp(g, Fine)))
}
