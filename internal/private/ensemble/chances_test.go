package ensemble

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// someRoom has replies that differ, and a prompt without records.
func someRoom() room {
	say := func(label int, x, y float32, text string) reply {
		r := reply{scores: []float64{-2, -2, -2}, vector: []float32{x, y}, text: text}
		r.scores[label] = -0.3
		return r
	}
	return room{
		replies: []reply{say(0, 1, 0, "aa"), say(0, 0.6, 0.8, "aa bb"), say(1, 0, 1, "aa")},
		public:  say(2, 0.6, 0.8, "cc"),
	}
}

// run is what a method releases in a room, by the code that answers run.
func run(t *testing.T, m Method, r room, s func(look int) *noise.Stream) string {
	t.Helper()
	switch m := m.(type) {
	case *Vote:
		label, used, err := m.decide(func(int) (decode.View, error) { return r.view(), nil }, s)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case used != nil && label == best(r.public.scores):
			return "public"
		case used != nil:
			return fmt.Sprint("refused, and yet ", label)
		case m.Noise == Threshold:
			return fmt.Sprint("agreed ", label)
		}
		return fmt.Sprint(label)
	case *Product:
		label, err := m.pick(r.view(), s(0))
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(label)
	case *Embedding:
		at, err := m.pick(r.cloud(), places, s(0))
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(at)
	case *Keyword:
		chosen, err := m.pick(r.tally(), list, s(0))
		if err != nil {
			t.Fatal(err)
		}
		if m.Select == Test {
			if chosen == nil {
				return "none"
			}
			return strings.Join(chosen, " ")
		}
		var at []int
		for _, w := range chosen {
			at = append(at, slices.Index(list, w))
		}
		return fmt.Sprint(at)
	}
	t.Fatalf("no way to run %s", m.Name())
	return ""
}

// chancesOf are those of all that a subject may release in a room.
func chancesOf(s subject, r room) map[string]float64 {
	out := s.chances[0](r)
	if len(s.chances) == 1 {
		return out
	}
	for name, p := range s.chances[1](r) {
		out[s.goes+" "+name] = out[s.goes] * p
	}
	delete(out, s.goes)
	return out
}

// TestReleasesHaveTheirChances runs what is released: frequencies against the chances that
// the checks compute with. A right method fails with probability at most 1e-9 (Chernoff's
// bound, over all methods and outcomes), and one with half or twice the noise is distinguished.
func TestReleasesHaveTheirChances(t *testing.T) {
	const runs = 4000
	key, err := noise.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	misfit := func(counts, chances map[string]float64) float64 {
		worst := 0.0
		for name := range counts {
			if _, known := chances[name]; !known {
				return math.Inf(1)
			}
		}
		for name, p := range chances {
			worst = max(worst, runs*relative(counts[name]/runs, min(1, p))/math.Log(2*200/1e-9))
		}
		return worst
	}
	for name, c := range map[string]struct{ right, wrong subject }{
		"vote":      {voteSubject(&Vote{Draw: each, Range: 1}), voteSubject(&Vote{Draw: each, Range: 2})},
		"gaussian":  {voteSubject(&Vote{Draw: several, Noise: Gaussian, Sigma: 0.8}), voteSubject(&Vote{Draw: several, Noise: Gaussian, Sigma: 0.4})},
		"threshold": {voteSubject(&Vote{Draw: fresh(each), Noise: Threshold, Sigma: 1, CheckSigma: 1.5, Threshold: 3}), voteSubject(&Vote{Draw: fresh(each), Noise: Threshold, Sigma: 1, CheckSigma: 0.5, Threshold: 3})},
		"soft":      {voteSubject(&Vote{Draw: each, Ballot: Soft, Range: 2, Expected: 2, Temperature: 1}), voteSubject(&Vote{Draw: each, Ballot: Soft, Range: 1, Expected: 2, Temperature: 1})},
		"product":   {productSubject(&Product{Draw: each, Range: 1, Clip: 2}), productSubject(&Product{Draw: each, Range: 0.5, Clip: 2})},
		"exchanged": {productSubject(&Product{Draw: several, Range: 2, Clip: 1}), productSubject(&Product{Draw: each, Range: 2, Clip: 1})},
		"embedding": {embeddingSubject(&Embedding{Draw: each, Sigma: 1}), embeddingSubject(&Embedding{Draw: each, Sigma: 0.3})},
		"joint":     {keywordSubject(&Keyword{Draw: each, Keywords: 2, Range: 2}), keywordSubject(&Keyword{Draw: each, Keywords: 2, Range: 1.6})},
		"joint, 1":  {keywordSubject(&Keyword{Draw: several, Keywords: 1, Range: 2}), keywordSubject(&Keyword{Draw: several, Keywords: 1, Range: 2.5})},
		"joint, 3":  {keywordSubject(&Keyword{Draw: each, Keywords: 3, Range: 2}), keywordSubject(&Keyword{Draw: each, Keywords: 3, Range: 1.5})},
		"ptr":       {keywordSubject(&Keyword{Draw: each, Select: Test, Keywords: 1, Sigma: 0.5, Failure: 0.1}), keywordSubject(&Keyword{Draw: each, Select: Test, Keywords: 1, Sigma: 0.25, Failure: 0.1})},
	} {
		counts := map[string]float64{}
		for i := range uint64(runs) {
			counts[run(t, c.right.Method, someRoom(), func(look int) *noise.Stream { return key.Stream(name, i, uint64(look)) })]++
		}
		right := chancesOf(c.right, someRoom())
		if x := misfit(counts, right); x > 1 {
			t.Errorf("%s: %v where %v is right, %.1f times the limit", name, counts, right, x)
		}
		if x := misfit(counts, chancesOf(c.wrong, someRoom())); x <= 1 {
			t.Errorf("%s: passes for another scale, %.1f times the limit", name, x)
		}
	}
}

