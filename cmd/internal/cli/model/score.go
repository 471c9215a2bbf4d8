package model

import (
	"fmt"
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/probe"
	"github.com/sotto-dp/sotto/internal/sys/bounded"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/flags"
)

type scoreOptions struct {
	flags.Model
	prompt     string
	candidates string
	top        int
	chat       bool
}

func newModelScoreCommand(p *cli.Program) *cobra.Command {
	var opt scoreOptions
	cmd := &cobra.Command{
		Use:   "score --prompt TEXT [--top K | --candidates FILE] [--chat]",
		Short: "How likely a model finds each next token",
		Long: `Prints log-probabilities of the token that follows a prompt: of the best ones,
or of those that a file lists. Logarithms are natural ones.

The file of --candidates has a candidate on each line, as text that is one token
to the model (spaces count: " yes" and "yes" are different tokens). If all lines
are numbers, they are token ids. It may also be a JSON array of texts and ids.

` + flags.ModelHelp + ui.JSONKeys(scoreResult{}, `normalised_over is "vocabulary", or "candidates" where a server gives no more. logprob_among is the logarithm of the share among the candidates; control is true for marks, which have no text.`),
		Example: `  sotto model score --prompt 'The capital of France is' --top 5
  sotto model score --prompt 'Is the sea blue?' --chat --candidates answers.txt --json`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runModelScore(cmd, p, opt) },
	}
	f := cmd.Flags()
	f.StringVar(&opt.prompt, "prompt", "", "the `TEXT` that the token follows, or - to read it from standard input; required")
	f.IntVar(&opt.top, "top", 10, "print the best `K` tokens")
	f.StringVar(&opt.candidates, "candidates", "", "print the tokens that `FILE` lists instead of the best")
	f.BoolVar(&opt.chat, "chat", false, "take the prompt as a message to the model, and score the first token of its answer")
	_ = cmd.MarkFlagFilename("candidates") // the flag exists
	cli.Needs(cmd, "prompt")
	cmd.MarkFlagsMutuallyExclusive("top", "candidates")
	return cmd
}

type scoreResult struct {
	Model string `json:"model"`
	*probe.NextTokens
}

func (r *scoreResult) Print(p *ui.Page) {
	t := ui.NewTable("#token", "text", "#logprob", "#probability")
	for _, s := range r.Tokens {
		text := strconv.Quote(s.Text)
		if s.Control {
			text = "(mark)"
		}
		t.Add(fmt.Sprint(s.ID), text, fmt.Sprintf("%.4f", s.LogProb), fmt.Sprintf("%.3g%%", 100*math.Exp(s.LogProb)))
	}
	p.Table(t)
	p.Line("\n  %s, after %s; probabilities over the %s", r.Model, ui.Counted(r.PromptTokens, "token"), r.Over)
}

func runModelScore(cmd *cobra.Command, p *cli.Program, opt scoreOptions) error {
	ctx := cmd.Context()
	switch {
	case opt.top < 1:
		return cli.Usage("--top must be at least 1")
	}
	prompt := opt.prompt
	if prompt == "-" {
		data, err := bounded.Read(p.Stdin, cli.LongestQuestion)
		if err != nil {
			return fmt.Errorf("read the prompt: %w", err)
		}
		prompt = string(data)
	}
	wanted, err := readCandidates(opt.candidates)
	if err != nil {
		return err
	}
	model, name, _, err := p.OpenScorer(ctx, opt.Model)
	if err != nil {
		return err
	}
	defer model.Close()
	next, err := probe.Next(ctx, model, prompt, opt.chat, opt.top, wanted)
	if err != nil {
		return cli.AsUsage[*probe.InputError](err)
	}
	return p.Emit(&scoreResult{name, next})
}

// readCandidates reads a file of candidates, none if the path is empty.
func readCandidates(path string) ([]probe.Candidate, error) {
	if path == "" {
		return nil, nil
	}
	data, err := bounded.ReadFile(path, bounded.Large)
	if err != nil {
		return nil, cli.Usage("candidates: %w", err)
	}
	list, err := probe.ParseCandidates(data)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("there is none")
	}
	if err != nil {
		return nil, cli.Usage("candidates in %s: %w", path, err)
	}
	return list, nil
}
