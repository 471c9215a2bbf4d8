package report

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/stat"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lab/result"
	"github.com/sotto-dp/sotto/lab/suite"
)

// TestMain draws less often: what is tested here is not how exact intervals are.
func TestMain(m *testing.M) {
	draws.Resamples, signs.Resamples = 200, 2000
	os.Exit(m.Run())
}

// render returns the Markdown.
func render(t interface {
	Helper()
	Fatal(args ...any)
}, in Input,
) string {
	t.Helper()
	d, err := compose(in)
	if err != nil {
		t.Fatal(err)
	}
	return string(d.markdown())
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
	if len(entries) != 1 || entries[0].Name() != MarkdownName {
		t.Errorf("got %q, want the Markdown alone", entries)
	}
	if err := Write(filepath.Join(dir, "none"), in); err == nil {
		t.Error("written into a folder that is not there")
	}
}

// TestNumbers checks figures of a page against others computed by hand from rows of which
// these are known.
func TestNumbers(t *testing.T) {
	row := func(method string, e *float64, seed uint64, items ...float64) result.Row {
		r := result.Row{
			Dataset: "d", Method: method, Name: method, Epsilon: e, Shots: 4, Seed: seed, Model: "m", Answerer: "m",
			Metric: "accuracy", N: len(items), Items: items, WriteTokens: 100, PublishedTokens: 250,
		}
		for _, v := range items {
			r.Value += v / float64(len(items))
		}
		return r
	}
	in := Input{Title: "t", Rows: []result.Row{
		row("clipped", epsilon(1), 0, 1, 1, 1, 0), row("clipped", epsilon(1), 1, 1, 1, 1, 1), // 75, 100
		row("gaussian", epsilon(1), 0, 0, 1, 0, 0), row("gaussian", epsilon(1), 1, 0, 1, 1, 0), // 25, 50
		row("real", nil, 0, 1, 1, 0, 0), row("real", nil, 1, 1, 1, 0, 0), // 50, 50
	}}
	markdown := render(t, in)
	for _, want := range []string{
		"87.5 ± 17.7", // mean and standard deviation: 25/√2
		"37.5 ± 17.7",
		"50.0 ± 0.0",
		"+50.0",             // clipped less gaussian
		"| 0.500 | 0.500 |", // of four sign changes, two are as far out
		"| 1 | 100 | 250 |", // tokens
		"| 1 | 100 | – |",   // clipped is in no paper
		"written and answered by m",
	} {
		if !strings.Contains(markdown, want) {
			t.Errorf("the Markdown has no %q", want)
		}
	}
	if t.Failed() {
		t.Log(markdown)
	}
}

