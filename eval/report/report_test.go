package report

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sotto/eval"
	"sotto/eval/suite"
)

var rewrite = flag.Bool("rewrite", false, "write golden files")

// TestMain draws less often: what is tested here is not how exact intervals are.
func TestMain(m *testing.M) {
	draws.Resamples, signs.Resamples = 200, 2000
	os.Exit(m.Run())
}

// render gives the page and the Markdown.
func render(t interface {
	Helper()
	Fatal(args ...any)
}, in Input,
) (page, markdown string) {
	t.Helper()
	d, err := compose(in)
	if err != nil {
		t.Fatal(err)
	}
	b, err := d.html()
	if err != nil {
		t.Fatal(err)
	}
	return string(b), string(d.markdown())
}

// small is an input whose report one can read.
func small() Input {
	in := input([]string{"agnews", "mit-g"}, 3, 20)
	in.Rows = slices.DeleteFunc(in.Rows, func(r eval.Row) bool {
		return r.Dataset == "agnews" && !r.Calibrated || guaranteed(epsilonOf(&r)) && *r.Epsilon != 0.3 && *r.Epsilon != 1
	})
	return in
}

func TestGolden(t *testing.T) {
	page, markdown := render(t, small())
	for name, got := range map[string]string{PageName: page, MarkdownName: markdown} {
		path := filepath.Join("testdata", name)
		if *rewrite {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s changed; look at it after go test ./eval/report -rewrite", name)
		}
	}
	again, _ := render(t, small())
	if again != page {
		t.Error("the same rows gave other bytes")
	}
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	in := input([]string{"agnews"}, 2, 10)
	if err := Write(dir, in); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if strings.Join(names, " ") != MarkdownName+" "+PageName {
		t.Errorf("files %q", names)
	}
	if err := Write(filepath.Join(dir, "none"), in); err == nil {
		t.Error("written into a folder that is not there")
	}
}

// TestNumbers checks figures of a page against others computed by hand from rows of which
// these are known.
func TestNumbers(t *testing.T) {
	row := func(method string, e *float64, seed uint64, items ...float64) eval.Row {
		r := eval.Row{
			Dataset: "d", Method: method, Name: method, Epsilon: e, Shots: 4, Seed: seed, Model: "m", Answerer: "m",
			Metric: "accuracy", N: len(items), Items: items, WriteTokens: 100, PublishedTokens: 250,
		}
		for _, v := range items {
			r.Value += v / float64(len(items))
		}
		return r
	}
	in := Input{Title: "t", Rows: []eval.Row{
		row("clipped", epsilon(1), 0, 1, 1, 1, 0), row("clipped", epsilon(1), 1, 1, 1, 1, 1), // 75, 100
		row("gaussian", epsilon(1), 0, 0, 1, 0, 0), row("gaussian", epsilon(1), 1, 0, 1, 1, 0), // 25, 50
		row("real", nil, 0, 1, 1, 0, 0), row("real", nil, 1, 1, 1, 0, 0), // 50, 50
	}}
	page, markdown := render(t, in)
	for _, want := range []string{
		"87.5 ± 17.7", // mean and standard deviation: 25/√2
		"37.5 ± 17.7",
		"50.0 ± 0.0",
		"+50.0",              // clipped less gaussian
		"+37.5",              // clipped less real
		"| 0.500 | 0.500 |",  // of four sign changes, two are as far out
		"100 | 250 | 2.5× |", // tokens
		"clipped has the highest mean, 87.5 ± 17.7 (gaussian 37.5)",
		"written and answered by m",
	} {
		if !strings.Contains(markdown, want) {
			t.Errorf("the Markdown has no %q", want)
		}
		if !strings.Contains(want, "|") && !strings.Contains(page, strings.ReplaceAll(want, "+", "&#43;")) {
			t.Errorf("the page has no %q", want)
		}
	}
	if t.Failed() {
		t.Log(markdown)
	}
}

func TestPublishedStandsBeside(t *testing.T) {
	_, markdown := render(t, input([]string{"agnews", "mit-g"}, 2, 10))
	for _, want := range []string{
		`paper: 64.1 ± 3.9 \[a\]<br>paper: 60.7 ± 3.1 \[b\]`,
		`\[a\] GPT-3 Babbage, Tang et al. 2024, table 1`,
		`\[b\] Llama-2-7b-hf, Gao et al. 2024, table 2`,
		`paper: 69.3 ± 4.8`,
		"The papers' numbers are of GPT-3 Babbage and Llama-2-7b-hf",
	} {
		if !strings.Contains(markdown, want) {
			t.Errorf("no %q", want)
		}
	}
	if strings.Contains(markdown, "none here") {
		t.Error("a value stands beside a method that was not run")
	}
}

