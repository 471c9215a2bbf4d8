package decode_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// TestRecordsThatDoNotFit: a record that is too long for its prompt is left out of it, and
// nothing fails, under every scheme and in both kinds of prompts. The prompt has the scores
// of one without that record, and other prompts have what they have without it.
func TestRecordsThatDoNotFit(t *testing.T) {
	const n, long = 12, 7
	for name, sampling := range map[string]scheme.Scheme{
		"one each":    {Kind: scheme.Poisson, Per: scheme.PerText, Rate: 0.6},
		"several":     {Kind: scheme.Poisson, Per: scheme.PerToken, Rate: 0.6, Prompts: 3, PerPrompt: 3},
		"exactly all": {Kind: scheme.FixedSize, Per: scheme.PerText, Take: n, Of: n},
	} {
		for _, answers := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", answers: ", answers), func(t *testing.T) {
				model := newToy()
				p := make(pool, 1)
				for i := range n {
					text := fmt.Sprint("short ", i%10)
					if i%2 == 1 {
						text += strings.Repeat("!", long)
					}
					p[0] = append(p[0], seal.NewRecord(int64(i+1), "red", text))
				}
				o := optionsFor(t, model, p, noise.KeyFromSeed(6))
				if answers {
					o.Task, o.Answering = answered(t, "samsum"), true
				}
				o.Rules, o.Tokens = decode.Rules{}, 4
				layout := decode.Layout{Task: o.Task.WithDefaults(), Tokenizer: model.Tokenizer(), Answering: answers}
				opening, err := layout.Opening(t.Context())
				must(t, err)
				head, err := layout.Head(t.Context(), "red")
				must(t, err)
				demo := func(i int) []lm.Token {
					tokens, err := layout.Demonstration(t.Context(), p[0][i])
					must(t, err)
					return tokens
				}
				room := len(demo(0))
				if len(demo(1)) <= room {
					t.Fatal("all records have the same length, so that nothing is tested")
				}
				model.context = len(opening) + len(head) + o.Tokens + room
				s := spying(sampling, 0)
				job := decode.Job{Text: draw.Text{Index: 1}, Condition: "red", Method: s.PickMethod}
				write(t, o, []decode.Job{job})
				samples, err := draw.NewDrawer(p, o.Key).Draw(sampling, job.Text, o.Tokens)
				must(t, err)
				left := 0
				for i, refs := range samples[0].Prompts {
					var demos []lm.Token
					for _, ref := range refs {
						_, unit := seal.Place(ref)
						if more := demo(int(unit)); len(demos)+len(more) <= room {
							demos = append(demos, more...)
						} else {
							left++
						}
					}
					compare(t, fmt.Sprint("prompt ", i), s.views[0].Prompts[i], slices.Concat(opening, demos, head), everything())
					if len(demos) == 0 && !slices.Equal(s.views[0].Prompts[i], s.views[0].Public) {
						t.Errorf("prompt %d has no record, and other scores than the public ones", i)
					}
				}
				if left == 0 || len(s.views[0].Prompts) != len(samples[0].Prompts) {
					t.Errorf("%d records were left out, and there are %d prompts of %d", left, len(s.views[0].Prompts), len(samples[0].Prompts))
				}
			})
		}
	}
}

// TestNoRoomForRecords: where no record fits, every method writes what it would without
// records, or ends with a word about the public prompt alone.
func TestNoRoomForRecords(t *testing.T) {
	for name, m := range methodsOn(20) {
		if name == "real" {
			continue // it copies records and has no prompt
		}
		texts := func(p pool) map[uint64]string {
			model := newToy()
			o := optionsFor(t, model, p, noise.KeyFromSeed(6))
			o.Tokens = 4
			layout := decode.Layout{Task: o.Task.WithDefaults(), Tokenizer: model.Tokenizer()}
			opening, err := layout.Opening(t.Context())
			must(t, err)
			longest := 0
			for _, label := range o.Task.Labels {
				head, err := layout.Head(t.Context(), label)
				must(t, err)
				longest = max(longest, len(head))
			}
			model.context = len(opening) + longest + o.Tokens
			return write(t, o, jobsOf(m, o.Task.Labels))
		}
		one, other := tickets(20), tickets(20)
		for part := range other {
			for i := range other[part] {
				other[part][i] = seal.NewRecord(int64(part*20+i+1), "another", "with another text")
			}
		}
		if a, b := texts(one), texts(other); fmt.Sprint(a) != fmt.Sprint(b) {
			t.Errorf("%s: records that no prompt has room for change texts: %v, %v", name, a, b)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
