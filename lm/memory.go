package lm

import "fmt"

// Load describes sequences that a model holds at once.
type Load struct {
	// Shared is the number of tokens that all sequences begin with.
	Shared int
	// Sequences, each of Tokens beyond the shared ones.
	Sequences, Tokens int
}

// Memory is what a model takes of this machine, in bytes.
type Memory struct {
	// Weights are held from when the model is opened.
	Weights int64 `json:"weights"`
	// Pages hold the keys and values of sequences, Work is what steps compute in.
	Pages int64 `json:"pages"`
	Work  int64 `json:"work"`
}

// Total returns the sum.
func (m Memory) Total() int64 { return m.Weights + m.Pages + m.Work }

// Predictor is a scorer that predicts its memory: a model in this process.
type Predictor interface {
	// Predict returns an upper bound of what a load takes.
	Predict(Load) Memory
}

// Predict returns an upper bound of what a load takes of this machine's memory. It is zero,
// and ok false, for a model on a server.
func (t TrustedScorer) Predict(l Load) (m Memory, ok bool) {
	p, ok := t.scorer.(Predictor)
	if !ok {
		return Memory{}, false
	}
	return p.Predict(l), true
}

// CheckMemory returns a [*MemoryError] if all loads together take more of this machine's memory than
// is free, 0 if that is not known. What a model on a server takes is not asked.
func (t TrustedScorer) CheckMemory(free int64, what, advice string, loads ...Load) error {
	need := int64(0)
	for _, l := range loads {
		m, _ := t.Predict(l)
		need += m.Pages + m.Work
	}
	if free == 0 || need <= free {
		return nil
	}
	return &MemoryError{What: what, Need: need, Free: free, Advice: advice}
}

// MemoryError reports that there is not enough memory for what was about to begin.
type MemoryError struct {
	// What needs it; Need and Free are bytes.
	What       string
	Need, Free int64
	// Advice states what to do.
	Advice string
}

func (e *MemoryError) Error() string {
	const mega = 1e6
	return fmt.Sprintf("%s would take %.0f MB of memory, and %.0f MB are free: %s", e.What, float64(e.Need)/mega, float64(e.Free)/mega, e.Advice)
}
