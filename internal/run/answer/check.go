package answer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/private/ensemble"
	"github.com/sotto-dp/sotto/internal/run/account"
	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// check finds what is wrong with the options.
func (s *Session) check(ctx context.Context) (err error) {
	if s.options.Plan, err = plan.Checked(s.options.Plan); err != nil {
		return err
	}
	if !s.options.Env.Model.Valid() {
		return errors.New("answering needs a trusted model")
	}
	if err := s.options.Env.Model.NeedScores(); err != nil {
		return err
	}
	if m := s.options.Plan.Ensemble.Method; m != nil {
		if err := m.Serves(s.options.Plan.Task); err != nil {
			return &plan.InputError{Reason: err.Error()}
		}
		if _, compares := m.(*ensemble.Embedding); compares && !s.options.Encoder.Valid() {
			return fmt.Errorf("the method %s compares sentences, which needs a sentence encoder", m.Name())
		}
	}
	s.event = privacy.Canonical(s.options.Plan.Event())
	terms, err := privacy.Terms(s.event)
	s.charged = s.options.Plan.Private() && s.options.Env.Seed == nil && (err != nil || len(terms) > 0)
	if s.charged && s.options.Env.Ledger == nil {
		return errors.New("answers with a guarantee need a ledger that pays for them")
	}
	if err := s.checkData(); err != nil {
		return err
	}
	if err := s.isolate(ctx); err != nil {
		return err
	}
	if s.charged {
		sum := s.options.Data.Fingerprint()
		dataset, err := ledger.NewFingerprint(sum[:])
		if err != nil {
			return err
		}
		known, err := s.options.Data.Sketch()
		if err != nil {
			return err
		}
		s.account = account.Account{
			Ledger: s.options.Env.Ledger, Dataset: dataset, Name: s.options.Env.Dataset, Known: s.options.Env.Known,
			Sketch: known, KeyID: s.options.Data.KeyID(), KeyPath: s.options.Data.KeyPath(), Database: s.options.Data.Placed(),
			Adjacency: s.options.Plan.Adjacency, Unit: s.options.Plan.Unit, Labels: s.options.Env.Labels,
			// It has numbers of records: answers, which are kept, do not.
			Report: func(message string) { s.report(env.Progress{Kind: env.Recognised, Message: message}) },
		}
		// Data that is not known gets a budget with the first question.
		if err := s.account.Settle(ctx, ""); err != nil && !errors.As(err, new(*ledger.UnknownDatasetError)) {
			return err
		}
	}
	if err := s.checkRoom(ctx, "a"); err != nil {
		return err
	}
	return s.checkMemory(ctx)
}

// checkMemory refuses questions whose sequences would not fit this machine's memory.
func (s *Session) checkMemory(ctx context.Context) error {
	shape, err := plan.AnswerShapeOf(ctx, s.options.Env.Model.Tokenizer(), s.options.Plan.Task)
	if err != nil {
		return err
	}
	sampling, prompts := s.options.Plan.Scheme(), 0.
	tokens := shape.Head + float64(s.options.Plan.Tokens)
	if sampling.Kind != "" {
		if prompts = float64(sampling.Prompts); prompts == 0 {
			prompts = sampling.Expected(s.options.Plan.Size)
		}
		tokens += float64(max(1, sampling.PerPrompt)) * shape.Record
	}
	return s.options.Env.Model.CheckMemory(s.free(), "an answer", "nothing was charged; end other programs, write fewer answers at once, ask for fewer prompts or shorter records, or use a model with fewer layers",
		lm.Load{Shared: shape.Instruction, Sequences: max(1, s.options.Parallel) * (1 + plan.AtMost(prompts)), Tokens: int(math.Ceil(tokens))})
}

// isolate makes sure that a record's scores depend on that record alone before anything
// is charged as if they did. A session that claims nothing needs no such thing.
func (s *Session) isolate(ctx context.Context) error {
	if !s.charged {
		return nil
	}
	isolated, err := lm.Isolate(ctx, s.options.Env.Model)
	if err != nil {
		return err
	}
	s.options.Env.Model, s.isolation = isolated.Model(), isolated.Isolation()
	return nil
}