// TestSettingsTellPublishedApart: a paper's value stands with the settings it is of.
func TestSettingsTellPublishedApart(t *testing.T) {
	in := input([]string{"agnews"}, 2, 10)
	for i := range in.Rows {
		if r := &in.Rows[i]; r.Method == "gaussian" && r.Seed == 1 {
			r.Name, r.Seed = "gaussian with more", 0
		}
	}
	in.Published = []suite.Published{
		{Dataset: "agnews", Method: "gaussian", Setting: "gaussian with more", Epsilon: epsilon(1), Value: 12.3, Source: "s"},
		{Dataset: "agnews", Method: "gaussian", Epsilon: epsilon(4), Value: 45.6, Source: "s"},
	}
	_, markdown := render(t, in)
	for _, line := range strings.Split(markdown, "\n") {
		more := strings.HasPrefix(line, "| gaussian with more |")
		if strings.Contains(line, "12.3") && !more || strings.Contains(line, "45.6") && !strings.HasPrefix(line, "| gaussian |") {
			t.Errorf("misplaced: %s", line)
		}
	}
	if strings.Count(markdown, "12.3") == 0 || strings.Count(markdown, "45.6") == 0 {
		t.Error("a value is missing")
	}
}

// TestReference: others are compared with clipped, with the one that is named, or with
// the first.
func TestReference(t *testing.T) {
	in := input([]string{"agnews", "mit-g"}, 2, 10)
	for reference, want := range map[string]string{"": "clipped", "radius": "radius", "nobody": "clipped"} {
		in.Reference = reference
		if _, m := render(t, in); !strings.Contains(m, "at equal ε, by data set: "+want+" less each other method") {
			t.Errorf("%q: not compared with %s", reference, want)
		}
	}
}

func TestRefusedRows(t *testing.T) {
	for name, spoil := range map[string]func(*Input){
		"none":          func(in *Input) { in.Rows = nil },
		"no data set":   func(in *Input) { in.Rows[1].Dataset = "" },
		"not a number":  func(in *Input) { in.Rows[0].Value = math.NaN() },
		"negative ε":    func(in *Input) { in.Rows[0].Epsilon = epsilon(-1) },
		"other metrics": func(in *Input) { in.Rows[1].Metric = "rouge_l" },
	} {
		in := input([]string{"agnews"}, 1, 5)
		spoil(&in)
		if err := Write(t.TempDir(), in); err == nil {
			t.Errorf("%s: written", name)
		}
	}
}

// number finds what no figure may be.
var number = regexp.MustCompile(`NaN|[^a-z]Inf|%!|-0\.0`)

// TestAnyRows: whatever cells are missing, whatever names are, a report is made, its page
// is well formed, and no figure is the outcome of a division by zero.
func TestAnyRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var in Input
		in.Title = rapid.String().Draw(t, "title")
		names := rapid.SliceOfNDistinct(rapid.StringN(1, 20, -1), 1, 4, rapid.ID[string]).Draw(t, "names")
		methods := []string{"zero", "public", "clipped", "gaussian", "radius", "nonprivate", "real"}
		items := rapid.IntRange(0, 3).Draw(t, "items")
		for range rapid.IntRange(1, 15).Draw(t, "rows") {
			r := eval.Row{
				Dataset: rapid.SampledFrom([]string{"a", "b<script>"}).Draw(t, "dataset"), Name: rapid.SampledFrom(names).Draw(t, "name"),
				Method: rapid.SampledFrom(methods).Draw(t, "method"), Shots: rapid.IntRange(0, 3).Draw(t, "shots"), Seed: rapid.Uint64Range(0, 2).Draw(t, "seed"),
				Model: rapid.SampledFrom([]string{"", "m"}).Draw(t, "model"), Answerer: rapid.SampledFrom([]string{"", "m"}).Draw(t, "answerer"),
				Calibrated: rapid.Bool().Draw(t, "calibrated"), Metric: "accuracy", N: items, WriteTokens: rapid.Int64Range(0, 2).Draw(t, "tokens"),
				PublishedTokens: rapid.Int64Range(0, 2).Draw(t, "published"), Value: rapid.Float64Range(0, 1).Draw(t, "value"),
			}
			for range items {
				r.Items = append(r.Items, float64(rapid.IntRange(0, 1).Draw(t, "item")))
			}
			if rapid.Bool().Draw(t, "ε") {
				r.Epsilon = epsilon(rapid.SampledFrom([]float64{0, 0.1, 1, 8}).Draw(t, "epsilon"))
			}
			in.Rows = append(in.Rows, r)
		}
		page, markdown := render(t, in)
		if err := wellFormed(page); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(page, "<script") || strings.Contains(markdown, "<script") {
			t.Fatal("a name is markup")
		}
		body := markdown[strings.Index(markdown, "## Summary"):]
		for _, n := range names {
			body = strings.ReplaceAll(body, inline(n), "")
		}
		if bad := number.FindString(body); bad != "" {
			t.Fatalf("a figure is %q", bad)
		}
	})
}

