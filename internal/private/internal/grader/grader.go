package grader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/evidence/nearest"
	"github.com/sotto-dp/sotto/internal/labels"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/internal/private/internal/vectors"
	"github.com/sotto-dp/sotto/internal/reply"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// Utility is what a record's grade on a prompt is.
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

// Fine is the number of binary places of grades, and One the largest of them.
const (
	Fine = 20
	One  = 1 << Fine
)

// Options of a [Grader].
type Options struct {
	// Model and Task are required; the model is not where all prompts are evidence alone, see Forms.
	Model   lm.TrustedScorer
	Task    prompt.Task
	Utility Utility
	// Forms of the prompts that the model is asked with, a text if nil. A list that is empty says that it is asked
	// with none: all are evidence alone.
	Forms []prompt.Form
	// Isolation is how the model keeps records apart, if it does not by construction. Where it is
	// by record, one record is asked about at a time, with all prompts at once.
	Isolation lm.Isolation
	// PassTokens is about how many tokens of questions go through the model at once, and
	// bounds memory. Default 2048, which suits a processor; a GPU wants more.
	PassTokens int
	// Prompts is how many prompts are held at once, 8 by default.
	Prompts int
	// Evidence, if there is any, is what prompts may use, and Encoder turns records into vectors, for it and for
	// prompts whose questions get the nearest examples: the one that they name.
	Evidence *evidence.Evidence
	Encoder  lm.TrustedEmbedder
	// Usage, if set, receives what the model has done so far in this call. It depends on the
	// records that were drawn: it is not to be published.
	Usage func(lm.Usage)
}

// Grader judges prompts. It is for one goroutine at a time.
type Grader struct {
	Options
	info   lm.Info
	labels *labels.List // of a closed list
	limit  int          // of tokens that are written
	// free are the questions without content, in tokens.
	free [][]lm.Token
	// reader reads evidence, nil if there is none; said is what it says of public examples.
	reader *evidence.Reader
	said   map[string]string
	kept   vectors.Keeper // of records, nil if there is none
	// encoder finds the examples nearest to a question, nil until a prompt wants them.
	encoder *nearest.Encoder
}

// New checks the options.
func New(ctx context.Context, o Options) (*Grader, error) {
	if alone := o.Forms != nil && len(o.Forms) == 0 && o.Evidence != nil; !o.Model.Valid() && !alone {
		return nil, errNoModel
	}
	o.Task = o.Task.WithDefaults()
	if err := Suits(o.Utility, o.Task); err != nil {
		return nil, err
	}
	o.PassTokens, o.Prompts = atOnce(o.PassTokens, o.Prompts)
	j := &Grader{Options: o}
	if err := j.openEvidence(); err != nil {
		return nil, err
	}
	if o.Model.Valid() {
		j.info = o.Model.Info()
		if err := j.prepare(ctx); err != nil {
			return nil, err
		}
	}
	forms := o.Forms
	if forms == nil {
		forms = []prompt.Form{prompt.TextForm}
	}
	for _, f := range forms {
		if err := j.can(f); err != nil {
			return nil, err
		}
	}
	return j, nil
}

// errNoModel says that nobody may be shown records.
var errNoModel = errors.New("records may only be shown to a trusted model, and there is none")

// prepare lays out what all prompts have in common.
func (j *Grader) prepare(ctx context.Context) (err error) {
	if j.limit, err = reply.Limit(ctx, j.Model.Tokenizer(), j.Task); err != nil || !reply.Listed(j.Task) {
		return err
	}
	if j.labels, err = labels.New(ctx, j.Model.Tokenizer(), j.Task.Labels); err != nil {
		return err
	}
	for _, input := range prompt.ContentFree() {
		tokens, err := reply.Item(ctx, j.Model.Tokenizer(), j.Task, input)
		if err != nil {
			return err
		}
		j.free = append(j.free, tokens)
	}
	return nil
}

func atOnce(passTokens, prompts int) (int, int) {
	return cmp.Or(max(0, passTokens), 2048), cmp.Or(max(0, prompts), 8)
}

// Loads bounds what a grader with these options holds at once, with prompts and questions of
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

// Reads checks that a utility is one for prompts of a form.
func Reads(u Utility, f prompt.Form) error {
	if f.Turns() && (u == Soft || u == Written) {
		return fmt.Errorf("prompts of the form %s are judged by what the model writes, and the utility %s is of probabilities: use %s, %s, or the form %s", f, u, Hard, Rouge, prompt.TextForm)
	}
	return nil
}

// Suits checks that a utility is one for a task.
func Suits(u Utility, t prompt.Task) error {
	switch u {
	case Hard, Soft:
		if t.Kind == prompt.Generate {
			return fmt.Errorf("the outputs of task %q are texts, of which few come out word for word: use the utility %s or %s", t.Name, Rouge, Written)
		}
	case Written, Rouge:
		if reply.Listed(t) {
			return fmt.Errorf("the answers of task %q are labels of a list: use the utility %s or %s", t.Name, Hard, Soft)
		}
	default:
		return fmt.Errorf("unknown utility %q: one of %s, %s, %s, %s", u, Hard, Soft, Written, Rouge)
	}
	return nil
}

