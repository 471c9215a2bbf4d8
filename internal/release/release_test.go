package release

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/prompt"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

func builtin(t testing.TB, name string) prompt.Task {
	t.Helper()
	task, err := prompt.Builtin(name)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

func parse(t testing.TB, expr string) privacy.Event {
	t.Helper()
	e, err := privacy.Parse(expr)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// news returns a release that looks like a real one.
func news(t testing.TB) Release {
	return Release{
		Task: builtin(t, "agnews"),
		Examples: []prompt.Example{
			{Input: "The council voted on Tuesday to reopen the border {for trade}.", Output: "World"},
			{Input: "The striker scored twice & the visitors went home <unhappy>.", Output: "Sports"},
			{Input: "Shares of the maker of \"smart\" kettles fell 3 percent.", Output: "Business"},
			{Input: "Engineers showed a chip that folds | and bends.", Output: "Technology"},
		},
		Method:   "clipped",
		Settings: map[string]any{"expected": 16.0, "temperature": 0.5, "draw": map[string]any{"kind": "poisson", "rate": 16.0 / 30000}},
		Private:  true,
		Guarantee: &privacy.Guarantee{
			Event:     parse(t, "poisson(2/3750, repeat(60, boundedrange(0.8)))"),
			Adjacency: privacy.AddRemove, Unit: privacy.Record,
			Epsilon: privacy.Interval{Lower: 0.9987, Upper: 0.99991}, Delta: 1e-6, Accountant: "pld",
		},
		Drawn: &privacy.Guarantee{
			Event: parse(t, "repeat(60, boundedrange(0.8))"), Adjacency: privacy.AddRemove, Unit: privacy.Record,
			Epsilon: privacy.Interval{Lower: 11, Upper: 12.34}, Delta: 1e-6,
		},
		Sizes: []Size{{"World", 30000}, {"Sports", 30000}, {"Business", 30000}, {"Technology", 30000}},
		Model: "SmolLM2-135M-Instruct Q4_1", ModelTokens: 12345, Version: "test",
	}
}

func rendered(t testing.TB, r Release) map[string][]byte {
	t.Helper()
	files, err := Render(r)
	if err != nil {
		t.Fatal(err)
	}
	m := map[string][]byte{}
	for _, f := range files {
		m[f.Name] = f.Data
	}
	return m
}

// TestGolden: the files equal those of testdata, which were looked at.
func TestGolden(t *testing.T) {
	baseline := news(t)
	baseline.Method, baseline.Private, baseline.Guarantee, baseline.Drawn = "nonprivate", false, nil, nil
	summary := news(t)
	summary.Task = builtin(t, "samsum")
	summary.Examples = []prompt.Example{{Input: "Ann: tea?\nBob: yes", Output: "Bob wants tea."}}
	summary.Sizes, summary.Counted = []Size{{"", 14000}}, true
	baseline.Sizes[2].Units = 1900
	for name, r := range map[string]Release{"private": news(t), "baseline": baseline, "generate": summary} {
		t.Run(name, func(t *testing.T) {
			for file, data := range rendered(t, r) {
				path := filepath.Join("testdata", name, file)
				if *rewrite {
					if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(path, data, 0o644); err != nil {
						t.Fatal(err)
					}
					continue
				}
				want, err := os.ReadFile(path)
				if err != nil {
					t.Fatalf("%v; go test ./release -rewrite makes it", err)
				}
				if !bytes.Equal(want, data) {
					t.Errorf("%s is\n%s\nwant\n%s\ngo test ./release -rewrite takes it", path, data, want)
				}
			}
		})
	}
}

// TestMark: without a guarantee every file says so, whichever of the three reasons
// there is; with one none does.
func TestMark(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Release)
		marked bool
	}{
		"private":       {func(*Release) {}, false},
		"no proof":      {func(r *Release) { r.Private = false }, true},
		"seeded":        {func(r *Release) { r.Seeded = true }, true},
		"no guarantee":  {func(r *Release) { r.Guarantee = nil }, true},
		"claimed":       {func(r *Release) { r.Private, r.Claim = false, "it is claimed, not proven" }, true},
		"nothing known": {func(r *Release) { r.Private, r.Guarantee = false, nil }, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := news(t)
			c.change(&r)
			if r.NotPrivate() != c.marked {
				t.Errorf("NotPrivate is %v", r.NotPrivate())
			}
			for file, data := range rendered(t, r) {
				if filepath.Ext(file) == ".jsonl" {
					for line := range bytes.Lines(data) {
						var m map[string]any
						if err := json.Unmarshal(line, &m); err != nil || (m["not_private"] == true) != c.marked {
							t.Errorf("%s: %s", file, line)
						}
					}
					continue
				}
				said := bytes.Contains(data, []byte(Mark)) || bytes.Contains(data, []byte(`"not_private": true`))
				if said != c.marked {
					t.Errorf("%s: marked is %v", file, said)
				}
				if claims := bytes.Contains(data, []byte("claimed, not proven")); claims != (r.Claim != "") && filepath.Ext(file) != ".json" {
					t.Errorf("%s: states a claim is %v", file, claims)
				}
				if c.marked && bytes.Contains(data, []byte("sotto verify")) {
					t.Errorf("%s speaks of a certificate", file)
				}
			}
		})
	}
}

