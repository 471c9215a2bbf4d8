package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/plan"
)

// poolFlags say who makes up what prompts are built from, beside the model of the run.
type poolFlags struct {
	poolModel  string
	poolKeyEnv string
	reword     int
	vary       int
}

// poolFlagNames are the flags of the above, which other methods have no use for.
var poolFlagNames = []string{"pool-model", "pool-key-env", "reword", "vary"}

func (p *poolFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&p.poolModel, "pool-model", "", "choose: have another model write the texts to choose from: that of a server at `URL`, or URL#NAME, or a model as --model takes it; it sees the task and no record, so that any will do")
	f.StringVar(&p.poolKeyEnv, "pool-key-env", "", "choose: the environment `VARIABLE` that holds the key of --pool-model's server")
	f.IntVar(&p.reword, "reword", 0, "choose: try `N` other wordings of the task's instruction, by --pool-model or else the model (default 4 with --pool-model, else none; 0 for none)")
	f.IntVar(&p.vary, "vary", 0, "choose: after each round, have `N` texts written like the winner's examples, by --pool-model or else the model, for the next to try (default none)")
}

// pooled fills in who writes.
func (p *poolFlags) pooled(of *program, q *plan.Request, given func(flag string) bool) (sotto.Pool, error) {
	var out sotto.Pool
	switch {
	case p.reword < 0 || p.vary < 0:
		return out, usage("--reword and --vary should be numbers of texts, or 0 for none")
	case p.poolKeyEnv != "" && p.poolModel == "":
		return out, usage("--pool-key-env is about the server of --pool-model: name that")
	case given("pool-model") && p.poolModel == "":
		return out, usage("--pool-model is empty: it should be the URL of a server, or a model")
	}
	out.Reword, q.Choosing.Vary = p.reword, p.vary
	if given("reword") && p.reword == 0 {
		out.Reword = -1
	}
	if p.poolModel == "" {
		return out, nil
	}
	flags := modelFlags{model: p.poolModel, keyEnv: p.poolKeyEnv}
	if isHTTP(p.poolModel) {
		flags.url, flags.model, _ = strings.Cut(p.poolModel, "#")
	} else if p.poolKeyEnv != "" {
		return out, usage("--pool-key-env is about a server, and --pool-model names none: give its URL")
	}
	spec, err := of.modelSpec(flags)
	out.Model = &spec
	return out, err
}
