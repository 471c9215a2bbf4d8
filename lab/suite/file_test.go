package suite_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lab/suite"
)

const small = `
epsilon = [1]
[[dataset]]
name = "agnews"
train = "train.jsonl"
test = "test.jsonl"
size = 1000
[[method]]
method = "clipped"
`

// TestParse: what is not said has its default.
func TestParse(t *testing.T) {
	s, err := suite.Parse("mine", []byte("\ufeff"+small))
	if err != nil {
		t.Fatal(err)
	}
	expect.Equal(t, "s.Name", s.Name, "mine")
	expect.Equal(t, "s.Seeds", s.Seeds, 1)
	expect.Equal(t, "s.Datasets[0].Task", s.Datasets[0].Task, "agnews")
	expect.Equal(t, "s.Methods[0].Name", s.Methods[0].Name, "clipped")
	expect.True(t, "s.Calibrate equal to []bool{true}", slices.Equal(s.Calibrate, []bool{true}), s.Calibrate)
	cells, err := suite.Cells(s)
	if err != nil || len(cells) != 1 {
		t.Fatalf("%v, %v", cells, err)
	}
	c := cells[0]
	expect.Equal(t, "c.Shots", c.Shots, 4)
	expect.Equal(t, "c.Epsilon", *c.Epsilon, 1)
	expect.Equal(t, "c", c.String(), "agnews, clipped, ε = 1, 4 shots, seed 0")
}

// TestOneName: settings may depend on ε, under one name.
func TestOneName(t *testing.T) {
	s, err := suite.Parse("mine", []byte(small+"batch = 16\n[[method]]\nmethod = \"clipped\"\nepsilon = [0.3]\nbatch = 64\n"))
	if err != nil {
		t.Fatal(err)
	}
	cells, err := suite.Cells(s)
	expect.NoError(t, err)
	expect.Len(t, "cells", cells, 2)
	expect.Equal(t, "cells[0].Name", cells[0].Name, cells[1].Name)
	expect.Equal[any](t, "cells[0].Settings.Values['batch']", cells[0].Settings.Values["batch"], 16)
	expect.Equal[any](t, "cells[1].Settings.Values['batch']", cells[1].Settings.Values["batch"], 64)
}

