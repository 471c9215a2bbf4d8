package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/internal/bounded"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
)

type scoreOptions struct {
	modelFlags
	prompt     string
	candidates string
	top        int
	chat       bool
}

func newModelScoreCommand(p *program) *cobra.Command {
	var opt scoreOptions
	cmd := &cobra.Command{
		Use:   "score --prompt TEXT [--top K | --candidates FILE] [--chat]",
		Short: "How likely a model finds each next token",
		Long: `Prints log-probabilities of the token that follows a prompt: of the best ones,
or of those that a file lists. Logarithms are natural ones.

The file of --candidates has a candidate on each line, as text that is one token
to the model (spaces count: " yes" and "yes" are different tokens). If all lines
are numbers, they are token ids. It may also be a JSON array of texts and ids.

` + modelHelp + `

Keys of --json: model, prompt_tokens, normalised_over ("vocabulary", or
"candidates" where a server gives no more), tokens (id, text, logprob, and with
--candidates logprob_among: its logarithm of the share among the candidates;
control is true for marks, which have no text).`,
		Example: `  sotto model score --prompt 'The capital of France is' --top 5
  sotto model score --prompt 'Is the sea blue?' --chat --candidates answers.txt --json`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return runModelScore(cmd, p, opt) },
	}
	opt.add(cmd)
	f := cmd.Flags()
	f.StringVar(&opt.prompt, "prompt", "", "the `TEXT` that the token follows, or - to read it from standard input; required")
	f.IntVar(&opt.top, "top", 10, "print the best `K` tokens")
	f.StringVar(&opt.candidates, "candidates", "", "print the tokens that `FILE` lists instead of the best")
	f.BoolVar(&opt.chat, "chat", false, "take the prompt as a message to the model, and score the first token of its answer")
	_ = cmd.MarkFlagFilename("candidates") // the flag exists
	return cmd
}

type scoredToken struct {
	ID      lm.Token `json:"id"`
	Text    string   `json:"text"`
	LogProb float64  `json:"logprob"`
	Among   *float64 `json:"logprob_among,omitempty"`
	Control bool     `json:"control,omitempty"`
}

type scoreResult struct {
	Model        string        `json:"model"`
	PromptTokens int           `json:"prompt_tokens"`
	Over         string        `json:"normalised_over"`
	Tokens       []scoredToken `json:"tokens"`
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
	p.Line("\n  %s, after %d tokens; probabilities over the %s", r.Model, r.PromptTokens, r.Over)
}

func runModelScore(cmd *cobra.Command, p *program, opt scoreOptions) error {
	ctx := cmd.Context()
	switch {
	case !cmd.Flags().Changed("prompt"):
		return usage("--prompt is missing: give the text that the token follows")
	case opt.candidates != "" && cmd.Flags().Changed("top"):
		return usage("--top and --candidates exclude each other: the file says which tokens are printed")
	case opt.top < 1:
		return usage("--top must be at least 1")
	}
	prompt := opt.prompt
	if prompt == "-" {
		data, err := bounded.Read(p.Stdin, longestQuestion)
		if err != nil {
			return fmt.Errorf("read the prompt: %w", err)
		}
		prompt = string(data)
	}
	spec, err := p.modelSpec(opt.modelFlags)
	if err != nil {
		return err
	}
	wanted, err := readCandidates(opt.candidates)
	if err != nil {
		return err
	}
	model, err := backend.Scorer(ctx, spec)
	if err != nil {
		return err
	}
	defer model.Close()
	r, err := score(ctx, model, prompt, wanted, opt)
	if err != nil {
		return err
	}
	r.Model = modelName(spec, model.Info())
	return p.Emit(r)
}

// score asks a model about the token after a prompt.
func score(ctx context.Context, model lm.Scorer, prompt string, wanted []candidate, opt scoreOptions) (*scoreResult, error) {
	list, err := promptTokens(ctx, model, prompt, opt.chat)
	if err != nil {
		return nil, err
	}
	ask := lm.Ask{Top: opt.top}
	var candidates []lm.Token
	if wanted != nil {
		if candidates, err = resolveCandidates(ctx, model.Tokenizer(), wanted); err != nil {
			return nil, err
		}
		// Where all can be had, the candidates' probabilities are real ones.
		if ask = (lm.Ask{Candidates: candidates}); model.Info().Can.All {
			ask = lm.Ask{All: true}
		}
	}
	session, err := model.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	sequence, err := session.New()
	if err != nil {
		return nil, err
	}
	scores, err := session.Step(ctx, []lm.Step{{Sequence: sequence, Tokens: list, Ask: ask}})
	if err != nil {
		return nil, err
	}
	r := &scoreResult{PromptTokens: len(list), Over: "vocabulary"}
	best := scores[0]
	if candidates != nil {
		if ask.All {
			best = restrict(best, candidates)
		} else {
			r.Over = "candidates"
		}
	}
	return r, r.fill(ctx, model.Tokenizer(), best, candidates != nil)
}