func TestPublishedStandsBeside(t *testing.T) {
	markdown := render(t, input([]string{"agnews", "mit-g"}, 2, 10))
	for _, want := range []string{
		`paper: 64.1 ± 3.9 \[a\]<br>paper: 60.7 ± 3.1 \[b\]`,
		`\[a\] GPT-3 Babbage, Tang et al. 2024, table 1`,
		`\[b\] Llama-2-7b-hf, Gao et al. 2025, table 2`,
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
	in.Published = []suite.PublishedValue{
		{Dataset: "agnews", Method: "gaussian", Setting: "gaussian with more", Epsilon: epsilon(1), Value: 12.3, Source: "s"},
		{Dataset: "agnews", Method: "gaussian", Epsilon: epsilon(4), Value: 45.6, Source: "s"},
	}
	markdown := render(t, in)
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
		if m := render(t, in); !strings.Contains(m, "at equal ε, by data set: "+want+" less each other method") {
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
		"other value":   func(in *Input) { in.Rows[1].Value += 0.01 },
		"a score less":  func(in *Input) { in.Rows[1].Items = in.Rows[1].Items[1:] },
		"other items": func(in *Input) {
			r := &in.Rows[1]
			r.N, r.Items = 4, r.Items[:4]
			r.Value = stat.Mean(r.Items)
		},
	} {
		in := input([]string{"agnews"}, 1, 5)
		spoil(&in)
		if err := Write(t.TempDir(), in); err == nil {
			t.Errorf("%s: written", name)
		}
	}
}

// TestBlocks: calibrations are told apart where there are both.
func TestBlocks(t *testing.T) {
	in := input([]string{"agnews", "mit-g"}, 2, 10)
	markdown := render(t, in)
	for _, want := range []string{"## agnews (calibrated)", "## agnews (not calibrated)", "## mit-g\n", "## Average over 2 data sets (calibrated)", "## Comparisons (not calibrated)"} {
		if !strings.Contains(markdown, want) {
			t.Errorf("no section %q", want)
		}
	}
	if strings.Count(markdown, "## mit-g") != 1 {
		t.Error("what cannot be calibrated is shown for each calibration")
	}
	var kept []result.Row
	for _, r := range in.Rows {
		if r.Calibrated || r.Dataset == "mit-g" {
			kept = append(kept, r)
		}
	}
	in.Rows = kept
	if markdown = render(t, in); strings.Contains(markdown, "calibrated)") {
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
	markdown := render(t, in)
	if strings.Contains(markdown, "3 shots") || strings.Contains(markdown, "4 shots") {
		t.Error("a set that came out smaller makes a column of its own")
	}
	more := input([]string{"agnews"}, 4, 10).Rows
	for i := range more {
		more[i].Shots *= 2
	}
	in = input([]string{"agnews"}, 4, 10)
	in.Rows = slices.DeleteFunc(append(in.Rows, more...), func(r result.Row) bool { return guaranteed(epsilonOf(&r)) && *r.Epsilon != 1 })
	markdown = render(t, in)
	if !strings.Contains(markdown, "| 0 shots | 4 shots | 8 shots |") {
		t.Error("numbers of shots are not compared")
	}
}

func TestOf(t *testing.T) {
	s := suite.Suite{
		Name: "n", About: "a", Datasets: []suite.Dataset{{Name: "y"}, {Name: "x"}},
		Methods: []suite.Method{{Method: "real"}, {Method: "clipped", Name: "c"}}, Published: []suite.PublishedValue{{Dataset: "x"}},
	}
	in := Of(s, []result.Row{{Dataset: "x", Name: "c"}, {Dataset: "z", Name: "other"}, {Dataset: "y", Name: "real"}})
	expect.Equal(t, "in.Title", in.Title, "n")
	expect.Equal(t, "in.About", in.About, "a")
	expect.Len(t, "in.Published", in.Published, 1)
	if got := strings.Join(in.datasets(), " ") + ", " + strings.Join(in.names(), " "); got != "y x z, real c other" {
		t.Errorf("order %q", got)
	}
}

// TestFindings: what is strong is so after the correction for all comparisons of its table.
func TestFindings(t *testing.T) {
	var rows []result.Row
	for _, method := range []string{"clipped", "gaussian", "radius"} {
		for seed := range uint64(6) {
			r := result.Row{
				Dataset: "d", Method: method, Name: method, Epsilon: epsilon(1), Shots: 4, Seed: seed, Model: "m", Answerer: "m",
				Metric: "accuracy", N: 2, Items: []float64{0, 1}, Value: 0.5,
			}
			if method == "clipped" {
				r.Items, r.Value = []float64{1, 1}, 1
			}
			rows = append(rows, r)
		}
	}
	for n, want := range map[int][2]string{ // all six seeds agree: p is 2/2⁶, of two comparisons twice that
		12: {"| d | 1 | gaussian | **+50.0** |", "| 0.031 | 0.031 |"},
		18: {"| d | 1 | gaussian | +50.0 |", "| 0.031 | 0.062 |"},
	} {
		markdown := render(t, Input{Title: "t", Rows: rows[:n]})
		for _, part := range want {
			if !strings.Contains(markdown, part) {
				t.Errorf("%d rows: no %q in\n%s", n, part, markdown)
			}
		}
	}
}

// TestAverages: every data set counts the same, whatever number of seeds and items it has.
func TestAverages(t *testing.T) {
	row := func(dataset, method string, e float64, seed uint64, items ...float64) result.Row {
		r := result.Row{
			Dataset: dataset, Method: method, Name: method, Epsilon: &e, Shots: 4, Seed: seed, Model: "m", Answerer: "m",
			Metric: "accuracy", N: len(items), Items: items,
		}
		for _, v := range items {
			r.Value += v / float64(len(items))
		}
		return r
	}
	in := Input{Title: "t", Rows: []result.Row{
		row("a", "clipped", 0.3, 0, 1, 1, 1, 0), row("a", "clipped", 0.3, 1, 1, 0, 1, 0), // 62.5
		row("a", "clipped", 1, 0, 1, 1, 1, 1), row("a", "clipped", 1, 1, 1, 0, 1, 1), // 87.5
		row("a", "gaussian", 1, 0, 1, 0, 1, 0), row("a", "gaussian", 1, 1, 1, 0, 1, 0), // 50
		row("b", "clipped", 0.3, 0, 0, 1), // 50
		row("b", "clipped", 1, 0, 1, 1),   // 100
		row("b", "gaussian", 1, 0, 1, 0),  // 50
	}}
	markdown := render(t, in)
	for _, want := range []string{
		"| clipped | 56.2<br>", // (62.5+50)/2
		"| average of 2 | 1 | gaussian | +43.8 |",
	} {
		if !strings.Contains(markdown, want) {
			t.Errorf("no %q", want)
		}
	}
	if t.Failed() {
		t.Log(markdown)
	}
}
