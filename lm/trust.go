package lm

import (
	"context"
	"fmt"
)

// TrustedScorer is a scorer that may see private records.
//
// It is a type of its own, so that a function which lays out private prompts can require
// it: a [Scorer] does not fit, and no conversion makes one.
type TrustedScorer struct {
	scorer Scorer
	basis  Basis
}

// Basis is the reason why a model is trusted. Certificates print it.
type Basis string

// The reasons.
const (
	// InProcess: the embedded engine; records do not leave this process.
	InProcess Basis = "runs inside this program"
	// Declared: the configuration marks the end point as trusted.
	Declared Basis = "end point declared as trusted by its configuration"
)

// Trust declares that a scorer may see private records. Call it only where that is decided:
// where the engine is opened or a configuration is read.
//
// A scorer that gives no scores of chosen candidates but writes can judge prompts by what it
// writes, and nothing else: see [TrustedScorer.NeedScores] and [IsolateRecords]. One that does
// neither is refused.
func Trust(s Scorer, basis Basis) (TrustedScorer, error) {
	if s == nil {
		return TrustedScorer{}, fmt.Errorf("no model to trust")
	}
	if info := s.Info(); !info.Can.Candidates && !info.Can.Chat && !info.Can.Generate {
		return TrustedScorer{}, &UnsupportedError{Backend: info.Backend, What: "be used on private records", Missing: "it neither gives scores of chosen tokens nor writes"}
	}
	switch basis {
	case InProcess, Declared:
		return TrustedScorer{s, basis}, nil
	}
	return TrustedScorer{}, fmt.Errorf("a model is trusted because it is %q or %q, not %q", InProcess, Declared, basis)
}

// Valid reports whether the value came from [Trust].
func (t TrustedScorer) Valid() bool { return t.scorer != nil }

// Basis returns the reason why the model is trusted.
func (t TrustedScorer) Basis() Basis { return t.basis }

// Info describes the model.
func (t TrustedScorer) Info() Info { return t.scorer.Info() }

// NeedScores is an *[UnsupportedError] for a model that only writes. Whatever needs a record's
// scores calls it before anything is charged.
func (t TrustedScorer) NeedScores() error {
	info := t.Info()
	if info.Can.Candidates {
		return nil
	}
	return &UnsupportedError{
		Backend: info.Backend, What: "give the scores of tokens that this needs",
		Missing: "it only writes; " + WithoutScores,
	}
}

// Tokenizer returns the model's tokeniser.
func (t TrustedScorer) Tokenizer() Tokenizer { return t.scorer.Tokenizer() }

// Chat lays out messages, as [Scorer.Chat].
func (t TrustedScorer) Chat(ctx context.Context, messages []Message) ([]Token, error) {
	return t.scorer.Chat(ctx, messages)
}

// Write completes prompts, as [Model.Generate]. It has another name, so that a trusted model is not
// one of any kind.
func (t TrustedScorer) Write(ctx context.Context, prompts []Prompt, o GenerateOptions) ([]Text, error) {
	return t.scorer.Generate(ctx, prompts, o)
}

// Open starts a session, as [Scorer.Open]. Scores that cannot come from a distribution are
// an *[UnsoundError].
func (t TrustedScorer) Open(ctx context.Context) (Session, error) {
	s, err := t.scorer.Open(ctx)
	if err != nil {
		return nil, err
	}
	return checkedSession{s, t.Info()}, nil
}

// Usage returns the cost of all calls so far.
func (t TrustedScorer) Usage() Usage { return t.scorer.Usage() }

// Public returns the same model for prompts without private content.
func (t TrustedScorer) Public() Scorer { return t.scorer }

// Close frees the model.
func (t TrustedScorer) Close() error { return t.scorer.Close() }

// TrustedEmbedder is an encoder that may see texts written from private records: a type of
// its own, as [TrustedScorer] is.
type TrustedEmbedder struct {
	embedder Embedder
	basis    Basis
}

// TrustEmbedder declares that an encoder may see texts written from private records; it
// must run in this process. Call it only where the encoder is opened.
func TrustEmbedder(e Embedder, basis Basis) (TrustedEmbedder, error) {
	if e == nil {
		return TrustedEmbedder{}, fmt.Errorf("no sentence encoder to trust")
	}
	if basis != InProcess {
		return TrustedEmbedder{}, fmt.Errorf("a sentence encoder is trusted because it %q, not because it %q", InProcess, basis)
	}
	return TrustedEmbedder{e, basis}, nil
}

// Valid reports whether the value came from [TrustEmbedder].
func (t TrustedEmbedder) Valid() bool { return t.embedder != nil }

// Basis returns the reason why the encoder is trusted.
func (t TrustedEmbedder) Basis() Basis { return t.basis }

// Embed returns the vectors of texts, as [Embedder.Embed].
func (t TrustedEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return t.embedder.Embed(ctx, texts)
}

// Within returns the same encoder, whose work is done by calls of run: it calls what it is given,
// once.
func (t TrustedEmbedder) Within(run func(compute func())) TrustedEmbedder {
	return TrustedEmbedder{within{t.embedder, run}, t.basis}
}

// within is an encoder whose work is done by calls of run.
type within struct {
	Embedder
	run func(compute func())
}

func (w within) Embed(ctx context.Context, texts []string) (vectors [][]float32, err error) {
	w.run(func() { vectors, err = w.Embedder.Embed(ctx, texts) })
	return vectors, err
}

// Fingerprint identifies all that a text's vector depends on, weights and way of computing:
// encoders of the same one give the same bits. It is "" where an encoder does not say.
func (t TrustedEmbedder) Fingerprint() string { return fingerprintOf(t.embedder) }

func (w within) Fingerprint() string { return fingerprintOf(w.Embedder) }

func fingerprintOf(e Embedder) string {
	if f, ok := e.(interface{ Fingerprint() string }); ok {
		return f.Fingerprint()
	}
	return ""
}

// Dimension returns the length of the vectors.
func (t TrustedEmbedder) Dimension() int { return t.embedder.Dimension() }

// Name identifies the encoder.
func (t TrustedEmbedder) Name() string { return t.embedder.Name() }

// Close frees the encoder.
func (t TrustedEmbedder) Close() error { return t.embedder.Close() }