// examples are any texts without white space around them, as released ones are.
func examples() *rapid.Generator[[]prompt.Example] {
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.TrimSpace(rapid.OneOf(
			rapid.String(),
			rapid.StringOf(rapid.RuneFrom([]rune("{}<>&\"'|\\\n\u2028`$#-[](): \U000F0000"))),
		).Draw(t, "text"))
	})
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) prompt.Example {
		return prompt.Example{Input: text.Draw(t, "input"), Output: text.Draw(t, "output")}
	}), 1, 6)
}

// TestRoundTrip: every format that programs read gives back the examples.
func TestRoundTrip(t *testing.T) {
	tasks := prompt.Builtins()
	rapid.Check(t, func(rt *rapid.T) {
		r := news(t)
		r.Task = builtin(t, rapid.SampledFrom(tasks).Draw(rt, "task"))
		r.Examples = examples().Draw(rt, "examples")
		r.Seeded = rapid.Bool().Draw(rt, "seeded")
		files := rendered(t, r)
		for name, read := range map[string]func(prompt.Task, []byte) ([]prompt.Example, error){
			"demos.jsonl": readDemos, "dspy.json": readDSPy, "chat.json": readChat,
		} {
			got, err := read(r.Task, files[name])
			if err != nil || !slices.Equal(got, r.Examples) {
				rt.Fatalf("%s: %+v, want %+v; %v", name, got, r.Examples, err)
			}
		}
		checkConversations(rt, r, files["finetune.jsonl"])
	})
}

