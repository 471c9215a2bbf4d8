package prompt_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/prompt"
)

// TestBuiltinPrompts compares with the prompts as the papers print them.
func TestBuiltinPrompts(t *testing.T) {
	for _, c := range []struct {
		task                    string
		condition, text         string // of the example
		next                    string // condition that a text is wanted for
		input, output, question string
		generation, answer      string
	}{
		{
			task: "agnews", condition: "World", text: "Airports are guarded", next: "World",
			input: "Retail sales bounced back", output: "Business", question: "New devices feature color screens",
			generation: "Given a label of news type, generate the chosen type of news accordingly.\n\nNews Type: World\nText: Airports are guarded\n\nNews Type: World\nText:",
			answer:     "Classify the news articles into the categories of World, Sports, Business, and Technology.\n\nArticle: Retail sales bounced back\nAnswer: Business\n\nArticle: New devices feature color screens\nAnswer:",
		},
		{
			task: "dbpedia", condition: "Company", text: "A firm.", next: "Film",
			input: "A writer.", output: "Artist", question: "A river.",
			generation: "Given a label of document type, generate the chosen type of document accordingly.\n\nDocument Type: Company\nText: A firm.\n\nDocument Type: Film\nText:",
			answer:     "Classify the documents based on whether they are about a Company, School, Artist, Athlete, Politician, Transportation, Building, Nature, Village, Animal, Plant, Album, Film, or Book.\n\nArticle: A writer.\nAnswer: Artist\n\nArticle: A river.\nAnswer:",
		},
		{
			task: "trec", condition: "Number", text: "How many people speak French?", next: "Number",
			input: "How did serfdom develop?", output: "Description", question: "When was he born?",
			generation: "Given a label of answer type, generate a question based on the given answer type accordingly.\n\nAnswer Type: Number\nText: How many people speak French?\n\nAnswer Type: Number\nText:",
			answer:     "Classify the questions based on whether their answer type is a Number, Location, Person, Description, Entity, or Abbreviation.\n\nQuestion: How did serfdom develop?\nAnswer Type: Description\n\nQuestion: When was he born?\nAnswer Type:",
		},
		{
			task: "mit-g", condition: "holiday", text: "a holiday favorite", next: "action",
			input: "a series of animated movies", output: "animated", question: "a great comedy",
			generation: "Given a genre for the film, generate a description accordingly and make sure to include the given genre in the description.\n\nGenre: holiday\nSentence: a holiday favorite\n\nGenre: action\nSentence:",
			answer:     "\nSentence: a series of animated movies\nGenre: animated\n\nSentence: a great comedy\nGenre:",
		},
		{
			task: "mit-d", condition: "pixar", text: "what pixar film has a talking dog", next: "disney",
			input: "a disney film", output: "disney", question: "a pixar film",
			generation: "Given a director for the film, generate a description accordingly and make sure to include the given director in the description.\n\nDirector: pixar\nSentence: what pixar film has a talking dog\n\nDirector: disney\nSentence:",
			answer:     "\nSentence: a disney film\nDirector: disney\n\nSentence: a pixar film\nDirector:",
		},
		{
			task: "samsum", condition: "A: Hi\nB: Hello", text: "They greet.", next: "A: Bye",
			input: "A: Hi", output: "A greets.", question: "A: Bye",
			generation: "\nDialogue:\nA: Hi\nB: Hello\nSummarize the above dialogue: They greet.\n\nDialogue:\nA: Bye\nSummarize the above dialogue:",
			answer:     "\nDialogue:\nA: Hi\nSummarize the above dialogue: A greets.\n\nDialogue:\nA: Bye\nSummarize the above dialogue:",
		},
		{
			task: "e2e", condition: "name[X]", text: "There is X.", next: "name[Y]",
			input: "name[X]", output: "There is X.", question: "name[Y]",
			generation: "Please convert the structured data into natural language.\n\nInput:\nname[X]\nAnswer: There is X.\n\nInput:\nname[Y]\nAnswer:",
			answer:     "Please convert the structured data into natural language.\n\nInput:\nname[X]\nAnswer: There is X.\n\nInput:\nname[Y]\nAnswer:",
		},
		{
			task: "wikilarge", condition: "a b .", text: "a .", next: "c d .",
			input: "a b .", output: "a .", question: "c d .",
			generation: "Please make the sentences easier to read and understand.\n\nInput:\na b .\nAnswer: a .\n\nInput:\nc d .\nAnswer:",
			answer:     "Please make the sentences easier to read and understand.\n\nInput:\na b .\nAnswer: a .\n\nInput:\nc d .\nAnswer:",
		},
	} {
		task, err := prompt.Builtin(c.task)
		if err != nil {
			t.Fatal(err)
		}
		if got := task.GenerationPrefix() + task.GenerationDemo(c.condition, c.text) + task.GenerationHead(c.next); got != c.generation {
			t.Errorf("%s: generation prompt\n%q, want\n%q", c.task, got, c.generation)
		}
		if got := task.AnswerPrefix() + task.AnswerDemo(c.input, c.output) + task.AnswerItem(c.question); got != c.answer {
			t.Errorf("%s: answer prompt\n%q, want\n%q", c.task, got, c.answer)
		}
	}
}

