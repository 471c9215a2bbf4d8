package worst

import (
	"context"
	"strings"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/private/internal/grader/gradertest"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// mark is in the record that comes and goes, and in no other text.
const mark = "!"

// task is about texts and answers of two letters.
var task = prompt.Task{
	Name: "audit", Kind: prompt.Classify, Text: "text", Label: "label", Labels: []string{"a", "b"},
	Generate: prompt.Generation{Instruction: "Write."},
	Answer:   prompt.AnswerLayout{Instruction: "Choose.", Input: "Q", Output: "A"},
}.WithDefaults()

// with makes players that have a model each.
func with(next func(text string) []float64, p func(context.Context, lm.TrustedScorer, noise.Key, bool) (float64, error)) func() (play, error) {
	return func() (play, error) {
		model, err := lm.Trust(&gradertest.Toy{Logits: next}, lm.InProcess)
		return func(ctx context.Context, key noise.Key, with bool) (float64, error) { return p(ctx, model, key, with) }, err
	}
}

// letters are scores of the next token: two letters, and nothing else.
func letters(a, b float64) []float64 {
	out := make([]float64, gradertest.End+1)
	for i := range out {
		out[i] = -shout
	}
	out['a'], out['b'] = a, b
	return out
}

// written are texts by the whole loop, with a model whose every word is known.
func written() ([]Game, error) {
	const tokens, texts = 4, 2
	method := &decode.Clipped{
		Draw: scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerText, Rate: 0.5}, Expected: 2, Range: 1, Temperature: 0.5, Candidates: 2, Centre: decode.MidRange,
	}
	public, loud := letters(0, 0), letters(0, -shout)
	next := func(text string) []float64 {
		if strings.Contains(text, mark) {
			return loud
		}
		return public
	}
	play := func(ctx context.Context, model lm.TrustedScorer, key noise.Key, with bool) (float64, error) {
		w, err := decode.NewWriter(decode.Options{Model: model, Task: task, Pool: among(with, "a", mark), Key: key, Tokens: tokens, Rules: decode.Rules{MinTokens: tokens}})
		if err != nil {
			return 0, err
		}
		var jobs []decode.Job
		for i := range texts {
			jobs = append(jobs, decode.Job{Text: draw.Text{Index: uint64(i), Place: int64(i)}, Condition: "a", Method: method})
		}
		score := 0.
		err = w.Write(ctx, jobs, func(_ decode.Job, r seal.Output) error {
			score += float64(strings.Count(r.Text(), "a"))
			return nil
		})
		return score, err
	}
	event := method.Scheme().Texts(decode.TextEvent(method, tokens), texts)
	return []Game{{
		Name: "clipped, whole loop", Inputs: "two texts of 4 tokens by the loop that runs, of a model whose scores are a record's or not",
		Claim: privacy.Canonical(event), Adjacency: privacy.AddRemove, Delta: 1e-5, Whole: true, player: with(next, play),
	}}, nil
}
