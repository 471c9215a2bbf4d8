package llama

import (
	"errors"
	"testing"

	"github.com/sotto-dp/sotto/internal/engine/gguf"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
)

// TestPredict: what a model takes is at most what was predicted, and the prediction is not
// far above it.
func TestPredict(t *testing.T) {
	for _, name := range []string{"llama", "gemma3", "phi3 long", "Q6_K", "untied"} {
		for _, load := range []lm.Load{{Shared: 70, Sequences: 10, Tokens: 60}, {Shared: 64, Sequences: 3, Tokens: 1}, {Sequences: 5, Tokens: 100}} {
			c := tinies()[name]
			c.context = 256
			file, _ := c.build(t)
			m, err := loadFor(t, file)
			if err != nil {
				t.Fatal(err)
			}
			want := m.Predict(load)
			if got := m.WeightBytes(); got != want.Weights {
				t.Errorf("%s: weights take %d bytes, predicted were %d", name, got, want.Weights)
			}
			hold(t, m, load)
			if got := int64(m.cache.used) * int64(m.pages.size) * 4; got != want.Pages {
				t.Errorf("%s, %+v: pages take %d bytes, predicted were %d", name, load, got, want.Pages)
			}
			work := int64(0)
			p := m.pass
			for _, s := range [][]float32{p.x, p.q, p.k, p.v, p.out, p.up, p.logits} {
				work += 4 * int64(len(s))
			}
			for _, in := range append([]inputs{p.h, p.att, p.gate, p.head}, p.normed...) {
				work += 4 * int64(len(in.floats))
				if in.integers != nil {
					work += int64(in.integers.Bytes())
				}
			}
			for _, room := range p.attention {
				work += 4 * int64(len(room.scores)+len(room.queries)+len(room.mixed))
			}
			seen := map[*rotation]bool{}
			for _, l := range m.weights.layers {
				if !seen[l.rotation] {
					seen[l.rotation] = true
					work += 8 * int64(len(l.rotation.cos))
				}
			}
			if want.Work < work || want.Work > 4*work {
				t.Errorf("%s, %+v: work takes %d bytes, predicted were %d", name, load, work, want.Work)
			}
		}
	}
}

func loadFor(t *testing.T, file *gguf.File) (*Model, error) {
	t.Helper()
	m, err := load(file, Options{Threads: 3})
	if err == nil {
		t.Cleanup(func() { m.Close() })
	}
	return m, err
}

// hold makes the sequences of a load.
func hold(t *testing.T, m *Model, load lm.Load) {
	t.Helper()
	session, err := m.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	root, _ := session.New()
	if load.Shared > 0 {
		if _, err := session.Step(t.Context(), []lm.Step{{Sequence: root, Tokens: make([]lm.Token, load.Shared)}}); err != nil {
			t.Fatal(err)
		}
	}
	steps := make([]lm.Step, load.Sequences)
	for i := range steps {
		q, _ := session.Fork(root)
		steps[i] = lm.Step{Sequence: q, Tokens: make([]lm.Token, load.Tokens), Ask: lm.Ask{All: true}}
	}
	if _, err := session.Step(t.Context(), steps); err != nil {
		t.Fatal(err)
	}
}

// TestTooLarge: a model that does not fit the memory is refused before it is loaded, by what
// it needs and what to do.
func TestTooLarge(t *testing.T) {
	file, _ := tinyLlama.build(t)
	_, err := load(file, Options{Memory: 1 << 20})
	memory := expect.As[*lm.MemoryError](t, err)
	expect.True(t, "more memory needed than is free", memory.Need > memory.Free, memory)
	expect.Contains(t, "error", err.Error(), "docs/models.md")
	var damaged *lm.FileError
	if errors.As(fileProblem(err), &damaged) {
		t.Error("a machine that is too small is taken for a damaged file")
	}
	m, err := load(file, Options{Memory: 2 * memory.Need})
	if err != nil {
		t.Fatal(err)
	}
	m.Close()
}