// promptTokens lays a prompt out as the model wants it.
func promptTokens(ctx context.Context, model lm.Scorer, prompt string, chat bool) ([]lm.Token, error) {
	if chat {
		return model.Chat(ctx, []lm.Message{{Role: lm.User, Content: prompt}})
	}
	list, err := model.Tokenizer().Encode(ctx, prompt)
	if first, ok := model.Tokenizer().Beginning(); ok && err == nil {
		list = append([]lm.Token{first}, list...)
	}
	return list, err
}

func restrict(all lm.Scores, tokens []lm.Token) lm.Scores {
	s := lm.Scores{Tokens: tokens}
	for _, t := range tokens {
		s.LogProbs = append(s.LogProbs, all.LogProbs[t])
	}
	return s
}

// fill lists scores from the best on.
func (r *scoreResult) fill(ctx context.Context, tokenizer lm.Tokenizer, s lm.Scores, among bool) error {
	var shares []float64
	if among {
		shares = lm.LogSoftmax(s.LogProbs)
	}
	for i, t := range s.Tokens {
		text, err := tokenizer.Decode(ctx, []lm.Token{t})
		if err != nil {
			return err
		}
		row := scoredToken{ID: t, Text: strings.ToValidUTF8(text, "\ufffd"), LogProb: s.LogProbs[i], Control: tokenizer.Control(t)}
		if among {
			row.Among = &shares[i]
		}
		r.Tokens = append(r.Tokens, row)
	}
	slices.SortStableFunc(r.Tokens, func(a, b scoredToken) int { return cmp.Compare(b.LogProb, a.LogProb) })
	return nil
}

// candidate is a token by its id, or a text that should be one.
type candidate struct {
	id   lm.Token
	text string
	byID bool
}

// readCandidates reads a file of candidates, none if the path is empty.
func readCandidates(path string) ([]candidate, error) {
	if path == "" {
		return nil, nil
	}
	data, err := bounded.ReadFile(path, bounded.Large)
	if err != nil {
		return nil, usage("candidates: %w", err)
	}
	list, err := parseCandidates(data)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("there is none")
	}
	if err != nil {
		return nil, usage("candidates in %s: %w", path, err)
	}
	return list, nil
}

func parseCandidates(data []byte) ([]candidate, error) {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) && json.Valid(data) {
		return parseArray(data)
	}
	var list []candidate
	numbers := true
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			continue
		}
		_, err := strconv.ParseUint(line, 10, 31)
		numbers = numbers && err == nil
		list = append(list, candidate{text: line})
	}
	if numbers {
		for i, c := range list {
			id, _ := strconv.Atoi(c.text) // as all were tried
			list[i] = candidate{id: lm.Token(id), byID: true}
		}
	}
	return list, nil
}

func parseArray(data []byte) ([]candidate, error) {
	var items []any
	if err := bounded.UnmarshalJSON(data, bounded.Large, &items); err != nil {
		return nil, err
	}
	var list []candidate
	for i, item := range items {
		switch v := item.(type) {
		case string:
			list = append(list, candidate{text: v})
		case float64:
			if v != math.Trunc(v) || v < 0 || v > math.MaxInt32 {
				return nil, fmt.Errorf("item %d is not the id of a token", i+1)
			}
			list = append(list, candidate{id: lm.Token(v), byID: true})
		default:
			return nil, fmt.Errorf("item %d is neither a text nor a number", i+1)
		}
	}
	return list, nil
}

// resolveCandidates finds the tokens of candidates.
func resolveCandidates(ctx context.Context, tokenizer lm.Tokenizer, wanted []candidate) ([]lm.Token, error) {
	var list []lm.Token
	for i, c := range wanted {
		token := c.id
		if !c.byID {
			found, err := tokenizer.Encode(ctx, c.text)
			if err != nil {
				return nil, err
			}
			if len(found) != 1 {
				return nil, usage("candidate %q is %d tokens to this model, not one: give a shorter text, or token ids", c.text, len(found))
			}
			token = found[0]
		}
		if int(token) >= tokenizer.Size() {
			return nil, usage("candidate %d is token %d, but the model's vocabulary ends at %d", i+1, token, tokenizer.Size()-1)
		}
		if slices.Contains(list, token) {
			return nil, usage("candidate %d, token %d, is listed twice", i+1, token)
		}
		list = append(list, token)
	}
	return list, nil
}
