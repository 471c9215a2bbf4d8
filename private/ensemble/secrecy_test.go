package ensemble

import (
	"slices"
	"strings"
	"testing"

	"sotto/privacy/noise"
	"sotto/private/draw"
	"sotto/private/internal/seal"
)

// TestLooksDoNotShareNoise: without records, noise alone decides. Answers of one key, and
// the two looks of a threshold, have noise of their own.
func TestLooksDoNotShareNoise(t *testing.T) {
	ask := func(v *Vote) func(index uint64) seal.Released {
		s := scenes(t)["agnews vote"]
		s.pool.records = nil
		a, err := NewAnswerer(s.options)
		if err != nil {
			t.Fatal(err)
		}
		return func(index uint64) seal.Released {
			got, err := a.Answer(t.Context(), Job{Text: draw.Text{Index: index}, Input: asked, Method: v})
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
	}
	law := draw.Law{Kind: draw.Poisson, Per: draw.PerText, Rate: 0.3}
	found := map[string]int{}
	once := ask(&Vote{Draw: law, Range: 2})
	const answers = 60
	for index := range uint64(answers) {
		found[once(index).Text()]++
	}
	// Of four labels that are as likely, one has half of 60 with probability below 1e-4;
	// the key is fixed.
	for label, n := range found {
		if n > answers/2 {
			t.Errorf("%d of %d answers without a record are %s", n, answers, label)
		}
	}

	// A check that passes at one standard deviation has large noise. Were it that of the
	// first label too, this one would win three of four votes, not one.
	twice := ask(&Vote{Draw: fresh(law), Noise: Threshold, Sigma: 1, CheckSigma: 1, Threshold: 1})
	passed, first := 0, 0
	for index := range uint64(400) {
		got := twice(index)
		if got.Used() != nil {
			continue
		}
		passed++
		if got.Text() == builtin(t, "agnews").Labels[0] {
			first++
		}
	}
	if passed < 30 || first*2 > passed {
		t.Errorf("%d checks passed, after which the first label won %d times", passed, first)
	}
}

// TestWordsArePublic: a joint choice is among words of the question and of what was
// written without records, whatever is frequent.
func TestWordsArePublic(t *testing.T) {
	const ask = "Answer with the words "
	for index := range uint64(12) {
		s := scenes(t)["mit-g keyword"]
		s.method.(*Keyword).Range = 200 // hardly any noise
		if _, err := s.answer(t, index); err != nil {
			t.Fatal(err)
		}
		var public, told []string
		for _, seen := range s.toy.seen {
			switch _, after, found := strings.Cut(seen, ask); {
			case found && told == nil:
				list, _, _ := strings.Cut(after, ".")
				told = strings.Split(list, ", ")
			case !found && !strings.Contains(seen, canary):
				public = append(public, words(seen)...)
			}
		}
		if told == nil {
			t.Fatal("the model was told no words")
		}
		for _, w := range told {
			// The model is not asked what comes after the last letter of a text.
			if !slices.Contains(public, w) && !slices.Contains(public, w[:len(w)-1]) {
				t.Errorf("answer %d was told %q, which nothing public has", index, w)
			}
		}
	}
}

// TestNoiseIsNotPublic: candidates, which may be shown, come of other randomness than the
// noise.
func TestNoiseIsNotPublic(t *testing.T) {
	key := noise.KeyFromSeed(3)
	r := &round{Answerer: &Answerer{Options: Options{Key: key}}, Job: Job{Text: draw.Text{Index: 5}}}
	used := map[uint64]string{}
	for name, s := range map[string]*noise.Stream{
		"first look": r.noise(0), "second look": r.noise(1), "candidate": key.Stream("candidates", 5, 0),
		"draw": key.Stream("draw", 5, 0), "choose": key.Stream("choose", 5, 0), "prompts": key.Stream("prompts", 5, 0),
	} {
		x := s.Uint64()
		if used[x] != "" {
			t.Errorf("%s and %s share randomness", name, used[x])
		}
		used[x] = name
	}
}
