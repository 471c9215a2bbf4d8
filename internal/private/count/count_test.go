package count

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// dataset writes units with labels, as many as counts say, and opens them.
func dataset(t testing.TB, labels []string, counts []int, o record.Options) *record.Data {
	t.Helper()
	var b bytes.Buffer
	w := json.NewEncoder(&b)
	for i, l := range labels {
		for u := range counts[i] {
			if err := w.Encode(map[string]any{"text": "x", "label": l, "user": fmt.Sprintf("%s %d", l, u)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	path := filepath.Join(t.TempDir(), "records.jsonl")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	o.Text, o.Condition, o.Private = "text", "label", t.TempDir()
	d, err := record.Open(context.Background(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func TestSizes(t *testing.T) {
	labels := []string{"a", "b", "c"}
	d := dataset(t, []string{"a", "c"}, []int{400, 300}, record.Options{Labels: labels})
	s := noise.KeyFromSeed(1).Stream("sizes")
	sizes, event, err := Sizes(d, 0.5, s)
	if err != nil {
		t.Fatal(err)
	}
	if want := "parallel(laplace(2), laplace(2))"; event.String() != want {
		t.Errorf("event %v, want %s", event, want)
	}
	// A deviation above 60 at scale 2 has probability exp(-30).
	for i, n := range []int64{400, 0, 300} {
		if sizes[i] < max(0, n-60) || sizes[i] > n+60 {
			t.Errorf("part %d has %d units, counted as %d", i, n, sizes[i])
		}
	}
	if slices.Equal(sizes, []int64{400, 0, 300}) {
		t.Error("no noise")
	}
	for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1), 1e-13} {
		if _, _, err := Sizes(d, bad, s); err == nil {
			t.Errorf("ε = %v is accepted", bad)
		}
	}
}

// TestEventsCostWhatWasAsked evaluates the events with the accountant.
func TestEventsCostWhatWasAsked(t *testing.T) {
	d := dataset(t, []string{"a", "b"}, []int{400, 300}, record.Options{Labels: []string{"a", "b"}})
	s := noise.KeyFromSeed(1).Stream("events")
	for _, epsilon := range []float64{0.1, 1.0 / 3, 1, 7} {
		_, sizes, err := Sizes(d, epsilon, s)
		if err != nil {
			t.Fatal(err)
		}
		_, found, err := Labels(context.Background(), d, LabelOptions{Epsilon: epsilon, Delta: 1e-6}, s)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			event     privacy.Event
			adjacency privacy.Adjacency
			delta     float64
			limit     float64
		}{
			{sizes, privacy.AddRemove, 1e-9, epsilon},
			{sizes, privacy.ReplaceOne, 1e-9, 2 * epsilon},
			{found, privacy.AddRemove, 1e-6, epsilon},
			{found, privacy.ReplaceOne, 3e-6, 2 * epsilon},
		} {
			got, err := accountant.Auto{}.Epsilon(c.event, c.adjacency, c.delta)
			if err != nil {
				t.Fatal(err)
			}
			if got.Upper > c.limit*(1+1e-3) || got.Upper <= 0 {
				t.Errorf("%v, %s: ε = %v at δ = %v, want at most %v", c.event, c.adjacency, got.Upper, c.delta, c.limit)
			}
		}
	}
}

func TestLabels(t *testing.T) {
	labels := []string{"rare", "often", "more often", "empty"}
	for _, unit := range []string{"", "user"} {
		d := dataset(t, labels, []int{1, 200, 400, 0}, record.Options{Unit: unit})
		s := noise.KeyFromSeed(1).Stream("labels")
		found, event, err := Labels(context.Background(), d, LabelOptions{Epsilon: 1, Delta: 1e-15}, s)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(found, []string{"more often", "often"}) {
			t.Errorf("found %q", found)
		}
		if want := "parallel(approx(1, 1e-15), approx(1, 1e-15))"; event.String() != want {
			t.Errorf("event %v, want %s", event, want)
		}
		found, _, err = Labels(context.Background(), d, LabelOptions{Epsilon: 1, Delta: 1e-15, Max: 1}, s)
		if err != nil || !slices.Equal(found, []string{"more often"}) {
			t.Errorf("found %q, %v", found, err)
		}
	}
}

func TestLabelsSayWhatToDo(t *testing.T) {
	d := dataset(t, []string{"a"}, []int{5}, record.Options{})
	s := noise.KeyFromSeed(1).Stream("labels")
	for _, o := range []LabelOptions{
		{},
		{Epsilon: 1},
		{Epsilon: 1, Delta: 1},
		{Epsilon: 1, Delta: math.NaN()},
		{Epsilon: -1, Delta: 1e-6},
		{Epsilon: math.NaN(), Delta: 1e-6},
		{Epsilon: 1, Delta: 1e-6, Max: -1},
	} {
		if _, _, err := Labels(context.Background(), d, o, s); err == nil || !strings.Contains(err.Error(), "must") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := Labels(ctx, d, LabelOptions{Epsilon: 1, Delta: 1e-6}, s); err == nil {
		t.Error("a cancelled count continues")
	}
}

// TestScale: the noise is never too small, and not larger than needed.
func TestScale(t *testing.T) {
	for i := 1; i < 2000; i++ {
		epsilon := float64(i) / 997
		b, err := scale(epsilon)
		if err != nil {
			t.Fatal(err)
		}
		if below := math.Nextafter(b, 0); !atLeastOne(b, epsilon) || atLeastOne(below, epsilon) && below >= 1/epsilon {
			t.Errorf("ε = %v: b = %v", epsilon, b)
		}
	}
}

// atLeastOne reports b·ε ≥ 1, exactly: a fused operation rounds b·ε - 1 once, which
// keeps its sign.
func atLeastOne(b, epsilon float64) bool { return math.FMA(b, epsilon, -1) >= 0 }

func ExampleSizes() {
	dir, err := os.MkdirTemp("", "sotto-*")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "tickets.jsonl")
	data := strings.Repeat(`{"text":"it is broken","label":"repair"}`+"\n", 1000)
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	d, err := record.Open(context.Background(), path, record.Options{
		Text: "text", Condition: "label", Labels: []string{"repair", "invoice"}, Private: filepath.Join(dir, "private"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer d.Close()
	// A seed is for examples: what it gives is not private.
	sizes, event, err := Sizes(d, 0.1, noise.KeyFromSeed(1).Stream("sizes"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(sizes), "sizes, about", (sizes[0]+50)/100*100, "units with the first label:", event)
	// Output: 2 sizes, about 1000 units with the first label: parallel(laplace(10), laplace(10))
}

// exactly is a count, for tests of what happens to counts.
func exactly(n int) seal.Count { return seal.NewCount(n) }

// TestEndings: an ending that one unit has is not released, nor one that too few have.
func TestEndings(t *testing.T) {
	var b bytes.Buffer
	w := json.NewEncoder(&b)
	for i := range 500 {
		end := "Stay sunny"
		switch {
		case i == 0:
			end = "secret 4711"
		case i >= 400:
			end = "Good bye"
		}
		if err := w.Encode(map[string]any{"text": fmt.Sprintf("number %d. %s", i, end)}); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "records.jsonl")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := record.Open(context.Background(), path, record.Options{Text: "text", Private: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	s := noise.KeyFromSeed(1).Stream("endings")
	for minimum, want := range map[int64][]string{0: {"Stay sunny", "Good bye"}, 250: {"Stay sunny"}, 450: {}} {
		found, event, err := Endings(context.Background(), d, 2, LabelOptions{Epsilon: 1, Delta: 1e-15, MinCount: minimum}, s)
		at := expect.At(t, "at least %d", minimum)
		expect.NoError(at, err)
		expect.True(at, "found equal to want", slices.Equal(found, want), found, want)
		expect.Equal(at, "event.String", event.String(), "parallel(approx(1, 1e-15), approx(1, 1e-15))")
	}
	if _, _, err := Endings(context.Background(), d, 0, LabelOptions{Epsilon: 1, Delta: 1e-6}, s); err == nil {
		t.Error("an ending of no words")
	}
}
