package ensemble

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/internal/mechanism"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

func init() {
	register[Keyword](method.Spec{
		Name: "keyword", Summary: "choose words that many prompts' answers have, and write from these",
		Idea: "Each drawn record has a prompt of its own, which writes an answer. A few words that many of the answers have are chosen with noise, " +
			"from a public list or whichever are frequent, and a prompt without records writes the answer with them.",
		Cost:  "Each prompt writes a whole answer, and public ones beside them.",
		When:  "For short written answers, where the right words matter more than their order.",
		Cites: "Wu et al. 2023, keyword space aggregation; Gillenwater et al. 2022 (joint top-k); Dwork and Lei 2009 (propose, test, release)",
		Draws: "32 records for each answer, one in each prompt", Calibrates: "range, or sigma",
		Steps: []string{
			"For each question, draw records and give each a prompt of its own, which writes an answer.",
			"Count, for each word of a public list, in how many answers it occurs.",
			"Choose k words together by the exponential mechanism on the largest shortfall of their counts; or test with noise that the k most frequent words stand apart, and release them if so.",
			"A prompt without records writes the answer with these words.",
		},
		Not:   "For long answers, or where answers agree in few words.",
		Event: "poisson(q, boundedrange(c)); with select = ptr poisson(q, compose(gaussian(σ), approx(0, δ_f)))", Theorem: "P35",
		Needs: "scores of the most likely tokens",
		Settings: append(drawSettings(writers), publicSetting(), method.Setting{
			Name: "select", Type: method.Choice, Help: "how words are selected: joint, from a public list, or ptr, propose, test and release", Choices: []string{string(Joint), string(Test)},
		}, method.Setting{Name: "keywords", Type: method.Int, Help: "how many words", Default: "5", Max: maxKeywords}),
	}, func(a method.Ask) (*Keyword, error) {
		sampling, err := drawn(a, scheme.PerText, writers)
		if err != nil {
			return nil, err
		}
		k := Keyword{Draw: sampling, Select: Select(a.Values.Word("select", string(Joint))), Keywords: a.Values.Int("keywords", 5)}
		if k.Select == Test {
			// Failures of all tests together may use half of δ; who is not drawn is not in them.
			rate := sampling.Expected(a.Size) / float64(a.Size)
			k.Failure = math.Min(0.01, a.Delta/(2*float64(a.Texts)*rate))
		} else {
			k.Candidates = a.Values.Int("candidates", publicAnswers)
		}
		return calibrate(a, func(x float64) *Keyword {
			out := k
			if k.Select == Test {
				out.Sigma = x
			} else {
				out.Range = x
			}
			return &out
		})
	})
}

// Select is how keywords are chosen.
type Select string

// The ways there are.
const (
	// Joint chooses all keywords at once from a public list of words.
	Joint Select = "joint"
	// Test proposes the most frequent words, whatever they are, and releases them if a
	// noisy test finds that no unit could change which they are.
	Test Select = "ptr"
)

// Keyword answers by a public prompt with words that many of the prompts'
// sentences have (Wu et al. 2023, "Privacy-preserving in-context learning for large
// language models", keyword space aggregation). A word counts once for a sentence.
//
// Precondition: one unit adds or removes one prompt's sentence, or exchanges it where
// prompts hold several records or the size of the draw is fixed. Postcondition, on the
// drawn records:
//
//   - joint: boundedrange(Range), see [joint] for the mechanism and [spread] for what
//     one unit does to it.
//   - ptr: gaussian(Sigma) and approx(0, Failure), see [Keyword.gap].
//
// What is written from the words is post-processing. Empty prompts have the public
// sentence, which is one that a prompt may have.
type Keyword struct {
	// Draw: per text.
	Draw scheme.Scheme `json:"draw"`
	// Select is Joint by default.
	Select Select `json:"select,omitempty"`
	// Keywords is how many there are.
	Keywords int `json:"keywords"`
	// Range is what a joint choice costs; Candidates is the number of public answers whose
	// words may be chosen, beside those of the question.
	Range      float64 `json:"range,omitempty"`
	Candidates int     `json:"candidates,omitempty"`
	// Sigma is the noise multiplier of the test, and Failure the probability with which it
	// may pass where it should not.
	Sigma   float64 `json:"sigma,omitempty"`
	Failure float64 `json:"failure,omitempty"`
}