// wellFormed checks that elements close in order, as XML but for what HTML leaves open.
func wellFormed(page string) error {
	page = strings.Map(func(r rune) rune { // XML has no place for these, HTML has
		if r < ' ' && r != '\n' || r == 0xfffe || r == 0xffff {
			return -1
		}
		return r
	}, strings.TrimPrefix(page, "<!DOCTYPE html>"))
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict = false
	d.AutoClose = []string{"meta"}
	d.Entity = xml.HTMLEntity
	var open []string
	for {
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			if len(open) > 0 {
				return errors.New("not closed: " + strings.Join(open, " "))
			}
			return nil
		}
		if err != nil {
			return err
		}
		switch e := token.(type) {
		case xml.StartElement:
			if e.Name.Local != "meta" {
				open = append(open, e.Name.Local)
			}
		case xml.EndElement:
			if len(open) == 0 || open[len(open)-1] != e.Name.Local {
				return errors.New("closed out of order: " + e.Name.Local)
			}
			open = open[:len(open)-1]
		}
	}
}

// TestHostileNames: what rows and suites call things is text, wherever it stands.
func TestHostileNames(t *testing.T) {
	const hostile = `"><script>alert(1)</script><img src=x onerror=a> | **b** [l](javascript:x) ` + "`c`\n# h"
	in := input([]string{"agnews"}, 2, 10)
	in.Title, in.About, in.Command, in.Notes = hostile, hostile, hostile+"\n```\n", []string{hostile}
	for i := range in.Rows {
		r := &in.Rows[i]
		r.Dataset, r.Model, r.Answerer, r.Version = hostile, hostile, hostile, hostile
		if r.Method == "clipped" {
			r.Name = hostile
		}
		r.Metrics = map[string]float64{hostile: 1}
	}
	for i := range in.Published {
		p := &in.Published[i]
		p.Dataset, p.Model, p.Source = hostile, hostile, hostile
	}
	page, markdown := render(t, in)
	if err := wellFormed(page); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"<script", "<img", "onerror=a>"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %s", bad)
		}
	}
	text := regexp.MustCompile("(?s)````console.*?````").ReplaceAllString(markdown, "")
	if text == markdown {
		t.Error("the command is not in a fence that it cannot end")
	}
	for _, bad := range []string{"<script", "<img", "\n# h", "l](javascript", "**b**"} {
		if strings.Contains(text, bad) {
			t.Errorf("the Markdown has %q", bad)
		}
	}
	rows := 0
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "| ") && strings.Contains(line, "alert") {
			rows++
			if strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") < 3 {
				t.Errorf("a cell ends the row: %s", line)
			}
		}
	}
	if rows == 0 {
		t.Error("no row has the name")
	}
}

