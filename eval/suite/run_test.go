package suite_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"

	"sotto"
	"sotto/eval"
	"sotto/eval/suite"
	"sotto/icl"
	"sotto/lm"
	"sotto/plan"
	"sotto/privacy/accountant"
)

// hand is what one finds without the suite: by a call of the program for texts, and one
// for each answer.
type hand struct {
	demos           []icl.Demo
	write, answer   lm.Usage
	want            []string
	raw, calibrated []string
}

func byHand(t *testing.T, m *toy, c suite.Cell, train string) (h hand) {
	t.Helper()
	if c.Method != "zero" {
		dir := t.TempDir()
		run, err := sotto.Synthesize(t.Context(), sotto.SynthesizeOptions{
			Request: c.Request(), Source: sotto.Source{Location: train, Private: filepath.Join(dir, "private")},
			Out: filepath.Join(dir, "out"), Trusted: m.trusted(), NonPrivate: true, Seed: &c.Seed, Version: "by hand",
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range run.Examples {
			h.demos = append(h.demos, icl.Demo(e))
		}
		h.write = run.Usage
	}
	items, err := eval.ReadItems(filepath.Join(filepath.Dir(train), "test.jsonl"), c.Task)
	if err != nil {
		t.Fatal(err)
	}
	if items, err = eval.Pick(items, c.Items); err != nil {
		t.Fatal(err)
	}
	by, err := icl.NewClassifier(t.Context(), m, c.Task, h.demos, icl.Options{Calibrate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer by.Close()
	for _, item := range items {
		p, err := by.Classify(t.Context(), []string{item.Input})
		if err != nil {
			t.Fatal(err)
		}
		h.want, h.raw, h.calibrated = append(h.want, item.Output), append(h.raw, p[0].Raw.Label), append(h.calibrated, p[0].Label)
	}
	h.answer = by.Usage()
	return h
}

// macroF1 by its definition.
func macroF1(want, got []string) float64 {
	labels := map[string]bool{}
	for i := range want {
		labels[want[i]], labels[got[i]] = true, true
	}
	var sum float64
	for label := range labels {
		var both, wanted, given float64
		for i := range want {
			if want[i] == label {
				wanted++
			}
			if got[i] == label {
				given++
			}
			if want[i] == label && got[i] == label {
				both++
			}
		}
		sum += 2 * both / (wanted + given)
	}
	return sum / float64(len(labels))
}

// words is the mean number of words of texts, and twice the share of different pairs.
func words(demos []icl.Demo) (mean, distinct float64) {
	pairs := map[string]bool{}
	var all, total float64
	for _, d := range demos {
		list := strings.FieldsFunc(strings.ToLower(d.Input), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		total += float64(len(list))
		for i := 1; i < len(list); i++ {
			pairs[list[i-1]+" "+list[i]] = true
			all++
		}
	}
	if all == 0 {
		return total / float64(len(demos)), 0
	}
	return total / float64(len(demos)), float64(len(pairs)) / all
}

// TestFigures: every figure of every row is what one gets by hand.
func TestFigures(t *testing.T) {
	s := helpline(t, everything)
	m := &toy{name: "toy"}
	o := options(t, m)
	result, err := suite.Run(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	spent := m.Usage().Computed
	rows := files(t, o.Out)
	equal(t, "files", rows, result.Rows)
	cells, err := suite.Cells(s)
	if err != nil {
		t.Fatal(err)
	}
	if want := 1 + 2*(1+2+1+1+1); len(cells) != want || len(rows) != 2*want || result.Cells != want {
		t.Fatalf("%d cells and %d rows, of which there should be %d and twice that", len(cells), len(rows), want)
	}
	var tokens int64
	for _, c := range cells {
		h := byHand(t, m, c, filepath.Join(suite.Dir(s), "train.jsonl"))
		tokens += h.write.Computed + h.answer.Computed
		for _, calibrated := range []bool{false, true} {
			i := slices.IndexFunc(rows, func(r eval.Row) bool {
				same := r.Epsilon == nil && c.Epsilon == nil || r.Epsilon != nil && c.Epsilon != nil && *r.Epsilon == *c.Epsilon
				return r.Name == c.Name && r.Seed == c.Seed && same && r.Calibrated == calibrated
			})
			if i < 0 {
				t.Fatalf("no row for %s", c)
			}
			checkScores(t, rows[i], h)
			checkFacts(t, rows[i], c, h)
		}
	}
	// What real demonstrations take is not counted in rows, but it is in the work.
	if result.Tokens != spent || result.Tokens != tokens {
		t.Errorf("%d tokens are told, the model counted %d, and by hand it were %d", result.Tokens, spent, tokens)
	}
}

func checkScores(t *testing.T, r eval.Row, h hand) {
	t.Helper()
	got := h.raw
	if r.Calibrated {
		got = h.calibrated
	}
	var right float64
	for i := range got {
		if (r.Items[i] == 1) != (got[i] == h.want[i]) {
			t.Errorf("%s: item %d is %v", r.Name, i, r.Items[i])
		}
		right += r.Items[i]
	}
	if r.Metric != "accuracy" || r.N != 12 || len(r.Items) != 12 || math.Abs(r.Value-right/12) > 1e-12 {
		t.Errorf("%s: %s is %v of %d, with %v right", r.Name, r.Metric, r.Value, r.N, right)
	}
	if want := macroF1(h.want, got); math.Abs(r.Metrics["macro_f1"]-want) > 1e-12 {
		t.Errorf("%s: macro F1 is %v instead of %v", r.Name, r.Metrics["macro_f1"], want)
	}
	if r.Method == "zero" {
		if len(r.Metrics) != 1 {
			t.Errorf("no texts have metrics: %v", r.Metrics)
		}
		return
	}
	mean, distinct := words(h.demos)
	if math.Abs(r.Metrics["words"]-mean) > 1e-12 || math.Abs(r.Metrics["distinct_2"]-distinct) > 1e-12 {
		t.Errorf("%s: %v; by hand %v words, %v of pairs differ", r.Name, r.Metrics, mean, distinct)
	}
}

// checkFacts compares all of a row but its scores.
func checkFacts(t *testing.T, r eval.Row, c suite.Cell, h hand) {
	t.Helper()
	want := eval.Row{
		Key: r.Key, Suite: "suite", Dataset: "helpline", Task: c.Task.Name, Method: c.Method, Name: c.Name,
		Epsilon: c.Epsilon, Shots: len(h.demos), Seed: c.Seed, Model: "toy", Answerer: "toy", Calibrated: r.Calibrated, Metric: r.Metric,
		Value: r.Value, N: r.N, Items: r.Items, Metrics: r.Metrics, WriteTokens: h.write.Computed, AnswerTokens: h.answer.Computed,
		WriteSeconds: r.WriteSeconds, AnswerSeconds: r.AnswerSeconds, Version: "test",
	}
	switch c.Method {
	case "clipped":
		want.Settings = map[string]string{"batch": "16"}
	case "gaussian", "nonprivate":
		want.Settings = map[string]string{"prompts": "4", "per_prompt": "1"}
	case "real":
		want.WriteTokens = 0
	}
	if c.Reads() {
		p, err := plan.New(c.Request())
		if err != nil {
			t.Fatal(err)
		}
		shape, err := plan.ShapeOf(t.Context(), letters{}, c.Task, nil)
		if err != nil {
			t.Fatal(err)
		}
		want.PublishedTokens = int64(p.Cost(shape, plan.Speed{}).Uncached.Tokens)
		if c.Epsilon != nil {
			i, err := accountant.Auto{}.Epsilon(p.Event(), p.Adjacency, p.Delta)
			if err != nil || i.Upper > *c.Epsilon || i.Upper < 0.99**c.Epsilon {
				t.Fatalf("%s: ε is %v, %v", c, i, err)
			}
			want.Delta, want.EpsilonUpper, want.Event = 1e-6, i.Upper, p.Event().String()
		}
	}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("%s:\n%+v instead of\n%+v", c, r, want)
	}
	if wrote := c.Method != "real" && c.Method != "zero"; wrote != (r.WriteSeconds > 0) || r.AnswerSeconds <= 0 {
		t.Errorf("%s: %v s and %v s", c, r.WriteSeconds, r.AnswerSeconds)
	}
}

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
			s.Methods[3].Prompts = 3
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
	left, err := os.ReadDir(filepath.Join(o.Cache, "tmp"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestRecordsMatter: other records or another model are another set.
func TestRecordsMatter(t *testing.T) {
	s := helpline(t, everything)
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
	if again.Written != 10 || again.ReusedSets != 2 {
		t.Errorf("%d sets were written from other records, %d found", again.Written, again.ReusedSets)
	}
	other := &toy{name: "another"}
	o.Open = func(context.Context, string) (lm.Trusted, error) { return other.trusted(), nil }
	if again, err = suite.Run(t.Context(), s, o); err != nil || again.Written != 12 || again.Answered != 13 {
		t.Errorf("%+v, %v", again, err)
	}
}

// TestParallel: as many at once as one likes, the rows are those of one after the other.
func TestParallel(t *testing.T) {
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
		o.Observe = func(e suite.Event) {
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
		if parallel.Written != serial.Written || !slices.IsSorted(done) || len(done) != serial.Cells {
			t.Errorf("%d sets, done %v", parallel.Written, done)
		}
	}
}

// TestModels: each model of each axis writes and answers, and one that only answers need
// not be trusted. Without demonstrations nobody writes.
func TestModels(t *testing.T) {
	s := helpline(t, everything)
	s.Models, s.Answerers, s.Seeds = []string{"one", "two"}, []string{"same", "three"}, 1
	s.Methods = []suite.Method{{Method: "zero"}, {Method: "real"}}
	toys := map[string]*toy{}
	o := options(t, nil)
	opened := map[string]int{}
	open := func(name string) *toy {
		opened[name]++
		if toys[name] == nil {
			toys[name] = &toy{name: name}
		}
		return toys[name]
	}
	o.Open = func(_ context.Context, name string) (lm.Trusted, error) { return open(name).trusted(), nil }
	o.OpenAnswerer = func(_ context.Context, name string) (lm.Model, error) { return open(name), nil }
	result, err := suite.Run(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range result.Rows {
		if r.Calibrated {
			got = append(got, r.Method+" "+r.Model+" "+r.Answerer)
		}
	}
	slices.Sort(got)
	want := []string{
		"real one one", "real one three", "real two three", "real two two", "zero one one", "zero three three", "zero two two",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if opened["one"] != 2 || opened["two"] != 2 || opened["three"] != 1 {
		t.Errorf("opened: %v", opened)
	}
}

// TestOneFails: a cell that fails is told with its reason, the others are done, and the
// next run tries only it.
func TestOneFails(t *testing.T) {
	s := helpline(t, everything)
	s.Methods = slices.Clone(s.Methods)
	s.Methods[3].PerPrompt = 1_000 // 4·1000 records of 80
	m := &toy{name: "toy"}
	o := options(t, m)
	var told []string
	o.Observe = func(e suite.Event) {
		if e.Kind == suite.Failed {
			told = append(told, e.Cell.String())
		}
	}
	result, err := suite.Run(t.Context(), s, o)
	var failed *suite.FailedError
	var input *plan.InputError
	if !errors.As(err, &failed) || !errors.As(err, &input) || len(failed.Failures) != 2 {
		t.Fatalf("%v", err)
	}
	if !strings.Contains(err.Error(), "helpline, gaussian, ε = 8, 3 shots, seed 7") || !strings.Contains(err.Error(), "2 of 13") {
		t.Errorf("%v", err)
	}
	if len(result.Rows) != 22 || len(told) != 2 {
		t.Errorf("%d rows, %v", len(result.Rows), told)
	}
	equal(t, "files", files(t, o.Out), result.Rows)
	s.Methods[3].PerPrompt = 1
	again, err := suite.Run(t.Context(), s, o)
	if err != nil || again.Written != 2 || again.Answered != 2 || len(again.Rows) != 26 {
		t.Errorf("%+v, %v", again, err)
	}
}

// TestModelFails: whichever step of the model fails, the suite goes on without that cell,
// nothing half done is kept, and a second run completes it.
func TestModelFails(t *testing.T) {
	s := helpline(t, everything)
	s.Seeds = 1
	m := &toy{name: "toy"}
	want, err := suite.Run(t.Context(), s, options(t, m))
	if err != nil {
		t.Fatal(err)
	}
	steps := m.steps.Load()
	broken := errors.New("the model broke")
	for at := int64(1); at <= steps; at += max(1, steps/8) {
		faulty := &toy{name: "toy", fault: func(step int64) error {
			if step == at {
				return broken
			}
			return nil
		}}
		o := options(t, faulty)
		_, err := suite.Run(t.Context(), s, o)
		var failed *suite.FailedError
		if !errors.As(err, &failed) || len(failed.Failures) != 1 || !errors.Is(err, broken) {
			t.Fatalf("step %d: %v", at, err)
		}
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
		if r.Metric != want || r.Calibrated || r.N != 3 || r.Metrics["rouge_1"] < 0 {
			t.Errorf("%+v", r)
		}
		// The records are all the same: so are the demonstrations, of which each has 4 words.
		if r.Method == "real" && (r.Metrics["words"] != 4 || r.Metrics["self_bleu"] != 1) {
			t.Errorf("%s: %v", r.Dataset, r.Metrics)
		}
	}
}