// TestOnline: what answers online has no demonstrations, and is there once for every
// number of answers, whichever else would answer.
func TestOnline(t *testing.T) {
	s, err := suite.Parse("mine", []byte("queries = [10, 100]\nanswerers = [\"same\", \"other\"]\nshots = [2, 4]\n"+small+`
online = true
[[method]]
method = "clipped"
[[method]]
method = "vote"
queries = [0]
[[method]]
method = "mixing-published"
online = true
queries = [7]
`))
	if err != nil {
		t.Fatal(err)
	}
	cells, err := suite.Cells(s)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range cells {
		got = append(got, c.String())
		if c.Online && (c.Answerer != c.Model || c.Shots != 0 || c.Claims() != (c.Method == "mixing-published")) {
			t.Errorf("%+v", c)
		}
	}
	want := []string{
		"agnews, clipped online, ε = 1, 10 answers, seed 0", "agnews, clipped online, ε = 1, 100 answers, seed 0",
		"agnews, clipped, ε = 1, 2 shots, seed 0", "agnews, clipped, ε = 1, 2 shots, seed 0, other",
		"agnews, clipped, ε = 1, 4 shots, seed 0", "agnews, clipped, ε = 1, 4 shots, seed 0, other",
		"agnews, vote, ε = 1, seed 0", "agnews, mixing-published online, ε = 1, 7 answers, seed 0",
	}
	if !slices.Equal(got, want) {
		t.Errorf("cells\n%s\ninstead of\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestProblems: every problem of a file is told at once, with its line and what to do.
func TestProblems(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "dataset: there is none"},
		{"", "method: there is none"},
		{"seeds = \"ten\"", "line 1, seeds: it is a string in quotes; give a whole number"},
		{"seeds = ", "line 1, column 8"},
		{"seeds = -1" + small, "line 1, seeds: -1 sets"},
		{"items = -3" + small, "line 1, items: -3 test items"},
		{"sedes = 3" + small, "line 1, sedes: there is no such key; did you mean seeds?"},
		{"delta = 2.0" + small, "line 1, delta: 2 is no δ"},
		{"shots = [4, 4]" + small, "line 1, shots: 4 is in the list twice"},
		{"shots = [-4]" + small, "line 1, shots: -4 demonstrations"},
		{"models = [\"a\", \"a\"]" + small, "line 1, models: a is in the list twice"},
		{strings.Replace(small, "[1]", "[0, 1]", 1), "line 2, epsilon: it is 0, at which no record may be used; leave 0 out and compare with a method that uses none"},
		{strings.Replace(small, "[1]", "[inf]", 1), "line 2, epsilon: it is infinite"},
		{strings.Replace(small, "[1]", "[-1]", 1), "line 2, epsilon: -1 is no ε"},
		{strings.Replace(small, "[1]", "[nan]", 1), "line 2, epsilon: NaN is no ε"},
		{strings.Replace(small, "epsilon = [1]", "", 1), "method[1].epsilon: clipped needs one on agnews"},
		{small + "bacth = 4", "line 10, method[1].bacth: there is no such key; did you mean batch?"},
		{small + "seeds = 4", "line 10, method[1].seeds: there is no such key; it belongs above the first [[method]]"},
		{small + "wings = 4", "there is no such key; known are method, name, online, epsilon"},
		{small + "sigma0 = 4.0", "line 10, method[1].sigma0: clipped does not have it; leave it out; settings of it are"},
		{small + "batch = -4", "line 10, method[1].batch: it is -4"},
		{small + "temperature = nan", "line 10, method[1].temperature: it is NaN"},
		{small + "centre = \"left\"", "\"left\" is none that there is; say median or mid-range or none"},
		{small + "datasets = [\"agnew\"]", "there is no data set \"agnew\"; did you mean agnews?"},
		{small + "[method.on.trec]\nbatch = 4", "line 10, method[1].on.trec: there is no data set \"trec\""},
		{small + "[method.on.agnews]\nbacth = 4", "line 11, method[1].on.agnews.bacth: there is no such key; did you mean batch?"},
		{small + "[[method]]\nmethod = \"cliped\"", "line 11, method[2].method: there is no method \"cliped\"; did you mean clipped?"},
		{small + "[[method]]\nmethod = \"clipped\"\nbatch = 4", "two methods are called \"clipped\" on agnews at ε = 1"},
		{small + "[[method]]\nmethod = \"zero\"\n[[method]]\nmethod = \"zero\"", "two methods are called \"zero\" on agnews"},
		{small + "[[method]]\nmethod = \"real\"\nepsilon = [1]", "method[2].epsilon: real has none"},
		{small + "[[method]]\nmethod = \"real\"\ndiscover = true", "real has no ε to pay for it"},
		{small + "[[method]]\nmethod = \"zero\"\nshots = [4]", "zero does not have it"},
		{small + "queries = [100]", "line 10, method[1].queries: clipped is not online: demonstrations serve any number of answers; leave it out, or say online = true"},
		{small + "online = true\nqueries = [100, -1]", "line 11, method[1].queries: an ε cannot be for -1 answers"},
		{small + "online = true\nshots = [4]", "line 11, method[1].shots: clipped does not have it"},
		{small + "[[method]]\nmethod = \"real\"\nonline = true", "line 12, method[2].online: real does not answer online; leave it out; those that do are clipped, mixing, gaussian,"},
		{small + "[[method]]\nmethod = \"vote\"\nmax_lambda = 4.0", "vote does not have it; leave it out; settings of it are batch, prompts"},
		{small + "[[method]]\nmethod = \"vote\"\nnoise = \"pink\"", "method[2].noise: \"pink\" is none that there is; say exponential or gaussian or threshold"},
		{small + "[[method]]\nmethod = \"vote\"\n[[method]]\nmethod = \"vote\"\nqueries = [0]", "two methods are called \"vote\" on agnews at ε = 1"},
		{small + "[[method]]\nmethod = \"mixing-published\"\ndiscover = true", "mixing-published has no ε to pay for it"},
		{"queries = [2, 2]" + small, "line 1, queries: 2 is in the list twice"},
		{"reference = \"cliped\"" + small, "line 1, reference: no method with an ε is called \"cliped\"; did you mean clipped?"},
		{"reference = \"mixing-published\"" + small + "[[method]]\nmethod = \"mixing-published\"", "line 1, reference: no method with an ε"},
		{strings.Replace(small, "size = 1000", "size = 1000\ninputs = \"a\"\nconditions = [\"b\"]", 1), "dataset[1].inputs: conditions are given too"},
		{strings.Replace(small, "size = 1000", "size = 1000\nanswer_tokens = -1", 1), "dataset[1].answer_tokens: texts of -1 tokens"},
		{strings.Replace(small, "name = \"agnews\"", "", 1), "dataset[1].name: it is missing"},
		{strings.Replace(small, "\"agnews\"", "\"agnesw\"", 1), "there is no task \"agnesw\"; did you mean agnews?"},
		{strings.Replace(small, "test = \"test.jsonl\"", "", 1), "dataset[1].test: it is missing"},
		{strings.Replace(small, "train = \"train.jsonl\"", "", 1), "dataset[1].train: it is missing"},
		{strings.Replace(small, "size = 1000", "", 1), "dataset[1].size: it is missing"},
		{strings.Replace(small, "size = 1000", "sizes = { World = 0 }", 1), "sizes are numbers of records"},
		{small + "[[published]]\ndataset = \"agnews\"\nvalue = 80.0", "line 10, published[1].source: it is missing"},
		{small + "[[published]]\ndataset = \"agnwes\"\nvalue = nan\nsource = \"x\"", "did you mean agnews?"},
		{small + "[[published]]\ndataset = \"agnwes\"\nvalue = nan\nsource = \"x\"", "published[1].value: it is not a number"},
	} {
		_, err := suite.Parse("mine", []byte(c.text))
		var invalid *suite.InvalidError
		if !errors.As(err, &invalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\n: %v,\nwhich does not say %q", c.text, err, c.want)
		}
	}
}

// TestPrecedence: settings for a data set come before those of the method, those before
// the data set's own, and those before the suite's.
func TestPrecedence(t *testing.T) {
	s, err := suite.Parse("mine", []byte(`
epsilon = [1, 2]
shots = [1]
items = 50
delta = 1e-5
seeds = 2
first_seed = 3

[[dataset]]
name = "agnews"
train = "{data}/agnews/train.jsonl"
test = "test.jsonl"
size = 1000
delta = 1e-7
items = 20
shots = [2]
tokens = 33
epsilon = [3]

[[dataset]]
name = "trec"
train = "/train.jsonl"
test = "test.jsonl"
size = 1000

[[method]]
method = "clipped"
batch = 16
shots = [3, 5]
[method.on.agnews]
batch = 32
tokens = 44
penalty = 0.0
no_repeat = 3

[[method]]
method = "gaussian"
name = "gaussian, many prompts"
epsilon = [8]
prompts = 50
datasets = ["trec"]

[[method]]
method = "public"

[[method]]
method = "zero"
`))
	if err != nil {
		t.Fatal(err)
	}
	cells, err := suite.Cells(s)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range cells {
		epsilon := "none"
		if c.Epsilon != nil {
			epsilon = fmt.Sprint(*c.Epsilon)
		}
		r := c.Request()
		rules := ""
		if r.Rules != nil {
			rules = fmt.Sprintf(" rules %v/%v", r.Rules.Penalty, r.Rules.NoRepeat)
		}
		got = append(got, fmt.Sprintf("%d %s %s ε=%s δ=%v k=%d items=%d batch=%d tokens=%d%s",
			c.Seed, c.Dataset.Name, c.Name, epsilon, c.Delta, c.Shots, c.Items, r.Settings.Int("batch", 0), r.Tokens, rules))
	}
	want := []string{
		"3 agnews clipped ε=3 δ=1e-07 k=3 items=20 batch=32 tokens=44 rules 0/3",
		"3 agnews clipped ε=3 δ=1e-07 k=5 items=20 batch=32 tokens=44 rules 0/3",
		"3 agnews public ε=0 δ=1e-07 k=2 items=20 batch=0 tokens=33",
		"0 agnews zero ε=0 δ=1e-07 k=0 items=20 batch=0 tokens=33",
		"3 trec clipped ε=1 δ=1e-05 k=3 items=50 batch=16 tokens=0",
		"3 trec clipped ε=1 δ=1e-05 k=5 items=50 batch=16 tokens=0",
		"3 trec clipped ε=2 δ=1e-05 k=3 items=50 batch=16 tokens=0",
		"3 trec clipped ε=2 δ=1e-05 k=5 items=50 batch=16 tokens=0",
		"3 trec gaussian, many prompts ε=8 δ=1e-05 k=1 items=50 batch=0 tokens=0",
		"3 trec public ε=0 δ=1e-05 k=1 items=50 batch=0 tokens=0",
		"0 trec zero ε=0 δ=1e-05 k=0 items=50 batch=0 tokens=0",
	}
	if len(got) != 2*len(want)-2 || !slices.Equal(got[:len(want)], want) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	in, err := s.In("/somewhere")
	expect.NoError(t, err)
	expect.Equal(t, "in.Datasets[0].Train", in.Datasets[0].Train, "/somewhere/agnews/train.jsonl")
	expect.Equal(t, "in.Datasets[1].Train", in.Datasets[1].Train, "/train.jsonl")
	expect.Equal(t, "in.Datasets[0].Test", in.Datasets[0].Test, "test.jsonl")
	if strings.HasPrefix(s.Datasets[0].Train, "/somewhere") {
		t.Error("the suite itself was changed")
	}
}

// TestFind: suites are built in, or files.
func TestFind(t *testing.T) {
	var unknown *suite.UnknownError
	if _, err := suite.Find("qick"); !errors.As(err, &unknown) || !strings.Contains(err.Error(), "did you mean quick?") {
		t.Errorf("%v", err)
	}
	file := filepath.Join(t.TempDir(), "mine.toml")
	if _, err := suite.Find(file); err == nil {
		t.Error("a file that is not there was found")
	}
	if err := os.WriteFile(file, []byte(small), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := suite.Find(file)
	expect.NoError(t, err)
	expect.Equal(t, "s.Name", s.Name, "mine")
	expect.Equal(t, "suite.Dir(s)", suite.Dir(s), filepath.Dir(file))
	if err := os.WriteFile(file, []byte("x = 1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := suite.Find(file); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("%v", err)
	}
	if _, err := suite.Load(t.TempDir()); err == nil || !strings.Contains(err.Error(), "not a file") {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(file, make([]byte, 2<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := suite.Load(file); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("%v", err)
	}
}

// TestBuiltins: every built-in suite is valid, asks for something, and names its data by
// the folder that the user gives.
func TestBuiltins(t *testing.T) {
	if !slices.Contains(suite.Builtins(), "quick") {
		t.Errorf("%v", suite.Builtins())
	}
	for _, name := range suite.Builtins() {
		s, err := suite.Builtin(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if s.Title == "" || s.Name != name {
			t.Errorf("%s has no title, or another name: %q", name, s.Name)
		}
		cells, err := suite.Cells(s)
		if err != nil || len(cells) == 0 {
			t.Errorf("%s: %d cells, %v", name, len(cells), err)
		}
		for _, d := range s.Datasets {
			paths := []string{d.Train, d.Test}
			if d.Data != "" {
				paths = []string{d.Data}
			}
			for _, path := range paths {
				if !strings.HasPrefix(path, "{data}/") {
					t.Errorf("%s: %s is at %s", name, d.Name, path)
				}
			}
		}
	}
}

// TestTooMany: a slip of the finger is no day's work.
func TestTooMany(t *testing.T) {
	s, err := suite.Parse("mine", []byte(small))
	if err != nil {
		t.Fatal(err)
	}
	s.Seeds = 10_000
	for i := range 1000 {
		s.Shots = append(s.Shots[:i:i], i+1)
	}
	if _, err := suite.Cells(s); err == nil || !strings.Contains(err.Error(), "fewer") {
		t.Errorf("%v", err)
	}
	s.Seeds = 0
	s.Datasets = nil
	var invalid *suite.InvalidError
	if _, err := suite.Cells(s); !errors.As(err, &invalid) {
		t.Errorf("%v", err)
	}
}

// FuzzParse: no file makes the program fall over, what is wrong is told as problems, and
// what is right can be expanded or says why not.
func FuzzParse(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte(tableMethods + loanTable))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := suite.Parse("fuzz", data)
		if err != nil {
			var invalid *suite.InvalidError
			if !errors.As(err, &invalid) || len(invalid.Problems) == 0 {
				t.Fatalf("%v", err)
			}
			for _, p := range invalid.Problems {
				at := expect.At(t, "%+v", p)
				expect.True(at, "p.What that is not empty", p.What != "")
				expect.True(at, "p.Fix that is not empty", p.Fix != "")
				expect.True(at, "p.Where that is not empty", p.Where != "")
			}
			return
		}
		if found := s.Check(); len(found) > 0 {
			t.Fatalf("it was right, and then %v", found)
		}
		if s.Seeds > 20 {
			return
		}
		cells, err := suite.Cells(s)
		if err != nil {
			return
		}
		for _, c := range cells {
			if c.Method != "zero" {
				_ = c.Request()
			}
			if c.String() == "" {
				t.Fatal("a cell without a name")
			}
		}
	})
}
