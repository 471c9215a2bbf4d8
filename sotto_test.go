package sotto_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/prompt"
)

const marker = "zanzibar"

func task() prompt.Task {
	return prompt.Task{
		Name: "tickets", Kind: prompt.Classify, Text: "text", Label: "queue", Labels: []string{"billing", "repairs"},
		Generate: prompt.Generation{Instruction: "Write a ticket."}, Answer: prompt.AnswerLayout{Instruction: "Name the queue."},
		Limits: prompt.Limits{MaxTokens: 4, Shots: 2},
	}.WithDefaults()
}

// options of a run in a directory of its own, with data for it.
func options(t *testing.T) synthesis {
	t.Helper()
	dir := t.TempDir()
	var b strings.Builder
	for i := range 100 {
		for _, queue := range task().Labels {
			fmt.Fprintf(&b, "{\"text\": \"%s %s %d\", \"queue\": %q, \"who\": \"c%d\"}\n", marker, queue, i, queue, i)
		}
	}
	data := filepath.Join(dir, "data.jsonl")
	if err := os.WriteFile(data, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return synthesis{world{sotto.Options{Trusted: toyModel()}, dir}, sotto.SynthesizeOptions{
		Use:     sotto.Use{Dataset: "tickets"},
		Request: sotto.Request{Task: task(), Size: 200, Epsilon: 4, Settings: method.Values{"batch": 16}},
		Source:  sotto.Source{Location: data}, Out: filepath.Join(dir, "out"),
	}}
}

// TestMissing: what is missing is reported before anything is opened or made.
func TestMissing(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*synthesis)
		want   string
	}{
		"size":        {func(o *synthesis) { o.Request.Size = 0 }, "number of records"},
		"out":         {func(o *synthesis) { o.Out = "" }, "folder to write to"},
		"data":        {func(o *synthesis) { o.Source.Location = "" }, "the data is missing"},
		"not private": {func(o *synthesis) { o.Request.Method, o.Request.Settings = "real", nil }, "has no privacy guarantee"},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t)
			c.change(&o)
			_, err := synthesize(t.Context(), o)
			var input *plan.InputError
			if !errors.As(err, &input) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
			for _, path := range append(o.state(), o.Out) {
				if path == "" {
					continue
				}
				if _, err := os.Stat(path); err == nil {
					t.Errorf("%s was made", filepath.Base(path))
				}
			}
		})
	}
}

// TestRefused: what the budget does not allow is refused, also for a run in another
// folder, and a unit that is not the budget's too.
func TestRefused(t *testing.T) {
	o := options(t)
	var said []string
	o.Observe = func(e sotto.Progress) { said = append(said, e.Message) }
	first, err := synthesize(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(said, "\n")
	at := expect.At(t, "what is reported")
	expect.Contains(at, "all", all, "no ledger")
	expect.Contains(at, "all", all, "no key to sign with")
	expect.Contains(at, "all", all, "budget")
	expect.Len(t, "first.Examples", first.Examples, 2)
	expect.True(t, "first.Charge that is not empty", first.Charge != "")
	expect.Min(t, "number of first.Words()", len(first.Words()), 3)
	o.Out += "-again"
	var refused *ledger.RefusedError
	if _, err := synthesize(t.Context(), o); !errors.As(err, &refused) || refused.Limit != 4 {
		t.Errorf("%v", err)
	}
	o.Request.Unit, o.Request.Size, o.Out = "user:who", 100, o.Out+"-more"
	var mismatch *ledger.MismatchError
	if _, err := synthesize(t.Context(), o); !errors.As(err, &mismatch) {
		t.Errorf("%v", err)
	}
}

// TestMalformed: records that cannot be used are an error without their content, or are
// left out and counted.
func TestMalformed(t *testing.T) {
	o := options(t)
	f, err := os.OpenFile(o.Source.Location, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("{\"text\": \"" + marker + "\"}\n"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	var malformed *record.MalformedError
	if _, err := synthesize(t.Context(), o); !errors.As(err, &malformed) || strings.Contains(err.Error(), marker) {
		t.Errorf("%v", err)
	}
	o.Source.SkipMalformed = true
	done, err := synthesize(t.Context(), o)
	if err != nil || done.LeftOut != 1 {
		t.Errorf("%+v, %v", done, err)
	}
}

// TestNotPrivate: what has no privacy guarantee has neither words nor a charge.
func TestNotPrivate(t *testing.T) {
	seed := uint64(3)
	for name, change := range map[string]func(*synthesis){
		"real":   func(o *synthesis) { o.Request.Method, o.Request.Settings, o.NonPrivate = "real", nil, true },
		"seeded": func(o *synthesis) { o.Seed = &seed },
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t)
			change(&o)
			done, err := synthesize(t.Context(), o)
			if err != nil {
				t.Errorf("%v", err)
				return
			}
			expect.True(t, "not done.Private", !done.Private)
			expect.True(t, "no done.Words()", done.Words() == nil)
			expect.Equal(t, "done.Charge", done.Charge, "")
			expect.True(t, "not done.Certificate", !done.Certificate)
		})
	}
}

