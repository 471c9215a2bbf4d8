package plan_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// TestAnswerCost: the predicted tokens of an answer are those that go through the model,
// when question and records are at their limits. The layout is measured without texts, in
// which a space is missing before each: a token of this tokeniser, and none of those that
// join it to a word.
func TestAnswerCost(t *testing.T) {
	task := prompt.Task{
		Name: "test", Kind: prompt.Extract, Text: "text", Label: "label", Conditions: []string{"one"},
		Generate: prompt.Generation{Instruction: "Write a text."}, Answer: prompt.AnswerLayout{Instruction: "Find the number."},
		Limits: prompt.Limits{InputTokens: 30, AnswerTokens: 3},
	}.WithDefaults()
	task.Labels = nil
	const n, tokens, questions = 200, 7, 4
	for name, sampling := range map[string]scheme.Scheme{
		"per answer": {Kind: scheme.FixedSize, Per: scheme.PerText, Take: 6, Of: 2 * n},
		"per token":  {Kind: scheme.FixedSize, Per: scheme.PerToken, Take: 4, Of: 2 * n},
	} {
		t.Run(name, func(t *testing.T) {
			a := plan.Answers{Task: task, Size: 2 * n, Answers: 1, Tokens: tokens, Write: decode.Settings{Method: &decode.Mixing{Draw: sampling, Expected: 4, Range: 1, Temperature: 1}}}
			d, text := enrol(t, task, []string{"one", "two"}, n)
			model := &flat{}
			trusted, err := lm.Trust(model, lm.InProcess)
			if err != nil {
				t.Fatal(err)
			}
			for i := range uint64(questions) { // each by itself, as questions come
				w, err := decode.NewWriter(decode.Options{Model: trusted, Task: task, Pool: d, Key: noise.KeyFromSeed(7), Tokens: tokens, Rules: decode.Rules{MinTokens: tokens}, Answering: true})
				if err != nil {
					t.Fatal(err)
				}
				job := decode.Job{Text: draw.Text{Index: i}, Condition: text, Method: a.Write.Method}
				if err := w.Write(t.Context(), []decode.Job{job}, func(decode.Job, private.Output) error { return nil }); err != nil {
					t.Fatal(err)
				}
			}
			shape, err := plan.AnswerShapeOf(t.Context(), bytesOnly{}, task)
			if err != nil {
				t.Fatal(err)
			}
			shape.Head++
			shape.Record += 2
			got, want := float64(model.usage.Computed), questions*a.Cost(shape, plan.Speed{}).Cached.Tokens
			if math.Abs(got-want) > 1e-6 {
				t.Errorf("predicted %.1f tokens, used %.0f", want, got)
			}
		})
	}
	if _, err := plan.AnswerShapeOf(t.Context(), mute{}, task); err == nil || !strings.Contains(err.Error(), "measure the prompts for answers") {
		t.Errorf("a tokeniser that fails: %v", err)
	}
}

// mute is a tokeniser that fails.
type mute struct{ bytesOnly }

func (mute) Encode(context.Context, string) ([]lm.Token, error) { return nil, errors.New("it broke") }
