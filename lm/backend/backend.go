package backend

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/sotto-dp/sotto/internal/engine/bert"
	"github.com/sotto-dp/sotto/internal/engine/llama"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/models"
	"github.com/sotto-dp/sotto/lm/remote"
)

// Spec selects a model and how to run it. The zero value is the default model in the
// embedded engine.
type Spec struct {
	// Model is a name of the catalogue or the path of a GGUF file; with URL, the
	// name that the server knows the model by.
	Model string
	// Encoder is the sentence encoder beside it: a name of the catalogue, of a model that was pulled, or the
	// path of a folder or GGUF file. Default: minilm.
	Encoder string
	// Threads and Context are for the embedded engine: 0 takes all processors, and the
	// context the model was trained for. Context also limits that of a server.
	Threads int
	Context int
	// Activations of the embedded engine, in bits; as in [llama.Options].
	Activations int

	// URL of a server to use instead of the embedded engine.
	URL string
	// Dialect of the server, "" to detect it. Key locates its secret.
	Dialect remote.Dialect
	Key     remote.Key
	// Trusted declares that prompts with private records may be sent to URL.
	Trusted bool
	// TrustedBy names the source of that declaration, such as the path of a configuration
	// file.
	TrustedBy string
	// The rest is as in [remote.Options].
	Proxy          string
	AllowPlaintext bool
	Exclusive      bool
	CacheSalt      string
	Tolerance      float64
}

// Remote reports whether the model is on a server.
func (s Spec) Remote() bool { return s.URL != "" }

// Destination describes where private records go: to which server (without keys that its
// address may hold), by which route, and on whose word. It is "" for the embedded engine.
func (s Spec) Destination() string {
	if !s.Remote() {
		return ""
	}
	by := s.TrustedBy
	if by == "" {
		by = "the program that calls"
	}
	return fmt.Sprintf("private records go to %s%s (trusted by %s)", Address(s.URL), s.options().Route(), by)
}

// Address returns the URL of a server without user, password, query and fragment, for
// messages.
func Address(server string) string {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" {
		return "a server"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// Open opens the model for generating text.
func Open(ctx context.Context, s Spec) (lm.Model, error) {
	if !s.Remote() {
		return engine(s)
	}
	client, err := Dial(ctx, s)
	if err != nil {
		return nil, err
	}
	return client, nil
}

// Scorer opens the model for scoring. A server that does not return scores is an
// [*lm.UnsupportedError].
func Scorer(ctx context.Context, s Spec) (lm.Scorer, error) { return scorer(ctx, s, false) }

// scorer opens the model for scoring, or, where that will do, for writing alone.
func scorer(ctx context.Context, s Spec, writer bool) (lm.Scorer, error) {
	if !s.Remote() {
		return engine(s)
	}
	client, err := Dial(ctx, s)
	if err != nil {
		return nil, err
	}
	open := client.Scorer
	if writer && !client.Info().Can.Candidates {
		open = client.Writer
	}
	scorer, err := open(ctx)
	if err != nil {
		client.Close()
		return nil, err
	}
	return scorer, nil
}

func engine(s Spec) (lm.Scorer, error) {
	path, entry, err := models.Find(s.Model)
	if err != nil {
		return nil, err
	}
	if entry.Kind == models.Encoder || strings.HasSuffix(path, ".safetensors") {
		return nil, &lm.UnsupportedError{
			Backend: filepath.Base(path), What: "write text",
			Missing: "it turns sentences into vectors; use a language model, such as " + models.Default,
		}
	}
	m, err := llama.Open(path, llama.Options{Threads: s.Threads, Context: s.Context, Activations: s.Activations})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Trusted opens the model for prompts with private records. A server that gives no scores can
// judge what is written, and nothing else: [lm.TrustedScorer.NeedScores].
func Trusted(ctx context.Context, s Spec) (lm.TrustedScorer, error) {
	basis := lm.InProcess
	if s.Remote() {
		if !s.Trusted {
			return lm.TrustedScorer{}, &UntrustedError{}
		}
		basis = lm.Declared
	}
	scorer, err := scorer(ctx, s, true)
	if err != nil {
		return lm.TrustedScorer{}, err
	}
	trusted, err := lm.Trust(scorer, basis)
	if err != nil {
		scorer.Close()
		return lm.TrustedScorer{}, err
	}
	return trusted, nil
}

// UntrustedError reports that private records must not go to an end point.
type UntrustedError struct{}

func (*UntrustedError) Error() string {
	return "the server is not trusted with private records: if it is yours and may see them, write url and trusted = true under [model] in your own configuration (sotto/sotto.toml in the folder of your configuration, or a file that --config names); if it is not, use the embedded engine, and have this server write the pool (--pool-model URL) and answer behind `sotto serve`: it sees no record then (docs/howto/hosted-model.md)"
}

// Dial connects to the server. One that is trusted with records is always reached as if
// records went there.
func Dial(ctx context.Context, s Spec) (*remote.Client, error) {
	return remote.Dial(ctx, s.options())
}

func (s Spec) options() remote.Options {
	return remote.Options{
		URL: s.URL, Dialect: s.Dialect, Model: s.Model, Key: s.Key,
		Private: s.Trusted, Proxy: s.Proxy, AllowPlaintext: s.AllowPlaintext, Exclusive: s.Exclusive,
		Context: s.Context, CacheSalt: s.CacheSalt, Tolerance: s.Tolerance,
	}
}

// Encoder loads a sentence encoder into this process: one that [models.Find] finds, "" for that of the catalogue.
func Encoder(name string) (lm.Embedder, error) {
	path, entry, err := models.Find(cmp.Or(name, defaultEncoder))
	if err != nil {
		return nil, err
	}
	if entry.Kind != models.Encoder {
		return nil, &lm.UnsupportedError{
			Backend: filepath.Base(path), What: "turn sentences into vectors",
			Missing: "it writes text; use a sentence encoder, such as " + defaultEncoder,
		}
	}
	var e *bert.Encoder
	if entry.Name == defaultEncoder {
		e, err = bert.Open(path, filepath.Join(filepath.Dir(path), entry.Files[1].Name))
	} else {
		e, err = bert.OpenModel(path, bert.Options{Name: entry.Name, Prefix: entry.Prefix})
	}
	if err != nil {
		return nil, err
	}
	return e, nil
}

const defaultEncoder = "minilm"

// TrustedEncoder is [Encoder] for texts written from private records.
func TrustedEncoder(name string) (lm.TrustedEmbedder, error) {
	e, err := Encoder(name)
	if err != nil {
		return lm.TrustedEmbedder{}, err
	}
	return lm.TrustEmbedder(e, lm.InProcess)
}