// writes reports whether grades on prompts, in turns or not, are about what the model writes.
func (j *Grader) writes(turns bool) bool {
	return turns || !reply.Listed(j.Task) && (j.Utility == Hard || j.Utility == Rouge)
}

// generates reports whether the model writes answers by itself, as it will where it answers: a server
// that is asked token by token reads each prompt as often.
func (j *Grader) generates() bool {
	return j.Isolation != "" && j.Isolation != lm.ByConstruction || !j.info.Can.Candidates
}

// Judge gives the grade of each record on each prompt, in steps of 2^-[Fine]:
// grades[p][r], from 0 to [One].
func (j *Grader) Judge(ctx context.Context, prompts []prompt.Prompt, records []seal.Record) (grades [][]int64, err error) {
	if err := j.check(prompts); err != nil {
		return nil, err
	}
	cases := j.cases(records)
	if err := j.weigh(ctx, prompts, cases); err != nil {
		return nil, err
	}
	if err := j.place(ctx, prompts, cases); err != nil {
		return nil, err
	}
	grades = make([][]int64, len(prompts))
	var ways [2]group
	for i, p := range prompts {
		switch {
		case p.Evidence.How == prompt.Alone:
			grades[i] = j.byEvidence(cases, len(records))
		case p.Form.Turns():
			ways[1].add(p, i)
		default:
			ways[0].add(p, i)
		}
	}
	for at, some := range ways {
		if len(some.prompts) == 0 {
			continue
		}
		list, err := j.judge(ctx, some.prompts, at == 1, cases, len(records))
		if err != nil {
			return nil, err
		}
		for i, at := range some.of {
			grades[at] = list[i]
		}
	}
	return grades, nil
}

// group are prompts that are judged together, with their places among all.
type group struct {
	prompts []prompt.Prompt
	of      []int
}

func (g *group) add(p prompt.Prompt, at int) {
	g.prompts, g.of = append(g.prompts, p), append(g.of, at)
}

// judge does that for prompts that all are turns, or none.
func (j *Grader) judge(ctx context.Context, prompts []prompt.Prompt, turns bool, cases []item, records int) (grades [][]int64, err error) {
	stems, of, err := j.stems(ctx, prompts)
	if err != nil {
		return nil, err
	}
	if cases, err = j.lay(ctx, cases, stems, turns); err != nil {
		return nil, err
	}
	h := &batch{Grader: j, before: j.Model.Usage(), turns: turns, cases: cases, records: records}
	if !h.alone() {
		if h.session, err = j.Model.Open(ctx); err != nil {
			return nil, err
		}
		defer func() {
			if closing := h.session.Close(); err == nil && closing != nil {
				grades, err = nil, closing
			}
		}()
	}
	held := j.Prompts
	if j.Isolation.ByRecord() {
		held = max(1, len(stems)) // all at once; a server holds none of them
	}
	grades = make([][]int64, len(prompts))
	for from := 0; from < len(stems); from += held {
		some := stems[from:min(from+held, len(stems))]
		graded, err := h.run(ctx, some)
		if err != nil {
			return nil, err
		}
		for i, p := range prompts {
			if at := of[i] - from; at >= 0 && at < len(some) {
				grades[i] = graded[at][readingOf(p)]
			}
		}
	}
	return grades, nil
}

func (j *Grader) check(prompts []prompt.Prompt) error {
	for i, p := range prompts {
		if err := p.Check(j.Task); err != nil {
			return fmt.Errorf("prompt %d: %w", i+1, err)
		}
		if p.Evidence.Used() && j.reader == nil {
			return fmt.Errorf("prompt %d uses evidence, and there is none: give that of the release", i+1)
		}
		if p.Evidence.How == prompt.Alone {
			continue // no model is asked
		}
		if p.Nearest.Used() && !j.Encoder.Valid() {
			return fmt.Errorf("prompt %d: records may only be shown to a trusted encoder, and there is none to find the nearest examples by", i+1)
		}
		if err := j.can(p.Form); err != nil {
			return fmt.Errorf("prompt %d: %w", i+1, err)
		}
	}
	return nil
}

// can checks that prompts of a form can be judged.
func (j *Grader) can(f prompt.Form) error {
	if err := Reads(j.Utility, f); err != nil {
		return err
	}
	switch {
	case !j.Model.Valid():
		return errNoModel
	case !f.Turns() && j.Model.NeedScores() != nil:
		return j.Model.NeedScores()
	case f.Turns() && !j.info.Can.Chat:
		return &lm.UnsupportedError{Backend: j.info.Backend, What: "answer turns of a chat", Missing: "the model has no chat template; use the form text"}
	case j.writes(f.Turns()) && !j.info.Can.Top && !j.generates():
		return &lm.UnsupportedError{Backend: j.info.Backend, What: "write answers to records", Missing: "it does not report its best token; use another model, or the utility written"}
	case !f.Turns() && j.labels != nil:
		return j.labels.Check(j.info, false)
	}
	return nil
}

// fixed puts a grade on the grid.
func fixed(g float64) int64 {
	switch {
	case !(g > 0): // also what is no number
		return 0
	case g >= 1:
		return One
	}
	return int64(math.Floor(math.Ldexp(g, Fine)))
}
