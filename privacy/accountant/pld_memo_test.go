package accountant

import (
	"sync"
	"testing"

	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/sys/expect"
)

// TestPLDConcurrentAnswers: what is remembered is what was computed, no matter who asks, and
// another event, δ, ε, tolerance or adjacency is another question.
func TestPLDConcurrentAnswers(t *testing.T) {
	type question struct {
		p   PLD
		e   string
		adj privacy.Adjacency
		q   query
	}
	questions := []question{
		{PLD{}, "repeat(3, poisson(0.1, laplace(1)))", privacy.AddRemove, query{delta: 1e-5, top: 1e-5}},
		{PLD{}, "repeat(3, poisson(0.1, laplace(1.0000000000000002)))", privacy.AddRemove, query{delta: 1e-5, top: 1e-5}},
		{PLD{}, "repeat(3, poisson(0.1, laplace(1)))", privacy.AddRemove, query{delta: 1e-6, top: 1e-6}},
		{PLD{}, "repeat(3, poisson(0.1, laplace(1)))", privacy.ReplaceOne, query{delta: 1e-5, top: 1e-5}},
		{PLD{}, "repeat(3, poisson(0.1, laplace(1)))", privacy.AddRemove, query{epsilon: 0.5, wantDelta: true}},
		{PLD{Tolerance: 0.1}, "repeat(3, poisson(0.1, laplace(1)))", privacy.AddRemove, query{delta: 1e-5, top: 1e-5}},
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
				want, err1 := a.p.evaluate(e, a.adj, a.q)
				first, err2 := a.p.answer(e, a.adj, a.q)
				second, err3 := a.p.answer(e, a.adj, a.q)
				at := expect.At(t, "question %d", i)
				expect.NoError(at, err1)
				expect.NoError(at, err2)
				expect.NoError(at, err3)
				expect.Equal(at, "first", first, want)
				expect.Equal(at, "second", second, want)
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