// TestPlanRows: each method keeps to ε, and one that cannot says why.
func TestPlanRows(t *testing.T) {
	c, err := options(t).client().Plan(t.Context(), sotto.PlanOptions{
		Request: sotto.Request{Task: task(), Size: 60, Epsilon: 2, Settings: method.Values{"batch": 16, "prompts": 20}}, Measure: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range c.Rows {
		if perToken := row.Method == "gaussian" || row.Method == "noisymax" || row.Method == "radius"; perToken != (row.Err != nil) {
			t.Errorf("%s: %v", row.Method, row.Err)
		}
		if row.Err == nil && (row.Guarantee.Epsilon.Upper > 2 || row.Cost.Cached.Tokens <= 0 || row.Cost.Cached.Seconds <= 0 || row.Sentence() == "") {
			t.Errorf("%+v", row)
		}
	}
}

// TestOpenLabels: texts for labels of a public list, or for those that many records have.
func TestOpenLabels(t *testing.T) {
	for name, change := range map[string]func(*sotto.Request){
		"given":      func(r *sotto.Request) { r.Conditions = []string{"travel", "food"} },
		"discovered": func(r *sotto.Request) { r.Discover = true },
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t)
			o.Request.Task.Kind, o.Request.Task.Labels, o.Request.Epsilon = prompt.Extract, nil, 8
			change(&o.Request)
			done, err := synthesize(t.Context(), o)
			if err != nil {
				t.Errorf("%v", err)
				return
			}
			for _, e := range done.Examples {
				if given := e.Output == "travel" || e.Output == "food"; given != (name == "given") {
					t.Errorf("a text for %q", e.Output)
				}
			}
		})
	}
}

// TestInputsKeepTheirLines: a record's input is laid out as a question is, and its output is
// of one line where outputs end with it.
func TestInputsKeepTheirLines(t *testing.T) {
	o := options(t)
	lines := strings.Repeat(`{"chat": "a: hello\nb: good day", "summary": "a greets b,\nwho greets a"}`+"\n", 200)
	if err := os.WriteFile(o.Source.Location, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	o.Request = sotto.Request{Task: chats(), Method: "real", Size: 200, Shots: 2, Conditions: []string{"x"}}
	o.NonPrivate = true
	done, err := synthesize(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range done.Examples {
		if e.Input != "a: hello\nb: good day" || strings.Contains(e.Output, "\n") {
			t.Errorf("%q is the output of %q", e.Output, e.Input)
		}
	}
}

// TestAliases: labels that the data spells as the task foresees become those of the task.
func TestAliases(t *testing.T) {
	o := options(t)
	o.Request.Task.Aliases = map[string]string{"bills": "billing"}
	data, err := os.ReadFile(o.Source.Location)
	if err != nil {
		t.Fatal(err)
	}
	spelled := strings.ReplaceAll(string(data), `"queue": "billing"`, `"queue": "bills"`)
	if err := os.WriteFile(o.Source.Location, []byte(spelled), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := synthesize(t.Context(), o); err != nil {
		t.Error(err)
	}
}

// TestReadyPlan: a plan that was made before gives the same texts as the request that it
// was made from, for any number of runs, and one that is broken is refused.
func TestReadyPlan(t *testing.T) {
	o := options(t)
	seed := uint64(5)
	o.Seed = &seed
	if err := o.client().BuildIndex(t.Context(), o.Source, o.Request.Task); err != nil {
		t.Fatal(err)
	}
	want, err := synthesize(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	made, err := plan.New(o.Request.Internal())
	if err != nil {
		t.Fatal(err)
	}
	o.Request, o.Plan = sotto.Request{}, &made
	for _, out := range []string{"-b", "-c"} {
		o.Out += out
		got, err := synthesize(t.Context(), o)
		if err != nil || !slices.Equal(got.Examples, want.Examples) {
			t.Errorf("%v, %v instead of %v", err, got, want.Examples)
		}
	}
	made.Parts = nil
	var input *plan.InputError
	if _, err := synthesize(t.Context(), o); !errors.As(err, &input) {
		t.Errorf("a plan without parts: %v", err)
	}
}
