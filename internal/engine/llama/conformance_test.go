package llama

import (
	"testing"

	"github.com/sotto-dp/sotto/lm/lmtest"
)

// TestLongConformance runs the suite on the default model.
func TestLongConformance(t *testing.T) {
	lmtest.Run(t, openDefault(t, Options{}))
}

// TestConcurrentConformance runs the suite where pages, passes and the context are small
// against the texts.
func TestConcurrentConformance(t *testing.T) {
	for _, name := range []string{"qwen2", "phi3", "gemma3 pattern"} {
		t.Run(name, func(t *testing.T) {
			c := tinies()[name]
			// Outputs of their own are small, so that many tokens are likely.
			c.context, c.untied = 300, true
			file, _ := c.build(t)
			m, err := load(file, Options{Threads: 2})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			lmtest.Run(t, m)
		})
	}
}
