package figures_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/cmd/internal/figures"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/schema"
)

// drawn checks that the figure in a file has all of the words.
func drawn(t *testing.T, path string, words ...string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range append(words, "<svg", "</svg>") {
		if !strings.Contains(string(data), w) {
			t.Errorf("%s does not say %q", filepath.Base(path), w)
		}
	}
}

func terms(a accountant.Accountant) figures.Terms {
	return figures.Terms{Delta: 1e-6, Adjacency: privacy.AddRemove, Accountant: a}
}

// TestAccount: both curves are drawn, with a mark at what was asked; an event that is not
// repeated is a step by itself.
func TestAccount(t *testing.T) {
	path := filepath.Join(t.TempDir(), "account.svg")
	once := privacy.Event(privacy.Gaussian{Sigma: 4})
	for _, e := range []privacy.Event{once, privacy.Repeat{N: 10, Event: once}} {
		epsilon, err := accountant.Auto{}.Epsilon(e, privacy.AddRemove, 1e-6)
		if err != nil {
			t.Fatal(err)
		}
		at := accountant.Result{Interval: epsilon, Accountant: "auto"}
		notes, err := figures.Account(t.Context(), terms(accountant.Auto{}), e, at, path)
		if err != nil || (len(notes) == 1) != (e == once) {
			t.Errorf("%v: notes %q, %v", e, notes, err)
		}
		drawn(t, path, "gaussian(4)", "ε against δ", "ε against the number of steps", "add-remove")
	}
	if _, err := figures.Account(t.Context(), terms(accountant.Auto{}), once, accountant.Result{Interval: privacy.Interval{Upper: math.Inf(1)}}, path); err == nil {
		t.Error("an infinite ε is drawn")
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := figures.Account(ended, terms(accountant.Auto{}), once, accountant.Result{Interval: privacy.Interval{Upper: 1}}, path); !errors.Is(err, context.Canceled) {
		t.Errorf("a figure that nobody waits for: %v", err)
	}
}

// TestPlan: methods whose curves agree share one, and those that cannot do it have none.
func TestPlan(t *testing.T) {
	task, err := prompt.Builtin("agnews")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "plan.svg")
	r := plan.Request{Task: task, Size: 120000, Epsilon: 1, Tokens: 5}
	shape := plan.Shape{Instruction: 20, Head: 5, Record: 100}
	if err := figures.Plan(t.Context(), r, []string{"gaussian", "noisymax"}, shape, path); err != nil {
		t.Fatal(err)
	}
	drawn(t, path, "gaussian, noisymax", "model tokens, with caches", "--task agnews --epsilon 1")
	r.Size = 1
	if err := figures.Plan(t.Context(), r, []string{"gaussian"}, shape, path); err == nil || !strings.Contains(err.Error(), "nothing to plot") {
		t.Errorf("one record: %v", err)
	}
}

// TestAnswers: what answers cost together is drawn for methods that have a cost.
func TestAnswers(t *testing.T) {
	task, err := prompt.Builtin("agnews")
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.NewAnswers(plan.Request{Task: task, Size: 120000, Epsilon: 1, Answers: 10})
	if err != nil {
		t.Fatal(err)
	}
	total, err := p.Total(1)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "answers.svg")
	row := sotto.Row[sotto.AnswerPlan]{Method: "vote", Plan: p}
	row.One.Epsilon = total
	c := &sotto.Comparison[sotto.AnswerPlan]{Rows: []sotto.Row[sotto.AnswerPlan]{{Method: "other", Err: errors.New("cannot")}, row}}
	if err := figures.Answers(t.Context(), c, path); err != nil {
		t.Fatal(err)
	}
	drawn(t, path, "vote", "ε of all together", "--answers 10")
	c.Rows = c.Rows[:1]
	if err := figures.Answers(t.Context(), c, path); err == nil || !strings.Contains(err.Error(), "nothing to plot") {
		t.Errorf("no method: %v", err)
	}
}

// TestTable: errors of both ways are drawn where a table can be summed up in both.
func TestTable(t *testing.T) {
	of := schema.Schema{Name: "loans", Label: "repaid", Columns: []schema.Column{
		{Name: "amount", Kind: schema.Numeric, Low: 0, High: 100, Edges: []float64{50}},
		{Name: "repaid", Kind: schema.Categorical, Values: []string{"no", "yes"}},
	}}
	path := filepath.Join(t.TempDir(), "table.svg")
	ask := sotto.ProfileRequest{Schema: of, Size: 1000, Epsilon: 1, Groups: []schema.Group{{Column: "repaid"}}}
	if err := figures.Table(t.Context(), ask, sotto.PerturbRequest{}, path); err != nil {
		t.Fatal(err)
	}
	drawn(t, path, "loans, 1,000 rows", "perturbed rows", "profile", "error of the worst column")
}
