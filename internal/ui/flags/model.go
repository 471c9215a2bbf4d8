// Package flags has flags that verbs of several programs share.
package flags

import (
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/settings"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/lm/models"
	"github.com/sotto-dp/sotto/lm/remote"
)

// Model chooses a model on the command line.
type Model struct {
	Name    string
	URL     string
	Dialect string
	KeyEnv  string
	Threads int
	// Activations is the number of bits that the embedded engine rounds the inputs of its products to.
	Activations int
}

// ModelHelp is the paragraph of a verb's help that says which model it uses.
const ModelHelp = `The model is the one that --model or --url names, else SOTTO_MODEL, else
[model] in your configuration, else the default model in the embedded engine.
A server sees private records only if your own configuration trusts it.`

// Add adds the flags to a verb.
func (m *Model) Add(cmd *cobra.Command) {
	m.AddNames(cmd.Flags())
	m.AddFew(cmd)
}

// AddNames adds the flags that name the model.
func (m *Model) AddNames(f *pflag.FlagSet) {
	f.StringVar(&m.Name, "model", "", "the model: a `NAME` of \"sotto model list\", hf:OWNER/REPOSITORY/FILE.gguf that was pulled, the path of a GGUF file, or with --url the server's name of it (default: SOTTO_MODEL, your configuration, smollm2)")
	f.StringVar(&m.URL, "url", "", "use the model of the server at `URL` instead of the embedded engine")
}

// AddFew adds what few people change to the settings of a verb; without settings, the configuration has it.
func (m *Model) AddFew(cmd *cobra.Command) {
	s := settings.Of(cmd)
	if s == nil {
		return
	}
	s.Flags.IntVar(&m.Threads, "threads", 0, "compute with this many threads (default: one for each processor)")
	s.Flags.IntVar(&m.Activations, "activations", 0, "round the inputs of products with weights to 8 or 16 bits: 8 is faster, and another model to a run that resumes (default: 16)")
	var dialects []string
	for _, d := range remote.Dialects() {
		dialects = append(dialects, string(d))
	}
	settings.Choice(cmd, &m.Dialect, "dialect", "", "what the server speaks: vllm, sglang, llamacpp, ollama, openai or azure (default: find out)", dialects...)
	s.Flags.StringVar(&m.KeyEnv, "key-env", "", "the environment `VARIABLE` that holds the server's key (default: your configuration's, for its server)")
	s.Group(settings.Machine)
}

// Spec finds the model to use. Trust comes from the user's own configuration alone, and only for the
// very end point that it names.
func (m Model) Spec(settings *config.Settings) (backend.Spec, error) {
	if m.Threads < 0 {
		return backend.Spec{}, ui.Usage("threads must be positive, or 0 for one for each processor")
	}
	chosen, server := m.Name, m.URL
	if chosen == "" && server == "" {
		chosen = os.Getenv("SOTTO_MODEL")
	}
	if server == "" && IsHTTP(chosen) {
		chosen, server = "", chosen
	}
	if !slices.Contains([]int{0, 8, 16}, m.Activations) {
		return backend.Spec{}, ui.Usage("activations must have 8 or 16 bits")
	}
	configured := settings.Model.Spec()
	if configured.Trusted {
		configured.TrustedBy = settings.File
	}
	spec := configured
	switch {
	case server != "":
		if server != configured.URL {
			spec = backend.Spec{URL: server, Context: configured.Context}
		}
		if chosen != "" {
			spec.Model = chosen
		}
	case chosen != "":
		spec = backend.Spec{Model: chosen, Threads: configured.Threads, Context: configured.Context, Activations: configured.Activations}
	}
	spec.Encoder = configured.Encoder
	if m.Dialect != "" {
		spec.Dialect = remote.Dialect(m.Dialect)
	}
	if m.KeyEnv != "" {
		spec.Key = remote.Key{Env: m.KeyEnv}
	}
	if m.Threads > 0 {
		spec.Threads = m.Threads
	}
	if m.Activations > 0 {
		spec.Activations = m.Activations
	}
	if spec.Remote() && m.Activations > 0 {
		return backend.Spec{}, ui.Usage("activations are about the embedded engine: a server computes as it was started")
	}
	if !spec.Remote() && (m.Dialect != "" || m.KeyEnv != "") {
		return backend.Spec{}, ui.Usage("the settings dialect and key-env are about a server: give its --url")
	}
	return spec, nil
}

// IsHTTP reports whether a model is named by the address of its server.
func IsHTTP(s string) bool {
	return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")
}

// ModelName is what people call a model: files say odd things about themselves.
func ModelName(spec backend.Spec, info lm.Info) string {
	if !spec.Remote() {
		if e, ok := models.Identify(strings.TrimPrefix(info.Fingerprint, "sha256:")); ok {
			return e.Title
		}
	}
	return info.Name
}