// Name implements [Method].
func (*Keyword) Name() string { return "keyword" }

// Proof implements [Method].
func (k *Keyword) Proof() string {
	if k.Select == Test {
		return "propose-test-release (Dwork and Lei 2009) of the most frequent words, tested by the Gaussian mechanism on the gap below them: sensitivity 1, or 2 exchanged"
	}
	return "joint exponential mechanism for top-k (Gillenwater, Joseph, Munoz Medina and Ribero 2022) on a public list of words: bounded range"
}

// maxKeywords is more keywords of an answer than a prompt has use for.
const maxKeywords = 100

// Check implements [Method].
func (k *Keyword) Check() error {
	if k.Keywords < 1 || k.Keywords > maxKeywords {
		return fmt.Errorf("keyword needs between 1 and %d keywords, not %d", maxKeywords, k.Keywords)
	}
	switch k.Select {
	case "", Joint:
		if !(k.Range >= minRange) || math.IsInf(k.Range, 1) {
			return fmt.Errorf("a joint choice of keywords needs a positive range, not %v", k.Range)
		}
		if k.Candidates < 1 {
			return fmt.Errorf("a joint choice of keywords needs public answers that have words, not %d of them", k.Candidates)
		}
	case Test:
		if !positive(k.Sigma) || !(k.Failure > 0 && k.Failure < 0.5) {
			return fmt.Errorf("a test of keywords needs a positive noise multiplier, not %v, and a probability of failure below 0.5, not %v", k.Sigma, k.Failure)
		}
	default:
		return fmt.Errorf("unknown way to select keywords %q: one of %s, %s", k.Select, Joint, Test)
	}
	return checkOnce(k)
}

// Serves implements [Method].
func (*Keyword) Serves(t prompt.Task) error { return writes("keyword", t) }

// Scheme implements [Method].
func (k *Keyword) Scheme() scheme.Scheme { return k.Draw }

// Amounts implements [Method].
func (k *Keyword) Amounts() []method.Amount {
	if k.Select == Test {
		return []method.Amount{{Symbol: "σ", Value: k.Sigma}}
	}
	return []method.Amount{{Symbol: "c", Value: k.Range}}
}

// Loud implements [Method].
func (k *Keyword) Loud(prompts float64) bool {
	return k.Range > 0 && k.Range*prompts < 1 || k.Sigma > prompts
}

// Work implements [Method].
func (k *Keyword) Work() Work { return Work{Looks: 1, Writes: true, Public: max(1, k.Candidates)} }

// Event implements [Method].
func (k *Keyword) Event() privacy.Event {
	var inner privacy.Event = privacy.BoundedRange{C: k.Range}
	if k.Select == Test {
		inner = privacy.Compose{Events: []privacy.Event{privacy.Gaussian{Sigma: k.Sigma}, privacy.Approx{Delta: k.Failure}}}
	}
	return privacy.Canonical(k.Draw.Event(inner, 1))
}

func (k *Keyword) answer(ctx context.Context, r *round) (outcome, error) {
	candidates, err := r.candidates(ctx, max(1, k.Candidates))
	if err != nil {
		return outcome{}, err
	}
	list := words(strings.Join(append([]string{r.Input}, candidates...), " "))
	if k.Select != Test && len(list) == 0 {
		// No word may be chosen, so no record is read: the empty composition.
		return outcome{candidates[0], privacy.Compose{}}, nil
	}
	written, empty, err := r.sentences(ctx)
	if err != nil {
		return outcome{}, err
	}
	chosen, err := k.pick(tallied(written, candidates[0], empty), list, r.noise(0))
	if err != nil {
		return outcome{}, err
	}
	if len(chosen) == 0 {
		return outcome{text: candidates[0]}, nil
	}
	text, err := r.rewrite(ctx, chosen)
	return outcome{text: text}, err
}

