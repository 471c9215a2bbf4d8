package llama

import (
	"context"
	"testing"

	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/models"
)

// defaultModel finds the default model in the user's cache. `make test` puts it
// there.
func defaultModel(t testing.TB) string {
	t.Helper()
	path, _, err := models.Find(models.Default)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func openDefault(t testing.TB, o Options) *Model {
	t.Helper()
	m, err := Open(defaultModel(t), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// some returns n tokens that repeat themselves late.
func some(n, seed int) []lm.Token {
	tokens := make([]lm.Token, n)
	for i := range tokens {
		tokens[i] = lm.Token(20 + (i*i*31+i*7+seed*1009)%40000)
	}
	return tokens
}

func benchSession(b *testing.B, m *Model) lm.Session {
	b.Helper()
	s, err := m.Open(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

func benchStep(b *testing.B, s lm.Session, steps ...lm.Step) []lm.Scores {
	scores, err := s.Step(context.Background(), steps)
	if err != nil {
		b.Fatal(err)
	}
	return scores
}

func BenchmarkPrefill512(b *testing.B) {
	m := openDefault(b, Options{})
	s := benchSession(b, m)
	tokens := some(512, 0)
	for b.Loop() {
		q, _ := s.New()
		benchStep(b, s, lm.Step{Sequence: q, Tokens: tokens, Ask: lm.Ask{Top: 1}})
		s.Drop(q)
	}
	b.ReportMetric(float64(b.N)*512/b.Elapsed().Seconds(), "tokens/s")
}

func BenchmarkDecode1(b *testing.B) {
	m := openDefault(b, Options{})
	s := benchSession(b, m)
	root, _ := s.New()
	benchStep(b, s, lm.Step{Sequence: root, Tokens: some(64, 0)})
	n := 0
	var q lm.Sequence
	for b.Loop() {
		if n%64 == 0 {
			q, _ = s.Fork(root)
		}
		n++
		benchStep(b, s, lm.Step{Sequence: q, Tokens: some(1, n), Ask: lm.Ask{Top: 1}})
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
}

// BenchmarkEnsembleStep is a step of the private methods: 17 sequences of 200
// tokens that share 100, the whole distribution of one, 100 candidates of the rest.
func BenchmarkEnsembleStep(b *testing.B) {
	m := openDefault(b, Options{})
	s := benchSession(b, m)
	trunk, _ := s.New()
	benchStep(b, s, lm.Step{Sequence: trunk, Tokens: some(100, 0)})
	candidates := make([]lm.Token, 100)
	for i := range candidates {
		candidates[i] = lm.Token(30 + 401*i)
	}
	parents := make([]lm.Sequence, 17)
	for i := range parents {
		parents[i], _ = s.Fork(trunk)
		benchStep(b, s, lm.Step{Sequence: parents[i], Tokens: some(91, i+1)})
	}
	steps := make([]lm.Step, len(parents))
	n := 0
	for b.Loop() {
		if n%16 == 0 { // from 192 to 207 tokens, then again
			b.StopTimer()
			for i, parent := range parents {
				if n > 0 {
					s.Drop(steps[i].Sequence)
				}
				q, _ := s.Fork(parent)
				steps[i] = lm.Step{Sequence: q, Tokens: some(1, i), Ask: lm.Ask{Candidates: candidates}}
			}
			steps[0].Ask = lm.Ask{All: true}
			benchStep(b, s, steps...) // takes its own copy of the last page
			b.StartTimer()
		}
		n++
		benchStep(b, s, steps...)
	}
	b.ReportMetric(1e3*b.Elapsed().Seconds()/float64(b.N), "ms/step")
}
