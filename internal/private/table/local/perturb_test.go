package local

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/reconstruct"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/schema"
)

// TestBatchReplays: a batch comes out the same from the same key and number, and else not.
func TestBatchReplays(t *testing.T) {
	p, err := New(Settings{Domains: []int{5, 2}, Epsilons: []float64{0.5, 0.5}})
	if err != nil {
		t.Fatal(err)
	}
	b := table.Batch{Rows: 200, Columns: []table.Vector{{Codes: make([]uint16, 200)}, {Codes: make([]uint16, 200)}}}
	perturbed := func(seed uint64, index int64) [][]uint16 {
		b.Index = index
		var out reconstruct.Rows
		if err := p.Batch(&b, noise.KeyFromSeed(seed), &out); err != nil {
			t.Fatal(err)
		}
		if out.Count != b.Rows {
			t.Fatalf("%d rows of %d", out.Count, b.Rows)
		}
		return out.Columns
	}
	same := func(a, b [][]uint16) bool { return slices.EqualFunc(a, b, slices.Equal) }
	if !same(perturbed(1, 3), perturbed(1, 3)) {
		t.Error("a batch comes out differently when it is perturbed again")
	}
	if same(perturbed(1, 3), perturbed(1, 4)) || same(perturbed(1, 3), perturbed(2, 3)) {
		t.Error("batches or keys share their randomness")
	}
	for _, v := range b.Columns[0].Codes {
		if v != 0 {
			t.Fatal("the raw batch was changed")
		}
	}
}

