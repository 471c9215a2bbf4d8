package models

import (
	"math"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/lm/gguf"
	"github.com/sotto-dp/sotto/sys/expect"
)

// TestSuggestions: names can be pulled, and shapes give the numbers that publishers and the
// hub state.
func TestSuggestions(t *testing.T) {
	// Parameters from the publishers' cards, in billions; sizes of the files in GB as the
	// hub lists them.
	stated := map[string]struct{ parameters, size float64 }{
		"smollm2-360m": {0.362, 0.386}, "qwen2.5-0.5b": {0.494, 0.491}, "llama3.2-1b": {1.236, 0.808}, "qwen2.5-1.5b": {1.544, 1.117},
		"smollm2-1.7b": {1.711, 1.06}, "llama3.2-3b": {3.213, 2.019}, "qwen2.5-3b": {3.086, 2.1}, "qwen3-4b": {4.022, 2.497},
		"mistral-7b": {7.248, 4.37}, "qwen2.5-7b": {7.616, 4.68}, "qwen3-8b": {8.191, 5.03},
	}
	last := int64(0)
	for _, s := range Suggestions() {
		f, ok, err := parseHub(s.Source)
		expect.NoError(t, err)
		expect.True(t, s.Source+" is of the hub", ok)
		expect.NoError(t, f.check())
		expect.Equal(t, "source", f.String(), s.Source)
		if _, err := localName(f, ""); err != nil || s.File() != f.path {
			t.Error(s.Name, err)
		}
		expect.Equal(t, "name in lower case", s.Name, strings.ToLower(s.Name))
		for what, text := range map[string]string{"licence": s.Licence, "expectation": s.Expect, "date of the check": string(s.Checked)} {
			expect.True(t, s.Name+" has a "+what, text != "")
		}
		want := stated[s.Name]
		if got := float64(s.Parameters()) / 1e9; math.Abs(got-want.parameters) > 0.002*want.parameters {
			t.Errorf("%s has %.3f billion parameters, its card says %.3f", s.Name, got, want.parameters)
		}
		if got := float64(s.Bytes()) / 1e9; math.Abs(got-want.size) > 0.015*want.size {
			t.Errorf("%s has %.3f GB, the hub says %.3f", s.Name, got, want.size)
		}
		if s.Parameters() < last {
			t.Errorf("%s is smaller than the one before", s.Name)
		}
		last = s.Parameters()
		if s.Memory(0) <= s.Bytes() || s.Memory(1000)-s.Memory(0) != 1000*s.CacheBytes() {
			t.Error(s.Name, s.Memory(0))
		}
	}
	if len(stated) != len(suggestions) {
		t.Errorf("%d of %d are known", len(stated), len(suggestions))
	}
}

// TestSuggestedShape compares with the file that the catalogue knows of the same shape, and
// whose weights were counted: 1345388544 in Q4_K and 431554560 in Q6_K.
func TestSuggestedShape(t *testing.T) {
	known, _ := Lookup("qwen2.5-coder")
	for _, s := range Suggestions() {
		if s.Checked != SameShape {
			continue
		}
		if part := float64(s.Bytes()) / float64(known.Bytes()); part < 0.99 || part > 1 {
			t.Errorf("%d bytes of %d", s.Bytes(), known.Bytes())
		}
		computed := s.Computed()
		if computed[gguf.Q4_K]+s.table() != 1345388544 || computed[gguf.Q6_K] != 431554560 {
			t.Error(computed)
		}
	}
}
