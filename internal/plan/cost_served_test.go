package plan

import (
	"context"
	"math"
	"testing"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/choose"
	"github.com/sotto-dp/sotto/internal/private/measure"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
)

// TestServedWork: on a server each answer about a record reads its whole prompt, in calls of all prompts
// of a record; what is written from records reads every prompt at every token, one by one.
func TestServedWork(t *testing.T) {
	shape := Shape{Instruction: 10, Head: 5, Record: 40}
	draw := scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerToken, Rate: .1}
	p := Plan{Parts: []Part{{Size: 1000}}, Tokens: 20}
	p.Choose = &Choose{
		Choice: choose.Choice{Draw: draw, Rounds: 3}, First: 24, Next: 8, ExplorationRounds: 1, Shots: 4, MaxShots: 4,
		Measure: &measure.Measure{Draw: draw},
	}
	records := draw.Expected(p.Units())
	if records < 1 {
		t.Fatalf("%v records are drawn", records)
	}
	answers := float64(p.Choose.Sets()+1) * records
	each := p.promptTokens(shape) + p.asked().tokens()
	got := p.choosingWork(shape, Speed{Prefill: 1000, Step: 2, Served: true})
	calls := 4 * records // three rounds, and what is measured
	if want := answers * each; math.Abs(got.Tokens-want) > 1e-6*want || math.Abs(got.Seconds-want/1000-2*calls) > 1e-6*got.Seconds {
		t.Errorf("choosing is %+v; by hand %v tokens, and %v calls", got, want, calls)
	}
	if own := p.choosingWork(shape, Speed{}); own.Tokens >= got.Tokens/2 {
		t.Errorf("%v tokens in this process, and %v on a server", own.Tokens, got.Tokens)
	}
	// A text of 20 tokens from 3 prompts with 6 records, and the one without records.
	text := textWork(scheme.PerText, 20, 3, 3, 6, shape, Speed{Step: 1, Served: true})
	if want := 4*(20*10+20*5+190) + 20*6*40.; text.Cached.Tokens != want || text.Cached.Seconds != 80 {
		t.Errorf("a text is %+v; by hand %v tokens, and 80 requests", text.Cached, want)
	}
}

// slowWriter is a model that only writes.
type slowWriter struct{ lm.Scorer }

func (slowWriter) Info() lm.Info { return lm.Info{Backend: "test", Can: lm.Capabilities{Chat: true}} }

func (slowWriter) Generate(context.Context, []lm.Prompt, lm.GenerateOptions) ([]lm.Text, error) {
	return []lm.Text{{Text: "a"}}, nil
}

// TestMeasureWriter: the speed of a model without scores is measured by what it writes.
func TestMeasureWriter(t *testing.T) {
	v, err := Measure(t.Context(), slowWriter{})
	expect.NoError(t, err)
	expect.True(t, "v.Prefill above 0", v.Prefill > 0, v.Prefill)
	expect.True(t, "v.Served", v.Served)
}
