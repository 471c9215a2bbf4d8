package record

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/privacytest"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// parties are the texts that each unit of a part can be drawn with, units in any order.
func parties(t testing.TB, d *Data) [][]string {
	t.Helper()
	out := make([][]string, d.Parts())
	for part := range out {
		for u := range seal.Exactly(d.Size(part)) {
			at, n, err := d.x.slots(part, u)
			if err != nil {
				t.Fatal(err)
			}
			var texts []string
			for i := range n {
				s, err := d.x.slot(at + i)
				if err != nil {
					t.Fatal(err)
				}
				records, err := d.fetch(context.Background(), []slot{s})
				if err != nil {
					t.Fatal(err)
				}
				texts = append(texts, seal.Text(records[0]))
			}
			sort.Strings(texts)
			out[part] = append(out[part], fmt.Sprint(texts))
		}
		sort.Strings(out[part])
	}
	return out
}

// minus removes one of each of b from a, and returns what is left of either.
func minus(a, b []string) (left, more []string) {
	left = slices.Clone(a)
	for _, x := range b {
		if i := slices.Index(left, x); i >= 0 {
			left = slices.Delete(left, i, i+1)
		} else {
			more = append(more, x)
		}
	}
	return left, more
}

// TestOneUnitMoreOrLess is what every guarantee rests on: with one unit more, its
// records anywhere among the others, one part has one unit more, and every other unit
// can be drawn with exactly the same records. The same for counts by condition.
func TestOneUnitMoreOrLess(t *testing.T) {
	private := t.TempDir()
	labels := []string{"World", "Sports", "Business"}
	rapid.Check(t, func(rt *rapid.T) {
		records := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) sample {
			return sample{
				text:  rapid.StringMatching(`[a-z]{3}`).Draw(t, "text"),
				label: rapid.SampledFrom(labels).Draw(t, "label"),
				user:  rapid.SampledFrom([]string{"u", "v", "w", "x"}).Draw(t, "user"),
			}
		}), 2, 25).Draw(rt, "records")
		o := Options{Text: "text", Condition: "label", Unit: "user", Private: private, memory: rapid.IntRange(1, 30).Draw(rt, "memory")}
		if rapid.Bool().Draw(rt, "closed") {
			o.Labels = labels
			o.Together = rapid.Bool().Draw(rt, "together")
		}
		removed := records[rapid.IntRange(0, len(records)-1).Draw(rt, "removed")].user
		var rest []sample
		for _, r := range records {
			if r.user != removed {
				rest = append(rest, r)
			}
		}
		if len(rest) == 0 {
			return
		}
		with := open(t, write(t, "with.jsonl", encodeJSONL(t, records)), o)
		without := open(t, write(t, "without.jsonl", encodeJSONL(t, rest)), o)
		checkNeighbours(rt, parties(t, with), parties(t, without))
		more, less := conditionsOf(t, with), conditionsOf(t, without)
		distance := 0
		for _, l := range labels {
			distance += more[l] - less[l]
			if more[l] < less[l] {
				rt.Errorf("removing a unit adds one to %s", l)
			}
		}
		if distance != 1 {
			rt.Errorf("counts by condition differ by %d", distance)
		}
	})
}

func checkNeighbours(rt *rapid.T, with, without [][]string) {
	changed := 0
	for part := range with {
		gone, fresh := minus(with[part], without[part])
		changed += len(gone)
		if len(fresh) > 0 {
			rt.Errorf("part %d: removing a unit changes another", part)
		}
	}
	if changed != 1 {
		rt.Errorf("removing a unit removes %d", changed)
	}
}

