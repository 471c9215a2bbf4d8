package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/sotto-dp/sotto/cmd/internal/settings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/lm/models"
	"github.com/sotto-dp/sotto/lm/remote"
)

// modelFlags choose a model on the command line.
type modelFlags struct {
	model   string `job:"model,named"`
	url     string
	dialect string
	keyEnv  string
	threads int `job:"threads"`
}

const modelHelp = `The model is the one that --model or --url names, else SOTTO_MODEL, else
[model] in your configuration, else the default model in the embedded engine.
A server sees private records only if your own configuration trusts it.`

func (m *modelFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&m.model, "model", "", "the model: a `NAME` of \"sotto model list\", hf:OWNER/REPOSITORY/FILE.gguf that was pulled, the path of a GGUF file, or with --url the server's name of it (default: SOTTO_MODEL, your configuration, smollm2)")
	settings.Flags(cmd).IntVar(&m.threads, "threads", 0, "compute with this many threads (default: one for each processor)")
	m.addServer(cmd)
}

// addServer adds the flags that are about servers.
func (m *modelFlags) addServer(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&m.url, "url", "", "use the model of the server at `URL` instead of the embedded engine")
	var dialects []string
	for _, d := range remote.Dialects() {
		dialects = append(dialects, string(d))
	}
	addExpertChoice(cmd, &m.dialect, "dialect", "", "what the server speaks: vllm, sglang, llamacpp, ollama, openai or azure (default: find out)", dialects...)
	settings.Flags(cmd).StringVar(&m.keyEnv, "key-env", "", "the environment `VARIABLE` that holds the server's key")
	if s := settings.Of(cmd); s != nil {
		s.Group(settings.Machine)
	}
}

// modelSpec finds the model to use. Trust comes from the user's own configuration alone
// (see [program.configured]), and only for the very end point that it names.
func (p *program) modelSpec(m modelFlags) (backend.Spec, error) {
	settings, err := p.configured()
	if err != nil {
		return backend.Spec{}, err
	}
	if m.threads < 0 {
		return backend.Spec{}, usage("--threads must be positive, or 0 for one for each processor")
	}
	chosen, server := m.model, m.url
	if chosen == "" && server == "" {
		chosen = os.Getenv("SOTTO_MODEL")
	}
	if server == "" && isHTTP(chosen) {
		chosen, server = "", chosen
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
		spec = backend.Spec{Model: chosen, Threads: configured.Threads, Context: configured.Context}
	}
	if m.dialect != "" {
		spec.Dialect = remote.Dialect(m.dialect)
	}
	if m.keyEnv != "" {
		spec.Key = remote.Key{Env: m.keyEnv}
	}
	if m.threads > 0 {
		spec.Threads = m.threads
	}
	if !spec.Remote() && (m.dialect != "" || m.keyEnv != "") {
		return backend.Spec{}, usage("--dialect and --key-env are about a server: give its --url")
	}
	return spec, nil
}

// openScorer opens the model that flags name, to be closed.
func (p *program) openScorer(ctx context.Context, m modelFlags) (model lm.Scorer, name string, spec backend.Spec, err error) {
	if spec, err = p.modelSpec(m); err == nil {
		model, err = backend.Scorer(ctx, spec)
	}
	if err == nil {
		name = modelName(spec, model.Info())
	}
	return model, name, spec, err
}

// openTrusted opens a model for private records, and says first where they go.
func (p *program) openTrusted(ctx context.Context, spec backend.Spec) (lm.Trusted, error) {
	if to := spec.Destination(); to != "" && spec.Trusted {
		fmt.Fprintln(p.Stderr, to)
	}
	return backend.Trusted(ctx, spec)
}

// smallModel is said of a run that shows records to the default model.
const smallModel = "the model, smollm2, has 135 million parameters: it is for tests and first contact; `sotto model recommend` names larger ones that this machine runs"

// firstContact says that a run uses the default model, whether it was named or not: what
// comes out says little about a larger one.
func firstContact(spec backend.Spec, say func(string)) {
	if spec.Remote() {
		return
	}
	// What is wrong with the model is said when it is opened.
	if _, entry, _ := models.Find(spec.Model); entry.Name == models.Default {
		say(smallModel)
	}
}

// modelName is what people call a model: files say odd things about themselves.
func modelName(spec backend.Spec, info lm.Info) string {
	if !spec.Remote() {
		if e, ok := models.Identify(strings.TrimPrefix(info.Fingerprint, "sha256:")); ok {
			return e.Title
		}
	}
	return info.Name
}

func isHTTP(s string) bool {
	return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")
}

// client opens the library where flags, variables or the configuration say.
func (p *program) client(model backend.Spec) (*sotto.Client, error) {
	return p.clientOf(sotto.Options{Model: model})
}

// clientOf adds to options where ledger, keys and private folder are.
func (p *program) clientOf(o sotto.Options) (*sotto.Client, error) {
	at, err := p.places.All()
	if err != nil {
		return nil, ui.AsUsage(err)
	}
	o.Ledger, o.Keys, o.Private = at.Ledger, at.Keys, at.Private
	return sotto.Open("", &o)
}

// begin opens the library for a run with the model that flags name, and shows how it goes.
func (p *program) begin(m modelFlags) (*sotto.Client, *ui.RunProgress, error) {
	c, spec, err := p.modelClient(m)
	if err != nil {
		return nil, nil, err
	}
	progress := &ui.RunProgress{Progress: p.Progress()}
	firstContact(spec, func(text string) { progress.First = text })
	return c, progress, nil
}

// modelClient is a client with the model that flags name.
func (p *program) modelClient(m modelFlags) (*sotto.Client, backend.Spec, error) {
	spec, err := p.modelSpec(m)
	if err != nil {
		return nil, spec, err
	}
	c, err := p.client(spec)
	return c, spec, err
}
