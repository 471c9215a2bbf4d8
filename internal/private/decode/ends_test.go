package decode_test

import (
	"context"
	"slices"
	"testing"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// ender is a toy that would end every text at once.
type ender struct{ *toy }

func (m ender) Open(ctx context.Context) (lm.Session, error) {
	s, err := m.toy.Open(ctx)
	return enderSession{s.(*toySession)}, err
}

type enderSession struct{ *toySession }

func (s enderSession) Step(ctx context.Context, steps []lm.Step) ([]lm.Scores, error) {
	out, err := s.toySession.Step(ctx, steps)
	for i := range out {
		at := slices.Index(out[i].Tokens, end)
		if out[i].Tokens == nil && len(out[i].LogProbs) > end {
			at = end
		}
		if at >= 0 {
			out[i].LogProbs[at] = 20
			out[i].LogProbs = lm.LogSoftmax(out[i].LogProbs)
		}
	}
	return out, err
}

// TestOnlyTheMethodEndsTexts: however likely the end is to the prompts with records, a text
// continues until the method chooses the end, and its tokens are those that the method chose.
func TestOnlyTheMethodEndsTexts(t *testing.T) {
	const n = 12
	for name, sampling := range map[string]scheme.Scheme{
		"per token": {Kind: scheme.Poisson, Per: scheme.PerToken, Rate: 0.5, Prompts: 3, PerPrompt: 2},
		"per text":  {Kind: scheme.Poisson, Per: scheme.PerText, Rate: 0.5},
	} {
		for _, last := range []int{1, 3, 100} { // when the method ends the text
			o := optionsFor(t, newToy(), tickets(n), noise.KeyFromSeed(5))
			trusted, err := lm.Trust(ender{newToy()}, lm.InProcess)
			if err != nil {
				t.Fatal(err)
			}
			o.Model, o.Rules = trusted, decode.Rules{}
			shown, picks := 0, 0
			m := &decode.PickMethod{
				Method: &decode.Gaussian{Draw: sampling, Sigma: 1},
				Look: func(v decode.View, _ *noise.Stream) (int, error) {
					for _, p := range v.Prompts {
						if slices.Max(p) == p[end] {
							shown++
						}
					}
					if picks++; picks == last {
						return end, nil
					}
					return 'a' + picks, nil
				},
			}
			w, err := decode.NewWriter(o)
			if err != nil {
				t.Fatal(err)
			}
			var out seal.Output
			job := decode.Job{Text: draw.Text{Index: 1, Part: 1}, Condition: o.Task.Labels[1], Method: m}
			if err := w.Write(t.Context(), []decode.Job{job}, func(_ decode.Job, r seal.Output) error { out = r; return nil }); err != nil {
				t.Fatal(err)
			}
			want, text := min(last, o.Task.Limits.MaxTokens), ""
			for i := 1; i <= want && i != last; i++ {
				text += string(rune('a' + i))
			}
			at := expect.At(t, "%s", name)
			expect.Equal(at, "out.Steps", out.Steps(), want)
			expect.Equal(at, "picks", picks, want)
			expect.Equal(at, "out.Text", out.Text(), text)
			expect.True(at, "shown is not 0", shown != 0, shown)
		}
	}
}