// TestBuiltinsAreClean: all that is embedded is listed, and none has even a warning.
func TestBuiltinsAreClean(t *testing.T) {
	files, err := filepath.Glob("tasks/*.toml")
	if err != nil || len(files) != len(prompt.Builtins()) {
		t.Errorf("%d files, %d names, %v", len(files), len(prompt.Builtins()), err)
	}
	for _, name := range prompt.Builtins() {
		data, err := prompt.Source(name)
		if err != nil {
			t.Fatal(err)
		}
		task, found := prompt.Examine(name, data)
		if len(found) > 0 {
			t.Errorf("%s: %v", name, found)
		}
		if task.Name != name || task.Title == "" {
			t.Errorf("%s is called %q, %q", name, task.Name, task.Title)
		}
		if found := task.Check(); len(found) > 0 {
			t.Errorf("%s: with defaults: %v", name, found)
		}
	}
}

func TestContentFreeQuestion(t *testing.T) {
	task, err := prompt.Builtin("agnews")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := task.AnswerItem(""), "\nArticle:\nAnswer:"; got != want {
		t.Errorf("%q, want %q: a space at the end of a line is another token", got, want)
	}
}

func TestDefaults(t *testing.T) {
	task, err := prompt.Parse("mine", []byte(minimal))
	if err != nil {
		t.Fatal(err)
	}
	want := prompt.Limits{MaxTokens: 60, MinTokens: 3, RecordTokens: 100, InputTokens: 150, AnswerTokens: 10, Shots: 4}
	if task.Limits != want {
		t.Errorf("limits %+v, want %+v", task.Limits, want)
	}
	if got, want := task.GenerationDemo("a", "b")+task.AnswerDemo("c", "d"), "\nLabel: a\nText: b\n\nText: c\nLabel: d\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if !task.OneLine() || !slices.Equal(task.Stop, []string{"\n"}) {
		t.Errorf("stop %q", task.Stop)
	}
	short := prompt.Task{Kind: prompt.Generate, Limits: prompt.Limits{MaxTokens: 2}}.WithDefaults()
	if short.Limits.MinTokens != 2 || short.Limits.AnswerTokens != 2 {
		t.Errorf("limits of two tokens: %+v", short.Limits)
	}
}

