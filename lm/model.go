package lm

import "context"

// Model generates text.
type Model interface {
	// Info describes the model and what its back-end promises.
	Info() Info
	// Generate completes each prompt. The texts are in the order of the prompts.
	// On an error no text is returned.
	Generate(ctx context.Context, prompts []Prompt, options GenerateOptions) ([]Text, error)
	// Usage returns the cost of all calls so far.
	Usage() Usage
	// Close frees the model's memory or connections. Sessions end with it.
	Close() error
}

// Scorer is a model that returns scores.
type Scorer interface {
	Model
	Tokenizer() Tokenizer
	// Chat lays out messages in the model's chat template, up to and including the mark
	// that opens the assistant's turn.
	Chat(ctx context.Context, messages []Message) ([]Token, error)
	// Open starts a session. Sessions of one model are independent of each other
	// and may run at the same time.
	Open(ctx context.Context) (Session, error)
}

// Embedder turns sentences into vectors of length one.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	// Dimension returns the length of the vectors.
	Dimension() int
	// Name identifies the encoder: vectors of different encoders are not comparable.
	Name() string
	Close() error
}

// Info describes a model behind a back-end.
type Info struct {
	// Name is the model's name, Backend the program that runs it ("embedded", "vllm", …).
	Name    string `json:"name"`
	Backend string `json:"backend"`
	// Fingerprint identifies the weights: "sha256:…" of the file for the embedded engine,
	// otherwise what the server reports, "" when unknown.
	Fingerprint string `json:"fingerprint,omitempty"`
	// Version of the back-end.
	Version string `json:"version,omitempty"`
	// Parameters is the number of weights, 0 when unknown.
	Parameters int64 `json:"parameters,omitempty"`

	Capacity

	// Deterministic: the same calls give the same bits, also after a restart.
	Deterministic bool `json:"deterministic"`
	// BatchInvariant: a sequence's scores depend on its tokens alone, bit for bit;
	// not on its neighbours, their number or what is cached.
	BatchInvariant bool `json:"batch_invariant"`
	// Tolerance bounds how much scores of the same sequence may differ between
	// calls: 0 for a batch-invariant back-end.
	Tolerance float64 `json:"tolerance"`

	// Can lists what the back-end offers.
	Can Capabilities `json:"can"`
}

// Capabilities of a back-end.
type Capabilities struct {
	// Generate from text or tokens; Chat from messages.
	Generate bool `json:"generate"`
	Chat     bool `json:"chat"`
	// Candidates: scores over any list of tokens. Texts and answers from records need them.
	Candidates bool `json:"candidates"`
	// Top: the best tokens with log-probabilities, at most Capacity.Top of them.
	Top bool `json:"top"`
	// All: the whole distribution.
	All bool `json:"all"`
	// Given: log-probabilities of a step's own last tokens, in one pass.
	Given bool `json:"given"`
	// Embed: sentence embeddings.
	Embed bool `json:"embed"`
	// SharedPrefix: a prefix that sequences share is computed once.
	SharedPrefix bool `json:"shared_prefix"`
}

// Capacity is the size limits of a back-end. 0 means no limit of its own.
type Capacity struct {
	// Context is the longest sequence in tokens.
	Context int `json:"context"`
	// Vocabulary is the number of tokens.
	Vocabulary int `json:"vocabulary"`
	// Sequences that one step may extend.
	Sequences int `json:"sequences,omitempty"`
	// Candidates per request; more cost several requests.
	Candidates int `json:"candidates,omitempty"`
	// Top is the maximal number of best tokens per request.
	Top int `json:"top,omitempty"`
}

// Usage counts work. Methods are compared by the tokens that go through the model.
type Usage struct {
	// Computed is the number of tokens that went through the model.
	Computed int64 `json:"computed"`
	// Cached counts the tokens that sequences had from a shared prefix or an earlier step
	// of a fork, and so cost no pass.
	Cached int64 `json:"cached"`
	// Rows of the output head that were evaluated.
	Rows int64 `json:"rows"`
	// Requests to a server.
	Requests int64 `json:"requests,omitempty"`
}

// Plus adds two counts.
func (u Usage) Plus(v Usage) Usage {
	return Usage{u.Computed + v.Computed, u.Cached + v.Cached, u.Rows + v.Rows, u.Requests + v.Requests}
}
