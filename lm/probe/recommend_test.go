package probe

import (
	"testing"

	"github.com/sotto-dp/sotto/lm/gguf"
	"github.com/sotto-dp/sotto/lm/llama"
	"github.com/sotto-dp/sotto/sys/machine"
)

// TestSpeedOfModels: a model that has twice the weights takes twice the time.
func TestSpeedOfModels(t *testing.T) {
	speed := llama.Speed{Level: "avx512", Threads: 4, Single: map[gguf.Type]float64{}, Batched: map[gguf.Type]float64{}}
	for _, kind := range []gguf.Type{gguf.Q4_K, gguf.Q5_0, gguf.Q6_K, gguf.Q8_0} {
		speed.Single[kind], speed.Batched[kind] = 10e9, 60e9
	}
	r := Recommend(machine.Facts{}, speed)
	for _, row := range r.Models {
		if row.Name != "qwen2.5-1.5b" {
			continue
		}
		// 1.111 + 0.432 billion weights at 10 billion a second, and 0.85 of that.
		if want := wholeModel * 10e9 / (1111.9e6 + 431.6e6); row.Alone < 0.999*want || row.Alone > 1.001*want {
			t.Errorf("%g tokens/s, want %g", row.Alone, want)
		}
	}
	if got := tokensPerSecond(r.Models[0].Suggestion, nil); got != 0 {
		t.Error(got)
	}
}
