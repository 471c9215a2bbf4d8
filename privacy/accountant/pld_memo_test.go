package accountant

import (
	"sync"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
)

// TestPLDConcurrentAnswers: what is remembered is what was computed, no matter who asks, and
// another event, δ, ε, tolerance or adjacency is another question.
func TestPLDConcurrentAnswers(t *testing.T) {
	type question struct {
		p   PLD
		e   string
		adj privacy.Adjacency
		a   ask
	}
	questions := []question{
		{PLD{}, "repeat(3, poisson(0.1, laplace(1)))", privacy.AddRemove, ask{1e-5, 1e-5, false}},
		{PLD{}, "repeat(3, poisson(0.1, laplace(1.0000000000000002)))", privacy.AddRemove, ask{1e-5, 1e-5, false}},
		{PLD{}, "repeat(3, poisson(0.1, laplace(1)))", privacy.AddRemove, ask{1e-6, 1e-6, false}},
		{PLD{}, "repeat(3, poisson(0.1, laplace(1)))", privacy.ReplaceOne, ask{1e-5, 1e-5, false}},
		{PLD{}, "repeat(3, poisson(0.1, laplace(1)))", privacy.AddRemove, ask{0.5, 0.5, true}},
		{PLD{Tolerance: 0.1}, "repeat(3, poisson(0.1, laplace(1)))", privacy.AddRemove, ask{1e-5, 1e-5, false}},
	}
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for i, a := range questions {
				e, err := privacy.Parse(a.e)
				if err != nil {
					t.Error(err)
					return
				}
				terms, err := privacy.Terms(e)
				at := expect.At(t, "question %d", i)
				expect.NoError(at, err)
				s := a.p.solver(a.adj)
				want, err := s.numeric(e, terms, a.a)
				expect.NoError(at, err)
				for range 2 {
					got, err := s.composed(e, terms, a.a)
					expect.NoError(at, err)
					expect.Equal(at, "got", got, want)
				}
			}
		})
	}
	wait.Wait()
	pldAnswers.mu.Lock()
	defer pldAnswers.mu.Unlock()
	keys := map[string]bool{}
	for k := range pldAnswers.known {
		keys[k.event] = true
	}
	if !keys["repeat(3, poisson(0.1, laplace(1)))"] || !keys["repeat(3, poisson(0.1, laplace(1.0000000000000002)))"] {
		t.Error("an answer is not remembered, or by another event")
	}
}
