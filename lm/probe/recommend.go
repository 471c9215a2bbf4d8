package probe

import (
	"fmt"
	"math"

	"github.com/sotto-dp/sotto/lm/gguf"
	"github.com/sotto-dp/sotto/lm/llama"
	"github.com/sotto-dp/sotto/lm/models"
	"github.com/sotto-dp/sotto/sys/machine"
)

// What a recommendation supposes.
const (
	recommendCache = 4096 // tokens of keys and values
	// recommendShare is the part of a machine's memory that a model may take, and
	// tightShare the part above which it does not run well beside anything else.
	recommendShare, tightShare = 2.0 / 3, 0.9
	// recommendSpeed is in tokens a second, of 17 sequences together.
	recommendSpeed = 50
	// wholeModel is the part of the products' speed that a whole model has: 0.72 to 0.95
	// in what was measured (see llama.Measure).
	wholeModel = 0.85
)

// RecommendedModel is a model on a machine.
type RecommendedModel struct {
	models.Suggestion
	Parameters int64   `json:"parameters"`
	Bytes      int64   `json:"bytes"`
	Memory     int64   `json:"memory"`
	Cache      int64   `json:"cache_bytes_per_token"`
	Alone      float64 `json:"tokens_per_s"`
	Together   float64 `json:"tokens_per_s_together"`
	Fits       string  `json:"fits"`
	// Here: it was pulled.
	Here bool   `json:"here"`
	Pull string `json:"pull"`
}

// Recommendation is what a machine runs. Speeds and sizes are estimates.
type Recommendation struct {
	Machine machine.Facts `json:"machine"`
	// Kernels is the set of instructions that the engine computes with.
	Kernels string `json:"kernels"`
	Threads int    `json:"threads"`
	Cache   int    `json:"cache_tokens"`
	// Recommended is the name of a model, "" if none is.
	Recommended string             `json:"recommended"`
	Models      []RecommendedModel `json:"models"`
	Notes       []string           `json:"notes"`
}

// Recommend reports which models a machine runs, and how fast.
func Recommend(m machine.Facts, speed llama.Speed) *Recommendation {
	r := &Recommendation{Machine: m, Kernels: speed.Level, Threads: speed.Threads, Cache: recommendCache, Notes: []string{}}
	for _, s := range models.Suggestions() {
		row := RecommendedModel{
			Suggestion: s, Parameters: s.Parameters(), Bytes: s.Bytes(), Memory: s.Memory(recommendCache), Cache: s.CacheBytes(),
			Alone: tokensPerSecond(s, speed.Single), Together: tokensPerSecond(s, speed.Batched), Pull: "sotto model pull " + s.Source,
		}
		row.Fits = fits(row.Memory, m.Memory)
		if !s.Restricted && row.Together >= recommendSpeed && float64(row.Memory) <= recommendShare*float64(m.Memory) {
			r.Recommended = s.Name
		}
		r.Models = append(r.Models, row)
	}
	if m.Memory == 0 {
		r.Notes = append(r.Notes, "the memory of this system is not known: compare for yourself")
	}
	if m.Limited {
		r.Notes = append(r.Notes, "the memory is the limit of the container that this runs in")
	}
	if m.Load > 0.7*float64(m.Cores) {
		r.Notes = append(r.Notes, fmt.Sprintf("other programs compute at the moment (load %.1f on %d cores), so that the speeds are likely too low: run this again when they are done", m.Load, m.Cores))
	}
	if speed.Level == "portable" {
		r.Notes = append(r.Notes, "the engine has kernels for AVX2 and AVX-512 alone, which this processor does not have: it computes in plain Go, about a hundred times slower. Run the model on a server (vLLM, llama.cpp) and name it with --url")
	}
	if r.Recommended == "" {
		r.Notes = append(r.Notes, "none is both small and fast enough here; a server that you trust may be (docs/models.md)")
	}
	return r
}

func fits(need, memory int64) string {
	switch {
	case memory == 0:
		return "unknown"
	case float64(need) > tightShare*float64(memory):
		return "no"
	case float64(need) > recommendShare*float64(memory):
		return "tight"
	}
	return "yes"
}

// tokensPerSecond estimates the speed of a model, from how fast weights of each storage
// type are multiplied.
func tokensPerSecond(s models.Suggestion, weights map[gguf.Type]float64) float64 {
	seconds := 0.0
	for t, n := range s.Computed() {
		seconds += float64(n) / weights[t]
	}
	if estimate := wholeModel / seconds; !math.IsInf(estimate, 0) && !math.IsNaN(estimate) {
		return estimate
	}
	return 0
}