// TestFieldsAreCalledTheSame: a field that one layout names is called so in the other too,
// so that texts are written with the names that questions are asked with.
func TestFieldsAreCalledTheSame(t *testing.T) {
	classify := func(g prompt.Generation, a prompt.AnswerLayout) prompt.Task {
		return prompt.Task{Kind: prompt.Classify, Generate: g, Answer: a}
	}
	generate := func(g prompt.Generation, a prompt.AnswerLayout) prompt.Task {
		return prompt.Task{Kind: prompt.Generate, Generate: g, Answer: a}
	}
	for _, c := range []struct {
		name       string
		task       prompt.Task
		demo, item string
	}{
		{"neither", classify(prompt.Generation{}, prompt.AnswerLayout{}), "\nLabel: a\nText: b\n", "\nText: c\nLabel:"},
		{"answer alone", classify(prompt.Generation{}, prompt.AnswerLayout{Input: "Message", Output: "Desk"}), "\nDesk: a\nMessage: b\n", "\nMessage: c\nDesk:"},
		{"generate alone", classify(prompt.Generation{Condition: "Desk", Text: "Message"}, prompt.AnswerLayout{}), "\nDesk: a\nMessage: b\n", "\nMessage: c\nDesk:"},
		{"one each", classify(prompt.Generation{Condition: "Desk"}, prompt.AnswerLayout{Input: "Message"}), "\nDesk: a\nMessage: b\n", "\nMessage: c\nDesk:"},
		{"both", classify(prompt.Generation{Condition: "Kind", Text: "Note"}, prompt.AnswerLayout{Input: "Message", Output: "Desk"}), "\nKind: a\nNote: b\n", "\nMessage: c\nDesk:"},
		{"outputs, neither", generate(prompt.Generation{}, prompt.AnswerLayout{}), "\nInput: a\nOutput: b\n", "\nInput: c\nOutput:"},
		{"outputs, answer alone", generate(prompt.Generation{}, prompt.AnswerLayout{Input: "Question", Output: "Reply"}), "\nQuestion: a\nReply: b\n", "\nQuestion: c\nReply:"},
		{"outputs, generate alone", generate(prompt.Generation{Condition: "Question", Text: "Reply"}, prompt.AnswerLayout{}), "\nQuestion: a\nReply: b\n", "\nQuestion: c\nReply:"},
		{"outputs, one template", generate(prompt.Generation{}, prompt.AnswerLayout{Template: "Q {input}\nA {output}"}), "\nQ a\nA b\n", "\nQ c\nA"},
		{"outputs, the other template", generate(prompt.Generation{Template: "Q {input}\nA {output}"}, prompt.AnswerLayout{}), "\nQ a\nA b\n", "\nQ c\nA"},
	} {
		if demo, item := c.task.GenerationDemo("a", "b"), c.task.AnswerItem("c"); demo != c.demo || item != c.item {
			t.Errorf("%s: %q and %q, want %q and %q", c.name, demo, item, c.demo, c.item)
		}
		again := c.task.WithDefaults()
		if !bytes.Equal(again.Canonical(), c.task.Canonical()) {
			t.Errorf("%s: defaults are not stable:\n%s\n%s", c.name, again.Canonical(), c.task.Canonical())
		}
	}
}

// TestShotsCoverLabels: unless a task says how many, every label of its list has an example.
func TestShotsCoverLabels(t *testing.T) {
	labels := strings.Split("abcdefghij", "")
	for n, want := range map[int]int{0: 4, 2: 4, 4: 4, 5: 5, 8: 8, 10: 10} {
		task := prompt.Task{Kind: prompt.Classify, Labels: labels[:n]}
		if got := task.WithDefaults().Limits.Shots; got != want {
			t.Errorf("%d labels: %d shots, want %d", n, got, want)
		}
		task.Limits.Shots = 3
		if got := task.WithDefaults().Limits.Shots; got != 3 {
			t.Errorf("%d labels: %d shots, and 3 are asked for", n, got)
		}
	}
}

// minimal is a task of a user, without what has a default.
const minimal = `
kind = "classify"
text = "message"
label = "queue"
labels = ["Billing", "Delivery"]

[generate]
instruction = "Given a queue, write a message that belongs there."

[answer]
instruction = "Sort the messages into Billing and Delivery."
`

