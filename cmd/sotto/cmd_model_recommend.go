package main

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/internal/machine"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/lm/gguf"
	"github.com/sotto-dp/sotto/lm/llama"
	"github.com/sotto-dp/sotto/lm/models"
)

func newModelRecommendCommand(p *program) *cobra.Command {
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
together: then a million tokens take less than six hours.

Keys of --json: machine (system, architecture, processor, cores, instructions,
memory, available, load, limited), kernels, threads, cache_tokens, recommended,
models (name, title, parameters, quantisation, licence, restricted, bytes,
memory, cache_bytes_per_token, tokens_per_s, tokens_per_s_together, fits
("yes", "tight", "no" or "unknown"), checked, expect, here, source, pull),
notes. Speeds and sizes are estimates.`,
		Example: `  sotto model recommend
  sotto model recommend --json`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return runModelRecommend(cmd.Context(), p, threads) },
	}
	cmd.Flags().IntVar(&threads, "threads", 0, "compute with this many threads (default: one for each processor)")
	return cmd
}

// What a recommendation supposes.
const (
	recommendCache = 4096 // tokens of keys and values
	// recommendShare is the part of a machine's memory that a model may take, and
	// tightShare the part above which it does not run well beside anything else.
	recommendShare, tightShare = 2.0 / 3, 0.9
	// recommendSpeed is in tokens a second, of 17 sequences together.
	recommendSpeed = 50
	// wholeModel is the part of the products' speed that a whole model has: 0.72 to 0.95
	// in what was measured (see llama.Measure).
	wholeModel = 0.85
)

type recommendRow struct {
	models.Suggestion
	Parameters int64   `json:"parameters"`
	Bytes      int64   `json:"bytes"`
	Memory     int64   `json:"memory"`
	Cache      int64   `json:"cache_bytes_per_token"`
	Alone      float64 `json:"tokens_per_s"`
	Together   float64 `json:"tokens_per_s_together"`
	Fits       string  `json:"fits"`
	// Here: it was pulled.
	Here bool   `json:"here"`
	Pull string `json:"pull"`
}

type recommendResult struct {
	Machine machine.Facts `json:"machine"`
	// Kernels is the set of instructions that the engine computes with.
	Kernels string `json:"kernels"`
	Threads int    `json:"threads"`
	Cache   int    `json:"cache_tokens"`
	// Recommended is the name of a model, "" if none is.
	Recommended string         `json:"recommended"`
	Models      []recommendRow `json:"models"`
	Notes       []string       `json:"notes"`
}

func runModelRecommend(ctx context.Context, p *program, threads int) error {
	if threads < 0 {
		return usage("--threads must be positive, or 0 for one for each processor")
	}
	speed, err := await(ctx, func() (llama.Speed, error) { return llama.Measure(ctx, threads) })
	if err != nil {
		return err
	}
	r := recommend(machine.Inspect(), speed)
	here, err := models.List()
	if err != nil {
		return err
	}
	for i := range r.Models {
		for _, s := range here {
			r.Models[i].Here = r.Models[i].Here || s.State == models.Present && filepath.Base(s.Path) == r.Models[i].File()
		}
	}
	return p.Emit(r)
}

// recommend says what a machine runs, and how fast.
func recommend(m machine.Facts, speed llama.Speed) *recommendResult {
	r := &recommendResult{Machine: m, Kernels: speed.Level, Threads: speed.Threads, Cache: recommendCache, Notes: []string{}}
	for _, s := range models.Suggestions() {
		row := recommendRow{
			Suggestion: s, Parameters: s.Parameters(), Bytes: s.Bytes(), Memory: s.Memory(recommendCache), Cache: s.CacheBytes(),
			Alone: tokensPerSecond(s, speed.Single), Together: tokensPerSecond(s, speed.Batched), Pull: "sotto model pull " + s.Source,
		}
		row.Fits = fits(row.Memory, m.Memory)
		if !s.Restricted && row.Together >= recommendSpeed && float64(row.Memory) <= recommendShare*float64(m.Memory) {
			r.Recommended = s.Name
		}
		r.Models = append(r.Models, row)
	}
	if m.Memory == 0 {
		r.Notes = append(r.Notes, "this system does not tell how much memory it has: compare for yourself")
	}
	if m.Limited {
		r.Notes = append(r.Notes, "the memory is the limit of the container that this runs in")
	}
	if m.Load > 0.7*float64(m.Cores) {
		r.Notes = append(r.Notes, fmt.Sprintf("other programs compute at the moment (load %.1f on %d cores), so that the speeds are likely too low: run this again when they are done", m.Load, m.Cores))
	}
	if speed.Level == "portable" {
		r.Notes = append(r.Notes, "the engine has kernels for AVX2 and AVX-512 alone, which this processor does not have: it computes in plain Go, about a hundred times slower. Run the model on a server (vLLM, llama.cpp) and name it with --url")
	}
	if r.Recommended == "" {
		r.Notes = append(r.Notes, "none is both small and fast enough here; a server that you trust may be (docs/models.md)")
	}
	return r
}

func fits(need, memory int64) string {
	switch {
	case memory == 0:
		return "unknown"
	case float64(need) > tightShare*float64(memory):
		return "no"
	case float64(need) > recommendShare*float64(memory):
		return "tight"
	}
	return "yes"
}

// tokensPerSecond estimates the speed of a model, from how fast weights of each storage
// type are multiplied.
func tokensPerSecond(s models.Suggestion, weights map[gguf.Type]float64) float64 {
	seconds := 0.0
	for t, n := range s.Computed() {
		seconds += float64(n) / weights[t]
	}
	if estimate := wholeModel / seconds; !math.IsInf(estimate, 0) && !math.IsNaN(estimate) {
		return estimate
	}
	return 0
}

func (r *recommendResult) Print(p *ui.Page) {
	m := r.Machine
	memory := "unknown"
	if m.Memory > 0 {
		memory = models.Size(m.Memory)
		if m.Available > 0 {
			memory += ", " + models.Size(m.Available) + " of it free"
		}
	}
	p.Facts(
		"processor", fmt.Sprintf("%s, %d cores (%s/%s)", orUnknown(m.Processor), m.Cores, m.System, m.Architecture),
		"instructions", fmt.Sprintf("%s; the engine computes with %s", orUnknown(strings.Join(m.Instructions, " ")), r.Kernels),
		"memory", memory,
	)
	p.Line("")
	t := ui.NewTable("", "model", "#size", "#memory", "fits", "#alone", "#together", "checked")
	for _, row := range r.Models {
		mark := ""
		if row.Name == r.Recommended {
			mark = "→"
		}
		checked := string(row.Checked)
		if row.Here {
			checked += ", here"
		}
		t.Add(mark, row.Name, gigabytes(row.Bytes), gigabytes(row.Memory), row.Fits, rate(row.Alone), rate(row.Together), checked)
	}
	p.Table(t)
	p.Line("\n  alone, together: tokens a second of 1 sequence, of 17 at once. ESTIMATES, from\n  a short measurement of this machine; sizes are computed too. How far a model\n  was checked is explained in --help: none of these files itself was run.")
	for _, row := range r.Models {
		p.Line("")
		for i, part := range ui.Fold(fmt.Sprintf("%s: %s (%s, %s)", row.Title, row.Expect, row.Quantisation, licence(row.Suggestion)), ui.Width-2) {
			if i == 0 {
				part = strings.Replace(part, row.Title, p.Paint(ui.Bold, row.Title), 1)
			}
			p.Line("%s", part)
		}
		p.Line("  %s", row.Pull)
	}
	for _, note := range r.Notes {
		p.Line("")
		for _, part := range ui.Fold("note: "+note, ui.Width-2) {
			p.Line("%s", part)
		}
	}
}

// gigabytes writes a size with one decimal: it is computed, not looked up.
func gigabytes(bytes int64) string { return fmt.Sprintf("%.1f GB", float64(bytes)/1e9) }

func licence(s models.Suggestion) string {
	if s.Restricted {
		return s.Licence + ", not for commercial use"
	}
	return s.Licence
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
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
