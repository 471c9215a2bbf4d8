package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

type sampleOptions struct {
	estimate string
	count    int
	out      string
	seed     int64
}

func newTableSampleCommand(p *program) *cobra.Command {
	var opt sampleOptions
	cmd := &cobra.Command{
		Use:   "sample --estimate DIR",
		Short: "Fresh examples from what reconstruct found out, at no cost",
		Long: `Draws examples from an estimate that "sotto table reconstruct --out" wrote:
other ones every time, any number of times. It costs nothing, since the estimate
was made from perturbed rows only; a fresh set for every question is fine.

Keys of --json: schema, rows, epsilon, private, demos (text, label), dir, files,
warnings.`,
		Example: `  sotto table sample --estimate demos --count 8
  sotto table sample --estimate demos --count 4 --out more --json`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return runSample(p, opt, cmd.Flags().Changed) },
	}
	f := cmd.Flags()
	f.StringVar(&opt.estimate, "estimate", "", "the `DIR` or file that reconstruct wrote; required")
	f.IntVar(&opt.count, "count", 4, "draw `K` examples")
	f.StringVar(&opt.out, "out", "", "write them in all formats into `DIR`, a new or empty one")
	_ = cmd.MarkFlagDirname("out") // the flag exists
	f.Int64Var(&opt.seed, "seed", 0, "draw the same examples every time, by `N`")
	return cmd
}

func runSample(p *program, opt sampleOptions, given func(string) bool) error {
	switch {
	case opt.estimate == "":
		return usage("--estimate is missing: the folder that \"sotto table reconstruct --out\" wrote")
	case opt.count < 1:
		return usage("--count is %d, it should be positive", opt.count)
	}
	of, err := readEstimate(opt.estimate)
	if err != nil {
		return err
	}
	var seed *uint64
	if given("seed") {
		n := uint64(opt.seed)
		seed = &n
	}
	examples, err := of.sample(opt.count, seed)
	if err != nil {
		return err
	}
	r := &sampleResult{Schema: of.Schema.Name, Rows: of.Rows, Epsilon: of.Epsilon, Private: of.Private}
	for _, e := range examples {
		r.Demos = append(r.Demos, sampleDemo{e.Input, e.Output})
	}
	if !of.Private {
		r.Warnings = append(r.Warnings, "the rows were perturbed from a seed: they are NOT PRIVATE, and neither is what is made from them")
	}
	if opt.out != "" {
		if err := emptyDir(opt.out); err != nil {
			return err
		}
		r.Dir = opt.out
		if r.Files, err = of.save(opt.out, examples); err != nil {
			return err
		}
	}
	p.warn(r.Warnings)
	return p.emit(r)
}

type sampleResult struct {
	Schema   string       `json:"schema"`
	Rows     int64        `json:"rows"`
	Epsilon  float64      `json:"epsilon"`
	Private  bool         `json:"private"`
	Demos    []sampleDemo `json:"demos"`
	Dir      string       `json:"dir,omitempty"`
	Files    []string     `json:"files,omitempty"`
	Warnings []string     `json:"warnings,omitempty"`
}

func (r *sampleResult) print(p *page) {
	p.line("%s\n", p.paint(bold, fmt.Sprintf("%d examples, drawn from an estimate of %s rows that were perturbed at ε = %s each", len(r.Demos), thousands(r.Rows), atMost(r.Epsilon))))
	p.demos(r.Demos)
	p.facts(fact{"files", strings.Join(r.Files, ", ")}, fact{"cost", "nothing more: the rows were perturbed before"})
}