// TestSelfContained: nothing is fetched, nothing runs, and it says what it is.
func TestSelfContained(t *testing.T) {
	page, markdown := render(t, input([]string{"agnews", "trec"}, 2, 10))
	rest := strings.ReplaceAll(page, `xmlns="http://www.w3.org/2000/svg"`, "")
	for _, bad := range []string{"http:", "https:", "<script", "@import", "url(", "<link", "src="} {
		if strings.Contains(rest, bad) {
			t.Errorf("the page has %s", bad)
		}
	}
	for _, want := range []string{"NOT PRIVATE", "Content-Security-Policy", "prefers-color-scheme: dark", "@media print", "<svg"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if !strings.Contains(markdown, "NOT PRIVATE") {
		t.Error("the Markdown does not say NOT PRIVATE")
	}
}

// TestBlocks: calibrations are told apart where there are both.
func TestBlocks(t *testing.T) {
	in := input([]string{"agnews", "mit-g"}, 2, 10)
	_, markdown := render(t, in)
	for _, want := range []string{"## agnews (calibrated)", "## agnews (not calibrated)", "## mit-g\n", "## Average over 2 data sets (calibrated)", "## Comparisons (not calibrated)"} {
		if !strings.Contains(markdown, want) {
			t.Errorf("no section %q", want)
		}
	}
	if strings.Count(markdown, "## mit-g") != 1 {
		t.Error("what cannot be calibrated is shown for each calibration")
	}
	var kept []eval.Row
	for _, r := range in.Rows {
		if r.Calibrated || r.Dataset == "mit-g" {
			kept = append(kept, r)
		}
	}
	in.Rows = kept
	if _, markdown = render(t, in); strings.Contains(markdown, "calibrated)") {
		t.Error("one kind of calibration is told apart from none")
	}
}

// TestDifferentNumbersOfShots: an axis of shots makes columns, chance does not.
func TestDifferentNumbersOfShots(t *testing.T) {
	in := input([]string{"agnews"}, 4, 10)
	for i := range in.Rows {
		if r := &in.Rows[i]; r.Seed == 3 && r.Shots == 4 {
			r.Shots = 3
		}
	}
	_, markdown := render(t, in)
	if strings.Contains(markdown, "3 shots") || strings.Contains(markdown, "4 shots") {
		t.Error("a set that came out smaller makes a column of its own")
	}
	more := input([]string{"agnews"}, 4, 10).Rows
	for i := range more {
		more[i].Shots *= 2
	}
	in = input([]string{"agnews"}, 4, 10)
	in.Rows = slices.DeleteFunc(append(in.Rows, more...), func(r eval.Row) bool { return guaranteed(epsilonOf(&r)) && *r.Epsilon != 1 })
	page, markdown := render(t, in)
	if !strings.Contains(markdown, "| 0 shots | 4 shots | 8 shots |") || !strings.Contains(page, "against shots") {
		t.Error("numbers of shots are not compared")
	}
}

// TestManySettings: ablations are drawn as rankings.
func TestManySettings(t *testing.T) {
	in := input([]string{"agnews"}, 2, 10)
	var rows []eval.Row
	for _, r := range in.Rows {
		if r.Epsilon != nil && *r.Epsilon == 1 && r.Method == "gaussian" && r.Calibrated {
			for k := range 7 {
				r.Name = "setting " + string(rune('1'+k))
				rows = append(rows, r)
			}
		}
	}
	in.Rows = rows
	in.Published = []suite.Published{{Dataset: "agnews", Method: "gaussian", Setting: "setting 3", Epsilon: epsilon(1), Value: 50, Source: "s"}}
	page, _ := render(t, in)
	if !strings.Contains(page, "Diamonds") || strings.Contains(page, "against ε") {
		t.Error("many settings at one ε are not ranked")
	}
}

func TestOf(t *testing.T) {
	s := suite.Suite{
		Name: "n", About: "a", Datasets: []suite.Dataset{{Name: "y"}, {Name: "x"}},
		Methods: []suite.Method{{Method: "real"}, {Method: "clipped", Name: "c"}}, Published: []suite.Published{{Dataset: "x"}},
	}
	in := Of(s, []eval.Row{{Dataset: "x", Name: "c"}, {Dataset: "z", Name: "other"}, {Dataset: "y", Name: "real"}})
	if in.Title != "n" || in.About != "a" || len(in.Published) != 1 {
		t.Errorf("%+v", in)
	}
	if got := strings.Join(in.datasets(), " ") + ", " + strings.Join(in.names(), " "); got != "y x z, real c other" {
		t.Errorf("order %q", got)
	}
}

func TestEverySuiteHasAReport(t *testing.T) {
	for _, name := range suite.Builtins() {
		s, err := suite.Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		s.Seeds = 1
		cells, err := suite.Cells(s)
		if err != nil {
			t.Fatal(err)
		}
		var rows []eval.Row
		for _, c := range cells {
			for _, calibrated := range c.Calibrate {
				rows = append(rows, eval.Row{
					Dataset: c.Dataset.Name, Method: c.Method, Name: c.Name, Epsilon: c.Epsilon, Shots: c.Shots, Seed: c.Seed,
					Model: c.Model, Answerer: c.Answerer, Calibrated: calibrated, Metric: "accuracy", Value: 0.5, N: 10,
				})
			}
		}
		_, markdown := render(t, Of(s, rows))
		for _, p := range s.Published {
			// Every value of a paper finds its place.
			if want := "paper: " + spread(p.Value, deviation(p)); !strings.Contains(markdown, want) {
				t.Errorf("%s: %s, %s %s: %q is not in the report", name, p.Dataset, p.Method, p.Setting, want)
			}
		}
	}
}