func jsonLines[T any](data []byte) ([]T, error) {
	var list []T
	s := bufio.NewScanner(bytes.NewReader(data))
	s.Buffer(nil, 1<<24)
	for s.Scan() {
		var v T
		if err := json.Unmarshal(s.Bytes(), &v); err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, s.Err()
}

func examplesOf(list []map[string]any, input, output string) ([]prompt.Example, error) {
	var out []prompt.Example
	for _, m := range list {
		in, ok := m[input].(string)
		answer, also := m[output].(string)
		if !ok || !also {
			return nil, errors.New("a column is missing")
		}
		out = append(out, prompt.Example{Input: in, Output: answer})
	}
	return out, nil
}

func readDemos(t prompt.Task, data []byte) ([]prompt.Example, error) {
	list, err := jsonLines[map[string]any](data)
	if err != nil {
		return nil, err
	}
	input, output := columns(t)
	return examplesOf(list, input, output)
}

func readDSPy(t prompt.Task, data []byte) ([]prompt.Example, error) {
	var state struct {
		Demos []map[string]any `json:"demos"`
	}
	if err := json.Unmarshal(data, &state); err != nil {
		return nil, err
	}
	input, output := fields(t)
	return examplesOf(state.Demos, input, output)
}

// readChat takes the question's layout off the user's turns.
func readChat(_ prompt.Task, data []byte) ([]prompt.Example, error) {
	c, err := readConversation(data)
	if err != nil {
		return nil, err
	}
	turns := c.Messages
	if len(turns) > 0 && turns[0].Role == "system" {
		turns = turns[1:]
	}
	before, after, ok := strings.Cut(c.Question, c.Placeholder)
	var out []prompt.Example
	for ; ok && len(turns) > 1; turns = turns[2:] {
		asked, answer := turns[0], turns[1]
		if asked.Role != "user" || answer.Role != "assistant" {
			return nil, errors.New("turns are not taken in turn")
		}
		text := asked.Content
		if text == strings.TrimSpace(before)+after || text == strings.TrimRight(before, " ")+after {
			text = "" // the space before it is gone too
		} else {
			text = strings.TrimSuffix(strings.TrimPrefix(text, before), after)
		}
		out = append(out, prompt.Example{Input: text, Output: answer.Content})
	}
	return out, nil
}

type conversation struct {
	Messages    []prompt.Turn
	Question    string
	Placeholder string
	Labels      []string
}

func readConversation(data []byte) (c conversation, err error) {
	err = json.Unmarshal(data, &c)
	return c, err
}

// checkConversations: a line is the question as the task asks it, and the answer.
func checkConversations(t *rapid.T, r Release, data []byte) {
	list, err := jsonLines[struct{ Messages []prompt.Turn }](data)
	if err != nil || len(list) != len(r.Examples) {
		t.Fatalf("%d conversations; %v", len(list), err)
	}
	for i, e := range r.Examples {
		m := list[i].Messages
		last := m[len(m)-1]
		asked := m[len(m)-2]
		expect.Equal(t, "last.Role", last.Role, "assistant")
		expect.Equal(t, "last.Content", last.Content, e.Output)
		expect.Equal(t, "asked.Role", asked.Role, "user")
		expect.Equal(t, "asked.Content", asked.Content, strings.TrimSpace(r.Task.AnswerItem(e.Input)))
		if len(m) == 3 && (m[0].Role != "system" || m[0].Content == "") || len(m) > 3 {
			t.Fatalf("%+v", m)
		}
	}
}

// TestPrompt: the prefix with a question appended is what answering uses, and chat.json with
// a question as it says is the conversation.
func TestPrompt(t *testing.T) {
	for _, name := range prompt.Builtins() {
		r := news(t)
		r.Task = builtin(t, name)
		files := rendered(t, r)
		shots := prompt.Prompt{Examples: r.Examples}
		if got, want := string(files["prompt.txt"]), strings.Join(shots.Segments(r.Task), ""); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		c, err := readConversation(files["chat.json"])
		at := expect.At(t, "%s", name)
		expect.NoError(at, err)
		expect.True(at, "c.Messages equal to shots.Turns(r.Task)", slices.Equal(c.Messages, shots.Turns(r.Task)), c.Messages)
		expect.True(at, "c.Labels equal to r.Task.Labels", slices.Equal(c.Labels, r.Task.Labels), c.Labels, r.Task.Labels)
		question := "what {is} this?"
		if got, want := strings.ReplaceAll(c.Question, c.Placeholder, question), r.Task.Question(question).Content; got != want {
			t.Errorf("%s: the question is %q, want %q", name, got, want)
		}
	}
}

// TestPlaceholder: what a question replaces occurs once in its layout, also where the task
// has such a text itself.
func TestPlaceholder(t *testing.T) {
	r := news(t)
	r.Task.Answer.Template = "In {{text}} and {{text_}}: {text}\nAnswer: {label}"
	c, err := readConversation(rendered(t, r)["chat.json"])
	expect.NoError(t, err)
	expect.Equal(t, "number of c.Placeholder", strings.Count(c.Question, c.Placeholder), 1)
	expect.Equal(t, "strings.ReplaceAll(c.Question, c.Placeholder, 'x')", strings.ReplaceAll(c.Question, c.Placeholder, "x"), r.Task.Question("x").Content)
}

// TestNames: columns that Python cannot name are called input and output there, and by
// their own names in the data.
func TestNames(t *testing.T) {
	r := news(t)
	r.Task.Text, r.Task.Label = "ticket text", "queue-name"
	files := rendered(t, r)
	if !bytes.Contains(files["demos.jsonl"], []byte(`{"ticket text":"The council`)) {
		t.Errorf("%s", files["demos.jsonl"])
	}
	if !bytes.Contains(files["dspy.json"], []byte(`"input": "The council`)) {
		t.Errorf("%s", files["dspy.json"])
	}
	for name, want := range map[string]string{
		"use.md":         `predict(input="Your text").output`,
		"croissant.json": `"column": "ticket text"`,
		"chat.json":      `"placeholder": "{input}"`,
	} {
		t.Run(name, func(t *testing.T) {
			if !bytes.Contains(files[name], []byte(want)) {
				t.Errorf("no %s in %s:\n%s", want, name, files[name])
			}
		})
	}
}

func TestWrong(t *testing.T) {
	for name, change := range map[string]func(*Release){
		"no examples":  func(r *Release) { r.Examples = nil },
		"no method":    func(r *Release) { r.Method = "" },
		"one column":   func(r *Release) { r.Task.Label = r.Task.Text },
		"mark":         func(r *Release) { r.Task.Text = "not_private" },
		"not UTF-8":    func(r *Release) { r.Examples[1].Input = "\xff" },
		"empty column": func(r *Release) { r.Task.Text, r.Task.Kind = "", "" },
	} {
		t.Run(name, func(t *testing.T) {
			r := news(t)
			change(&r)
			dir := t.TempDir()
			if names, err := Write(dir, r); err == nil {
				t.Errorf("%v", names)
			}
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("%v is left", left)
			}
		})
	}
}

