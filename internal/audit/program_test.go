package audit

import (
	"strconv"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// TestConcurrentPrograms: programs that run side by side have the same outputs, in the same
// places, as one after the other, and every run has a seed of its own.
func TestConcurrentPrograms(t *testing.T) {
	seed := uint64(7)
	p := Program{Command: `i=0; while [ $i -lt {runs} ]; do echo {data} {seed} $i; i=$((i+1)); done`, Seed: &seed}
	run := func(workers int) []string {
		t.Helper()
		p.Workers = workers
		last := 0
		p.Observe = func(done, _ int) { last = done }
		with, without, err := p.Play(t.Context(), "one", "two", 40)
		if err != nil || last != 80 {
			t.Fatalf("%d runs, %v", last, err)
		}
		return append(with, without...)
	}
	alone, together := run(1), run(4)
	seeds := map[string]int{}
	for i, line := range alone {
		if line != together[i] {
			t.Fatalf("run %d printed %q, and side by side %q", i, line, together[i])
		}
		words := strings.Fields(line)
		file := []string{"one", "two"}[i/40]
		at := expect.At(t, "run %d printed %q", i, line)
		expect.Len(at, "words", words, 3)
		expect.Equal(at, "words[0]", words[0], file)
		expect.Equal(at, "words[2]", words[2], strconv.Itoa(i%5))
		seeds[words[1]]++
	}
	if len(seeds) != 16 {
		t.Errorf("%d seeds for 16 starts", len(seeds))
	}
}