// TestRefusals: rows that are not of the table, none of whose content is shown, and
// settings that make no sense.
func TestRefusals(t *testing.T) {
	p, err := New(Settings{Domains: []int{3, 2}, Epsilons: []float64{1, 1}})
	if err != nil {
		t.Fatal(err)
	}
	s := noise.KeyFromSeed(1).Stream("refusals")
	row := []uint16{0, 4711}
	for _, codes := range [][]uint16{row, {0}, {0, 0, 0}, nil} {
		err := p.Row(codes, s)
		var e *Error
		if !errors.As(err, &e) || strings.Contains(err.Error(), "4711") {
			t.Errorf("%v: %v", codes, err)
		}
	}
	if row[0] != 0 || row[1] != 4711 {
		t.Error("a row that was refused was changed")
	}
	for _, b := range []table.Batch{
		{Rows: 1, Columns: []table.Vector{{Codes: []uint16{0}}}},
		{Rows: 1, Columns: []table.Vector{{Codes: []uint16{0}}, {Steps: []int32{1}}}},
		{Rows: 1, Columns: []table.Vector{{Codes: []uint16{4711}}, {Codes: []uint16{0}}}},
	} {
		var out reconstruct.Rows
		err := p.Batch(&b, noise.KeyFromSeed(1), &out)
		at := expect.At(t, "%v", b)
		expect.As[*Error](at, err)
		expect.True(at, "no 4711 in the error", !strings.Contains(fmt.Sprint(err), "4711"), fmt.Sprint(err))
		expect.Equal(at, "out.Count", out.Count, 0)
	}
	for name, s := range map[string]Settings{
		"nothing":             {},
		"lengths":             {Domains: []int{2, 2}, Epsilons: []float64{1}},
		"no value":            {Domains: []int{0}, Epsilons: []float64{1}},
		"too many values":     {Domains: []int{MaxValues + 1}, Epsilons: []float64{1}},
		"ε for one value":     {Domains: []int{1}, Epsilons: []float64{1}},
		"no ε":                {Domains: []int{2}, Epsilons: []float64{0}},
		"ε too small":         {Domains: []int{2}, Epsilons: []float64{MinEpsilon / 2}},
		"negative ε":          {Domains: []int{2}, Epsilons: []float64{-1}},
		"NaN":                 {Domains: []int{2}, Epsilons: []float64{math.NaN()}},
		"infinite":            {Domains: []int{2}, Epsilons: []float64{math.Inf(1)}},
		"second of two wrong": {Domains: []int{2, 2}, Epsilons: []float64{1, 2 * MaxEpsilon}},
	} {
		if _, err := New(s); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestLargestDomain: codes of 16 bits are all used.
func TestLargestDomain(t *testing.T) {
	p, err := New(Settings{Domains: []int{MaxValues}, Epsilons: []float64{MinEpsilon}})
	if err != nil {
		t.Fatal(err)
	}
	s := noise.KeyFromSeed(1).Stream("largest")
	low, high := uint16(math.MaxUint16), uint16(0)
	codes := []uint16{0}
	for range 200_000 {
		codes[0] = 12345
		if err := p.Row(codes, s); err != nil {
			t.Fatal(err)
		}
		low, high = min(low, codes[0]), max(high, codes[0])
	}
	// Each of the 600 values at an end is missed with probability e^-3, all of them with
	// e^-1800.
	if low > 600 || high < math.MaxUint16-600 {
		t.Errorf("values from %d to %d", low, high)
	}
}

// loans is a made-up schema.
func loans() schema.Schema {
	return schema.Schema{
		Name: "loans", Label: "repaid",
		Columns: []schema.Column{
			{Name: "age", Kind: schema.Numeric, Low: 18, High: 100, Clamp: true, Edges: []float64{30, 50}},
			{Name: "purpose", Kind: schema.Categorical, Values: []string{"car", "house, or flat", `a "treat"`}},
			{Name: "branch", Kind: schema.Categorical, Values: []string{"main"}},
			{Name: "repaid", Kind: schema.Categorical, Values: []string{"No", "Yes"}},
		},
	}.WithDefaults()
}

// TestSidecarRoundTrip: what settings say of a file fits the schema, and only that.
func TestSidecarRoundTrip(t *testing.T) {
	sc := loans()
	for _, epsilons := range [][]float64{{1, 1, 0, 1}, {MinEpsilon, 45, 0, 0.3}, {700, 2, 0, 1000}} {
		s := Settings{Domains: []int{3, 3, 1, 2}, Epsilons: epsilons}
		car, err := s.Sidecar(sc, 10, true)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := car.Write(&b); err != nil {
			t.Fatal(err)
		}
		got, err := reconstruct.ReadSidecar(&b, sc)
		if err != nil {
			t.Fatalf("%v: %v", epsilons, err)
		}
		want, have := s.Channel(), got.Channel()
		expect.True(t, "want.Keep equal to have.Keep", slices.Equal(want.Keep, have.Keep), want.Keep, have.Keep)
		expect.True(t, "want.Other equal to have.Other", slices.Equal(want.Other, have.Other), want.Other, have.Other)
		expect.True(t, "want.Domains equal to have.Domains", slices.Equal(want.Domains, have.Domains), want.Domains, have.Domains)
		at := expect.At(t, "got")
		expect.Equal(at, "got.Event", got.Event, s.Event().String())
		expect.Equal(at, "got.Rows", got.Rows, 10)
		expect.True(at, "got.Private", got.Private)
	}
	for name, s := range map[string]Settings{
		"columns": {Domains: []int{3, 3, 2}, Epsilons: []float64{1, 1, 1}},
		"values":  {Domains: []int{3, 2, 1, 2}, Epsilons: []float64{1, 1, 0, 1}},
	} {
		if _, err := s.Sidecar(sc, 1, true); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestSettingsInJSON: settings are public values.
func TestSettingsInJSON(t *testing.T) {
	s := Settings{Domains: []int{2, 3}, Epsilons: []float64{1. / 3, 0.1}}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var got Settings
	if err := json.Unmarshal(text, &got); err != nil || fmt.Sprint(got) != fmt.Sprint(s) {
		t.Errorf("%s: %v", text, err)
	}
}

func Example() {
	p, err := New(Settings{Domains: []int{2, 5}, Epsilons: []float64{1, 2}})
	if err != nil {
		fmt.Println(err)
		return
	}
	// A seed is for examples: use noise.NewKey.
	row := []uint16{1, 3}
	if err := p.Row(row, noise.KeyFromSeed(3).Stream("my row")); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(row)
	// Output: [1 1]
}

func BenchmarkBatch(b *testing.B) {
	const rows = 1 << 16
	for name, settings := range map[string]Settings{
		"14x2":  same(14, 2, 0.5),
		"14x10": same(14, 10, 0.5),
	} {
		b.Run(name, func(b *testing.B) {
			p, err := New(settings)
			if err != nil {
				b.Fatal(err)
			}
			batch := table.Batch{Rows: rows, Columns: make([]table.Vector, len(settings.Domains))}
			for i := range batch.Columns {
				batch.Columns[i].Codes = make([]uint16, rows)
			}
			key := noise.KeyFromSeed(1)
			var out reconstruct.Rows
			for b.Loop() {
				batch.Index++
				if err := p.Batch(&batch, key, &out); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}

func same(columns, values int, epsilon float64) (s Settings) {
	for range columns {
		s.Domains, s.Epsilons = append(s.Domains, values), append(s.Epsilons, epsilon)
	}
	return s
}
