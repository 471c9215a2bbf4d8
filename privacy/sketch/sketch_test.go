package sketch_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy/sketch"
)

const key = "0123456789abcdef"

// of makes a sketch of rows.
func of(rows ...[]uint64) sketch.Sketch {
	b, sum := sketch.NewBuilder(sketch.Size), uint64(0)
	for _, part := range rows {
		for _, h := range part {
			b.Add(h)
			sum += h
		}
	}
	s := sketch.New(key)
	s.Rows = b.List()
	s.Whole = fmt.Sprintf("%016x", sum)
	return s
}

// hashes draws rows.
func hashes(r *rand.Rand, n int) []uint64 {
	out := make([]uint64, n)
	for i := range out {
		out[i] = r.Uint64()
	}
	return out
}

// TestJSON: a sketch comes back as it was, and is small.
func TestJSON(t *testing.T) {
	s := of(hashes(rand.New(rand.NewPCG(1, 2)), 5000))
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back sketch.Sketch
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(s, back) || back.Validate() != nil {
		t.Error("the sketch changed")
	}
	if len(text) > 12<<10 {
		t.Errorf("a list takes %d bytes", len(text))
	}
}

// TestCompare: shares of rows between random sources are what the sketches say, within
// seven standard errors, for sources of different sizes too.
func TestCompare(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct {
		shared, known, seen int
		want                sketch.Relation
	}{
		{100000, 0, 0, sketch.Same},
		{100000, 0, 100000, sketch.Same},
		{60000, 40000, 40000, sketch.Same},
		{20000, 80000, 80000, sketch.Overlapping},
		{10000, 190000, 90000, sketch.Overlapping},
		{10000, 390000, 0, sketch.Same},
		{0, 100000, 100000, sketch.Unrelated},
		{0, 1000000, 50, sketch.Unrelated},
		{1, 200000, 200000, sketch.Unrelated},
		{0, 5, 5, sketch.Unrelated},
		{5, 0, 0, sketch.Same},
		{1, 4, 4, sketch.Overlapping},
	} {
		both := hashes(r, c.shared)
		known, seen := of(both, hashes(r, c.known)), of(hashes(r, c.seen), both)
		o, err := sketch.Compare(known, seen)
		if err != nil {
			t.Fatal(err)
		}
		if o.Relation != c.want {
			t.Errorf("%+v: %s: %v", c, o.Relation, o)
		}
		near := func(got sketch.Share, own int) bool {
			n := float64(c.shared + own)
			truth := float64(c.shared) / n
			// The smaller list has this many hashes below the limit of the larger one.
			expected := sketch.Size * n / float64(c.shared+max(c.known, c.seen))
			within := 7*math.Sqrt(truth*(1-truth)/min(n, expected, sketch.Size)) + 1e-9
			return math.Abs(got.Estimate-truth) <= within && got.Low <= got.Estimate && got.Estimate <= got.High
		}
		if !near(o.KnownInSeen, c.known) || !near(o.SeenInKnown, c.seen) {
			t.Errorf("%+v: %v and %v", c, o.KnownInSeen, o.SeenInKnown)
		}
	}
}

// TestAlike: samples of a population in which rows repeat share rows by chance, and that is
// not taken for the same data set; equal sources are equal all the same.
func TestAlike(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	draw := func(from []uint64, n int) []uint64 {
		out := make([]uint64, n)
		for i := range out {
			out[i] = from[r.IntN(len(from))]
		}
		return out
	}
	for kinds, want := range map[int]sketch.Relation{100000: sketch.Unrelated, 20: sketch.Overlapping} {
		population := hashes(r, kinds)
		a, b := of(draw(population, 10000)), of(draw(population, 10000))
		o, err := sketch.Compare(a, b)
		if err != nil || o.Relation != want {
			t.Errorf("%d kinds of rows: %s, not %s (%v)", kinds, o.Relation, want, err)
		}
		o, err = sketch.Compare(a, a)
		at := expect.At(t, "%d kinds of rows", kinds)
		expect.NoError(at, err)
		expect.Equal(at, "o.Relation", o.Relation, sketch.Same)
		expect.Equal(at, "o.Equal", o.Equal, true)
	}
}

