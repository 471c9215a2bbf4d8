package suite_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lab/suite"
	"github.com/sotto-dp/sotto/lm"
)

// TestCache: what was done is not done again, the rows are the same, and a change of what
// determines a stage does that stage again and no other.
func TestCache(t *testing.T) {
	s := helpline(t, everything)
	m := &toy{name: "toy"}
	o := options(t, m)
	first, err := suite.Run(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	sets := 2 * (1 + 2 + 1 + 1 + 1)
	if got := [4]int{first.Written, first.Answered, first.ReusedSets, first.ReusedAnswers}; got != [4]int{sets, sets + 1, 0, 0} {
		t.Errorf("written, answered, reused: %v", got)
	}
	// One plan for all seeds of public, real, nonprivate, gaussian, and clipped at two ε.
	if plans, err := filepath.Glob(filepath.Join(o.Cache, "plans", "*", "*.json")); err != nil || len(plans) != 6 {
		t.Errorf("%d plans were made, %v", len(plans), err)
	}
	before := m.Usage().Computed
	for _, c := range []struct {
		what   string
		change func(*suite.Suite, *suite.Options)
		// want are sets and answers that are made, and those that are found.
		want [4]int
	}{
		{"nothing", func(*suite.Suite, *suite.Options) {}, [4]int{0, 0, sets, sets + 1}},
		{"another folder for rows", func(_ *suite.Suite, o *suite.Options) { o.Out += "-2" }, [4]int{0, 0, sets, sets + 1}},
		{"a smaller test", func(s *suite.Suite, _ *suite.Options) { s.Items = 5 }, [4]int{0, sets + 1, sets, 0}},
		{"one more seed", func(s *suite.Suite, _ *suite.Options) { s.Seeds++ }, [4]int{sets / 2, sets / 2, sets, sets + 1}},
		{"one setting", func(s *suite.Suite, _ *suite.Options) {
			s.Methods = slices.Clone(s.Methods)
			s.Methods[3].Values = maps.Clone(s.Methods[3].Values)
			s.Methods[3].Values["prompts"] = 3
		}, [4]int{2, 2, sets - 2, sets - 1}},
		{"no calibration", func(s *suite.Suite, _ *suite.Options) { s.Calibrate = []bool{false} }, [4]int{0, sets + 1, sets, 0}},
		{"another version", func(_ *suite.Suite, o *suite.Options) { o.Version = "next" }, [4]int{0, 0, sets, sets + 1}},
	} {
		changed, where := s, o
		c.change(&changed, &where)
		again, err := suite.Run(t.Context(), changed, where)
		if err != nil {
			t.Fatal(err)
		}
		if got := [4]int{again.Written, again.Answered, again.ReusedSets, again.ReusedAnswers}; got != c.want {
			t.Errorf("%s: written, answered, reused: %v instead of %v", c.what, got, c.want)
		}
		if spent := m.Usage().Computed - before; (spent == 0) != (c.want[0]+c.want[1] == 0) || spent != again.Tokens {
			t.Errorf("%s: %d tokens, and %d are told", c.what, spent, again.Tokens)
		}
		before = m.Usage().Computed
		if c.what == "nothing" {
			equal(t, c.what, again.Rows, first.Rows)
		}
	}
	if info, err := os.Stat(o.Cache); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("others can read the cache: %v, %v", info, err)
	}
	left, err := os.ReadDir(filepath.Join(o.Cache, "tmp"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestRecordsMatter: other records or another model are another set, and another
// instruction asks other questions.
func TestRecordsMatter(t *testing.T) {
	s := helpline(t, brief+"\n[[method]]\nmethod = \"public\"\n")
	m := &toy{name: "toy"}
	o := options(t, m)
	if _, err := suite.Run(t.Context(), s, o); err != nil {
		t.Fatal(err)
	}
	train := filepath.Join(suite.Dir(s), "train.jsonl")
	data, err := os.ReadFile(train)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(train, append(data, data[:strings.IndexByte(string(data), '\n')+1]...), 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := suite.Run(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	if again.Written != 2 || again.ReusedSets != 1 {
		t.Errorf("%d sets were written from other records, %d found", again.Written, again.ReusedSets)
	}
	file := filepath.Join(suite.Dir(s), "task.toml")
	task, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(task), "[answer]\ninstruction = \"", "[answer]\ninstruction = \"Please: ", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if again, err = suite.Run(t.Context(), s, o); err != nil || again.Answered != 4 {
		t.Errorf("another instruction for answers: %+v, %v", again, err)
	}
	other := &toy{name: "another"}
	o.Open = func(context.Context, string) (lm.TrustedScorer, error) { return other.trusted(), nil }
	again, err = suite.Run(t.Context(), s, o)
	expect.NoError(t, err)
	expect.Equal(t, "again.Written", again.Written, 3)
	expect.Equal(t, "again.Answered", again.Answered, 4)
}

// TestConcurrentCells: as many at once as one likes, the rows are those of one after the other.
func TestConcurrentCells(t *testing.T) {
	s := helpline(t, everything)
	m := &toy{name: "toy"}
	o := options(t, m)
	serial, err := suite.Run(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{2, 16} {
		o := options(t, m)
		o.Parallel, o.Texts = n, 3
		var done []int
		o.Observe = func(e suite.Progress) {
			if e.Kind == suite.Finished {
				done = append(done, e.Done)
			}
		}
		parallel, err := suite.Run(t.Context(), s, o)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "parallel", parallel.Rows, serial.Rows)
		equal(t, "files", files(t, o.Out), serial.Rows)
		expect.Equal(t, "parallel.Written", parallel.Written, serial.Written)
		expect.True(t, "slices.IsSorted(done)", slices.IsSorted(done), done)
		expect.Len(t, "done", done, serial.Cells)
	}
}

// TestOneFails: a cell that fails is told with its reason, the others are done, and the
// next run tries only it.
func TestOneFails(t *testing.T) {
	s := helpline(t, everything)
	s.Methods = slices.Clone(s.Methods)
	s.Methods[3].Values["per_prompt"] = 1_000 // 4·1000 records of 80
	m := &toy{name: "toy"}
	o := options(t, m)
	var told []string
	o.Observe = func(e suite.Progress) {
		if e.Kind == suite.Failed {
			told = append(told, e.Cell.String())
		}
	}
	result, err := suite.Run(t.Context(), s, o)
	failed := expect.As[*suite.FailedError](t, err)
	expect.As[*plan.InputError](t, err)
	expect.Len(t, "failed.Failures", failed.Failures, 2)
	if !strings.Contains(err.Error(), "helpline, gaussian, ε = 8, 3 shots, seed 7 (and 1 more): ") || !strings.Contains(err.Error(), "2 of 13") {
		t.Errorf("%v", err)
	}
	if len(result.Rows) != 22 || len(told) != 2 {
		t.Errorf("%d rows, %v", len(result.Rows), told)
	}
	equal(t, "files", files(t, o.Out), result.Rows)
	s.Methods[3].Values["per_prompt"] = 1
	again, err := suite.Run(t.Context(), s, o)
	expect.NoError(t, err)
	expect.Equal(t, "again.Written", again.Written, 2)
	expect.Equal(t, "again.Answered", again.Answered, 2)
	expect.Len(t, "again.Rows", again.Rows, 26)
}

// TestAllFail: where nothing can be done, the rows of an earlier run stay.
func TestAllFail(t *testing.T) {
	s := helpline(t, brief)
	o := options(t, &toy{name: "toy"})
	before, err := suite.Run(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	s.Datasets[0].Test = "gone.jsonl"
	result, err := suite.Run(t.Context(), s, o)
	failed := expect.As[*suite.FailedError](t, err)
	expect.Len(t, "failed.Failures", failed.Failures, 3)
	expect.Len(t, "result.Rows", result.Rows, 0)
	equal(t, "files", files(t, o.Out), before.Rows)
}

// TestMalformed: a record that cannot be used is an error without its content, or left
// out.
func TestMalformed(t *testing.T) {
	s := helpline(t, brief)
	f, err := os.OpenFile(filepath.Join(suite.Dir(s), "train.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"text": "zanzibar"}` + "\n"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	o := options(t, &toy{name: "toy"})
	_, err = suite.Run(t.Context(), s, o)
	failed := expect.As[*suite.FailedError](t, err)
	expect.Len(t, "failed.Failures", failed.Failures, 2)
	expect.True(t, "no zanzibar in error", !strings.Contains(fmt.Sprint(err), "zanzibar"), fmt.Sprint(err))
	s.Datasets[0].SkipMalformed = true
	if _, err := suite.Run(t.Context(), s, o); err != nil {
		t.Error(err)
	}
}

// TestModelFails: whichever step of the model fails, the suite continues without that cell,
// nothing half done is kept, and a second run completes it.
func TestModelFails(t *testing.T) {
	s := helpline(t, brief)
	m := &toy{name: "toy"}
	want, err := suite.Run(t.Context(), s, options(t, m))
	if err != nil {
		t.Fatal(err)
	}
	steps := m.steps.Load()
	broken := errors.New("the model broke")
	for at := int64(1); at <= steps; at += max(1, steps/5) {
		faulty := &toy{name: "toy", fault: func(step int64) error {
			if step == at {
				return broken
			}
			return nil
		}}
		o := options(t, faulty)
		_, err := suite.Run(t.Context(), s, o)
		about := expect.At(t, "step %d", at)
		failed := expect.As[*suite.FailedError](about, err)
		expect.Len(about, "failed.Failures", failed.Failures, 1)
		expect.True(about, "the error broken", errors.Is(err, broken), err)
		again, err := suite.Run(t.Context(), s, o)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "again", again.Rows, want.Rows)
	}
}

// TestOtherKinds: phrases are matched as they are, outputs by what they share.
func TestOtherKinds(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("films.toml", "kind = \"extract\"\ntext = \"text\"\nlabel = \"label\"\nconditions = [\"comedy\", \"drama\"]\n[generate]\ninstruction = \"Write a question about a film.\"\n[answer]\ninstruction = \"Find the genre.\"\n")
	put("notes.toml", "kind = \"generate\"\ninput = \"input\"\noutput = \"output\"\nconditions = [\"a b\", \"c d\"]\n[generate]\ninstruction = \"Write it down.\"\n[limits]\nmax_tokens = 8\n")
	put("films.jsonl", strings.Repeat(`{"text": "a comedy with cats", "label": "comedy"}`+"\n", 60))
	put("notes.jsonl", strings.Repeat(`{"input": "cat sat", "output": "A cat sat down."}`+"\n", 60))
	s := suite.Suite{
		Name: "kinds", Items: 3, Methods: []suite.Method{{Method: "zero"}, {Method: "real", Settings: suite.Settings{Shots: []int{2}}}},
		Calibrate: []bool{true, false},
		Datasets: []suite.Dataset{
			{Name: "films", Task: "{data}/films.toml", Train: "{data}/films.jsonl", Test: "{data}/films.jsonl", Size: 60},
			{Name: "notes", Task: "{data}/notes.toml", Train: "{data}/notes.jsonl", Test: "{data}/notes.jsonl", Size: 60},
		},
	}
	o := options(t, &toy{name: "toy"})
	o.Data = dir
	result, err := suite.Run(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Rows) != 4 {
		t.Fatalf("%d rows", len(result.Rows))
	}
	for _, r := range result.Rows {
		want := map[string]string{"films": "exact_match", "notes": "rouge_l"}[r.Dataset]
		at := expect.At(t, "%+v", r)
		expect.Equal(at, "r.Metric", r.Metric, want)
		expect.True(at, "not r.Calibrated", !r.Calibrated)
		expect.Equal(at, "r.N", r.N, 3)
		expect.Min(at, "r.Metrics['rouge_1']", r.Metrics["rouge_1"], 0)
		// The records are all the same: so are the demonstrations, of which each has 4 words.
		if r.Method == "real" && (r.Metrics["words"] != 4 || r.Metrics["self_bleu"] != 1) {
			t.Errorf("%s: %v", r.Dataset, r.Metrics)
		}
	}
}
