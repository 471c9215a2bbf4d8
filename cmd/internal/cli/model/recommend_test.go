package model

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/lm/gguf"
	"github.com/sotto-dp/sotto/lm/llama"
	"github.com/sotto-dp/sotto/lm/probe"
	"github.com/sotto-dp/sotto/sys/machine"
)

// TestRecommend: what is recommended fits, is fast enough and may be used for work; what is
// not known is said.
func TestRecommend(t *testing.T) {
	speed := func(level string, alone, together float64) llama.Speed {
		s := llama.Speed{Level: level, Threads: 4, Single: map[gguf.Type]float64{}, Batched: map[gguf.Type]float64{}}
		for _, kind := range []gguf.Type{gguf.Q4_K, gguf.Q5_0, gguf.Q6_K, gguf.Q8_0} {
			s.Single[kind], s.Batched[kind] = alone, together
		}
		return s
	}
	for _, c := range []struct {
		name    string
		machine machine.Facts
		speed   llama.Speed
		want    string
		says    string
	}{
		{"a large server", machine.Facts{Memory: 256e9, Cores: 64}, speed("avx512", 300e9, 1500e9), "qwen3-8b", ""},
		{"a small one", machine.Facts{Memory: 25e9, Cores: 2}, speed("avx512", 30e9, 120e9), "smollm2-1.7b", ""},
		{"little memory", machine.Facts{Memory: 4e9, Cores: 64}, speed("avx2", 300e9, 1500e9), "qwen2.5-1.5b", ""},
		{"hardly any memory", machine.Facts{Memory: 1e9, Cores: 64}, speed("avx2", 300e9, 1500e9), "", "none is both small and fast enough"},
		{"a container", machine.Facts{Memory: 8e9, Limited: true, Cores: 64}, speed("avx2", 300e9, 1500e9), "qwen3-4b", "limit of the container"},
		{"unknown memory", machine.Facts{Cores: 64}, speed("avx2", 300e9, 1500e9), "", "memory of this system is not known"},
		{"no kernels", machine.Facts{Memory: 64e9, Cores: 10, Architecture: "arm64"}, speed("portable", 0.1e9, 0.2e9), "", "plain Go, about a hundred times slower"},
		{"busy", machine.Facts{Memory: 64e9, Cores: 2, Load: 6.5}, speed("avx512", 30e9, 120e9), "smollm2-1.7b", "load 6.5 on 2 cores"},
	} {
		r := &recommendResult{probe.Recommend(c.machine, c.speed)}
		if r.Recommended != c.want || len(r.Models) < 10 {
			t.Errorf("%s: %q of %d, want %q", c.name, r.Recommended, len(r.Models), c.want)
		}
		var b bytes.Buffer
		r.Print(&ui.Page{W: &b})
		text := b.String()
		if !strings.Contains(strings.Join(strings.Fields(text), " "), c.says) || !strings.Contains(text, "ESTIMATES") {
			t.Errorf("%s: no %q in\n%s", c.name, c.says, text)
		}
		for line := range strings.Lines(text) {
			if n := len([]rune(line)); n > ui.Width+1 && !strings.Contains(line, "sotto model pull") {
				t.Errorf("%s: %d columns: %s", c.name, n, line)
			}
		}
		for _, row := range r.Models {
			if !strings.Contains(text, row.Pull) || !strings.Contains(text, row.Title) {
				t.Errorf("%s is not shown", row.Name)
			}
			if known := c.machine.Memory > 0; known != (row.Fits != "unknown") || known && row.Fits == "yes" && float64(row.Memory) > 0.67*float64(c.machine.Memory) {
				t.Errorf("%s: %s fits: %s", c.name, row.Name, row.Fits)
			}
			if row.Name == r.Recommended && row.Restricted {
				t.Errorf("%s is recommended", row.Name)
			}
			// Twice the weights in all take twice the time.
			if row.Alone <= 0 || row.Together < row.Alone {
				t.Errorf("%s: %g tokens/s alone, %g together", row.Name, row.Alone, row.Together)
			}
		}
	}
}

func TestRate(t *testing.T) {
	for value, want := range map[float64]string{0: "unknown", 0.034: "0.03/s", 4.4: "4/s", 9.49: "9/s", 12.3: "12/s", 99.6: "100/s", 1234: "1230/s"} {
		if got := rate(value); got != want {
			t.Errorf("%g: %s, want %s", value, got, want)
		}
	}
}
