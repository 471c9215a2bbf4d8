package model

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/probe"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/flags"
	"github.com/sotto-dp/sotto/lm/models"
)

type benchOptions struct {
	flags.Model
	repeat int
}

func newModelBenchCommand(p *cli.Program) *cobra.Command {
	var opt benchOptions
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "How fast a model is on this machine",
		Long: `Measures a model on the processors of this machine, or on a
server, and prints the medians:

  - prefill: reading a prompt of 512 tokens;
  - decode: writing with 1 sequence, and with 17 at once;
  - ensemble step: what a private method pays for a token with 16 private prompts
    and a public one, of 200 tokens that share their first 100; all scores for
    the public one, 100 candidates for the others.

` + flags.ModelHelp + ui.JSONKeys(benchResult{}),
		Example: `  sotto model bench
  sotto model bench --model qwen2.5-coder --repeat 5 --json`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runModelBench(cmd.Context(), p, opt) },
	}
	cmd.Flags().IntVar(&opt.repeat, "repeat", 5, "measure each `N` times and take the median")
	return cmd
}

type benchResult struct {
	Model       string  `json:"model"`
	LoadSeconds float64 `json:"load_seconds"`
	*probe.Speeds
}

func (r *benchResult) Print(p *ui.Page) {
	where := "on " + r.Backend
	if r.Threads > 0 {
		where = ui.Counted(r.Threads, "thread")
	}
	p.Line("%s, %s\n", p.Paint(ui.Bold, r.Model), where)
	p.Facts(
		"load", fmt.Sprintf("%.2f s", r.LoadSeconds),
		"prefill", fmt.Sprintf("%.0f tokens/s (prompt of %d)", r.Prefill, probe.Prefill),
		"decode, 1 sequence", fmt.Sprintf("%.1f tokens/s", r.Decode["1"]),
		"decode, 17 sequences", fmt.Sprintf("%.1f tokens/s together", r.Decode["17"]),
		"ensemble step", fmt.Sprintf("%.1f ms (17 sequences, %d candidates)", r.EnsembleStep, probe.Candidates),
		"weights in memory", ui.If(r.Weights > 0, models.Size(r.Weights)),
	)
}

func runModelBench(ctx context.Context, p *cli.Program, opt benchOptions) error {
	if opt.repeat < 1 {
		return cli.Usage("--repeat must be at least 1")
	}
	began := time.Now()
	model, name, spec, err := p.OpenScorer(ctx, opt.Model)
	if err != nil {
		return err
	}
	defer model.Close()
	r := &benchResult{Model: name, LoadSeconds: time.Since(began).Seconds()}
	if r.Speeds, err = probe.Bench(ctx, model, spec.Threads, opt.repeat); err != nil {
		return cli.AsUsage[*probe.InputError](err)
	}
	return p.Emit(r)
}
