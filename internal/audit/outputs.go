package audit

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Outputs turns what a program printed in runs with a record, and in runs without it, into scores:
// by the one statistic, of some that any output has, that distinguishes the two best. What is learnt is
// learnt on the first quarter of the runs, the statistic is chosen on the second, and scores are those of
// the second half, which nothing was chosen on.
func Outputs(with, without []string) (in, out []float64, statistic string, err error) {
	const minRuns = 16
	if len(with) < minRuns || len(without) < minRuns {
		return nil, nil, "", fmt.Errorf("an adversary needs at least %d runs with the record and as many without it to learn from", minRuns)
	}
	n, m := len(with)/2, len(without)/2
	best := math.Inf(-1)
	var chosen statisticOf
	for _, s := range statistics(with[:n/2], without[:m/2]) {
		a, b := s.all(with[n/2:n]), s.all(without[m/2:m])
		bound, err := Many(a, b, 0, 0.9)
		if err != nil {
			return nil, nil, "", err
		}
		// Of statistics that bound nothing, the one whose averages differ most.
		if value := bound.Epsilon + 1e-3*apart(a, b); value > best {
			best, chosen = value, s
		}
	}
	if chosen.score == nil {
		return nil, nil, "", errors.New("no output has anything to score")
	}
	return chosen.all(with[n:]), chosen.all(without[m:]), chosen.name, nil
}

// statisticOf is a number that any output has.
type statisticOf struct {
	name  string
	score func(output string) float64
}

func (s statisticOf) all(outputs []string) []float64 {
	scores := make([]float64, len(outputs))
	for i, o := range outputs {
		scores[i] = s.score(o)
	}
	return scores
}

// apart is how many deviations two averages differ by.
func apart(a, b []float64) float64 {
	mean := func(x []float64) (mean, square float64) {
		for _, v := range x {
			mean += v
			square += v * v
		}
		n := float64(len(x))
		return mean / n, square/n - mean*mean/n/n
	}
	x, v := mean(a)
	y, w := mean(b)
	if d := math.Abs(x-y) / math.Sqrt(v+w); d < math.Inf(1) {
		return d
	}
	return 0
}

var number = regexp.MustCompile(`[-+]?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?`)

// maxNumbers of an output are looked at one by one.
const maxNumbers = 32

// statistics are all that are tried: the length, whole outputs, words, and numbers by their
// place and less each other.
func statistics(with, without []string) []statisticOf {
	out := []statisticOf{
		{"the length of the output", func(o string) float64 { return float64(len(o)) }},
		{"whole outputs", ratio(with, without, func(o string) []string { return []string{o} })},
		{"words", ratio(with, without, words)},
		{"words and their places", ratio(with, without, placed)},
	}
	places := 0
	for _, o := range slices.Concat(with[:min(16, len(with))], without[:min(16, len(without))]) {
		places = max(places, len(number.FindAllString(o, maxNumbers)))
	}
	for i := range places {
		out = append(out, statisticOf{fmt.Sprintf("number %d", i+1), func(o string) float64 { return numberAt(o, i) }})
	}
	// Noise that comes twice is gone in a difference.
	for i := range min(places, maxDifferences) {
		for j := range i {
			out = append(out, statisticOf{
				fmt.Sprintf("number %d less number %d", i+1, j+1), func(o string) float64 { return numberAt(o, i) - numberAt(o, j) },
			})
		}
	}
	return out
}

// maxDifferences is how many numbers are compared with each other.
const maxDifferences = 6

// numberAt is a number of an output by its place, 0 if there is none.
func numberAt(output string, place int) float64 {
	found := number.FindAllString(output, place+1)
	if len(found) <= place {
		return 0
	}
	x, err := strconv.ParseFloat(found[place], 64)
	if err != nil {
		return 0
	}
	return x
}

// words of an output, each once.
func words(o string) []string {
	seen := map[string]bool{}
	var out []string
	for _, w := range strings.Fields(o) {
		if !seen[w] {
			seen[w] = true
			out = append(out, w)
		}
	}
	return out
}

// placed are words with their places.
func placed(o string) []string {
	out := strings.Fields(o)
	for i, w := range out {
		out[i] = strconv.Itoa(i) + " " + w
	}
	return out
}

// ratio learns how much likelier features are with the record, and adds that up over an output.
func ratio(with, without []string, features func(string) []string) func(string) float64 {
	count := func(outputs []string) map[string]float64 {
		n := map[string]float64{}
		for _, o := range outputs {
			for _, f := range features(o) {
				n[f]++
			}
		}
		return n
	}
	in, out := count(with), count(without)
	a, b := float64(len(with)), float64(len(without))
	return func(o string) (score float64) {
		for _, f := range features(o) {
			score += math.Log((in[f] + 0.5) / (a + 1) * (b + 1) / (out[f] + 0.5))
		}
		return score
	}
}
