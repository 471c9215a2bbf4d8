package sums

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/privacy/noise"
)

// named gives the labels of a scene vectors: that of label l points along axis l, or along that of another label.
func (s *scene) named(k, turned int) *scene {
	for l, label := range labels(k) {
		for _, text := range wordings(label) {
			s.encoder.known[text] = axis(s.encoder.width, (l+turned)%k, 1)
		}
	}
	return s
}

// near has records of k labels that point half along the axis of their label, and half anywhere.
func near(k, width, each int) (*scene, []labelledVector) {
	random := rand.New(rand.NewPCG(3, 4))
	s := newScene(width, 1)
	var all []labelledVector
	for i := range k * each {
		v := make([]float64, width)
		for j := range v {
			v[j] = random.NormFloat64() / 4
		}
		v[i%k] += 0.5
		r := labelledVector{i % k, ofLengthOne(v)}
		s.unit(0, s.record(labels(k)[r.label], r.vector))
		all = append(all, r)
	}
	return s, all
}

// TestNamesAreTheBeginning: with hardly any noise and steps that go nowhere, vectors are the names less their mean,
// times 150 times by how much records are closer to the name of their own label than to all on average; not beyond
// the most that settings allow, and 0 where they are farther.
func TestNamesAreTheBeginning(t *testing.T) {
	const k, width = 3, 6
	data, records := near(k, width, 40)
	for turned := range k {
		data.named(k, turned)
		var closer float64
		for _, r := range records {
			for l := range k {
				to := 1. / k
				if l == r.label {
					to--
				}
				closer -= to * float64(r.vector[(l+turned)%k]) / float64(len(records))
			}
		}
		for _, maximum := range []float64{0, 0.5, maxNames} {
			s := settings(4, 1e-7)
			s.Size, s.Step, s.Names = int64(len(records)), 1e-9, maximum
			weight := min(max(150*closer, 0), maximum)
			for l, v := range released(t, data.options(t, k, s)).Evidence.Vectors {
				for i, got := range v {
					want := 0.
					if i < k {
						want = -weight / k
					}
					if i == (l+turned)%k {
						want += weight
					}
					if math.Abs(got-want) > 2e-3*max(1, weight) {
						t.Errorf("names turned by %d, at most %v: number %d of label %d is %v, not %v", turned, maximum, i, l, got, want)
					}
				}
			}
		}
		if turned == 0 && !(closer > 0.1) || turned == 1 && !(closer < 0) {
			t.Fatalf("turned by %d: %v", turned, closer)
		}
	}
}

// TestNamesHelp: where noise is large, names that say what records are like make vectors that tell more records
// right than those without; and where records can tell that names mislead, these do little harm.
func TestNamesHelp(t *testing.T) {
	const k, width = 4, 32
	data, records := near(k, width, 50)
	right := func(strength, sigma float64) (n int) {
		for seed := range 20 {
			s := settings(4, sigma)
			s.Size, s.Step, s.Names = int64(len(records)), 5, strength
			o := data.options(t, k, s)
			o.Key = noise.KeyFromSeed(uint64(seed))
			e := released(t, o).Evidence
			for _, r := range records {
				logs, err := e.Logs(r.vector)
				if err != nil {
					t.Fatal(err)
				}
				best := 0
				for l := range logs {
					if logs[l] > logs[best] {
						best = l
					}
				}
				if best == r.label {
					n++
				}
			}
		}
		return n * 100 / (20 * len(records))
	}
	data.named(k, 0)
	if without, with := right(0, 40), right(maxNames, 40); with < without+15 {
		t.Errorf("%d %% without names, %d with them", without, with)
	}
	data.named(k, 1)
	if without, misled := right(0, 1), right(maxNames, 1); misled < without-10 {
		t.Errorf("%d %% without names, %d with those of others", without, misled)
	}
}

