package lmtest

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/sotto-dp/sotto/lm"
)

// Run checks a scorer against the contract. The model is shared by all tests and
// stays open.
func Run(t *testing.T, model lm.Scorer) {
	s := &suite{model: model, info: model.Info()}
	s.prepare(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"Info", s.testInfo},
		{"Tokenizer", s.testTokenizer},
		{"ScoresAreDistributions", s.testDistributions},
		{"CandidatesAreAllRestricted", s.testRestricted},
		{"CandidateOrderIsIrrelevant", s.testCandidateOrder},
		{"TopAgreesWithAll", s.testTop},
		{"GivenIsTokenByToken", s.testGiven},
		{"GivenInAnyBatch", s.testGivenBatch},
		{"ForkIsPrefill", s.testFork},
		{"ForksAreIndependent", s.testIndependent},
		{"TokenByTokenIsAtOnce", s.testTokenByToken},
		{"OrderOfSequencesIsIrrelevant", s.testOrder},
		{"AskingLaterIsAskingAtOnce", s.testLater},
		{"DroppedParentKeepsForks", s.testDrop},
		{"BadSteps", s.testBadSteps},
		{"ContextOverflow", s.testOverflow},
		{"CancelledStepChangesNothing", s.testCancel},
		{"ClosedSession", s.testClosed},
		{"Usage", s.testUsage},
		{"Generate", s.testGenerate},
		{"GenerateIsPerPrompt", s.testGenerateAlone},
		{"Chat", s.testChat},
		{"SessionsAtTheSameTime", s.testConcurrent},
		{"AnyHistory", s.testHistories},
	} {
		t.Run(test.name, test.run)
	}
}

// The texts are made up. They differ in length and share beginnings.
var texts = []string{
	"The committee met on Tuesday to discuss the new budget for the harbour, and",
	"The committee met on Tuesday to discuss the new budget for the harbour, but nobody could agree on what",
	"Label the news article.\n\nArticle: Shares of the shipping line rose after a strong quarter.\nLabel:",
	"def area(width, height):\n    return",
	"Ünïcødé, 数字 and emoji 🙂 are",
	"1, 2, 3, 4,",
}

type suite struct {
	model      lm.Scorer
	info       lm.Info
	tokens     [][]lm.Token // of the texts
	candidates []lm.Token
}

func (s *suite) prepare(t *testing.T) {
	t.Helper()
	for _, text := range texts {
		tokens, err := s.model.Tokenizer().Encode(t.Context(), text)
		if err != nil {
			t.Fatalf("encoding: %v", err)
		}
		s.tokens = append(s.tokens, tokens)
	}
	if !s.info.Can.Candidates {
		t.Fatal("a scorer has to give scores of candidates")
	}
	// A spread of the vocabulary, common and rare tokens alike.
	for i := range 40 {
		s.candidates = append(s.candidates, lm.Token((i*i*97+i*13)%s.info.Vocabulary))
	}
	slices.Sort(s.candidates)
	s.candidates = slices.Compact(s.candidates)
}

func (s *suite) open(t *testing.T) lm.Session {
	t.Helper()
	session, err := s.model.Open(t.Context())
	if err != nil {
		t.Fatalf("opening a session: %v", err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Errorf("closing a session: %v", err)
		}
	})
	return session
}

// must returns a helper for calls that return a sequence.
func must(t *testing.T) func(lm.Sequence, error) lm.Sequence {
	return func(q lm.Sequence, err error) lm.Sequence {
		t.Helper()
		if err != nil {
			t.Fatalf("making a sequence: %v", err)
		}
		return q
	}
}

func step(t *testing.T, session lm.Session, steps ...lm.Step) []lm.Scores {
	t.Helper()
	scores, err := session.Step(context.Background(), steps)
	if err != nil {
		t.Fatalf("step: %v", err)
	}
	if len(scores) != len(steps) {
		t.Fatalf("%d answers to %d steps", len(scores), len(steps))
	}
	return scores
}

// ask is for the scores that most tests compare.
func (s *suite) ask() lm.Ask { return lm.Ask{Candidates: s.candidates} }

// fresh computes the scores after tokens with nothing shared.
func (s *suite) fresh(t failer, tokens []lm.Token, ask lm.Ask) lm.Scores {
	t.Helper()
	session, err := s.model.Open(context.Background())
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	defer session.Close()
	q, err := session.New()
	if err != nil {
		t.Fatalf("new: %v", err)
	}
	scores, err := session.Step(context.Background(), []lm.Step{{Sequence: q, Tokens: tokens, Ask: ask}})
	if err != nil {
		t.Fatalf("step: %v", err)
	}
	return scores[0]
}

// freshAll computes the scores after each text.
func (s *suite) freshAll(t failer) []lm.Scores {
	t.Helper()
	scores := make([]lm.Scores, len(s.tokens))
	for i, tokens := range s.tokens {
		scores[i] = s.fresh(t, tokens, s.ask())
	}
	return scores
}

// same compares scores: bits where the back-end promises them.
func (s *suite) same(t failer, what string, got, want lm.Scores) {
	t.Helper()
	if !slices.Equal(got.Tokens, want.Tokens) {
		t.Fatalf("%s: the scores are of other tokens", what)
	}
	if len(got.LogProbs) != len(want.LogProbs) {
		t.Fatalf("%s: %d scores, not %d", what, len(got.LogProbs), len(want.LogProbs))
	}
	for i, g := range got.LogProbs {
		if w := want.LogProbs[i]; !s.close(g, w) {
			t.Fatalf("%s: score %d is %v, not %v (off by %.3g)", what, i, g, w, math.Abs(g-w))
		}
	}
}

func (s *suite) close(a, b float64) bool {
	if s.info.BatchInvariant {
		return math.Float64bits(a) == math.Float64bits(b)
	}
	// Scores of hopeless tokens are far from zero; what counts is their size.
	return math.Abs(a-b) <= s.info.Tolerance*(1+math.Abs(a)/20)
}

// failer is what testing.T and rapid.T share.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}
