package model

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/flags"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/lm/models"
)

func newModelShowCommand(p *cli.Program) *cobra.Command {
	var of flags.Model
	cmd := &cobra.Command{
		Use:   "show [NAME|PATH] [--url URL]",
		Short: "What a model is and what can be done with it",
		Long: `Shows what a model's file says about itself, whether its SHA-256 is the one
that is pinned, and what the engine can do with it. With --url, asks a server
what it can do: every server writes text, private records need one that gives
the scores of chosen tokens.

Without an argument it is the model that is used when none is named.` + ui.JSONKeys(modelShowResult{}),
		Example: `  sotto model show smollm2
  sotto model show --url http://127.0.0.1:8000 --json`,
		Args: cli.UpTo("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				if p.Chosen.URL != "" {
					return cli.Usage("give a model or --url, not both")
				}
				of.Name = args[0]
			}
			return runModelShow(cmd.Context(), p, of)
		},
	}
	cmd.ValidArgsFunction = completeModels
	return cmd
}

type modelShowResult struct {
	Name    string `json:"name"`
	Backend string `json:"backend"`
	Version string `json:"version,omitempty"`
	URL     string `json:"url,omitempty"`

	Path   string `json:"path,omitempty"`
	Bytes  int64  `json:"bytes,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
	// Pinned says that the catalogue, or a pin, has this very file.
	Pinned       bool        `json:"pinned"`
	Pin          *models.Pin `json:"pin,omitempty"`
	Architecture string      `json:"architecture,omitempty"`
	Parameters   int64       `json:"parameters,omitempty"`
	Quantisation string      `json:"quantisation,omitempty"`
	Layers       int         `json:"layers,omitempty"`
	Context      int         `json:"context,omitempty"`
	Vocabulary   int         `json:"vocabulary,omitempty"`
	Dimension    int         `json:"dimension,omitempty"`
	// Prefix is what every text begins with that becomes a vector.
	Prefix  string `json:"prefix,omitempty"`
	Licence string `json:"licence,omitempty"`

	Capabilities   lm.Capabilities `json:"capabilities"`
	Deterministic  bool            `json:"deterministic"`
	BatchInvariant bool            `json:"batch_invariant"`
	Tolerance      float64         `json:"tolerance"`
	Scores         bool            `json:"scores"`
	Missing        string          `json:"missing,omitempty"`
	Notes          []string        `json:"notes,omitempty"`

	types map[string]int64
}

func runModelShow(ctx context.Context, p *cli.Program, of flags.Model) error {
	spec, err := p.ModelSpec(of)
	if err != nil {
		return err
	}
	if spec.Remote() {
		return showServer(ctx, p, spec)
	}
	path, entry, err := models.Find(spec.Model)
	if err != nil {
		return err
	}
	hash, err := models.Verify(ctx, path)
	if err != nil {
		return err
	}
	facts, err := models.Inspect(path)
	if err != nil {
		return err
	}
	r := &modelShowResult{
		Name: filepath.Base(path), Path: path, Bytes: facts.Bytes, Architecture: facts.Architecture, Parameters: facts.Parameters,
		Quantisation: facts.Quantisation, Layers: facts.Layers, Context: facts.Context, Vocabulary: facts.Vocabulary,
		Licence: facts.Licence, SHA256: hash, types: facts.Types,
	}
	if entry.Kind == models.Encoder && filepath.Base(path) == "model.safetensors" {
		r.Name = filepath.Base(filepath.Dir(path))
	}
	if e, ok := models.Identify(r.SHA256); ok {
		r.Name, r.Licence, r.Pinned = e.Name, e.Licence, true
	} else if err := r.findPin(entry.Name); err != nil {
		return err
	}
	if err := r.engine(ctx, spec, entry); err != nil {
		return err
	}
	return p.Emit(r)
}

// findPin looks for the pin of a file that was found by it.
func (r *modelShowResult) findPin(name string) error {
	pins, err := models.Pins()
	for _, p := range pins {
		if p.Name == name && p.SHA256 == r.SHA256 {
			r.Name, r.Pinned, r.Pin = p.Name, true, &p
		}
	}
	return err
}

// engine says what the embedded engine can do with a model of a kind.
func (r *modelShowResult) engine(ctx context.Context, spec backend.Spec, entry models.Entry) error {
	if entry.Kind != models.Encoder {
		m, err := backend.Open(ctx, spec)
		if err != nil {
			return err
		}
		r.fill(m.Info())
		return m.Close()
	}
	e, err := backend.Encoder(spec.Model)
	if err != nil {
		return err
	}
	r.Backend, r.Dimension, r.Capabilities = "embedded", e.Dimension(), lm.Capabilities{Embed: true}
	r.Deterministic, r.BatchInvariant, r.Prefix = true, true, entry.Prefix
	r.Missing = "it turns sentences into vectors and does not score tokens"
	return e.Close()
}

// fill takes over what a back-end promises.
func (r *modelShowResult) fill(info lm.Info) {
	r.Backend, r.Version = info.Backend, info.Version
	r.Context, r.Vocabulary = info.Context, info.Vocabulary
	r.Capabilities, r.Scores = info.Can, info.Can.Candidates
	r.Deterministic, r.BatchInvariant, r.Tolerance = info.Deterministic, info.BatchInvariant, info.Tolerance
}

func showServer(ctx context.Context, p *cli.Program, spec backend.Spec) error {
	client, err := backend.Dial(ctx, spec)
	if err != nil {
		return err
	}
	defer client.Close()
	probe := client.Probe()
	r := &modelShowResult{Name: probe.Name, URL: probe.URL, Missing: probe.Missing, Notes: probe.Notes}
	r.fill(probe.Info)
	r.Scores = probe.Scores
	return p.Emit(r)
}

func (r *modelShowResult) Print(p *ui.Page) {
	p.Head("%s", r.Name)
	kinds := slices.SortedFunc(maps.Keys(r.types), func(a, b string) int { return int(r.types[b]>>10 - r.types[a]>>10) })
	for i, k := range kinds {
		kinds[i] = fmt.Sprintf("%s %s", k, count(r.types[k]))
	}
	pinned := ""
	switch {
	case r.Pin != nil:
		pinned = fmt.Sprintf("yes, this is %s of %s, commit %s", r.Pin.Path, r.Pin.Repository, r.Pin.Commit)
	case r.Pinned:
		pinned = "yes, this is the file of the catalogue"
	case r.SHA256 != "":
		pinned = "no, the catalogue does not have this file"
	}
	p.Facts(
		"url", r.URL,
		"file", r.Path,
		"size", ui.If(r.Bytes > 0, models.Size(r.Bytes)),
		"SHA-256", r.SHA256,
		"pinned", pinned,
		"architecture", r.Architecture,
		"parameters", count(r.Parameters),
		"weights", strings.Join(kinds, ", "),
		"licence", r.Licence,
		"context", ui.If(r.Context > 0, fmt.Sprintf("%d tokens", r.Context)),
		"vocabulary", ui.If(r.Vocabulary > 0, fmt.Sprintf("%d tokens", r.Vocabulary)),
		"dimension", ui.If(r.Dimension > 0, fmt.Sprint(r.Dimension)),
		"prefix", ui.If(r.Prefix != "", fmt.Sprintf("%q", r.Prefix)),
		"runs in", strings.TrimSpace(r.Backend+" "+r.Version),
		"can", r.abilities(),
		"private records", r.privacy(),
		"repeatable", r.repeatable(),
		"note", strings.Join(r.Notes, "; "),
	)
}

func (r *modelShowResult) abilities() string {
	var can []string
	for _, c := range []struct {
		yes  bool
		what string
	}{
		{r.Capabilities.Generate, "complete text"},
		{r.Capabilities.Chat, "chat"},
		{r.Capabilities.Candidates, "score chosen tokens"},
		{r.Capabilities.Top, "give best tokens"},
		{r.Capabilities.All, "give whole distributions"},
		{r.Capabilities.Given, "score given tokens"},
		{r.Capabilities.Embed, "embed sentences"},
	} {
		if c.yes {
			can = append(can, c.what)
		}
	}
	return strings.Join(can, ", ")
}

func (r *modelShowResult) privacy() string {
	switch {
	case !r.Scores && r.URL != "" && r.Capabilities.Chat:
		return "no scores of theirs: " + r.Missing + "; " + lm.WithoutScores
	case !r.Scores:
		return "no: " + r.Missing
	case r.URL != "":
		return "yes, if the configuration says that the server is trusted"
	}
	return "yes: they do not leave this process"
}

func (r *modelShowResult) repeatable() string {
	switch {
	case r.BatchInvariant:
		return "to the bit, whatever else is computed along with it"
	case r.Deterministic:
		return "yes, if nothing else is computed along with it"
	}
	return fmt.Sprintf("not promised; scores may differ by %g between calls", r.Tolerance)
}

// count writes a large number for people, and nothing for none.
func count(n int64) string {
	switch {
	case n == 0:
		return ""
	case n < 1_000_000:
		return fmt.Sprint(n)
	case n < 1_000_000_000:
		return fmt.Sprintf("%.4g million", float64(n)/1e6)
	}
	return fmt.Sprintf("%.4g billion", float64(n)/1e9)
}