// TestPublic: where no record has any influence, sizes have no meaning.
func TestPublic(t *testing.T) {
	r := news(t)
	r.Method, r.Drawn, r.Guarantee.Epsilon, r.Guarantee.Event = "public", nil, privacy.Interval{}, privacy.Compose{}
	for name, data := range rendered(t, r) {
		if bytes.Contains(data, []byte("30,000")) {
			t.Errorf("%s shows sizes", name)
		}
	}
	if page := string(rendered(t, r)["report.html"]); !strings.Contains(page, "ε = 0") || strings.Contains(page, "<svg") {
		t.Error("the report does not say that ε is 0, or draws a guess")
	}
}

// TestWrite: the files are there, readable, nothing else is, and writing again
// replaces them.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	r := news(t)
	for range 2 {
		names, err := Write(dir, r)
		if err != nil {
			t.Fatal(err)
		}
		want := rendered(t, r)
		entries, err := os.ReadDir(dir)
		expect.NoError(t, err)
		expect.Len(t, "entries", entries, len(want))
		expect.Len(t, "names", names, len(want))
		for _, name := range names {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil || !bytes.Equal(data, want[name]) {
				t.Errorf("%s: %v", name, err)
			}
			if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o644 {
				t.Errorf("%s: %v, %v", name, info.Mode(), err)
			}
		}
		r.Examples = r.Examples[:2]
	}
	if _, err := Write(filepath.Join(dir, "absent"), r); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that is not there: %v", err)
	}
}

// TestGuess: the bound is reached by randomised response with an atom of δ, and no
// larger; at the ends it is a coin and certainty.
func TestGuess(t *testing.T) {
	at := func(epsilon, delta float64) float64 {
		return Guess(privacy.Guarantee{Epsilon: privacy.Interval{Upper: epsilon}, Delta: delta})
	}
	rapid.Check(t, func(t *rapid.T) {
		epsilon, delta := rapid.Float64Range(0, 30).Draw(t, "ε"), rapid.Float64Range(0, 0.5).Draw(t, "δ")
		// With δ the truth is said, else it is said with odds e^ε: the optimal
		// mechanism of Kairouz, Oh, Viswanath 2015.
		exact := delta + (1-delta)/(1+math.Exp(-epsilon))
		if got := at(epsilon, delta); math.Abs(got-exact) > 1e-12 {
			t.Fatalf("%v, want %v", got, exact)
		}
	})
	expect.Equal(t, "at(0, 0)", at(0, 0), 0.5)
	expect.Equal(t, "at(1000, 0)", at(1000, 0), 1)
	expect.Equal(t, "at(math.Inf(1), 1e-6)", at(math.Inf(1), 1e-6), 1)
}

// TestAtMost: what is printed is an upper bound, and close.
func TestAtMost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64Range(1e-9, 1e9).Draw(t, "v")
		var shown float64
		if err := json.Unmarshal([]byte(atMost(v)), &shown); err != nil {
			t.Fatal(err)
		}
		if shown < v || shown > v*1.0011 {
			t.Fatalf("%v is printed as %v", v, shown)
		}
	})
	for v, want := range map[float64]string{1: "1", 0.99991: "1", 0.25: "0.25", 2.71828: "2.719", math.Inf(1): "∞", 1.00001: "1.001"} {
		if got := atMost(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}

func TestWords(t *testing.T) {
	g := *news(t).Guarantee
	all := func(g privacy.Guarantee) string {
		return strings.Join(Words(g, nil), "\n")
	}
	for _, want := range []string{"ε ≤ 1 at δ = 1e-6", "one record more or less", "add-remove", "73.2 %", "2.719", "whether a record"} {
		if !strings.Contains(all(g), want) {
			t.Errorf("no %q in\n%s", want, all(g))
		}
	}
	if strings.Contains(all(g), "drawn") {
		t.Error(all(g))
	}
	if said := strings.Join(Words(g, news(t).Drawn), "\n"); !strings.Contains(said, "drawn, each time, those are protected by ε ≤ 12.34 at the same δ, all of these files taken together") {
		t.Error(said)
	}
	g.Adjacency, g.Unit = privacy.ReplaceOne, "user:account"
	for _, want := range []string{`one value of "account"`, "exchanged for another (replace-one)", "which of two"} {
		if !strings.Contains(all(g), want) {
			t.Errorf("no %q in\n%s", want, all(g))
		}
	}
	// Records were drawn, if seldom: δ pays for it.
	g.Epsilon = privacy.Interval{}
	if strings.Contains(all(g), "No record") || !strings.Contains(all(g), "ε ≤ 0 at δ = 1e-6") {
		t.Error(all(g))
	}
	g.Event = privacy.Compose{}
	if !strings.Contains(all(g), "No record had any influence on this: ε = 0.") {
		t.Error(all(g))
	}
	g.Epsilon.Upper = math.Inf(1)
	if !strings.Contains(all(g), "no protection") {
		t.Error(all(g))
	}
}
