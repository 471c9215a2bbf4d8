package decode_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// TestTextsDependOnTheKeyAlone: the same key gives the same texts, however many are
// written at once, in whatever order, and with or without caches; another gives others.
func TestTextsDependOnTheKeyAlone(t *testing.T) {
	const n = 20
	for name, m := range methodsOn(n) {
		t.Run(name, func(t *testing.T) {
			run := func(seed uint64, change func(*decode.Options, []decode.Job)) map[uint64]string {
				o := optionsFor(t, newToy(), tickets(n), noise.KeyFromSeed(seed))
				jobs := jobsOf(m, o.Task.Labels)
				if change != nil {
					change(&o, jobs)
				}
				return write(t, o, jobs)
			}
			want := run(1, nil)
			if len(want) != 5 {
				t.Fatalf("%d texts", len(want))
			}
			for what, change := range map[string]func(*decode.Options, []decode.Job){
				"again":                 nil,
				"2 at once":             func(o *decode.Options, _ []decode.Job) { o.Parallel = 2 },
				"3 at once":             func(o *decode.Options, _ []decode.Job) { o.Parallel = 3 },
				"all at once":           func(o *decode.Options, _ []decode.Job) { o.Parallel = 9 },
				"in another order":      func(o *decode.Options, jobs []decode.Job) { o.Parallel = 2; slices.Reverse(jobs) },
				"as published programs": func(o *decode.Options, _ []decode.Job) { o.Published = true },
			} {
				if got := run(1, change); !maps.Equal(got, want) {
					t.Errorf("%s: %v, not %v", what, got, want)
				}
			}
			if other := run(2, nil); maps.Equal(other, want) {
				t.Error("another key gives the same texts")
			}
		})
	}
}

// spy is a method that keeps what it is shown, under any scheme.
type spy struct {
	*decode.PickMethod
	views []decode.View
}

// spying looks at no prompt to choose a token.
func spying(sampling scheme.Scheme, candidates int) *spy {
	s := &spy{}
	s.PickMethod = &decode.PickMethod{
		Method: &decode.Gaussian{Draw: sampling, Candidates: candidates, Sigma: 1},
		Look: func(v decode.View, stream *noise.Stream) (int, error) {
			s.views = append(s.views, v)
			return int(stream.Uint64n(uint64(len(v.Public)))), nil
		},
	}
	return s
}

// TestTheLoopShowsWhatWasDrawn makes every prompt anew from the draws and compares the
// scores that a method was shown: each prompt has its own records, the text so far and
// nothing else, and those without records count as empty.
func TestTheLoopShowsWhatWasDrawn(t *testing.T) {
	const n = 12
	for name, sampling := range map[string]scheme.Scheme{
		"per token":      {Kind: scheme.Poisson, Per: scheme.PerToken, Rate: 0.3, Prompts: 3, PerPrompt: 2},
		"per text":       {Kind: scheme.Poisson, Per: scheme.PerText, Rate: 0.3},
		"fixed size":     {Kind: scheme.FixedSize, Per: scheme.PerToken, Take: 4, Of: n, Prompts: 3, PerPrompt: 1},
		"disjoint":       {Kind: scheme.Disjoint, Per: scheme.PerText, Batches: 3, Prompts: 2, PerPrompt: 9},
		"nobody, mostly": {Kind: scheme.Poisson, Per: scheme.PerToken, Rate: 0.01, Prompts: 2, PerPrompt: 1},
	} {
		t.Run(name, func(t *testing.T) {
			key := noise.KeyFromSeed(3)
			p := tickets(n)
			o := optionsFor(t, newToy(), p, key)
			o.Rules = decode.Rules{}
			s := spying(sampling, 0)
			text := draw.Text{Index: 4, Part: 1, Place: 1}
			var released seal.Output
			w, err := decode.NewWriter(o)
			if err != nil {
				t.Fatal(err)
			}
			job := decode.Job{Text: text, Condition: o.Task.Labels[1], Method: s.PickMethod}
			if err := w.Write(t.Context(), []decode.Job{job}, func(_ decode.Job, r seal.Output) error { released = r; return nil }); err != nil {
				t.Fatal(err)
			}
			if len(s.views) != released.Steps() {
				t.Fatalf("%d views for %d tokens", len(s.views), released.Steps())
			}
			samples, err := draw.NewDrawer(p, key).Draw(sampling, text, o.Task.Limits.MaxTokens)
			if err != nil {
				t.Fatal(err)
			}
			opening := append([]lm.Token{end}, bytesOf(o.Task.GenerationPrefix())...)
			head := bytesOf(o.Task.GenerationHead(job.Condition))
			var tokens []lm.Token
			for step, v := range s.views {
				sample := samples[0]
				if sampling.Per == scheme.PerToken {
					sample = samples[step]
				}
				if v.Empty != sample.Empty || len(v.Prompts) != len(sample.Prompts) {
					t.Fatalf("token %d: %d prompts and %d empty ones, not %d and %d", step, len(v.Prompts), v.Empty, len(sample.Prompts), sample.Empty)
				}
				candidates := everything()
				compare(t, fmt.Sprint("public, token ", step), v.Public, slices.Concat(opening, head, tokens), candidates)
				for i, refs := range sample.Prompts {
					records, err := p.Fetch(t.Context(), refs)
					if err != nil {
						t.Fatal(err)
					}
					var demos []lm.Token
					for _, r := range records {
						demos = append(demos, bytesOf(o.Task.GenerationDemo(seal.Condition(r), seal.Text(r)))...)
					}
					compare(t, fmt.Sprint("prompt ", i, ", token ", step), v.Prompts[i], slices.Concat(opening, demos, head, tokens), candidates)
				}
				pick := key.Stream("pick", text.Index, uint64(step)).Uint64n(uint64(len(candidates)))
				tokens = append(tokens, candidates[pick])
			}
		})
	}
}

// everything is the candidates of the toy without rules: all tokens, the end included.
func everything() []lm.Token {
	var out []lm.Token
	for t := range lm.Token(end + 1) {
		out = append(out, t)
	}
	return out
}

func compare(t *testing.T, what string, got []float64, sequence, candidates []lm.Token) {
	t.Helper()
	all := toyScores(sequence)
	var logits []float64
	for _, c := range candidates {
		logits = append(logits, all[c])
	}
	want := lm.LogSoftmax(logits)
	if len(got) != len(want) {
		t.Fatalf("%s: %d scores, not %d", what, len(got), len(want))
	}
	for i := range want {
		if d := got[i] - want[i]; d > 1e-9 || d < -1e-9 {
			t.Fatalf("%s: the scores are of another prompt", what)
		}
	}
}
