package lmtest

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
)

func (s *suite) testBadSteps(t *testing.T) {
	session := s.open(t)
	q := must(t)(session.New())
	step(t, session, lm.Step{Sequence: q, Tokens: s.tokens[0][:3]})
	empty := must(t)(session.New())
	ok := s.tokens[0][:2]
	outside := lm.Token(s.info.Vocabulary)
	before := session.Usage()
	for _, bad := range []struct {
		name  string
		steps []lm.Step
		is    error
	}{
		{"unknown sequence", []lm.Step{{Sequence: q, Tokens: ok}, {Sequence: 1 << 30, Tokens: ok}}, lm.ErrUnknownSequence},
		{"zero sequence", []lm.Step{{Tokens: ok}}, lm.ErrUnknownSequence},
		{"sequence named twice", []lm.Step{{Sequence: q, Tokens: ok}, {Sequence: q, Tokens: ok}}, nil},
		{"token outside", []lm.Step{{Sequence: q, Tokens: []lm.Token{1, outside}}}, nil},
		{"negative token", []lm.Step{{Sequence: q, Tokens: []lm.Token{-1}}}, nil},
		{"nothing to ask about", []lm.Step{{Sequence: empty, Ask: s.ask()}}, nil},
		{"no candidates", []lm.Step{{Sequence: q, Ask: lm.Ask{Candidates: []lm.Token{}}}}, nil},
		{"candidate outside", []lm.Step{{Sequence: q, Ask: lm.Ask{Candidates: []lm.Token{outside}}}}, nil},
		{"candidate twice", []lm.Step{{Sequence: q, Ask: lm.Ask{Candidates: []lm.Token{5, 6, 5}}}}, nil},
		{"two asks", []lm.Step{{Sequence: q, Ask: lm.Ask{Candidates: []lm.Token{5}, Top: 2}}}, nil},
		{"negative top", []lm.Step{{Sequence: q, Ask: lm.Ask{Top: -1}}}, nil},
		{"given beside another ask", []lm.Step{{Sequence: q, Tokens: ok, Ask: lm.Ask{Given: 1, Candidates: []lm.Token{5}}}}, nil},
		{"negative given", []lm.Step{{Sequence: q, Tokens: ok, Ask: lm.Ask{Given: -1}}}, nil},
		{"as many given as tokens", []lm.Step{{Sequence: q, Tokens: ok, Ask: lm.Ask{Given: len(ok)}}}, nil},
		{"given without tokens", []lm.Step{{Sequence: q, Ask: lm.Ask{Given: 1}}}, nil},
	} {
		_, err := session.Step(context.Background(), bad.steps)
		var stepError *lm.StepError
		var unsupported *lm.UnsupportedError
		if !s.info.Can.Given && bad.steps[0].Ask.Given != 0 && errors.As(err, &unsupported) {
			continue
		}
		if !errors.As(err, &stepError) {
			t.Errorf("%s: error %v is not a *StepError", bad.name, err)
			continue
		}
		if bad.is != nil && !errors.Is(err, bad.is) {
			t.Errorf("%s: error %v does not wrap %v", bad.name, err, bad.is)
		}
	}
	if after := session.Usage(); after != before {
		t.Errorf("refused steps cost %+v", after)
	}
	got := step(t, session, lm.Step{Sequence: q, Ask: s.ask()})[0]
	s.same(t, "after refusals", got, s.fresh(t, s.tokens[0][:3], s.ask()))
}

func (s *suite) testOverflow(t *testing.T) {
	session := s.open(t)
	q, short := must(t)(session.New()), must(t)(session.New())
	step(t, session, lm.Step{Sequence: q, Tokens: s.tokens[0]})
	before := session.Usage()
	long := slices.Repeat(s.tokens[0][:1], s.info.Context-len(s.tokens[0])+1)
	_, err := session.Step(context.Background(), []lm.Step{{Sequence: short, Tokens: s.tokens[1]}, {Sequence: q, Tokens: long, Ask: s.ask()}})
	var overflow *lm.ContextError
	if !errors.As(err, &overflow) {
		t.Fatalf("one token too many: error %v", err)
	}
	expect.Equal(t, "step that does not fit", overflow.Step, 1)
	expect.Equal(t, "limit", overflow.Limit, s.info.Context)
	expect.Equal(t, "length", overflow.Have+overflow.Adding, s.info.Context+1)
	if after := session.Usage(); after != before {
		t.Errorf("the refused step cost %+v", after)
	}
	if n, _ := session.Len(short); n != 0 {
		t.Error("another sequence of the refused step was extended")
	}
	got := step(t, session, lm.Step{Sequence: q, Ask: s.ask()})[0]
	s.same(t, "after the overflow", got, s.fresh(t, s.tokens[0], s.ask()))
	_, err = s.model.Generate(context.Background(), []lm.Prompt{{Tokens: s.tokens[0]}}, lm.GenerateOptions{MaxTokens: s.info.Context})
	if !errors.As(err, &overflow) {
		t.Errorf("generating beyond the context: %v", err)
	}
}

func (s *suite) testCancel(t *testing.T) {
	session := s.open(t)
	q := must(t)(session.New())
	step(t, session, lm.Step{Sequence: q, Tokens: s.tokens[1][:5]})
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := session.Step(ended, []lm.Step{{Sequence: q, Tokens: s.tokens[2], Ask: s.ask()}}); !errors.Is(err, context.Canceled) {
		t.Errorf("a step in an ended context: %v", err)
	}
	if n, err := session.Len(q); err != nil || n != 5 {
		t.Errorf("a cancelled step left %d tokens, error %v", n, err)
	}
	got := step(t, session, lm.Step{Sequence: q, Tokens: s.tokens[1][5:], Ask: s.ask()})[0]
	s.same(t, "after the cancelled step", got, s.fresh(t, s.tokens[1], s.ask()))
}

func (s *suite) testClosed(t *testing.T) {
	session, err := s.model.Open(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	q := must(t)(session.New())
	for range 2 {
		if err := session.Close(); err != nil {
			t.Fatalf("close: %v", err)
		}
	}
	if _, err := session.New(); !errors.Is(err, lm.ErrClosed) {
		t.Errorf("new: %v", err)
	}
	if _, err := session.Fork(q); !errors.Is(err, lm.ErrClosed) {
		t.Errorf("fork: %v", err)
	}
	if _, err := session.Step(context.Background(), []lm.Step{{Sequence: q, Tokens: s.tokens[0]}}); !errors.Is(err, lm.ErrClosed) {
		t.Errorf("step: %v", err)
	}
}