// conditionsOf counts units by condition.
func conditionsOf(t testing.TB, d *Data) map[string]int {
	t.Helper()
	var counts []int
	records, err := d.Conditions(context.Background(), func(n seal.Count) bool {
		counts = append(counts, seal.Exactly(n))
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for i, r := range records {
		out[seal.Condition(r)] += counts[i]
	}
	return out
}

func TestConditions(t *testing.T) {
	path := write(t, "a.jsonl", encodeJSONL(t, few))
	want := map[string]int{"World": 2, "Sports": 2, "Business": 1}
	if got := conditionsOf(t, open(t, path, Options{Condition: "label"})); !maps.Equal(got, want) {
		t.Errorf("by record: %v", got)
	}
	got := conditionsOf(t, open(t, path, Options{Condition: "label", Unit: "user"}))
	// ann has World twice and Sports, bob Sports, cyd Business.
	if !maps.Equal(got, map[string]int{"World": 1, "Sports": 1, "Business": 1}) && !maps.Equal(got, map[string]int{"Sports": 2, "Business": 1}) {
		t.Errorf("by user: %v", got)
	}
}

// TestChoiceOfLabelIsFair: over keys, a unit with two labels takes part under each
// equally often, however many records it has with each; units are independent of each
// other. Hoeffding: each of the two sums is within 0.05 of its mean with probability
// 1 - 2·exp(-2·4000·0.05²) > 1 - 5e-9; the test uses 0.052, for under 1e-9 in all.
func TestChoiceOfLabelIsFair(t *testing.T) {
	const n = 4000
	m := (&purposeKeys{unit: []byte("u"), label: []byte("l"), rank: make([]byte, 32), check: []byte("c")}).marks()
	a, b := m.labelOf("World"), m.labelOf("Sports")
	first, same := 0, 0
	last := false
	for i := range n {
		unit := m.unitOf(&entry{unit: fmt.Sprint(i)})
		ra, rb := m.rankOf(unit, a), m.rankOf(unit, b)
		if m.labelAt(unit, ra) != a || m.labelAt(unit, rb) != b {
			t.Fatal("a rank does not lead back to its label")
		}
		isA := slices.Compare(ra[:], rb[:]) < 0
		if isA {
			first++
		}
		if i > 0 && isA == last {
			same++
		}
		last = isA
	}
	for name, share := range map[string]float64{"first": float64(first) / n, "same as the last": float64(same) / (n - 1)} {
		if math.Abs(share-0.5) > 0.052 {
			t.Errorf("%s: %.3f", name, share)
		}
	}
}

// TestChooseIsUniform over the records of a unit. A choice that never takes the last record is
// rejected.
func TestChooseIsUniform(t *testing.T) {
	const n = 4000
	var records []sample
	for i := range 4 {
		records = append(records, sample{fmt.Sprint(i), "World", "u"})
	}
	d := open(t, write(t, "a.jsonl", encodeJSONL(t, records)), Options{Unit: "user"})
	s := noise.KeyFromSeed(3).Stream("choose")
	var counts [4]int
	quarter := []float64{0.25, 0.25, 0.25, 0.25}
	for range n {
		ref, err := d.Choose(0, 0, s)
		if err != nil {
			t.Fatal(err)
		}
		ordinal, _ := seal.Place(ref)
		counts[ordinal-1]++
	}
	if w := privacytest.Misfit(n, counts[:], quarter); w > 1 {
		t.Errorf("%v of %d: statistic %.1f", counts, n, w)
	}
	if w := privacytest.Misfit(n, []int{counts[0] + counts[3], counts[1], counts[2], 0}, quarter); w < 1 {
		t.Error("the test would accept a choice that never takes the last")
	}
}

// endingsOf counts units by the last word of their texts.
func endingsOf(t testing.TB, d *Data) map[string]int {
	t.Helper()
	var counts []int
	records, err := d.Endings(context.Background(), 1, func(n seal.Count) bool {
		counts = append(counts, seal.Exactly(n))
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for i, r := range records {
		out[seal.Condition(r)] += counts[i]
		if seal.Text(r) != "" {
			t.Error("a text comes with its ending")
		}
	}
	return out
}

// TestOneUnitOneEnding: with one unit less, one count of endings is less by one, or none is.
func TestOneUnitOneEnding(t *testing.T) {
	private := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		records := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) sample {
			return sample{
				text: rapid.SampledFrom([]string{"a x", "b  x\n", "a y", "c z", "x"}).Draw(t, "text"), label: "l",
				user: rapid.SampledFrom([]string{"u", "v", "w"}).Draw(t, "user"),
			}
		}), 2, 15).Draw(rt, "records")
		o := Options{Text: "text", Condition: "label", Private: private, memory: rapid.IntRange(1, 30).Draw(rt, "memory")}
		at := rapid.IntRange(0, len(records)-1).Draw(rt, "removed")
		rest := slices.Delete(slices.Clone(records), at, at+1)
		if rapid.Bool().Draw(rt, "by person") {
			o.Unit = "user"
			rest = slices.DeleteFunc(rest, func(r sample) bool { return r.user == records[at].user })
		}
		if len(rest) == 0 {
			return
		}
		more := endingsOf(t, open(t, write(t, "with.jsonl", encodeJSONL(t, records)), o))
		less := endingsOf(t, open(t, write(t, "without.jsonl", encodeJSONL(t, rest)), o))
		distance := 0
		for _, word := range []string{"x", "y", "z"} {
			if more[word] < less[word] {
				rt.Errorf("removing a unit adds one to %s", word)
			}
			distance += more[word] - less[word]
		}
		if distance > 1 || len(more) > 3 {
			rt.Errorf("counts differ by %d: %v, %v", distance, more, less)
		}
	})
}