// TestBuilder: lists do not depend on the order, nor on how the hashes are divided between
// builders, and count every repetition.
func TestBuilder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOf(rapid.Uint64Range(0, 60)).Draw(t, "hashes")
		k := rapid.IntRange(2, 20).Draw(t, "k")
		times := map[uint64]int{}
		for _, h := range all {
			times[h]++
		}
		want := slices.Sorted(maps.Keys(times))
		want = want[:min(k, len(want))]
		twins := 0
		for _, h := range want {
			if times[h] > 1 {
				twins++
			}
		}
		a, b := sketch.NewBuilder(k), sketch.NewBuilder(k)
		for _, h := range rapid.Permutation(all).Draw(t, "order") {
			if rapid.Bool().Draw(t, "first") {
				a.Add(h)
			} else {
				b.Add(h)
			}
		}
		a.Merge(b)
		if got := a.List(); !slices.Equal(got.Hashes, want) || math.Abs(got.Duplicates-float64(twins)/float64(max(1, len(want)))) > 0.001 {
			t.Fatalf("%v, twins %g: want %v, %d", got.Hashes, got.Duplicates, want, twins)
		}
	})
}

// TestRefused: sketches that were not made here are refused, and those of other keys or
// versions are not compared.
func TestRefused(t *testing.T) {
	good := of([]uint64{1, 2, 3})
	for name, harm := range map[string]func(*sketch.Sketch){
		"key":        func(s *sketch.Sketch) { s.KeyID = "x" },
		"whole":      func(s *sketch.Sketch) { s.Whole = "" },
		"limit":      func(s *sketch.Sketch) { s.Limit = -1 },
		"version":    func(s *sketch.Sketch) { s.Version = -1 },
		"no rows":    func(s *sketch.Sketch) { s.Rows = sketch.List{} },
		"order":      func(s *sketch.Sketch) { s.Rows.Hashes = sketch.Hashes{2, 1} },
		"equal":      func(s *sketch.Sketch) { s.Values = sketch.List{K: 4, Hashes: sketch.Hashes{2, 2}} },
		"too many":   func(s *sketch.Sketch) { s.LeaveOneOut = sketch.List{K: 2, Hashes: sketch.Hashes{1, 2, 3}} },
		"size":       func(s *sketch.Sketch) { s.ReadColumns = sketch.List{K: 1 << 30} },
		"share":      func(s *sketch.Sketch) { s.Rows.Duplicates = math.NaN() },
		"more share": func(s *sketch.Sketch) { s.Rows.Duplicates = 1.5 },
	} {
		t.Run(name, func(t *testing.T) {
			bad := good
			harm(&bad)
			if bad.Validate() == nil {
				t.Error("valid")
			}
			if _, err := sketch.Compare(good, bad); err == nil {
				t.Error("compared")
			}
		})
	}
	other := good
	other.KeyID = "fedcba9876543210"
	if _, err := sketch.Compare(good, other); !errors.Is(err, sketch.ErrKey) {
		t.Errorf("%v", err)
	}
	other = good
	other.Version++
	if _, err := sketch.Compare(good, other); !errors.Is(err, sketch.ErrVersion) {
		t.Errorf("%v", err)
	}
	if _, err := sketch.Compare(good, sketch.Sketch{}); err == nil {
		t.Error("compared with nothing")
	}
}

// FuzzRead: whatever a ledger says, a sketch is refused or can be compared, with shares
// between 0 and 1.
func FuzzRead(f *testing.F) {
	good := of([]uint64{1, 2, 1 << 60})
	text, err := json.Marshal(good)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"version":1,"key_id":"0123456789abcdef","whole":"0000000000000000","rows":{"k":2,"hashes":"AAAAAAAAAAE="}}`))
	f.Add([]byte(`{"version":1,"key_id":"0123456789abcdef","whole":"0000000000000000","rows":{"k":2,"twins":1,"hashes":"AAAAAAAAAAH//////////w=="},"less":{"k":2,"hashes":"AAAAAAAAAAE="}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var s sketch.Sketch
		if json.Unmarshal(data, &s) != nil || s.Validate() != nil || s.IsZero() {
			return
		}
		for _, pair := range [][2]sketch.Sketch{{s, s}, {s, good}, {good, s}} {
			o, err := sketch.Compare(pair[0], pair[1])
			if err != nil {
				continue
			}
			for _, share := range []sketch.Share{o.KnownInSeen, o.SeenInKnown} {
				if !(share.Low >= 0 && share.Low <= share.Estimate+1e-9 && share.Estimate <= share.High+1e-9 && share.High <= 1) {
					t.Fatalf("%+v", share)
				}
			}
			if !(o.New >= 0) || o.String() == "" {
				t.Fatalf("%+v", o)
			}
		}
	})
}