// checkData holds the data against what the plan says of it.
func (s *Session) checkData() error {
	sampling := s.options.Plan.Scheme()
	if s.options.Data == nil {
		if sampling.Kind != "" {
			return errors.New("the plan reads records, and no data was opened")
		}
		return nil
	}
	if got := s.options.Data.Unit(); got != s.options.Plan.Unit {
		return fmt.Errorf("the plan protects the unit %s, and the data was opened with the unit %s: open it with that of the plan", s.options.Plan.Unit, got)
	}
	if n := s.options.Data.Parts(); n != 1 {
		return fmt.Errorf("answers draw from all records, and the data was opened in %d parts: open it as one", n)
	}
	if sampling.Kind == "" {
		return nil
	}
	if err := draw.CheckSize(s.options.Data, sampling, 0); err != nil {
		return &plan.InputError{Reason: err.Error()}
	}
	return nil
}

// checkRoom makes sure that a question can be answered: that it is one, that it is as long as
// the task allows, and that with the longest records that may be drawn it leaves room for
// the answer. What is found only while answers are written is charged, and depends on who
// was drawn.
func (s *Session) checkRoom(ctx context.Context, input string) error {
	sampling := s.options.Plan.Scheme()
	records := 0
	if sampling.Kind != "" {
		records = max(1, sampling.PerPrompt)
	}
	q := decode.Question{Model: s.options.Env.Model, Task: s.options.Plan.Task, Input: input, Records: records, Tokens: s.options.Plan.Tokens}
	err := q.Check(ctx)
	if wrong, ok := errors.AsType[*decode.QuestionError](err); ok {
		return &plan.InputError{Reason: wrong.Reason}
	}
	return err
}

// question is one on its way to an answer.
type question struct {
	at    int // among those of a call
	of    int
	input string
	// index names its randomness.
	index  uint64
	stream func(string)
	shown  string
	// show is called before anything shows that it is answered.
	show func()

	charge ledger.Charge
	// left is how many more answers its charge pays for, if that is a series.
	left int64
	// answer, once the question is answered.
	answer *Answer
}

// questions checks those of a call, all of them before anything is charged.
func (s *Session) questions(ctx context.Context, inputs []string) ([]*question, error) {
	s.mu.Lock()
	first := s.asked
	s.asked += uint64(len(inputs))
	s.mu.Unlock()
	items := make([]*question, len(inputs))
	for i, input := range inputs {
		err := s.again.fits(first+uint64(i), input)
		short := ""
		if err == nil {
			short, err = s.shorten(ctx, input)
		}
		if err == nil {
			err = s.checkRoom(ctx, short)
		}
		if wrong, ok := errors.AsType[*plan.InputError](err); ok && len(inputs) > 1 {
			err = &plan.InputError{Reason: fmt.Sprintf("input %d of %d: %s", i+1, len(inputs), wrong.Reason)}
		}
		if err != nil {
			return nil, err
		}
		items[i] = &question{at: i, of: len(inputs), input: short, index: first + uint64(i)}
	}
	return items, nil
}

// shorten cuts a question to the task's limit, if that is wanted. Letters that are cut in
// two may have more tokens than before, so that it is measured again.
func (s *Session) shorten(ctx context.Context, input string) (string, error) {
	if !utf8.ValidString(input) {
		return "", &plan.InputError{Reason: "the input is not valid UTF-8: convert it"}
	}
	if !s.options.Cut {
		return input, nil
	}
	limit := s.options.Plan.Task.WithDefaults().Limits.InputTokens
	for remaining := limit; remaining > 0; remaining-- {
		tokens, err := s.options.Env.Model.Tokenizer().Encode(ctx, input)
		if err != nil {
			return "", fmt.Errorf("measure the input: %w", err)
		}
		if len(tokens) <= limit {
			break
		}
		if input, err = s.options.Env.Model.Tokenizer().Decode(ctx, tokens[:remaining]); err != nil {
			return "", fmt.Errorf("cut the input: %w", err)
		}
		input = strings.ToValidUTF8(input, "")
	}
	return input, nil
}
