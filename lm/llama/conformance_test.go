package llama

import (
	"testing"

	"github.com/sotto-dp/sotto/lm/lmtest"
)

func TestConformance(t *testing.T) {
	lmtest.Run(t, openDefault(t, Options{}))
}

// TestConcurrentConformance runs the suite where pages, passes and the context are small
// against the texts.
func TestConcurrentConformance(t *testing.T) {
	c := tinies()["qwen2"]
	c.context = 300
	file, _ := c.build(t)
	m, err := load(file, Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	lmtest.Run(t, m)
}
