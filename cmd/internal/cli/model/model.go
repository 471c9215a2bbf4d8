package model

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/flags"
	"github.com/sotto-dp/sotto/lm/models"
)

func newModelCommand(p *cli.Program) *cobra.Command {
	return cli.NewGroup("model", "Models: fetch, list, look at, score, measure",
		`Models run inside this program, or on a server. Those that run inside are GGUF
files; a few are known by name and pinned by SHA-256, others are pulled from
Hugging Face or named by their path. Files are kept in the directory that
SOTTO_MODELS names, else in sotto/models in the user's cache directory.`,
		`  sotto model pull
  sotto model list
  sotto model show --url http://127.0.0.1:8000
  sotto model score --prompt 'The capital of France is' --top 5
  sotto model bench`,
		newModelPullCommand(p),
		newModelListCommand(p),
		newModelShowCommand(p),
		newModelScoreCommand(p),
		newModelBenchCommand(p),
	)
}

func newModelListCommand(p *cli.Program) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "The models that are known by name, and those that are here",
		Long: `Lists the catalogue and the models that were pulled from Hugging Face, and what
is in the cache of them, and all other GGUF files in the cache. The arrow marks
the model that is used when none is named.` + ui.JSONKeys(modelListResult{}, `state is "present", "partial" or "absent".`),
		Example: "  sotto model list --json",
		RunE:    func(*cobra.Command, []string) error { return runModelList(p) },
	}
}

type modelRow struct {
	models.Status
	Bytes int64 `json:"bytes"`
}

type modelListResult struct {
	Dir string `json:"dir"`
	// Default is what is used when no flag names a model.
	Default string     `json:"default"`
	Models  []modelRow `json:"models"`
}

func (r *modelListResult) Print(p *ui.Page) {
	t := ui.NewTable("", "model", "#size", "here", "licence", "what")
	for _, m := range r.Models {
		here := "yes"
		switch m.State {
		case models.Partial:
			here = models.Size(m.Have)
		case models.Absent:
			here = "no"
		}
		what := m.Title
		switch {
		case m.Pin != nil:
			what = fmt.Sprintf("pinned: %s at %.7s", m.Pin.Repository, m.Pin.Commit)
		case m.About != "":
			what += ": " + m.About
		}
		t.Add(ui.If(m.Name == r.Default, "→"), m.Name, models.Size(m.Bytes), here, cmp.Or(m.Licence, "-"), what)
	}
	p.Table(t)
	p.Line("\n  in %s; fetch one with: sotto model pull NAME", r.Dir)
}

func runModelList(p *cli.Program) error {
	dir, err := models.Dir()
	if err != nil {
		return err
	}
	all, err := models.List()
	if err != nil {
		return err
	}
	spec, err := p.ModelSpec(flags.Model{})
	if err != nil {
		return err
	}
	r := &modelListResult{Dir: dir, Default: spec.Model}
	if e, ok := models.Lookup(spec.Model); ok && !spec.Remote() {
		r.Default = e.Name
	}
	if spec.Remote() {
		r.Default = config.Redact(spec.URL)
	}
	for _, s := range all {
		r.Models = append(r.Models, modelRow{s, cmp.Or(s.Entry.Bytes(), s.Have)})
	}
	return p.Emit(r)
}