func TestDefaultsShareNothing(t *testing.T) {
	a := prompt.Task{Labels: []string{"x"}, Aliases: map[string]string{"y": "x"}}
	b := a.WithDefaults()
	b.Labels[0], b.Aliases["y"] = "z", "z"
	if a.Labels[0] != "x" || a.Aliases["y"] != "x" {
		t.Error("a copy changed the original")
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		stop       []string
		text, want string
		stopped    bool
	}{
		{nil, " one line\nand another", "one line", true},
		{nil, " one line ", "one line", false},
		{nil, "\nnothing", "", true},
		{[]string{"END", "\n\n"}, "a\nb END c\n\nd", "a\nb", true},
		{[]string{"END", "\n\n"}, "a\n\nb END", "a", true},
	} {
		got, stopped := prompt.Task{Stop: c.stop}.Cut(c.text)
		if got != c.want || stopped != c.stopped {
			t.Errorf("%q: %q, %v", c.text, got, stopped)
		}
	}
}

func TestCanon(t *testing.T) {
	task, err := prompt.Builtin("dbpedia")
	if err != nil {
		t.Fatal(err)
	}
	for from, want := range map[string]string{"OfficeHolder": "Politician", "Film": "Film", "film": "", "Opera": ""} {
		t.Run(from, func(t *testing.T) {
			if got, ok := task.ResolveLabel(from); ok != (want != "") || ok && got != want {
				t.Errorf("%s is %s, %v", from, got, ok)
			}
		})
	}
	if got, ok := (prompt.Task{Kind: prompt.Extract}).ResolveLabel("anything"); got != "anything" || !ok {
		t.Errorf("an open label is %q, %v", got, ok)
	}
}

