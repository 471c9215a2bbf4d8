package models

import (
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/lm/gguf"
)

// CheckLevel states how well it was tested that the engine runs a file.
type CheckLevel string

// The degrees of testing.
const (
	// SameShape: a model of the same shape, architecture and storage types was run and
	// compared with llama.cpp.
	SameShape CheckLevel = "same shape"
	// SameFamily: a smaller model of the same family was.
	SameFamily CheckLevel = "same family"
	// ByArchitecture: the engine knows the architecture, the tokeniser and the storage
	// types, and its tests compare each with another implementation; no model of the
	// family was run.
	ByArchitecture CheckLevel = "architecture"
)

// Suggestion is a general model that follows instructions, which the engine should run. The
// file itself was not fetched: its size is computed from its shape, and its hash is the
// one that the hub publishes when it is pulled.
type Suggestion struct {
	Name         string     `json:"name"`
	Title        string     `json:"title"`
	Licence      string     `json:"licence"`
	Quantisation string     `json:"quantisation"`
	Checked      CheckLevel `json:"checked"`
	// Expect describes in a few words what it is good for.
	Expect string `json:"expect"`
	// Restricted: the licence rules out commercial use.
	Restricted bool `json:"restricted,omitempty"`
	// Source is what to pull.
	Source string `json:"source"`

	shape shape
}

// shape of a transformer, as its publisher's config.json has it.
type shape struct {
	layers, width, heads, kvHeads, head, hidden, vocabulary int
	// tied: one matrix embeds tokens and scores them.
	tied bool
}

// What can be expected of a size. It is experience, not a measurement of Sotto's.
const (
	expectTiny   = "below the rest: short labels, and texts that often miss the point"
	expectHalf   = "short labels and short texts; ignores parts of an instruction"
	expectOne    = "labels, and short texts that keep to an instruction"
	expectThree  = "instructions of several parts; longer texts hold together"
	expectSeven  = "the best texts and answers here; slow without many cores"
	expectThinks = "; in a chat it thinks aloud before it answers"
)

const (
	mixed4 = "Q4_K_M"
	plain8 = "Q8_0"
)

var suggestions = []Suggestion{
	{
		Name: "smollm2-360m", Title: "SmolLM2-360M-Instruct", Licence: "Apache-2.0", Quantisation: plain8, Checked: SameFamily, Expect: expectTiny,
		Source: "hf:HuggingFaceTB/SmolLM2-360M-Instruct-GGUF/smollm2-360m-instruct-q8_0.gguf",
		shape:  shape{32, 960, 15, 5, 64, 2560, 49152, true},
	},
	{
		Name: "qwen2.5-0.5b", Title: "Qwen2.5-0.5B-Instruct", Licence: "Apache-2.0", Quantisation: mixed4, Checked: SameFamily, Expect: expectHalf,
		Source: "hf:Qwen/Qwen2.5-0.5B-Instruct-GGUF/qwen2.5-0.5b-instruct-q4_k_m.gguf",
		shape:  shape{24, 896, 14, 2, 64, 4864, 151936, false},
	},
	{
		Name: "llama3.2-1b", Title: "Llama-3.2-1B-Instruct", Licence: "Llama 3.2 Community", Quantisation: mixed4, Checked: ByArchitecture, Expect: expectOne,
		Source: "hf:bartowski/Llama-3.2-1B-Instruct-GGUF/Llama-3.2-1B-Instruct-Q4_K_M.gguf",
		shape:  shape{16, 2048, 32, 8, 64, 8192, 128256, true},
	},
	{
		Name: "qwen2.5-1.5b", Title: "Qwen2.5-1.5B-Instruct", Licence: "Apache-2.0", Quantisation: mixed4, Checked: SameShape, Expect: expectOne,
		Source: "hf:Qwen/Qwen2.5-1.5B-Instruct-GGUF/qwen2.5-1.5b-instruct-q4_k_m.gguf",
		shape:  shape{28, 1536, 12, 2, 128, 8960, 151936, false},
	},
	{
		Name: "smollm2-1.7b", Title: "SmolLM2-1.7B-Instruct", Licence: "Apache-2.0", Quantisation: mixed4, Checked: SameFamily, Expect: expectOne,
		Source: "hf:HuggingFaceTB/SmolLM2-1.7B-Instruct-GGUF/smollm2-1.7b-instruct-q4_k_m.gguf",
		shape:  shape{24, 2048, 32, 32, 64, 8192, 49152, true},
	},
	{
		Name: "qwen2.5-3b", Title: "Qwen2.5-3B-Instruct", Licence: "Qwen Research", Quantisation: mixed4, Checked: SameFamily, Expect: expectThree, Restricted: true,
		Source: "hf:Qwen/Qwen2.5-3B-Instruct-GGUF/qwen2.5-3b-instruct-q4_k_m.gguf",
		shape:  shape{36, 2048, 16, 2, 128, 11008, 151936, false},
	},
	{
		Name: "llama3.2-3b", Title: "Llama-3.2-3B-Instruct", Licence: "Llama 3.2 Community", Quantisation: mixed4, Checked: ByArchitecture, Expect: expectThree,
		Source: "hf:bartowski/Llama-3.2-3B-Instruct-GGUF/Llama-3.2-3B-Instruct-Q4_K_M.gguf",
		shape:  shape{28, 3072, 24, 8, 128, 8192, 128256, true},
	},
	{
		Name: "qwen3-4b", Title: "Qwen3-4B", Licence: "Apache-2.0", Quantisation: mixed4, Checked: ByArchitecture, Expect: expectThree + expectThinks,
		Source: "hf:Qwen/Qwen3-4B-GGUF/Qwen3-4B-Q4_K_M.gguf",
		shape:  shape{36, 2560, 32, 8, 128, 9728, 151936, true},
	},
	{
		Name: "mistral-7b", Title: "Mistral-7B-Instruct-v0.3", Licence: "Apache-2.0", Quantisation: mixed4, Checked: ByArchitecture, Expect: expectSeven,
		Source: "hf:bartowski/Mistral-7B-Instruct-v0.3-GGUF/Mistral-7B-Instruct-v0.3-Q4_K_M.gguf",
		shape:  shape{32, 4096, 32, 8, 128, 14336, 32768, false},
	},
	{
		Name: "qwen2.5-7b", Title: "Qwen2.5-7B-Instruct", Licence: "Apache-2.0", Quantisation: mixed4, Checked: SameFamily, Expect: expectSeven,
		Source: "hf:bartowski/Qwen2.5-7B-Instruct-GGUF/Qwen2.5-7B-Instruct-Q4_K_M.gguf",
		shape:  shape{28, 3584, 28, 4, 128, 18944, 152064, false},
	},
	{
		Name: "qwen3-8b", Title: "Qwen3-8B", Licence: "Apache-2.0", Quantisation: mixed4, Checked: ByArchitecture, Expect: expectSeven + expectThinks,
		Source: "hf:Qwen/Qwen3-8B-GGUF/Qwen3-8B-Q4_K_M.gguf",
		shape:  shape{36, 4096, 32, 8, 128, 12288, 151936, false},
	},
}

