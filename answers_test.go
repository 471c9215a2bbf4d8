package sotto_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/prompt"
)

func chats() prompt.Task {
	return prompt.Task{
		Name: "chats", Kind: prompt.Generate, Text: "summary", Label: "chat",
		Generate: prompt.Generation{Instruction: "Sum up the chat."},
		Limits:   prompt.Limits{AnswerTokens: 5, RecordTokens: 20, InputTokens: 40},
	}.WithDefaults()
}

// answerOptions of answers from data of their own.
func answerOptions(t *testing.T) answerCall {
	t.Helper()
	dir := t.TempDir()
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, "{\"chat\": \"%s asks %d\", \"summary\": \"%s says %d\"}\n", marker, i, marker, i)
	}
	data := filepath.Join(dir, "data.jsonl")
	if err := os.WriteFile(data, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return answerCall{world{sotto.Options{Trusted: toyModel()}, dir}, sotto.AnswerOptions{
		Use:     sotto.Use{Dataset: "chats"},
		Request: sotto.Request{Task: chats(), Method: "clipped", Size: 200, Epsilon: 1, Settings: method.Values{"batch": 16}},
		Source:  sotto.Source{Location: data},
	}}
}

// TestAnswersMissing: what is missing is reported before anything is opened or made.
func TestAnswersMissing(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*answerCall)
		want   string
	}{
		"size":        {func(o *answerCall) { o.Request.Size = 0 }, "number of records"},
		"data":        {func(o *answerCall) { o.Source.Location = "" }, "the data is missing"},
		"not private": {func(o *answerCall) { o.Request.Method, o.Request.Settings = "nonprivate", nil }, "has no privacy guarantee"},
		"no plan":     {func(o *answerCall) { o.Plan = &plan.Answers{} }, "cannot be carried out"},
		"claimed": {func(o *answerCall) {
			o.Request = sotto.Request{Task: chats(), Method: "mixing-published", Size: 200, Epsilon: 2}
		}, "not proven"},
	} {
		t.Run(name, func(t *testing.T) {
			o := answerOptions(t)
			c.change(&o)
			_, err := answers(t.Context(), o)
			var input *plan.InputError
			if !errors.As(err, &input) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
			for _, path := range o.state() {
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

// TestAnswers: a session answers until the budget is used up, and says what it made.
func TestAnswers(t *testing.T) {
	o := answerOptions(t)
	o.Request.Answers = 3
	var said []string
	o.Observe = func(e sotto.Progress) { said = append(said, e.Message) }
	a, err := answers(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}()
	n := 0
	err = a.All(t.Context(), []string{"one?", "two?", "three?"}, func(_ int, got *sotto.Answer) error {
		n++
		expect.True(t, "got.Private", got.Private)
		expect.True(t, "got.Text that is not empty", got.Text != "")
		expect.Equal(t, "got.Limit", got.Limit, 1)
		expect.Within(t, "got.Spent", got.Spent, 0.9, 1)
		return nil
	})
	if err != nil || n != 3 {
		t.Fatalf("%d answers, %v", n, err)
	}
	all := strings.Join(said, "\n")
	expect.Contains(t, "all", all, "no ledger")
	expect.Contains(t, "all", all, "for 3 answers")
	expect.True(t, "no marker in all", !strings.Contains(all, marker), all)
	var refused *ledger.RefusedError
	if _, err := a.Answer(t.Context(), "four?", nil); !errors.As(err, &refused) {
		t.Errorf("%v", err)
	}
	epsilon, err := a.Plan.Total(3)
	expect.NoError(t, err)
	expect.Within(t, "epsilon.Upper", epsilon.Upper, 0.9, 1)
	expect.Equal(t, "a.Model", a.Model, "toy")
}

// TestSameDataSameBudget: the ledger knows the data again, whatever it is used for.
func TestSameDataSameBudget(t *testing.T) {
	o := answerOptions(t)
	synth := synthesis{o.world, sotto.SynthesizeOptions{
		Request: sotto.Request{Task: chats(), Size: 200, Epsilon: 1, Shots: 1, Tokens: 4, Conditions: []string{"a chat"}, Settings: method.Values{"batch": 16}},
		Use:     o.Use, Source: o.Source, Out: o.at("out"),
	}}
	makeLedger(t, o.client().Ledger())
	if _, err := synthesize(t.Context(), synth); err != nil {
		t.Fatal(err)
	}
	if _, err := answerOne(t.Context(), o, "who?"); !errors.As(err, new(*ledger.RefusedError)) {
		t.Errorf("%v", err)
	}
	o.Seed = new(uint64)
	got, err := answerOne(t.Context(), o, "who?")
	expect.NoError(t, err)
	expect.True(t, "not got.Private", !got.Private)
	expect.Equal(t, "got.Charge", got.Charge, "")
}

// One question, answered from private chats and paid for from their budget.
func ExampleClient_Answer() {
	dir, err := os.MkdirTemp("", "sotto")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	var records strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&records, "{\"chat\": \"Ann: is lamp %d here? Ben: no\", \"summary\": \"lamp %d is missing\"}\n", i, i)
	}
	if err := os.WriteFile(filepath.Join(dir, "chats.jsonl"), []byte(records.String()), 0o600); err != nil {
		log.Fatal(err)
	}
	task := prompt.Task{
		Name: "chats", Kind: prompt.Generate, Text: "summary", Label: "chat",
		Generate: prompt.Generation{Instruction: "Sum up the chat."},
	}
	client, err := sotto.Open(dir, &sotto.Options{Trusted: toyModel()}) // nil: the default model
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	got, err := client.Answer(context.Background(), sotto.AnswerOptions{
		Request: sotto.Request{Task: task, Size: 1000, Epsilon: 1, Tokens: 8},
		Source:  sotto.Source{Location: filepath.Join(dir, "chats.jsonl")},
	}, "Ann: where is the key? Ben: under the mat")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("there is an answer:", got.Text != "")
	fmt.Printf("spent about %.1f of ε = %v\n", got.Spent, got.Limit)
	// Output:
	// there is an answer: true
	// spent about 1.0 of ε = 1
}
