package suite_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/internal/metric"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lab/result"
	"github.com/sotto-dp/sotto/lab/suite"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
)

// notesRecords is the number of records of the fixture, notesItems that of its items, of
// which each question is asked twice.
const (
	notesRecords = 120
	notesItems   = 130
)

// notes writes a generation task with made-up data, and a suite about it.
func notes(t testing.TB, text string) suite.Suite {
	t.Helper()
	s, err := writeNotes(t.TempDir(), text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func writeNotes(dir, text string) (suite.Suite, error) {
	put := func(name, text string) error { return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600) }
	record := func(i, of int) string {
		// Words of one letter are what the toy gets right at times.
		return fmt.Sprintf("{\"input\": \"note %d\", \"output\": \"a b c d e f g h i j k l m n o p q r s t u v w x y z %d\"}\n", i%of, i)
	}
	var train, test strings.Builder
	for i := range notesRecords {
		train.WriteString(record(i, notesRecords))
	}
	for i := range notesItems {
		test.WriteString(record(i, notesItems/2))
	}
	task := "kind = \"generate\"\ninput = \"input\"\noutput = \"output\"\nconditions = [\"a b\", \"c d\"]\n[generate]\ninstruction = \"Write it down.\"\n[limits]\nmax_tokens = 8\nanswer_tokens = 6\n"
	text += fmt.Sprintf(`
[[dataset]]
name = "notes"
task = "./task.toml"
train = "train.jsonl"
test = "test.jsonl"
size = %d
`, notesRecords)
	err := errors.Join(put("task.toml", task), put("train.jsonl", train.String()), put("test.jsonl", test.String()), put("suite.toml", text))
	if err != nil {
		return suite.Suite{}, err
	}
	return suite.Load(filepath.Join(dir, "suite.toml"))
}

// asked has one of each kind of method that answers online, word by word. Plans for many
// answers would take long.
const asked = `
seeds = 2
first_seed = 3
items = 7
epsilon = [4]
shots = [2]
queries = [0, 1]

[[method]]
method = "zero"

[[method]]
method = "clipped"
online = true
batch = 8

[[method]]
method = "mixing"
online = true
queries = [2]
batch = 4

[[method]]
method = "mixing-published"
online = true
epsilon = [8]
queries = [7]
batch = 4

[[method]]
method = "nonprivate"
online = true
queries = [0]
prompts = 3
per_prompt = 1

[[method]]
method = "clipped"
batch = 8
`

// shared is a folder for what several tests look at.
var shared string

func TestMain(m *testing.M) {
	code := 1
	var err error
	if shared, err = os.MkdirTemp("", "sotto-suite-"); err == nil {
		code = m.Run()
		err = os.RemoveAll(shared)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// answered is what comes of it, once for all tests.
var answered = sync.OnceValues(func() (done struct {
	suite  suite.Suite
	model  *toy
	o      suite.Options
	result *suite.Result
}, err error,
) {
	dir := filepath.Join(shared, "asked")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return done, err
	}
	done.model = &toy{name: "toy"}
	done.o = optionsIn(dir, done.model)
	if done.suite, err = writeNotes(dir, asked); err == nil {
		done.result, err = suite.Run(context.Background(), done.suite, done.o)
	}
	return done, err
})

// TestOnlineFigures: rows of answers online are what a session by hand gives, and their ε
// is that of all answers together.
func TestOnlineFigures(t *testing.T) {
	done, err := answered()
	if err != nil {
		t.Fatal(err)
	}
	rows := done.result.Rows
	equal(t, "files", files(t, done.o.Out), rows)
	cells, err := suite.Cells(done.suite)
	if err != nil {
		t.Fatal(err)
	}
	if want := 1 + 2*(2+1+1+1+1); len(cells) != want || len(rows) != want {
		t.Fatalf("%d cells and %d rows instead of %d", len(cells), len(rows), want)
	}
	right := 0.0
	for _, c := range cells {
		if c.Online && c.Seed == 3 {
			right += checkOnline(t, done.model, done.suite, c, rows)
		}
	}
	if right == 0 {
		t.Error("no answer has a word that is right: nothing was tested")
	}
}

func checkOnline(t *testing.T, m *toy, s suite.Suite, c suite.Cell, rows []result.Row) float64 {
	t.Helper()
	queries := c.Queries
	if queries == 0 {
		queries = 7
	}
	i := slices.IndexFunc(rows, func(r result.Row) bool {
		same := r.Epsilon == nil && c.Epsilon == nil || r.Epsilon != nil && c.Epsilon != nil && *r.Epsilon == *c.Epsilon
		return r.Name == c.Name && same && r.Seed == c.Seed && r.Queries == queries
	})
	if i < 0 {
		t.Fatalf("no row for %s", c)
	}
	row := rows[i]
	p, err := plan.NewAnswers(c.Request())
	if err != nil {
		t.Fatal(err)
	}
	items, texts, tokens := sessionByHand(t, m, suite.Dir(s), p, c)
	var pairs []metric.Pair
	for i, item := range items {
		pairs = append(pairs, metric.Pair{Want: item.Output, Got: texts[i]})
	}
	rouge, err := metric.New("rouge_l", metric.Options{})
	if err != nil {
		t.Fatal(err)
	}
	value, err := rouge.Value(t.Context(), pairs)
	if err != nil {
		t.Fatal(err)
	}
	words, err := metric.New("words", metric.Options{})
	if err != nil {
		t.Fatal(err)
	}
	count, err := words.Value(t.Context(), pairs)
	if err != nil {
		t.Fatal(err)
	}
	at := expect.At(t, "%s", c)
	expect.Equal(at, "row.Metric", row.Metric, "rouge_l")
	expect.Equal(at, "row.Value", row.Value, value)
	expect.Len(at, "row.Items", row.Items, 7)
	expect.Equal(at, "row.Metrics['answer_words']", row.Metrics["answer_words"], count)
	at = expect.At(t, "%s", c)
	expect.Equal(at, "row.AnswerTokens", row.AnswerTokens, tokens)
	expect.Equal(at, "row.WriteTokens", row.WriteTokens, 0)
	expect.Equal(at, "row.Shots", row.Shots, 0)
	expect.True(at, "not row.Calibrated", !row.Calibrated)
	expect.True(at, "row.Online", row.Online)
	expect.Equal(at, "row.Model", row.Model, "toy")
	expect.Equal(at, "row.Answerer", row.Answerer, "toy")
	expect.True(at, "row.PublishedTokens other than 0", row.PublishedTokens != 0, row.PublishedTokens)
	checkTogether(t, c, row, p)
	return row.Value
}

// checkTogether: what all answers cost together is what was asked for, or a little less.
func checkTogether(t *testing.T, c suite.Cell, row result.Row, p plan.Answers) {
	t.Helper()
	if row.Claimed != (c.Method == "mixing-published") {
		t.Errorf("%s: claimed is %v", c, row.Claimed)
	}
	if !p.Private() {
		if row.EpsilonUpper != 0 || row.Event != "" {
			t.Errorf("%s has a guarantee: %+v", c, row)
		}
		return
	}
	at := expect.At(t, "%s: %+v for the plan %+v", c, row, p)
	expect.Equal(at, "p.Answers", p.Answers, row.Queries)
	expect.Equal(at, "row.Event", row.Event, p.Event().String())
	expect.Equal(at, "row.Delta", row.Delta, p.Delta)
	i, err := accountant.Auto{}.Epsilon(privacy.Repeat{N: row.Queries, Event: p.Event()}, p.Adjacency, p.Delta)
	at = expect.At(t, "%s: ε is %v, and the accountant", c, row.EpsilonUpper)
	expect.NoError(at, err)
	expect.Equal(at, "row.EpsilonUpper", row.EpsilonUpper, i.Upper)
	expect.Within(at, "i.Upper", i.Upper, 0.98**c.Epsilon, *c.Epsilon)
}

func sessionByHand(t *testing.T, m *toy, dir string, p plan.Answers, c suite.Cell) (items []eval.Item, texts []string, tokens int64) {
	t.Helper()
	items, err := eval.ReadItems(filepath.Join(dir, "test.jsonl"), c.Task)
	if err != nil {
		t.Fatal(err)
	}
	if items, err = eval.Subset(items, 7); err != nil {
		t.Fatal(err)
	}
	client, err := sotto.Open(t.TempDir(), &sotto.Options{Trusted: m.trusted()})
	if err != nil {
		t.Fatal(err)
	}
	session, err := client.Answers(t.Context(), sotto.AnswerOptions{
		Use:  sotto.Use{NonPrivate: true, Seed: &c.Seed},
		Plan: &p, Source: sotto.Source{Location: filepath.Join(dir, "train.jsonl")},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	var inputs []string
	for _, item := range items {
		inputs = append(inputs, item.Input)
	}
	err = session.All(t.Context(), inputs, func(_ int, a *sotto.Answer) error {
		texts = append(texts, a.Text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return items, texts, session.Usage().Computed
}

// TestOnlineCache: answers online are kept, blocks of a smaller test serve a larger one,
// and what determines them does them again.
func TestOnlineCache(t *testing.T) {
	s := notes(t, `
items = 50
epsilon = [4]
queries = [1]

[[method]]
method = "clipped"
online = true
batch = 4
`)
	m := &toy{name: "toy"}
	o := options(t, m)
	first, err := suite.Run(t.Context(), s, o)
	expect.NoError(t, err)
	expect.Equal(t, "first.Answered", first.Answered, 1)
	expect.Equal(t, "first.Written", first.Written, 0)
	for _, c := range []struct {
		what     string
		change   func(*suite.Suite, *suite.Options)
		answered int
		// share of the tokens of the first run, at most and at least.
		low, high float64
	}{
		{"nothing", func(*suite.Suite, *suite.Options) {}, 0, 0, 0},
		{"how many at once", func(_ *suite.Suite, o *suite.Options) { o.Texts, o.Parallel = 7, 3 }, 0, 0, 0},
		{"a larger test", func(s *suite.Suite, _ *suite.Options) { s.Items = 60 }, 1, 0.05, 0.5},
		{"another seed", func(s *suite.Suite, _ *suite.Options) { s.First = 9 }, 1, 0.8, 1.2},
		{"for more answers", func(s *suite.Suite, _ *suite.Options) { s.Queries = []int64{2} }, 1, 0.8, 1.2},
	} {
		changed, where := s, o
		c.change(&changed, &where)
		before := m.Usage().Computed
		again, err := suite.Run(t.Context(), changed, where)
		if err != nil {
			t.Fatal(err)
		}
		spent := m.Usage().Computed - before
		share := float64(spent) / float64(first.Tokens)
		at := expect.At(t, "%s", c.what)
		expect.Equal(at, "again.Answered", again.Answered, c.answered)
		expect.Equal(at, "again.Answered+again.ReusedAnswers", again.Answered+again.ReusedAnswers, 1)
		expect.Equal(at, "spent", spent, again.Tokens)
		expect.Within(at, "share", share, c.low, c.high)
		if c.what == "a larger test" && !slices.Equal(again.Rows[0].Items[:50], first.Rows[0].Items) {
			t.Error("the beginning of a larger test is answered otherwise")
		}
	}
}

// TestOnlineBlocks: the same questions are answered from other draws in every block.
func TestOnlineBlocks(t *testing.T) {
	s := notes(t, "epsilon = [4]\n[[method]]\nmethod = \"nonprivate\"\nonline = true\nprompts = 2\nper_prompt = 1\n")
	line := `{"input": "the same", "output": "a"}` + "\n"
	if err := os.WriteFile(filepath.Join(suite.Dir(s), "test.jsonl"), []byte(strings.Repeat(line, 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	o := options(t, &toy{name: "toy"})
	if _, err := suite.Run(t.Context(), s, o); err != nil {
		t.Fatal(err)
	}
	kept, err := filepath.Glob(filepath.Join(o.Cache, "answers", "*", "*.json"))
	if err != nil || len(kept) != 2 {
		t.Fatalf("%v, %v", kept, err)
	}
	var blocks [2]struct{ Raw []string }
	for i, path := range kept {
		data, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(data, &blocks[i])
		}
		if err != nil || len(blocks[i].Raw) != 50 {
			t.Fatalf("%s: %v", data, err)
		}
	}
	if slices.Equal(blocks[0].Raw, blocks[1].Raw) {
		t.Error("both blocks have the same answers: they had the same draws")
	}
}

// TestConcurrentOnline: as many at once as one likes, the rows are the same.
func TestConcurrentOnline(t *testing.T) {
	serial, err := answered()
	if err != nil {
		t.Fatal(err)
	}
	o := options(t, serial.model)
	o.Parallel, o.Texts = 5, 3
	// Plans take longest, and are not what this is about.
	if err := os.CopyFS(filepath.Join(o.Cache, "plans"), os.DirFS(filepath.Join(serial.o.Cache, "plans"))); err != nil {
		t.Fatal(err)
	}
	before := serial.model.Usage().Computed
	parallel, err := suite.Run(t.Context(), serial.suite, o)
	if err != nil {
		t.Fatal(err)
	}
	if spent := serial.model.Usage().Computed - before; parallel.Tokens != spent || spent == 0 {
		t.Errorf("%d tokens are told, and the model counted %d", parallel.Tokens, spent)
	}
	// Answers that are written together share the instruction.
	for i, r := range parallel.Rows {
		if r.Online {
			parallel.Rows[i].AnswerTokens = serial.result.Rows[i].AnswerTokens
		}
	}
	equal(t, "parallel", parallel.Rows, serial.result.Rows)
}

// TestOnlineInterrupted: a suite that stops while items are answered online continues, with
// the blocks that were done.
func TestOnlineInterrupted(t *testing.T) {
	const text = "items = 60\nepsilon = [4]\n[[method]]\nmethod = \"nonprivate\"\nonline = true\nprompts = 2\nper_prompt = 1\n"
	m := &toy{name: "toy"}
	want, err := suite.Run(t.Context(), notes(t, text), options(t, m))
	if err != nil {
		t.Fatal(err)
	}
	steps := m.steps.Load()
	s, o := notes(t, text), options(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stopped := &toy{name: "toy", fault: func(step int64) error {
		if step == steps*95/100 {
			cancel()
			return context.Canceled
		}
		return nil
	}}
	o.Open = options(t, stopped).Open
	if _, err := suite.Run(ctx, s, o); err == nil {
		t.Fatal("not interrupted")
	}
	m = &toy{name: "toy"}
	o.Open = options(t, m).Open
	again, err := suite.Run(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "again", again.Rows, want.Rows)
	if spent := m.Usage().Computed; spent == 0 || spent > want.Tokens/3 {
		t.Errorf("%d tokens after an interruption in the second block, of %d", spent, want.Tokens)
	}
}
