package model

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/lm/models"
	"github.com/sotto-dp/sotto/lm/probe"
)

func newModelRecommendCommand(p *cli.Program) *cobra.Command {
	var threads int
	cmd := &cobra.Command{
		Use:   "recommend",
		Short: "Which larger models this machine runs, how fast, and how to get them",
		Long: `The default model has 135 million parameters: it is for tests and first contact.
This looks at memory and processor, measures for a second or two how fast the
engine multiplies weights here, and lists general models of up to 8 billion
parameters that follow instructions and that the engine should run.

  - size: of the file, computed from the model's shape;
  - memory: the weights, 4096 tokens of keys and values, and 0.2 GB to work in;
  - tokens/s: for one sequence alone, and for all of 17 together, which is how
    private methods and choices read their prompts. Both are estimates: 0.85 of
    what the products of the weights would allow on this machine when nothing
    else runs. "sotto model bench" measures a model that is here;
  - checked: how far it was tried out that the engine runs it. "same shape": a
    model of this very shape was compared with llama.cpp; "same family": a
    smaller one was; "architecture": the engine knows architecture, tokeniser
    and storage types, and no model of the family was run. None of the files
    themselves was. What the engine cannot run it refuses, with the reason.

The arrow marks the largest that fits into two thirds of the memory, has a
licence without a ban on commercial use, and comes to 50 tokens a second
together: then a million tokens take less than six hours.` + ui.JSONKeys(recommendResult{}, `fits is "yes", "tight", "no" or "unknown". Speeds and sizes are estimates.`),
		Example: `  sotto model recommend
  sotto model recommend --json`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runModelRecommend(cmd.Context(), p, threads) },
	}
	cmd.Flags().IntVar(&threads, "threads", 0, "compute with this many threads (default: one for each processor)")
	return cmd
}

type recommendResult struct{ *probe.Recommendation }

func runModelRecommend(ctx context.Context, p *cli.Program, threads int) error {
	if threads < 0 {
		return cli.Usage("--threads must be positive, or 0 for one for each processor")
	}
	r, err := cli.Recommendation(ctx, threads)
	if err != nil {
		return err
	}
	return p.Emit(&recommendResult{r})
}

func (r *recommendResult) Print(p *ui.Page) {
	m := r.Machine
	memory := "unknown"
	if m.Memory > 0 {
		memory = models.Size(m.Memory)
		memory += ui.If(m.Available > 0, ", "+models.Size(m.Available)+" of it free")
	}
	p.Facts(
		"processor", fmt.Sprintf("%s, %d cores (%s/%s)", cmp.Or(m.Processor, "unknown"), m.Cores, m.System, m.Architecture),
		"instructions", fmt.Sprintf("%s; the engine computes with %s", cmp.Or(strings.Join(m.Instructions, " "), "unknown"), r.Kernels),
		"memory", memory,
	)
	p.Line("")
	t := ui.NewTable("", "model", "#size", "#memory", "fits", "#alone", "#together", "checked")
	for _, row := range r.Models {
		checked := string(row.Checked) + ui.If(row.Here, ", here")
		t.Add(ui.If(row.Name == r.Recommended, "→"), row.Name, cli.Gigabytes(row.Bytes), cli.Gigabytes(row.Memory), row.Fits, rate(row.Alone), rate(row.Together), checked)
	}
	p.Table(t)
	p.Line("\n  alone, together: tokens a second of 1 sequence, of 17 at once. ESTIMATES, from\n  a short measurement of this machine; sizes are computed too. How far a model\n  was checked is explained in --help: none of these files itself was run.")
	for _, row := range r.Models {
		p.Line("")
		licence := row.Licence + ui.If(row.Restricted, ", not for commercial use")
		about := strings.Join(ui.Fold(fmt.Sprintf("%s: %s (%s, %s)", row.Title, row.Expect, row.Quantisation, licence), ui.Width-2), "\n")
		p.Line("%s", strings.Replace(about, row.Title, p.Paint(ui.Bold, row.Title), 1))
		p.Line("  %s", row.Pull)
	}
	for _, note := range r.Notes {
		p.Line("")
		p.Line("%s", strings.Join(ui.Fold("note: "+note, ui.Width-2), "\n"))
	}
}

// rate writes an estimate with no more digits than it deserves.
func rate(perSecond float64) string {
	switch {
	case perSecond == 0:
		return "unknown"
	case perSecond < 9.5:
		return fmt.Sprintf("%.1g/s", perSecond)
	case perSecond < 99.5:
		return fmt.Sprintf("%.0f/s", perSecond)
	}
	return fmt.Sprintf("%.0f0/s", perSecond/10)
}
