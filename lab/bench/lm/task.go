package main

import "github.com/sotto-dp/sotto/lm"

// task is one line to a worker, answer one line from it. All sides speak it: worker.go
// here, peers.py for llama.cpp, sentences.py for sentence-transformers.
type task struct {
	Task       string       `json:"task"`
	Tokens     []lm.Token   `json:"tokens,omitempty"`
	Prefix     []lm.Token   `json:"prefix,omitempty"`
	Prefixes   [][]lm.Token `json:"prefixes,omitempty"`
	Own        [][]lm.Token `json:"own,omitempty"`
	Candidates []lm.Token   `json:"candidates,omitempty"`
	Labels     []string     `json:"labels,omitempty"` // the candidates as words
	Texts      []string     `json:"texts,omitempty"`
	Steps      int          `json:"steps,omitempty"`
	Of         *task        `json:"of,omitempty"`
}

type answer struct {
	Seconds  float64 `json:"seconds"`
	PeakMB   float64 `json:"peak_mb,omitempty"`
	Settings string  `json:"settings,omitempty"`
	Version  string  `json:"version,omitempty"`
	About    string  `json:"about,omitempty"`
	Error    string  `json:"error,omitempty"`
	// Computed is the number of tokens that went through the model.
	Computed int64 `json:"computed,omitempty"`
	// Values is what was computed, to see that all sides did the same: probabilities of
	// the candidates after each question, or some vectors.
	Values [][]float64 `json:"values,omitempty"`
	// Tokens of labels.
	Tokens []lm.Token `json:"tokens,omitempty"`
	// Tried lists what a peer found while it looked for its best settings.
	Tried []answer `json:"tried,omitempty"`
}

// measure is a task with how its seconds are read.
type measure struct {
	task
	Title string
	// Per turns seconds into the figure: Per/seconds if Rate, else seconds·1000/Per.
	Per  float64
	Rate bool
	Unit string
	// Goal is the least ratio aimed at on the same file, Best that against the
	// peer's fastest format.
	Goal, Best float64
}

const (
	prefillTokens = 512
	decodePrompt  = 64
	decodeSteps   = 64
	ensembleSize  = 17
	ensembleHalf  = 100 // shared, and own tokens of each
	ensembleSteps = 16
	candidates    = 100
	heldSequences = 64
	heldOwn       = 100
	heldPrefix    = 400
)

func measures() []measure {
	own := func(count, length int) [][]lm.Token {
		lists := make([][]lm.Token, count)
		for i := range lists {
			lists[i] = tokens(length, i+1)
		}
		return lists
	}
	return []measure{
		{
			task:  task{Task: "prefill", Tokens: tokens(prefillTokens, 0)},
			Title: "prefill of 512 tokens", Per: prefillTokens, Rate: true, Unit: "tokens/s", Goal: 6, Best: 3,
		},
		{
			task:  task{Task: "decode", Tokens: tokens(decodePrompt, 0), Steps: decodeSteps},
			Title: "decode of 1 sequence", Per: decodeSteps, Rate: true, Unit: "tokens/s", Goal: 2,
		},
		{
			task: task{
				Task: "ensemble", Prefix: tokens(ensembleHalf, 0), Own: own(ensembleSize, ensembleHalf),
				Candidates: tokens(candidates, 0), Steps: ensembleSteps,
			},
			Title: "ensemble step of 17 sequences", Per: ensembleSteps, Unit: "ms a step", Goal: 6, Best: 3.5,
		},
		{
			task:  task{Task: "load"},
			Title: "load, warm", Per: 1, Unit: "ms",
		},
	}
}

// held returns what peak memory is measured on: of a large model it is little, because it
// is the weights that count there.
func held(large bool) task {
	prefix, sequences, own := heldPrefix, heldSequences, heldOwn
	if large {
		prefix, sequences, own = heldPrefix/4, heldSequences/8, heldOwn/4
	}
	t := task{Task: "memory", Prefix: tokens(prefix, 0)}
	for i := range sequences {
		t.Own = append(t.Own, tokens(own, i+1))
	}
	return t
}

// tokens makes a list of distinct ordinary tokens, another for each seed. Neither
// side's speed depends on which they are.
func tokens(n, seed int) []lm.Token {
	const first, span = 1000, 38000 // both models have these, and they are text
	list := make([]lm.Token, n)
	for i := range list {
		list[i] = lm.Token(first + (i*7919+seed*10007)%span)
	}
	return list
}
