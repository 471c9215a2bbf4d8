package reply

import (
	"context"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// odds are a model's probabilities of labels, some of them 0, and log-probabilities of evidence.
func odds(t *rapid.T) (p, logs []float64) {
	n := rapid.IntRange(2, 6).Draw(t, "labels")
	var sum float64
	for range n {
		x := rapid.SampledFrom([]float64{0, 1e-320, 1e-200, 1e-9, 0.1, 0.5, 1}).Draw(t, "share")
		p, sum = append(p, x), sum+x
	}
	if sum == 0 {
		p[0], sum = 1, 1
	}
	for i := range p {
		p[i] /= sum
	}
	return p, lm.LogSoftmax(rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), n, n).Draw(t, "logits"))
}

// TestCombined: whatever is combined, the result is probabilities, a label that a model excludes stays so,
// and the odds of two labels are the model's times the evidence's to the power of the weight.
func TestCombined(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, logs := odds(t)
		weight := rapid.SampledFrom([]float64{1e-9, 0.25, 0.5, 1, 2, 64, 1e300}).Draw(t, "weight")
		q := Combined(p, logs, weight)
		var sum float64
		for i := range q {
			if !(q[i] >= 0 && q[i] <= 1) {
				t.Fatalf("label %d of %v and %v has %v", i, p, logs, q[i])
			}
			if p[i] == 0 && q[i] != 0 {
				t.Fatalf("label %d is impossible, and has %v", i, q[i])
			}
			sum += q[i]
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Fatalf("%v sum to %v", q, sum)
		}
		for i := range q {
			for j := range q {
				got, want := math.Log(q[i]/q[j]), math.Log(p[i])-math.Log(p[j])+weight*(logs[i]-logs[j])
				if q[i] < 1e-290 || q[j] < 1e-290 {
					continue // it underflows
				}
				if math.Abs(got-want) > 1e-6*(1+math.Abs(want)) {
					t.Fatalf("the odds of %d and %d are %v, not %v", i, j, got, want)
				}
			}
		}
	})
}

// TestCombinedExtremes: what would overflow or vanish as a product is still told apart.
func TestCombinedExtremes(t *testing.T) {
	for name, c := range map[string]struct {
		p, logs []float64
		weight  float64
		want    int
	}{
		"all products underflow": {[]float64{1, 0, 0}, []float64{-1e9, -1e9, 0}, 4, 0},
		"the evidence decides":   {[]float64{0.9, 0.1}, []float64{-5, -0.01}, 1, 1},
		"the model decides":      {[]float64{0.9, 0.1}, []float64{-1, -0.5}, 1, 0},
		"a small weight":         {[]float64{0.9, 0.1}, []float64{-5, -0.01}, 0.25, 0},
		"an enormous weight":     {[]float64{1 - 1e-9, 1e-9}, []float64{-0.7, -0.69}, math.MaxFloat64, 1},
	} {
		t.Run(name, func(t *testing.T) {
			q := Combined(c.p, c.logs, c.weight)
			if got := Best(q); got != c.want {
				t.Errorf("the best of %v is %d, want %d", q, got, c.want)
			}
			if !(q[c.want] > 0.5) {
				t.Errorf("it has %v", q[c.want])
			}
		})
	}
}

// TestAlone: probabilities of evidence are what its logarithms say.
func TestAlone(t *testing.T) {
	q := Alone([]float64{math.Log(0.2), math.Log(0.7), math.Log(0.1)})
	for i, want := range []float64{0.2, 0.7, 0.1} {
		if math.Abs(q[i]-want) > 1e-12 {
			t.Errorf("label %d has %v, want %v", i, q[i], want)
		}
	}
}

// bytewise is a vocabulary of bytes.
type bytewise struct{ lm.Tokenizer }

func (bytewise) Encode(_ context.Context, text string) (out []lm.Token, _ error) {
	for _, b := range []byte(text) {
		out = append(out, lm.Token(b))
	}
	return out, nil
}

func (bytewise) Decode(_ context.Context, tokens []lm.Token) (string, error) {
	var b strings.Builder
	for _, x := range tokens {
		b.WriteByte(byte(x))
	}
	return b.String(), nil
}

// TestHinted: a hint is never cut off, and question and hint are within the task's limit.
func TestHinted(t *testing.T) {
	task := prompt.Task{Name: "t", Kind: prompt.Classify, Labels: []string{"a", "b"}}.WithDefaults()
	task.Limits.InputTokens = 64
	for wording := range prompt.Hints() {
		for _, input := range []string{"", "short", "two\n lines", strings.Repeat("long ", 100)} {
			got, err := Hinted(t.Context(), bytewise{}, task, wording, input, "a 90%")
			if err != nil {
				t.Fatal(err)
			}
			if hint := prompt.Hint(wording, "", "a 90%"); !strings.HasSuffix(got, hint) {
				t.Errorf("%q lacks its hint %q", got, hint)
			}
			item, err := Item(t.Context(), bytewise{}, task, got)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := bytewise{}.Decode(t.Context(), item)
			if !strings.Contains(text, "a 90%") {
				t.Errorf("laid out, %q has no hint", text)
			}
			if len(got) > task.Limits.InputTokens {
				t.Errorf("%q has %d tokens", got, len(got))
			}
			whole, err := Hinted(t.Context(), nil, task, wording, input, "a 90%")
			if err != nil || whole != prompt.Hint(wording, Input(task, input), "a 90%") {
				t.Errorf("without a tokenizer it is %q, %v", whole, err)
			}
		}
	}
}

// asks is a model of bytes without a chat template.
type asks struct{}

func (asks) Tokenizer() lm.Tokenizer { return begins{} }

func (asks) Chat(context.Context, []lm.Message) ([]lm.Token, error) { return nil, nil }

// begins is a vocabulary of bytes in which texts have no beginning.
type begins struct{ bytewise }

func (begins) Beginning() (lm.Token, bool) { return 0, false }

// TestLongestHasHints: there is room for the hint of each example.
func TestLongestHasHints(t *testing.T) {
	task := prompt.Task{Name: "t", Kind: prompt.Classify, Labels: []string{"a", "a longer label", "bcd"}}.WithDefaults()
	plain := prompt.Prompt{Examples: []prompt.Example{{Input: "one", Output: "a"}, {Input: "two", Output: "bcd"}}}
	hinted := plain
	hinted.Evidence = prompt.Use{How: prompt.Hinted, Wording: 1}
	without, err := Longest(t.Context(), asks{}, task, plain)
	if err != nil {
		t.Fatal(err)
	}
	with, err := Longest(t.Context(), asks{}, task, hinted)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := with-without, 2*len(prompt.Hint(1, "", "a longer label 100%, bcd 100%")); got != want {
		t.Errorf("two hints take %d tokens, want %d", got, want)
	}
}
