package suite_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/internal/demo"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lab/result"
	"github.com/sotto-dp/sotto/lab/suite"
	"github.com/sotto-dp/sotto/lm"
)

// loanRows is the size of the table that loansIn writes; loanShare of them are learned from.
const (
	loanRows  = 600
	loanShare = 0.75
)

// loansIn writes the demo's table into a folder, with a suite about it.
func loansIn(t testing.TB, dir, text string) suite.Suite {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "loans.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := demo.WriteLoans(f, demo.Loans(loanRows)); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"loans.toml": demo.LoansFile(), "suite.toml": []byte(text + loanTable)} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := suite.Load(filepath.Join(dir, "suite.toml"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const loanTable = `
[[dataset]]
name = "loans"
data = "loans.csv"
schema = "./loans.toml"
local_schema = "./loans.toml"
train_share = 0.75
size = 450
`

// tableMethods has one of each kind.
const tableMethods = `
title = "All there is for tables"
seeds = 2
items = 6
epsilon = [2, inf]
shots = [1, 4]
calibrate = [true, false]

[[method]]
method = "zero"

[[method]]
method = "zero"
name = "zero, few values"
view = "local"

[[method]]
method = "real"

[[method]]
method = "local"

[[method]]
method = "local"
name = "local, inverse"
reconstruct = "inverse"
split = "optimal"
epsilon = [2]
shots = [1]

[[method]]
method = "global"

[[method]]
method = "global-published"
rate = 0.2

[[method]]
method = "local"
name = "local, near"
near = 0.1

[[method]]
method = "drawn"

[[method]]
method = "drawn"
name = "drawn, near"
near = 0.1
epsilon = [2]

[[method]]
method = "real"
name = "real, near"
near = 0.1
shots = [4]

[[method]]
method = "majority"

[[method]]
method = "lr"

[[method]]
method = "gnb"
view = "local"

[[method]]
method = "nb"

[[method]]
method = "lr-local"

[[method]]
method = "gnb-local"

[[method]]
method = "lr-private"

[[method]]
method = "nb-private"
`

// TestTables runs every method for tables, and says what its rows have to have.
func TestTables(t *testing.T) {
	dir := t.TempDir()
	s := loansIn(t, dir, tableMethods)
	m := &toy{name: "toy"}
	o := optionsIn(dir, m)
	done, err := suite.Run(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]result.Row{}
	for _, r := range files(t, o.Out) {
		rows[r.Name] = append(rows[r.Name], r)
		checkTableRow(t, r)
	}
	// Values of ε × shots × seeds × calibrations; what is certain has one seed.
	for name, want := range map[string]int{
		"zero": 2, "zero, few values": 2, "real": 2 * 2 * 2, "local": 2 * 2 * 2 * 2, "local, inverse": 2 * 2,
		"global": 2*2*2 + 2*2, "global-published": 2 * 2 * 2 * 2,
		"local, near": 2 * 2 * 2 * 2, "drawn": 2 * 2 * 2 * 2, "drawn, near": 2 * 2 * 2, "real, near": 2 * 2,
		"majority": 1, "lr": 1, "gnb": 1, "nb": 1, "lr-local": 3, "gnb-local": 3, "lr-private": 2, "nb-private": 2,
	} {
		if len(rows[name]) != want {
			t.Errorf("%s has %d rows instead of %d", name, len(rows[name]), want)
		}
	}
	// Two profiles may read the same.
	if done.Cells != done.Answered+done.ReusedAnswers || done.Answered < done.Cells-3 {
		t.Errorf("of %d cells %d were answered, and %d found answered", done.Cells, done.Answered, done.ReusedAnswers)
	}
	again, err := suite.Run(t.Context(), s, o)
	expect.NoError(t, err)
	expect.Equal(t, "again.Answered", again.Answered, 0)
	expect.Equal(t, "again.Tokens", again.Tokens, 0)
	equal(t, "again", again.Rows, done.Rows)
}

// checkTableRow says what is true of a row by its method.
func checkTableRow(t *testing.T, r result.Row) {
	t.Helper()
	learns := strings.HasPrefix(r.Method, "lr") || strings.HasPrefix(r.Method, "gnb") || strings.HasPrefix(r.Method, "nb") || r.Method == "majority"
	at := expect.At(t, "%s: model %q, answered by %q with %d tokens and %d shots", r.Name, r.Model, r.Answerer, r.AnswerTokens, r.Shots)
	expect.Equal(at, "learns", learns, r.Model == "" && r.Answerer == "")
	expect.Equal(at, "learns", learns, r.AnswerTokens == 0)
	if learns {
		expect.Equal(at, "r.Shots", r.Shots, 0)
	}
	bounded := !slices.Contains([]string{"zero", "real", "majority", "lr", "gnb", "nb"}, r.Method) && r.Epsilon != nil
	switch {
	case bounded != (r.Event != "") || bounded != (r.EpsilonUpper > 0):
		t.Errorf("%s: ε = %v, event %q", r.Name, r.EpsilonUpper, r.Event)
	case r.Method == "global-published" && bounded:
		// The ε is the paper's, before sampling.
		if want := math.Log(1 + 0.2*(math.Exp(2)-1)); math.Abs(r.EpsilonUpper-want) > 1e-3 {
			t.Errorf("%s: ε = %v instead of %v", r.Name, r.EpsilonUpper, want)
		}
	case bounded && (r.EpsilonUpper > *r.Epsilon+1e-9 || r.EpsilonUpper < 0.98**r.Epsilon):
		t.Errorf("%s: ε = %v, and %v was asked for", r.Name, r.EpsilonUpper, *r.Epsilon)
	}
	if r.Delta != 0 {
		t.Errorf("%s: δ = %v", r.Name, r.Delta)
	}
	for _, name := range []string{"balanced_accuracy", "mcc", "macro_f1", "share_yes", "auc", "batch_accuracy"} {
		if _, there := r.Metrics[name]; !there {
			t.Errorf("%s has no %s", r.Name, name)
		}
	}
	at = expect.At(t, "%s: %s of %d items", r.Name, r.Metric, r.N)
	expect.Equal(at, "r.Metric", r.Metric, "accuracy")
	expect.Equal(at, "r.N", r.N, 6)
	expect.Len(at, "r.Items", r.Items, 6)
}

// TestTablesResume: a suite that was interrupted continues, and comes to the same.
func TestTablesResume(t *testing.T) {
	const text = `
seeds = 1
items = 4
epsilon = [2]
shots = [2]

[[method]]
method = "local"

[[method]]
method = "global"

[[method]]
method = "nb-private"
`
	whole := loansIn(t, t.TempDir(), text)
	want, err := suite.Run(t.Context(), whole, options(t, &toy{name: "toy"}))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s := loansIn(t, dir, text)
	ctx, cancel := context.WithCancel(t.Context())
	o := optionsIn(dir, &toy{name: "toy"})
	o.Observe = func(e suite.Progress) {
		if e.Kind == suite.Finished && e.Cell.Method == "local" {
			cancel()
		}
	}
	var stopped *suite.InterruptedError
	if _, err := suite.Run(ctx, s, o); !errors.As(err, &stopped) || stopped.Done != 1 {
		t.Fatalf("%v", err)
	}
	o.Observe = nil
	got, err := suite.Run(t.Context(), s, o)
	expect.NoError(t, err)
	expect.Equal(t, "got.ReusedAnswers", got.ReusedAnswers, 1)
	expect.Equal(t, "got.Answered", got.Answered, 2)
	equal(t, "after an interruption", got.Rows, want.Rows)
}

// TestTableBaselinesNeedNoModel: none is opened for them.
func TestTableBaselinesNeedNoModel(t *testing.T) {
	dir := t.TempDir()
	s := loansIn(t, dir, "epsilon = [1]\n[[method]]\nmethod = \"majority\"\n[[method]]\nmethod = \"lr-private\"\n")
	o := optionsIn(dir, nil)
	o.Open = func(context.Context, string) (lm.TrustedScorer, error) {
		return lm.TrustedScorer{}, errors.New("there is no model")
	}
	done, err := suite.Run(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(done.Rows) != 2 {
		t.Fatalf("%d rows", len(done.Rows))
	}
	for _, r := range done.Rows {
		// All test rows are used where no number of them is given.
		if r.N != loanRows-int(loanShare*loanRows) {
			t.Errorf("%s: %d items", r.Name, r.N)
		}
	}
}

// TestTableQuestions: those of both views are about the same rows.
func TestTableQuestions(t *testing.T) {
	s := loansIn(t, t.TempDir(), tableMethods)
	cells, err := suite.Cells(s)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string][]eval.Item{}
	for _, c := range cells {
		if seen[c.View] != nil {
			continue
		}
		if seen[c.View], err = s.Questions(c); err != nil {
			t.Fatal(err)
		}
	}
	local, global := seen["local"], seen["global"]
	if len(local) != 6 || len(global) != 6 {
		t.Fatalf("%d and %d questions", len(local), len(global))
	}
	for i := range local {
		if local[i].Output != global[i].Output || local[i].Input == global[i].Input {
			t.Errorf("%q is asked about as %q", global[i].Input, local[i].Input)
		}
	}
}

// TestTableProblems: what is wrong with a suite of tables is told, and where.
func TestTableProblems(t *testing.T) {
	const table = "[[dataset]]\nname = \"a\"\ndata = \"a.csv\"\nschema = \"adult\"\nlocal_schema = \"adult-local\"\ntrain_share = 0.8\nsize = 10\n"
	const texts = "[[dataset]]\nname = \"agnews\"\ntrain = \"a\"\ntest = \"b\"\nsize = 10\n"
	for name, c := range map[string]struct{ text, where, what string }{
		"data":            {strings.Replace(table, "data = \"a.csv\"\n", "", 1) + "[[method]]\nmethod = \"zero\"", "dataset[1].data", "missing"},
		"schema":          {strings.Replace(table, "\"adult\"", "\"adlut\"", 1) + "[[method]]\nmethod = \"zero\"", "dataset[1].schema", "adlut"},
		"split":           {strings.Replace(table, "0.8", "1.5", 1) + "[[method]]\nmethod = \"zero\"", "dataset[1].train_share", "split"},
		"two splits":      {table + "train_rows = 4\n[[method]]\nmethod = \"zero\"", "dataset[1].train_share", "split"},
		"task":            {table + "test = \"b\"\n[[method]]\nmethod = \"zero\"", "dataset[1].test", "does not have it"},
		"text method":     {"epsilon = [1]\n" + table + "[[method]]\nmethod = \"clipped\"", "method[1].datasets", "is for texts"},
		"table method":    {"epsilon = [1]\n" + texts + "[[method]]\nmethod = \"local\"", "method[1].datasets", "is for tables"},
		"no local schema": {"epsilon = [1]\n" + strings.Replace(table, "local_schema = \"adult-local\"\n", "", 1) + "[[method]]\nmethod = \"local\"", "method[1].datasets", "local_schema"},
		"no schema":       {"epsilon = [1]\n" + strings.Replace(table, "schema = \"adult\"\n", "", 1) + "[[method]]\nmethod = \"global\"", "method[1].datasets", "needs the schema"},
		"view of texts":   {texts + "[[method]]\nmethod = \"zero\"\nview = \"local\"", "method[1].view", "no table"},
		"view":            {table + "[[method]]\nmethod = \"zero\"\nview = \"both\"", "method[1].view", "none that there is"},
		"noise":           {"epsilon = [1]\n" + table + "[[method]]\nmethod = \"global\"\nnoise = \"exponential\"", "method[1].noise", "none that there is"},
		"setting":         {"epsilon = [1]\n" + table + "[[method]]\nmethod = \"lr-private\"\nshots = [1]", "method[1].shots", "does not have it"},
		"near texts":      {texts + "[[method]]\nmethod = \"real\"\nnear = 0.1", "method[1].near", "no table"},
		"near":            {table + "[[method]]\nmethod = \"real\"\nnear = 1.5", "method[1].near", "1.5"},
		"near profile":    {"epsilon = [1]\n" + table + "[[method]]\nmethod = \"global\"\nnear = 0.1", "method[1].near", "does not have it"},
		"endless":         {table + "[[method]]\nmethod = \"lr-private\"\nepsilon = [inf]", "method[1].epsilon", "infinite"},
		"endless suite":   {"epsilon = [inf]\n" + texts + "[[method]]\nmethod = \"clipped\"", "epsilon", "infinite"},
	} {
		_, err := suite.Parse("mine", []byte(c.text))
		var invalid *suite.InvalidError
		if !errors.As(err, &invalid) || !slices.ContainsFunc(invalid.Problems, func(p suite.Problem) bool {
			return p.Where == c.where && strings.Contains(p.What, c.what)
		}) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
