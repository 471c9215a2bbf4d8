package estimate_test

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/cmd/internal/estimate"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/internal/reconstruct"
	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/schema"
)

var loans = schema.Schema{Name: "loans", Label: "repaid", Columns: []schema.Column{
	{Name: "home", Kind: schema.Categorical, Values: []string{"rented", "owned"}},
	{Name: "repaid", Kind: schema.Categorical, Values: []string{"no", "yes"}},
}}

// sidecar of rows that keep a value with a probability.
func sidecar(keep float64) reconstruct.Sidecar {
	s := reconstruct.Sidecar{Epsilon: 2, Event: "compose(repeat(2, rr(1, 2)))"}
	for _, c := range loans.Columns {
		s.Columns = append(s.Columns, reconstruct.SidecarColumn{Name: c.Name, Values: 2, Epsilon: 1, Keep: keep, Other: 1 - keep})
	}
	return s
}

func write(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// rows are 100: 70 own their home, of whom 60 repaid, and of the others 10 did.
var rows = "home,repaid\n" + strings.Repeat("owned,yes\n", 60) + strings.Repeat("owned,no\n", 10) +
	strings.Repeat("rented,yes\n", 10) + strings.Repeat("rented,no\n", 20)

// estimated is the estimate of the rows in some files.
func estimated(t *testing.T, keep float64, method string, files ...string) (*estimate.File, []estimate.Marginal) {
	t.Helper()
	r, err := estimate.Open(loans, files, func() (reconstruct.Sidecar, error) { return sidecar(keep), nil })
	if err != nil {
		t.Fatal(err)
	}
	counts, err := r.Count([][]int{{0, 1}})
	if err != nil {
		t.Fatal(err)
	}
	f, marginals, err := estimate.Estimate(t.Context(), method, r, counts)
	if err != nil {
		t.Fatal(err)
	}
	return f, marginals
}

// TestEstimate: shares are those of rows before they were perturbed, of all files together,
// and a file keeps them.
func TestEstimate(t *testing.T) {
	dir := t.TempDir()
	file := write(t, dir, "rows.csv", rows)
	for _, method := range []string{reconstruct.MethodInverse, reconstruct.MethodIBU} {
		for _, keep := range []float64{1 - 1e-12, 0.9} {
			f, marginals := estimated(t, keep, method, file, file)
			want := (0.7 - (1 - keep)) / (2*keep - 1)
			expect.Equal(t, "f.Rows", f.Rows, 200)
			expect.Len(t, "marginals", marginals, 2)
			expect.Equal(t, "marginals[0].Column", marginals[0].Column, "home")
			owned := marginals[0].Values[1]
			at := expect.At(t, "%s, kept with %v", method, keep)
			expect.Equal(at, "owned.Value", owned.Value, "owned")
			expect.Max(at, "math.Abs(owned.Share-want)", math.Abs(owned.Share-want), 0.01)
			expect.True(at, "owned.Error > 0 && owned.Error < 0.1", owned.Error > 0 && owned.Error < 0.1, owned.Error)
			if report := estimate.Report(marginals); len(report.Rows) != 4 || report.Rows[1][0].Text != "" {
				t.Errorf("the report is %v", report.Rows)
			}
			if err := f.Write(dir); err != nil {
				t.Fatal(err)
			}
			back, err := estimate.Read(dir)
			at = expect.At(t, "the file reads back")
			expect.NoError(at, err)
			expect.Equal(at, "back.Rows", back.Rows, f.Rows)
			expect.True(at, "back.Estimates[0].Domains equal to f.Estimates[0].Domains", reflect.DeepEqual(back.Estimates[0].Domains, f.Estimates[0].Domains), back.Estimates[0].Domains, f.Estimates[0].Domains)
		}
	}
}

// TestSample: a seed repeats its examples, which are of the estimate; what has no privacy guarantee
// says so.
func TestSample(t *testing.T) {
	dir := t.TempDir()
	f, _ := estimated(t, 1-1e-12, reconstruct.MethodInverse, write(t, dir, "rows.csv", rows))
	seed := uint64(3)
	first, err := f.Sample(400, &seed)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := f.Sample(400, &seed); err != nil || !slices.Equal(first, again) {
		t.Errorf("another sample by the same seed: %v", err)
	}
	yes := 0
	for _, e := range first {
		if e.Output == "yes" {
			yes++
		}
	}
	if yes < 240 || yes > 320 {
		t.Errorf("%d of 400 say yes, not about 280", yes)
	}
	near, err := f.Near([]reconstruct.Near{{Query: schema.Row{{Code: 1, Discrete: true}, {Discrete: true}}, Free: []int{1}, Mismatch: 1e-9}}, 5, &seed)
	at := expect.At(t, "near a home that is owned")
	expect.NoError(at, err)
	expect.Len(at, "near", near, 1)
	expect.Len(at, "near[0]", near[0], 5)
	expect.Contains(at, "near[0][0].Input", near[0][0].Input, "owned")
	files, err := f.Save(dir, "test", first)
	if err != nil || len(files) == 0 {
		t.Errorf("no files: %v", err)
	}
	if f.Origin() != release.Sampled || !strings.Contains(f.Warning(), "NOT PRIVATE") {
		t.Errorf("%v, %s", f.Origin(), f.Warning())
	}
}

// TestRefusals: what a user named and cannot be used is an [estimate.InputError] in words.
func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	good, empty := write(t, dir, "rows.csv", rows), write(t, dir, "empty.csv", "home,repaid\n")
	kept := []float64{0.9, 0.8}
	open := func(files ...string) error {
		n := 0
		r, err := estimate.Open(loans, files, func() (reconstruct.Sidecar, error) { n++; return sidecar(kept[n-1]), nil })
		if err == nil {
			_, err = r.Count([][]int{{0}})
		}
		return err
	}
	_, noEstimate := estimate.Read(dir)
	_, otherFormat := estimate.Read(write(t, dir, "other.json", `{"format":"other"}`))
	_, noProfile := estimate.ReadProfile(dir)
	for want, err := range map[string]error{
		"sotto table perturb":              open(filepath.Join(dir, "none")),
		"perturbed otherwise":              open(good, good),
		"there are no rows":                open(empty),
		"sotto table reconstruct":          noEstimate,
		"is no estimate":                   otherFormat,
		"sotto table profile --histograms": noProfile,
	} {
		if known := (*estimate.InputError)(nil); !errors.As(err, &known) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}

// profiled is a folder of a profile by histograms: 40 no and 60 yes, by the home.
func profiled(t *testing.T) string {
	t.Helper()
	request, err := plan.ProfileRequest{Schema: loans, Size: 100, Epsilon: 1}.Histograms()
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.NewProfile(request)
	if err != nil {
		t.Fatal(err)
	}
	var profile global.Profile
	for class, counts := range [][]int64{{35, 5}, {10, 50}} {
		label := schema.Value{Code: class, Discrete: true}
		profile.Groups = append(profile.Groups, global.Group{
			Classes: []int{class}, Count: float64(counts[0] + counts[1]), Row: schema.Row{{Discrete: true}, label},
			Columns: []global.Estimate{{Column: "home", Statistic: global.Histogram, Counts: counts}, {Column: "repaid", Statistic: global.Given}},
		})
	}
	dir := t.TempDir()
	for name, v := range map[string]any{"plan.json": p, "profile.json": profile} {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		write(t, dir, name, string(data))
	}
	return dir
}

// TestProfile: rows are drawn from a profile's histograms, and predicted from them.
func TestProfile(t *testing.T) {
	dir := profiled(t)
	f, err := estimate.ReadProfile(dir)
	if err != nil {
		t.Fatal(err)
	}
	at := expect.At(t, "a profile of ε")
	expect.True(at, "f.Private", f.Private)
	expect.Equal(at, "f.Origin()", f.Origin(), release.Drawn)
	expect.True(at, "f.Epsilon > 0.9 && f.Epsilon <= 1", f.Epsilon > 0.9 && f.Epsilon <= 1, f.Epsilon)
	seed := uint64(1)
	if examples, err := f.Sample(10, &seed); err != nil || len(examples) != 10 {
		t.Errorf("%d examples: %v", len(examples), err)
	}
	p, err := estimate.ReadPredictor(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Predict(strings.NewReader("id,home\n1,owned\n2,rented\n"))
	expect.NoError(t, err)
	expect.Len(t, "got", got, 2)
	expect.Equal(t, "got[0].Value", got[0].Value, "yes")
	expect.Equal(t, "got[1].Value", got[1].Value, "no")
	// Counts with one added: 51/62 of yes against 6/42 of no, by 60 to 40.
	if want := 0.6 * 51 / 62 / (0.6*51/62 + 0.4*6/42); math.Abs(got[0].Probabilities[1]-want) > 1e-9 {
		t.Errorf("yes has %v, not %v", got[0].Probabilities[1], want)
	}
	for want, in := range map[string]string{
		"no header": "", "no column \"home\"": "id\n1\n", "row 1: column \"home\"": "home\ncastle\n", "no rows": "home\n",
	} {
		if _, err := p.Predict(strings.NewReader(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v does not say %q", in, err, want)
		}
	}
	if _, err := estimate.ReadPredictor(dir, "age"); err == nil || !strings.Contains(err.Error(), "no column") {
		t.Errorf("a column that there is not: %v", err)
	}
	if _, err := estimate.ReadPredictor(dir, "home"); err == nil || !strings.Contains(err.Error(), "cannot predict") {
		t.Errorf("a column that rows are not grouped by: %v", err)
	}
}