// Suggestions lists models larger than the default that the engine should run, the smallest
// first.
func Suggestions() []Suggestion { return slices.Clone(suggestions) }

// File returns the name of the file.
func (s Suggestion) File() string { return s.Source[strings.LastIndexByte(s.Source, '/')+1:] }

// Parameters returns the number of weights that the publisher counts.
func (s Suggestion) Parameters() int64 {
	n := sum(s.blocks()) + s.table()
	if !s.tied() {
		n += s.table()
	}
	return n
}

// tied: these are published as one matrix, and some files have it twice.
func (s Suggestion) tied() bool {
	return s.shape.tied || strings.HasPrefix(s.Name, "qwen2.5-") && s.shape.width < 3584
}

// table returns the number of weights of a matrix between tokens and numbers.
func (s Suggestion) table() int64 { return int64(s.shape.vocabulary) * int64(s.shape.width) }

// Computed returns the number of weights by which a token is multiplied, by storage type:
// all layers and the scores of the vocabulary.
func (s Suggestion) Computed() map[gguf.Type]int64 {
	all := s.blocks()
	all[s.high(s.shape.width)] += s.table()
	return all
}

// Bytes returns the size of the file, without what it says about itself and its tokeniser:
// one or two hundredths of a small one.
func (s Suggestion) Bytes() int64 {
	n := stored(s.Computed())
	if !s.shape.tied {
		n += stored(map[gguf.Type]int64{s.low(s.shape.width): s.table()})
	}
	return n
}

// CacheBytes returns what the engine keeps of a token: keys and values of all layers, in
// float32.
func (s Suggestion) CacheBytes() int64 {
	return int64(s.shape.layers) * int64(s.shape.kvHeads) * int64(s.shape.head) * 2 * 4
}

// workspace is what the engine needs besides weights and cache: buffers of a pass, angles
// of positions, the tokeniser.
const workspace = 200 << 20

// Memory returns what the engine takes with a number of tokens in its cache.
func (s Suggestion) Memory(tokens int64) int64 {
	return s.Bytes() + tokens*s.CacheBytes() + workspace
}

// blocks counts the weights of all layers by their storage type. In the mixture Q4_K_M
// llama.cpp keeps the values and the last matrix of half of the layers in more bits.
func (s Suggestion) blocks() map[gguf.Type]int64 {
	h, all := s.shape, map[gguf.Type]int64{}
	add := func(kind func(int) gguf.Type, rows, cols int) { all[kind(cols)] += int64(rows) * int64(cols) }
	for i := range h.layers {
		some := s.low
		if eighth := h.layers / 8; i < eighth || i >= 7*h.layers/8 || (i-eighth)%3 == 2 {
			some = s.high
		}
		queries, keys := h.heads*h.head, h.kvHeads*h.head
		add(s.low, queries, h.width)
		add(s.low, keys, h.width)
		add(some, keys, h.width)
		add(s.low, h.width, queries)
		add(s.low, 2*h.hidden, h.width)
		add(some, h.width, h.hidden)
	}
	return all
}

// low and high are the types of a mixture. Rows that are no multiple of 256 fall back.
func (s Suggestion) low(cols int) gguf.Type {
	switch {
	case s.Quantisation == plain8:
		return gguf.Q8_0
	case cols%gguf.Q4_K.BlockSize() != 0:
		return gguf.Q5_0
	}
	return gguf.Q4_K
}

func (s Suggestion) high(cols int) gguf.Type {
	if s.Quantisation == plain8 || cols%gguf.Q6_K.BlockSize() != 0 {
		return gguf.Q8_0
	}
	return gguf.Q6_K
}

func sum(counts map[gguf.Type]int64) int64 {
	var n int64
	for _, c := range counts {
		n += c
	}
	return n
}

func stored(counts map[gguf.Type]int64) int64 {
	var n int64
	for t, c := range counts {
		n += c / int64(t.BlockSize()) * int64(t.BlockBytes())
	}
	return n
}