// TestPlainNoiseOfNames: without records the weight of names is that of noise alone: half of the time 0, and else of a
// normal distribution of known scale, a little above 0 as names are as a rule. A weight from the exact sum would be 0.
func TestPlainNoiseOfNames(t *testing.T) {
	const sums, sigma, size, runs = 2, 1.5, 5000, 25_000
	for adjacency, by := range exchange {
		data := newScene(2, 1).named(2, 0)
		s := settings(sums, sigma)
		s.Step, s.Size, s.Adjacency, s.Names = 1e-6, size, adjacency, maxNames
		o := data.options(t, 2, s)
		samples := make([]float64, runs)
		for i := range samples {
			o.Key = noise.KeyFromSeed(uint64(i))
			samples[i] = released(t, o).Evidence.Vectors[0][0]
		}
		// The names are (½, −½) and the opposite, of length 1 together, and a number is half of the weight.
		scale := 150 * math.Sqrt(0.5) * sigma * by / size
		unsure := scale * scale / (scale*scale + 100)
		middle := 10 * unsure / 2
		scale *= (1 - unsure) / 2
		var reach []float64
		for _, x := range []float64{0.3, 0.6, 1, 1.5, 2, 3} {
			reach = append(reach, x*scale)
		}
		fits(t, string(adjacency), samples, reach, func(r, wrong float64) float64 {
			return 0.5 + 0.5*math.Erf((r-middle)/(wrong*scale*math.Sqrt2))
		})
	}
}

// TestNamesAgain: the same bits for the same key, and other noise than without names.
func TestNamesAgain(t *testing.T) {
	data, _ := near(3, 5, 30)
	s := settings(4, 2)
	without := released(t, data.named(3, 1).options(t, 3, s))
	s.Names = maxNames
	first := released(t, data.options(t, 3, s))
	if !reflect.DeepEqual(first, released(t, data.options(t, 3, s))) {
		t.Error("asked again it gives something else")
	}
	// Names that mislead have a weight of 0, and the noise of the same settings would leave the same vectors.
	if reflect.DeepEqual(first.Evidence.Vectors, without.Evidence.Vectors) {
		t.Error("other settings have the same noise")
	}
	if first.Event.String() != without.Event.String() {
		t.Error("names cost something")
	}
}

// TestBadNames: settings that are none are refused, and so is an encoder that cannot read labels, before a record is
// read.
func TestBadNames(t *testing.T) {
	data, _ := near(3, 5, 4)
	for _, wrong := range []float64{-1, maxNames + 1, math.NaN(), math.Inf(1)} {
		s := settings(4, 1)
		if s.Names = wrong; s.Check() == nil {
			t.Errorf("names have a weight of %v", wrong)
		}
	}
	s := settings(1, 1)
	if s.Names = 1; s.Check() == nil {
		t.Error("names are in one sum")
	}
	s = settings(4, 1)
	s.Names = maxNames
	for name, spoil := range map[string]func([][]float32) [][]float32{
		"none":      func(v [][]float32) [][]float32 { return nil },
		"too long":  func(v [][]float32) [][]float32 { v[1] = axis(5, 0, 2); return v },
		"too short": func(v [][]float32) [][]float32 { v[1] = v[1][:4]; return v },
	} {
		data.named(3, 0).encoder.spoil = func(v [][]float32) [][]float32 {
			if len(v) != 6 {
				t.Errorf("%s: a record is read", name)
			}
			return spoil(v)
		}
		if _, err := summer(t, data.options(t, 3, s)).Evidence(t.Context()); err == nil || !strings.Contains(err.Error(), "nothing was released") {
			t.Errorf("%s: %v", name, err)
		}
	}
	data.encoder.fails = errors.New("the encoder is closed")
	if _, err := summer(t, data.options(t, 3, s)).Evidence(t.Context()); !errors.Is(err, data.encoder.fails) {
		t.Error(fmt.Sprint(err))
	}
}

// TestWordsOfLabels: labels are told apart into words.
func TestWordsOfLabels(t *testing.T) {
	for label, want := range map[string]string{
		"Sports": "Sports", "MeanOfTransportation": "Mean Of Transportation", "card_not-working": "card not working", "USA": "USA", " a  b ": "a b", "": "",
	} {
		if got := words(label); got != want {
			t.Errorf("%q is %q, want %q", label, got, want)
		}
	}
}

// TestNamesWithoutRecords: where noise hides what records say, names have the weight that they have as a rule.
func TestNamesWithoutRecords(t *testing.T) {
	data := newScene(2, 1).named(2, 0)
	s := settings(2, 1000)
	s.Step, s.Size, s.Names = 1e-12, 100, maxNames
	e := released(t, data.options(t, 2, s)).Evidence
	// The names are (½, −½) and the opposite.
	if got, want := e.Vectors[0][0], 5.; math.Abs(got-want) > 0.1 {
		t.Errorf("it begins at %v, want %v", got, want)
	}
}
