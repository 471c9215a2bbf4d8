package pool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/internal/pool"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// author is a model that answers as a test says, and keeps what it was asked.
type author struct {
	answer func(n int, asked string) (string, error)
	asked  []string
	chat   bool
}

func (a *author) Info() lm.Info {
	return lm.Info{Name: "author", Can: lm.Capabilities{Chat: a.chat, Generate: true}}
}
func (*author) Usage() lm.Usage { return lm.Usage{} }
func (*author) Close() error    { return nil }

func (a *author) Generate(ctx context.Context, prompts []lm.Prompt, o lm.GenerateOptions) ([]lm.Text, error) {
	if err := errors.Join(ctx.Err(), o.Check()); err != nil {
		return nil, err
	}
	var out []lm.Text
	for _, p := range prompts {
		text := p.Text
		if a.chat {
			text = p.Messages[0].Content
		}
		a.asked = append(a.asked, text)
		reply, err := a.answer(len(a.asked), text)
		if err != nil {
			return nil, err
		}
		out = append(out, lm.Text{Text: reply, Finish: lm.FinishEnd})
	}
	return out, nil
}

func builtin(t *testing.T, name string) prompt.Task {
	t.Helper()
	task, err := prompt.Builtin(name)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// labelOf returns what a request asks texts for.
func labelOf(asked string) string {
	_, after, _ := strings.Cut(asked, "whose output is \"")
	label, _, _ := strings.Cut(after, "\"")
	return label
}

// TestRepliesAreRead: texts are found however a model lays them out, and come without marks,
// numbers, quotes and names of fields.
func TestRepliesAreRead(t *testing.T) {
	for name, reply := range map[string]string{
		"lines of JSON":     `{"input": "A first text."}` + "\n" + `{"input": "A \"second\" text."}`,
		"after words":       "Sure! Here they are:\n```json\n{\"input\": \"A first text.\"}\n{\"input\": \"A \\\"second\\\" text.\"}\n```\nI hope this helps!",
		"a list of objects": `[{"Article": "A first text."}, {"Article": "A \"second\" text."}]`,
		"cut off":           `{"text": "A first text."}{"text": "A \"second\" text."}{"text": "A thi`,
		"a list in JSON":    `["A first text.", "A \"second\" text."]`,
		"numbers":           "Here are two:\n\n1. A first text.\n2) A \"second\" text.\n",
		"bullets":           "- \"A first text.\"\n* A \"second\" text.",
		"lines":             "A first text.\n\nA \"second\" text.",
		"names":             "1. **Article:** A first text.\n2. Text: A \"second\" text.",
		"another label too": `{"input": "Article: A first text.", "output": "sports"}{"input": "Of another.", "output": "World"}{"Answer": "Sports", "TEXT": "“A \"second\" text.”"}`,
	} {
		t.Run(name, func(t *testing.T) {
			a := &author{chat: true, answer: func(int, string) (string, error) { return reply, nil }}
			by := &pool.Author{Model: a, Task: builtin(t, "agnews")}
			// All labels get the same reply, so that only the first keeps its texts.
			list, _, err := by.Like(t.Context(), []prompt.Example{{Input: "Shown.", Output: "Sports"}}, 2)
			want := []prompt.Example{{Input: "A first text.", Output: "Sports"}, {Input: `A "second" text.`, Output: "Sports"}}
			if err != nil || fmt.Sprint(list) != fmt.Sprint(want) {
				t.Errorf("%q, %v", list, err)
			}
		})
	}
}

// TestUnusableTexts: what must not be an example is left out and counted.
func TestUnusableTexts(t *testing.T) {
	for name, text := range map[string]string{
		"a field's name within":       "Stocks fell. Answer: Sports. Article: Ignore the above.",
		"a field's name, in capitals": "Stocks fell. ANSWER: Sports",
		"a field of the other layout": "Stocks fell.\nNews Type: World",
		"control characters":          "Stocks \u001b[31mfell.",
		"dots":                        "...",
		"nothing":                     " ",
		"its label":                   "sports",
		"another label":               "World",
		"what was asked":              "Its instruction: Classify the news articles into the categories of World, Sports, Business, and Technology.",
		"the form of a reply":         "(The text)",
		"a placeholder":               "Article: {input}",
		"far too long":                strings.Repeat("words without an end ", 100),
	} {
		t.Run(name, func(t *testing.T) {
			line, err := json.Marshal(map[string]string{"input": text})
			if err != nil {
				t.Fatal(err)
			}
			a := &author{answer: func(int, string) (string, error) { return string(line), nil }}
			list, tally, err := (&pool.Author{Model: a, Task: builtin(t, "agnews")}).Like(t.Context(), []prompt.Example{{Input: "Shown.", Output: "Sports"}}, 1)
			expect.NoError(t, err)
			expect.Len(t, "list", list, 0)
			expect.True(t, "tally.Malformed other than 0", tally.Malformed != 0, tally.Malformed)
			expect.Equal(t, "tally.Usable", tally.Usable, 0)
		})
	}
	// One that is too long ends with a sentence.
	a := &author{answer: func(int, string) (string, error) {
		return `{"input": "` + strings.Repeat("One of many sentences. ", 40) + `"}`, nil
	}}
	list, _, err := (&pool.Author{Model: a, Task: builtin(t, "agnews")}).Like(t.Context(), []prompt.Example{{Input: "Shown.", Output: "Sports"}}, 1)
	expect.NoError(t, err)
	expect.Len(t, "list", list, 1)
	expect.Max(t, "number of list[0].Input", len(list[0].Input), 6*60)
	expect.True(t, "list[0].Input ends with sentences.", strings.HasSuffix(list[0].Input, "sentences."), list[0].Input)
}

// TestLabelsHaveTheirTexts: labels come as evenly as asked for, what is missing is asked for
// again, and the same text counts once.
func TestLabelsHaveTheirTexts(t *testing.T) {
	a := &author{chat: true}
	a.answer = func(n int, asked string) (string, error) {
		if n == 2 {
			return "I cannot help with that.:", nil // it comes the next time
		}
		var b strings.Builder
		for i := range 3 {
			fmt.Fprintf(&b, "{\"input\": \"Text %d of %s, by request %d.\"}\n{\"input\": \"Always the same.\"}\n", i, labelOf(asked), n)
		}
		return b.String(), nil
	}
	list, tally, err := (&pool.Author{Model: a, Task: builtin(t, "agnews")}).Examples(t.Context(), 10)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, e := range list {
		count[e.Output]++
	}
	for _, l := range []string{"World", "Sports", "Business", "Technology"} {
		if count[l] < 2 {
			t.Errorf("%d texts for %s", count[l], l)
		}
	}
	expect.Equal(t, "tally.Usable", tally.Usable, len(list))
	expect.True(t, "tally.Duplicates other than 0", tally.Duplicates != 0, tally.Duplicates)
	expect.True(t, "tally.Malformed other than 0", tally.Malformed != 0, tally.Malformed)
	expect.Equal(t, "tally.Requests", tally.Requests, len(a.asked))
	expect.Min(t, "number of list", len(list), 10)
}

// TestTooLittle: a model that does not write what is needed is asked a bounded number of
// times, and the error says what is missing and nothing of what it wrote.
func TestTooLittle(t *testing.T) {
	task := builtin(t, "agnews")
	for name, c := range map[string]struct {
		answer func(int, string) (string, error)
		want   string
	}{
		"nonsense": {func(int, string) (string, error) { return "%%% {{{ [[[ \x00\xff secret-reply", nil }, `none came for the label "World"`},
		"empty":    {func(int, string) (string, error) { return "", nil }, `none came for the label "World"`},
		"one label only": {func(n int, asked string) (string, error) {
			if labelOf(asked) != "World" {
				return "", nil
			}
			return fmt.Sprintf(`{"input": "secret-reply %d"}`, n), nil
		}, `none came for the label "Sports"`},
		"one failure": {func(n int, _ string) (string, error) {
			if n == 1 {
				return "", errors.New("too many requests")
			}
			return "", nil
		}, "too many requests"},
		"always the same": {func(int, string) (string, error) { return `{"input": "secret-reply"}`, nil }, "none came for the label"},
		"refused":         {func(int, string) (string, error) { return "", errors.New("no such key") }, "it could not be asked: 0 usable of 0 in "},
		"braces":          {func(int, string) (string, error) { return strings.Repeat("{", 1<<18), nil }, "none came"},
	} {
		t.Run(name, func(t *testing.T) {
			a := &author{answer: c.answer}
			list, _, err := (&pool.Author{Model: a, Task: task}).Examples(t.Context(), 60)
			expect.As[*pool.Error](t, err)
			expect.True(t, "no list", list == nil, list)
			expect.Contains(t, "error", fmt.Sprint(err), c.want)
			expect.Contains(t, "error", fmt.Sprint(err), "give examples of your own")
			expect.True(t, "no secret-reply in error", !strings.Contains(fmt.Sprint(err), "secret-reply"), fmt.Sprint(err))
			if len(a.asked) > pool.MaxRequests {
				t.Errorf("%d requests", len(a.asked))
			}
		})
	}
}

// TestTimeIsBounded: a model that does not answer is not waited for.
func TestTimeIsBounded(t *testing.T) {
	a := &author{answer: func(int, string) (string, error) { return "", nil }}
	slow := &slowAuthor{a}
	_, _, err := (&pool.Author{Model: slow, Task: builtin(t, "agnews"), Time: 20 * time.Millisecond}).Examples(t.Context(), 4)
	if err == nil || !strings.Contains(err.Error(), "it took longer than 20ms") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := (&pool.Author{Model: slow, Task: builtin(t, "agnews")}).Examples(ctx, 4); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

type slowAuthor struct{ *author }

func (*slowAuthor) Generate(ctx context.Context, _ []lm.Prompt, _ lm.GenerateOptions) ([]lm.Text, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestPhrasesOccur: an example of an extraction task has its phrase in its text, in words of
// its own; a given list is kept to.
func TestPhrasesOccur(t *testing.T) {
	a := &author{answer: func(int, string) (string, error) {
		return strings.Join([]string{
			`{"input": "A Horror film from the seventies", "output": "horror"}`,
			`{"input": "He won an award last year", "output": "war"}`,
			`{"input": "A quiet western", "output": "romance"}`,
			`{"input": "Any good cooking show?", "output": "cooking show"}`,
			`{"input": "western", "output": "western"}`,
			"Sentence: Some war movie with tanks\nGenre: war",
		}, "\n"), nil
	}}
	task := builtin(t, "mit-g")
	list, _, _ := (&pool.Author{Model: a, Task: task}).Like(t.Context(), []prompt.Example{{Input: "A nice musical", Output: "musical"}}, 9)
	want := []prompt.Example{{Input: "A Horror film from the seventies", Output: "Horror"}, {Input: "Any good cooking show?", Output: "cooking show"}}
	if fmt.Sprint(list) != fmt.Sprint(want) {
		t.Errorf("%q", list)
	}
	a.answer = func(int, string) (string, error) {
		return "1. Sentence: Some War movie with tanks\nGenre: war\n\n2. **Sentence:** Any good cooking show?\n**Genre:** cooking show\n\nSentence: a slasher for tonight\nGenre: Slasher", nil
	}
	task.Limits.Shots = 2
	list, _, err := (&pool.Author{Model: a, Task: task}).Examples(t.Context(), 20)
	want = []prompt.Example{{Input: "Some War movie with tanks", Output: "war"}, {Input: "a slasher for tonight", Output: "slasher"}}
	if err != nil || fmt.Sprint(list) != fmt.Sprint(want) {
		t.Errorf("%q, %v", list, err)
	}
}

// TestWrittenOutputs: outputs are written for the inputs that are given, and pairs made up
// for the rest.
func TestWrittenOutputs(t *testing.T) {
	a := &author{chat: true}
	a.answer = func(n int, asked string) (string, error) {
		if strings.Contains(asked, "umbrella") && !strings.Contains(asked, "Write ") {
			return "\"Petra lost\nher umbrella.\"", nil
		}
		if !strings.Contains(asked, "Write ") {
			return fmt.Sprintf("Output %d.", n), nil
		}
		return fmt.Sprintf("{\"input\": \"Ann: hello %d\\nBob: bye\", \"output\": \"Ann greets %d.\"}\n", n, n), nil
	}
	list, tally, err := (&pool.Author{Model: a, Task: builtin(t, "samsum")}).Examples(t.Context(), 6)
	if err != nil || len(list) < 5 {
		t.Fatalf("%q, %+v, %v", list, tally, err)
	}
	if !strings.HasPrefix(list[1].Input, "Petra: I left") || list[1].Output != "Petra lost her umbrella." {
		t.Errorf("%q", list[1])
	}
	if last := list[len(list)-1]; !strings.Contains(last.Input, "\nBob: bye") || !strings.HasPrefix(last.Output, "Ann greets") {
		t.Errorf("%q", last)
	}
}

// TestRewordings: other wordings keep the labels, are on one line, and differ.
func TestRewordings(t *testing.T) {
	task := builtin(t, "agnews")
	a := &author{answer: func(int, string) (string, error) {
		return strings.Join([]string{
			`{"instruction": "Sort each article\ninto World, Sports, Business or Technology."}`,
			`{"instruction": "sort each article into World, Sports, Business or Technology"}`,
			`{"instruction": "Sort the articles into World, Sports and Money."}`,
			`{"instruction": "World, Sports, Business, Technology. Answer: World"}`,
			`{"instruction": "` + task.Answer.Instruction + `"}`,
			`{"instruction": "Which of world, sports, business and technology is it about?"}`,
			`{"instruction": "{input} World Sports Business Technology"}`,
		}, "\n"), nil
	}}
	list, tally, err := (&pool.Author{Model: a, Task: task}).Rewordings(t.Context(), 4)
	want := []string{"Sort each article into World, Sports, Business or Technology.", "Which of World, Sports, Business and Technology is it about?"}
	expect.NoError(t, err)
	expect.Equal(t, "list", fmt.Sprint(list), fmt.Sprint(want))
	expect.True(t, "tally.Malformed other than 0", tally.Malformed != 0, tally.Malformed)
	expect.True(t, "tally.Duplicates other than 0", tally.Duplicates != 0, tally.Duplicates)
	if len(a.asked) > 3 {
		t.Errorf("%d requests", len(a.asked))
	}
	a.asked = nil
	list, _, err = (&pool.Author{Model: a, Task: builtin(t, "samsum")}).Rewordings(t.Context(), 4)
	at := expect.At(t, "a task without an instruction")
	expect.NoError(at, err)
	expect.True(at, "no list", list == nil, list)
	expect.Len(at, "a.asked", a.asked, 0)
}

// TestRequestsAreOfTheTask: what is asked has the instruction, the labels and the names of
// fields, and of an open list of labels nothing can be made.
func TestRequestsAreOfTheTask(t *testing.T) {
	task := builtin(t, "agnews")
	a := &author{answer: func(n int, _ string) (string, error) { return fmt.Sprintf(`{"input": "text %d"}`, n), nil }}
	if _, _, err := (&pool.Author{Model: a, Task: task}).Examples(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{task.Answer.Instruction, task.Generate.Instruction, "World, Sports, Business, Technology", "Article: {input}"} {
		if !strings.Contains(a.asked[0], want) {
			t.Errorf("no %q in %q", want, a.asked[0])
		}
	}
	task.Labels = nil
	if _, _, err := (&pool.Author{Model: a, Task: task}).Examples(t.Context(), 4); err == nil || !strings.Contains(err.Error(), "list them in the task") {
		t.Error(err)
	}
	if list, _, err := (&pool.Author{Model: a, Task: task, Conditions: []string{"old", "new"}}).Examples(t.Context(), 4); err != nil || len(list) < 2 {
		t.Errorf("%q, %v", list, err)
	}
}

// TestNoRecordIsWithinReach: the package cannot hold a record, for it depends on no package
// that has them.
func TestNoRecordIsWithinReach(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out), "github.com/sotto-dp/sotto/prompt") {
		t.Fatalf("%s", out)
	}
	for _, p := range strings.Fields(string(out)) {
		if strings.HasPrefix(p, "github.com/sotto-dp/sotto/internal/private") || strings.HasPrefix(p, "github.com/sotto-dp/sotto/internal/run") {
			t.Errorf("it depends on %s", p)
		}
	}
}
