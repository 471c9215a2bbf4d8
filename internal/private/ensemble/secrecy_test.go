package ensemble

import (
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// TestLooksDoNotShareNoise: without records, noise alone decides. Answers of one key, and
// the two looks of a threshold, have noise of their own.
func TestLooksDoNotShareNoise(t *testing.T) {
	ask := func(v *Vote) func(index uint64) seal.Output {
		s := scenes(t)["agnews vote"]
		s.pool.records = nil
		a, err := NewAnswerer(s.options)
		if err != nil {
			t.Fatal(err)
		}
		return func(index uint64) seal.Output {
			got, err := a.Answer(t.Context(), Job{Text: draw.Text{Index: index}, Input: asked, Method: v})
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
	}
	sampling := scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerText, Rate: 0.3}
	found := map[string]int{}
	once := ask(&Vote{Draw: sampling, Range: 2})
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
	twice := ask(&Vote{Draw: fresh(sampling), Noise: Threshold, Sigma: 1, CheckSigma: 1, Threshold: 1})
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
		var public, given []string
		for _, seen := range s.toy.seen {
			switch _, after, found := strings.Cut(seen, ask); {
			case found && given == nil:
				list, _, _ := strings.Cut(after, ".")
				given = strings.Split(list, ", ")
			case !found && !strings.Contains(seen, canary):
				public = append(public, words(seen)...)
			}
		}
		if given == nil {
			t.Fatal("the model got no words")
		}
		for _, w := range given {
			// The model is not asked what comes after the last letter of a text.
			if !slices.Contains(public, w) && !slices.Contains(public, w[:len(w)-1]) {
				t.Errorf("answer %d was given %q, which nothing public has", index, w)
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

// TestTestedWordsHaveNoOrder: a test is about which words are the most frequent, not about
// which of them is more so.
func TestTestedWordsHaveNoOrder(t *testing.T) {
	k := &Keyword{Draw: scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerText, Rate: 1}, Select: Test, Keywords: 2, Sigma: 0.1, Failure: 0.1}
	for _, counts := range []tally{{"one": 90, "two": 80, "three": 1}, {"one": 80, "two": 90, "three": 1}} {
		got, err := k.test(counts, noise.KeyFromSeed(1).Stream("test"))
		if err != nil || !slices.Equal(got, []string{"one", "two"}) {
			t.Errorf("of %v: %v, %v", counts, got, err)
		}
	}
}

// TestFailedTestsArePublic: where a test does not pass, the answer is the one that there is
// without any record.
func TestFailedTestsArePublic(t *testing.T) {
	answer := func(records int) string {
		s := scenes(t)["samsum ptr"]
		s.pool.records = s.pool.records[:records]
		k := s.method.(*Keyword)
		k.Keywords, k.Failure = maxKeywords, 1e-9 // no gap is below so many words
		got, err := s.answer(t, 2)
		if err != nil || records > 0 && len(s.pool.read) == 0 {
			t.Fatalf("%v, %d records were read", err, len(s.pool.read))
		}
		return got.Text()
	}
	if with, without := answer(12), answer(0); with != without {
		t.Errorf("with records %q, without %q", with, without)
	}
}

// TestPromptsShareNoRoom: whether a record fits its prompt does not depend on other
// prompts.
func TestPromptsShareNoRoom(t *testing.T) {
	s := scenes(t)["agnews vote"]
	a, err := NewAnswerer(s.options)
	if err != nil {
		t.Fatal(err)
	}
	r, err := a.begin(t.Context(), Job{Input: asked, Method: s.method})
	if err != nil {
		t.Fatal(err)
	}
	ref := func(unit int) []seal.Ref { return []seal.Ref{seal.NewRef(int64(unit+1), int64(unit))} }
	lay := func(units ...int) [][]lm.Token {
		var sample draw.Sample
		for _, u := range units {
			sample.Prompts = append(sample.Prompts, ref(u))
		}
		out, err := r.demonstrations(t.Context(), sample)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	one := lay(0)[0]
	s.toy.context = r.opening + len(r.item) + a.Tokens + len(one) + 10 // room for one record
	for i, tokens := range lay(0, 4, 8) {
		if alone := lay(4 * i)[0]; len(tokens) == 0 || !slices.Equal(tokens, alone) {
			t.Errorf("prompt %d has %d tokens beside others, %d alone", i, len(tokens), len(alone))
		}
	}
}