// TestCanonical: what is said with a default and without is the same, what differs in
// anything is different.
func TestCanonical(t *testing.T) {
	short, err := prompt.Parse("mine", []byte(minimal))
	if err != nil {
		t.Fatal(err)
	}
	long, err := prompt.Parse("mine", []byte(strings.Replace(minimal, "[answer]", "template = \"Label: {condition}\\nText: {text}\"\n[limits]\nmax_tokens = 60\n[answer]\ninput = \"Text\"", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(short.Canonical(), long.Canonical()) {
		t.Errorf("%s\n%s", short.Canonical(), long.Canonical())
	}
	for name, change := range map[string]func(*prompt.Task){
		"label":     func(t *prompt.Task) { t.Labels[0] = "Bills" },
		"order":     func(t *prompt.Task) { t.Labels[0], t.Labels[1] = t.Labels[1], t.Labels[0] },
		"stop":      func(t *prompt.Task) { t.Stop = []string{"\n\n"} },
		"alias":     func(t *prompt.Task) { t.Aliases = map[string]string{"B": "Billing"} },
		"column":    func(t *prompt.Task) { t.Text = "body" },
		"limit":     func(t *prompt.Task) { t.Limits.Shots++ },
		"condition": func(t *prompt.Task) { t.Conditions = []string{"x"} },
		"template":  func(t *prompt.Task) { t.Answer.Template = "{input} {output}" },
		"name":      func(t *prompt.Task) { t.Name = "yours" },
	} {
		t.Run(name, func(t *testing.T) {
			other := short.WithDefaults()
			change(&other)
			if bytes.Equal(short.Canonical(), other.Canonical()) {
				t.Error("another task with the same encoding")
			}
		})
	}
	var back prompt.Task
	if err := json.Unmarshal(short.Canonical(), &back); err != nil || !reflect.DeepEqual(back, short) {
		t.Errorf("%v: %+v", err, back)
	}
}

func TestFind(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"mine.toml", "other"} {
		if err := os.WriteFile(name, []byte(minimal), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for ref, want := range map[string]string{"mine.toml": "mine", "./mine.toml": "mine", "other": "other", "agnews": "agnews"} {
		t.Run(ref, func(t *testing.T) {
			if task, err := prompt.Find(ref); err != nil || task.Name != want {
				t.Errorf("%s is %q: %v", ref, task.Name, err)
			}
		})
	}
	var unknown *prompt.UnknownError
	if _, err := prompt.Find("agnew"); !errors.As(err, &unknown) || !slices.Equal(unknown.Near, []string{"agnews"}) {
		t.Errorf("%v", err)
	}
	if _, err := prompt.Find("absent.toml"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if _, err := prompt.Find("./"); err == nil || !strings.Contains(err.Error(), "is not a file") {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile("large.toml", bytes.Repeat([]byte("# data\n"), 1<<18), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := prompt.Find("large.toml"); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("%v", err)
	}
}

// TestSegments: whatever the values, segments begin and end as promised, a value is
// put in as it is, and a demonstration is its head and its text.
func TestSegments(t *testing.T) {
	var tasks []prompt.Task
	for _, name := range prompt.Builtins() {
		task, err := prompt.Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		tasks = append(tasks, task)
	}
	value := rapid.StringMatching(`[a-z{}:"é ]{0,12}|\{text\}|\{condition\}|\{input\}|\n|a\nb`)
	rapid.Check(t, func(t *rapid.T) {
		task := rapid.SampledFrom(tasks).Draw(t, "task")
		a, b := value.Draw(t, "a"), value.Draw(t, "b")
		for _, s := range []struct{ prefix, head, demo string }{
			{task.GenerationPrefix(), task.GenerationHead(a), task.GenerationDemo(a, b)},
			{task.AnswerPrefix(), task.AnswerItem(a), task.AnswerDemo(a, b)},
		} {
			if s.prefix != "" && !strings.HasSuffix(s.prefix, "\n") {
				t.Fatalf("prefix %q", s.prefix)
			}
			if !strings.HasPrefix(s.head, "\n") || strings.HasSuffix(s.head, " ") {
				t.Fatalf("head %q", s.head)
			}
			want := s.head + " " + strings.TrimSpace(b) + "\n"
			if strings.TrimSpace(b) == "" {
				want = s.head + "\n"
			}
			if s.demo != want {
				t.Fatalf("demonstration %q, want %q", s.demo, want)
			}
			if !strings.Contains(s.head, strings.TrimSpace(a)) {
				t.Fatalf("head %q lacks %q", s.head, a)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(minimal))
	for _, name := range prompt.Builtins() {
		data, err := prompt.Source(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		task, err := prompt.Parse("fuzzed", data)
		var invalid *prompt.InvalidError
		if err != nil {
			if !errors.As(err, &invalid) || len(invalid.Problems) == 0 {
				t.Fatalf("%v", err)
			}
			return
		}
		for _, p := range task.Check() {
			if !p.Warning {
				t.Fatalf("accepted with %v", p)
			}
		}
		again := task.WithDefaults()
		if !reflect.DeepEqual(task, again) || !bytes.Equal(task.Canonical(), again.Canonical()) {
			t.Fatal("filling in defaults twice changes the task")
		}
		if h := task.GenerationHead("x"); !strings.HasPrefix(task.GenerationDemo("x", "y"), h) {
			t.Fatalf("head %q", h)
		}
		if h := task.AnswerItem("x"); !strings.HasPrefix(task.AnswerDemo("x", "y"), h) || !strings.Contains(h, "x") {
			t.Fatalf("question %q", h)
		}
	})
}

// TestDocumentedTask: the task that the documentation shows is one, and is ten lines.
func TestDocumentedTask(t *testing.T) {
	page, err := os.ReadFile("../docs/text.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```toml\n")
	source, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("docs/text.md shows no task")
	}
	task, err := prompt.Parse("mine", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.DeleteFunc(strings.Split(source, "\n"), func(l string) bool { return strings.TrimSpace(l) == "" })
	if len(lines) != 10 || len(task.Labels) != 4 {
		t.Errorf("%d lines, labels %q", len(lines), task.Labels)
	}
}