// pick chooses keywords: of the list, or whichever are frequent. There may be none after
// a test.
func (k *Keyword) pick(t tally, list []string, s *noise.Stream) ([]string, error) {
	if k.Select == Test {
		return k.test(t, s)
	}
	chosen, err := k.joint(t.of(list)).draw(s)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(chosen))
	for i, at := range chosen {
		out[i] = list[at]
	}
	return out, nil
}

// test releases the most frequent words if the noisy gap below them is wide enough. Their
// order is alphabetical: the counts' own would say more than was tested.
func (k *Keyword) test(t tally, s *noise.Stream) ([]string, error) {
	top, gap := k.gap(t)
	if err := gap.Ask(s); err != nil {
		return nil, err
	}
	if gap.Values[0] <= k.bar(gap) {
		return nil, nil
	}
	slices.Sort(top)
	return top, nil
}

// gap is the look at the difference d between the counts of the last of the most frequent
// words and the next word, and those most frequent words.
//
// A sentence more raises any counts by one, so the i-th largest count rises by one or not
// at all, and d moves by at most 1; a sentence exchanged moves it by at most 2. Let Δ be
// that bound. If d > Δ, the same words are the most frequent ones in every adjacent data
// set: the count of one of them is above that of any other word by at least d, and one
// unit moves the difference of two counts by at most Δ.
//
// Theorem (propose-test-release, Dwork and Lei 2009): noise of Sigma·Δ on d, and the words
// if the result is above Δ + t, where noise is above t with probability at most Failure, is
// covered by compose(gaussian(Sigma), approx(0, Failure)). Proof: for two adjacent data sets
// with the same most frequent words, what is released is the same function of the noisy d:
// post-processing of gaussian(Sigma). With others, d is at most Δ in both, so that both
// release nothing but with probability at most Failure; of two such distributions, no event
// has probabilities further apart than that: (0, Failure). A composition covers each of its
// parts.
func (k *Keyword) gap(t tally) ([]string, mechanism.Query) {
	all := make([]string, 0, len(t))
	for w, n := range t {
		if n > 0 {
			all = append(all, w)
		}
	}
	slices.SortFunc(all, func(a, b string) int {
		if t[a] != t[b] {
			return int(t[b] - t[a])
		}
		return strings.Compare(a, b)
	})
	at := func(i int) int64 { // words that no sentence has are never lacking
		if i < len(all) {
			return t[all[i]]
		}
		return 0
	}
	d := at(k.Keywords-1) - at(k.Keywords)
	return all[:min(len(all), k.Keywords)], mechanism.Query{Values: []int64{d << fine}, Sensitivity: math.Ldexp(k.reach(), fine), Sigma: k.Sigma}
}

// reach is Δ.
func (k *Keyword) reach() float64 {
	if k.Draw.Exchanges() {
		return 2
	}
	return 1
}

// bar is Δ + t in steps. The noise is a Gaussian rounded to whole steps: above t steps it
// is only where the Gaussian is at least t + 1/2.
func (k *Keyword) bar(q mechanism.Query) int64 {
	return int64(q.Sensitivity) + int64(math.Ceil(q.Sensitivity*q.Sigma*tail(k.Failure)))
}

// tail is a number that a standard normal is above with at most this probability.
func tail(p float64) float64 {
	p *= 1 - 1e-9 // what Erfc may be wrong by
	low, high := 0.0, 40.0
	for range 100 {
		middle := (low + high) / 2
		if math.Erfc(middle/math.Sqrt2)/2 <= p {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// rewrite writes the answer from words, without any record. Of ways to give a small model
// words, this one helped it most: they come with the question, not before it.
func (r *round) rewrite(ctx context.Context, chosen []string) (string, error) {
	input, err := r.layout.Question(ctx, r.Input)
	if err != nil {
		return "", err
	}
	item, err := r.tokenizer.Encode(ctx, r.Task.AnswerItem(input+"\nAnswer with the words "+strings.Join(chosen, ", ")+"."))
	if err != nil {
		return "", err
	}
	if limit := r.Model.Info().Context; limit > 0 && r.opening+len(item)+r.Tokens > limit {
		item = r.item // there is no room for words
	}
	out, err := r.write(ctx, r.stem, [][]lm.Token{item}, 1, greedy)
	if err != nil {
		return "", err
	}
	return out[0], nil
}
