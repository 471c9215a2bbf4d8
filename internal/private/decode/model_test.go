package decode_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// TestLongOnTheDefaultModel writes two short texts with the embedded engine: the key decides
// them, not how many are written at once nor on how many processors.
func TestLongOnTheDefaultModel(t *testing.T) {
	if testing.Short() {
		t.Skip("the model writes texts")
	}
	task, err := prompt.Builtin("agnews")
	if err != nil {
		t.Fatal(err)
	}
	task.Generate.Instruction = "Write news."
	task.Limits.RecordTokens = 8
	p := make(pool, 2)
	for i := range 20 {
		for part, text := range []string{"Talks about a border at river %d ended", "The team of town %d won again"} {
			p[part] = append(p[part], seal.NewRecord(int64(2*i+part+1), task.Labels[part], fmt.Sprintf(text, i)))
		}
	}
	clipped := &decode.Clipped{
		Draw:     scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerText, Rate: 4. / 20},
		Expected: 4, Range: 2, Temperature: 1, Candidates: 50,
	}
	gaussian := &decode.Gaussian{
		Draw:       scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerToken, Rate: 4. / 20, Prompts: 2, PerPrompt: 2},
		Candidates: 50, Sigma: 0.3,
	}
	// Engines by the number of their threads.
	engines := map[int]lm.TrustedScorer{}
	for _, threads := range []int{1, 3} {
		model, err := backend.Trusted(t.Context(), backend.Spec{Threads: threads})
		if err != nil {
			t.Fatalf("the default model: %v; run: go run ./cmd/sotto model pull", err)
		}
		defer model.Close()
		engines[threads] = model
	}
	texts := func(m decode.Method, tokens, threads, parallel int, seed uint64) map[uint64]string {
		t.Helper()
		o := decode.Options{Model: engines[threads], Task: task, Pool: p, Key: noise.KeyFromSeed(seed), Tokens: tokens, Rules: decode.Rules{MinTokens: tokens}, Parallel: parallel}
		var jobs []decode.Job
		for i := range 2 {
			jobs = append(jobs, decode.Job{Text: draw.Text{Index: uint64(i), Part: i}, Condition: task.Labels[i], Method: m})
		}
		return write(t, o, jobs)
	}
	for _, c := range []struct {
		method   decode.Method
		tokens   int
		parallel []int
	}{{clipped, 8, []int{2, 3}}, {gaussian, 2, []int{2}}} {
		want := texts(c.method, c.tokens, 1, 1, 1)
		t.Logf("%s: %q, %q", c.method.Name(), want[0], want[1])
		for _, parallel := range c.parallel {
			if got := texts(c.method, c.tokens, 3, parallel, 1); !maps.Equal(got, want) {
				t.Errorf("%s, %d at once on three threads: %v, not %v", c.method.Name(), parallel, got, want)
			}
		}
	}
	if one, other := texts(clipped, 3, 3, 2, 1), texts(clipped, 3, 3, 2, 2); maps.Equal(one, other) {
		t.Errorf("another key gives the same texts: %v", other)
	}
}