// relative entropy of two coins.
func relative(f, p float64) float64 {
	term := func(a, b float64) float64 {
		switch {
		case a <= 0:
			return 0
		case b <= 0:
			return math.Inf(1)
		}
		return a * math.Log(a/b)
	}
	return max(0, term(f, p)+term(1-f, 1-p))
}

// TestJointCounts compares the numbers of sequences by loss with a list of them all, and
// what is drawn for each of them.
func TestJointCounts(t *testing.T) {
	for _, counts := range [][]int64{{3, 3, 1, 0, 0}, {2, 2, 2}, {5, 4, 3, 2, 1}, {0, 7}, {4}} {
		for n := 1; n <= len(counts)+1; n++ {
			j := (&Keyword{Draw: each, Keywords: n, Range: 1}).joint(counts)
			want := map[[2]int64]int64{}
			for _, s := range arrangements(len(counts), j.k) {
				loss := lossOf(j.counts, counts, s)
				for i, at := range s {
					if j.counts[i]-counts[at] == loss {
						want[[2]int64{int64(i), loss}]++
						break
					}
				}
			}
			for first := range j.k {
				for loss := range j.counts[0] - j.counts[len(j.counts)-1] + 2 {
					at := [2]int64{int64(first), loss}
					got := j.sequences(first, loss)
					if !got.IsInt64() || got.Int64() != want[at] {
						t.Errorf("%v, %d keywords: %v sequences have a loss of %d first at %d, want %d", counts, n, got, loss, first, want[at])
					}
					if want[at] == 0 {
						continue
					}
					s := j.uniform(first, loss, noise.KeyFromSeed(1).Stream("x", uint64(first), uint64(loss)))
					if lossOf(j.counts, counts, s) != loss {
						t.Errorf("%v: drew %v for a loss of %d", counts, s, loss)
					}
				}
			}
		}
	}
}

// TestTail: noise is above the bar no more often than it may be.
func TestTail(t *testing.T) {
	for _, p := range []float64{0.49, 0.1, 1e-3, 1e-9, 1e-30, 1e-300} {
		z := tail(p)
		if got := math.Erfc(z/math.Sqrt2) / 2; got > p || got < 0.99*p {
			t.Errorf("above %v with probability %v, asked was %v", z, got, p)
		}
	}
}
