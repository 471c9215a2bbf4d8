package model

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/sys/expect"
)

// endless writes until it is told to stop, and refuses what is too long.
type endless struct {
	lm.Model
	limit int
	lens  []int
}

func (e *endless) Info() lm.Info { return lm.Info{Name: "endless"} }

func (e *endless) Generate(_ context.Context, prompts []lm.Prompt, o lm.GenerateOptions) ([]lm.Text, error) {
	n := len(prompts[0].Messages)
	e.lens = append(e.lens, n)
	if n > e.limit {
		return nil, &lm.ContextError{Have: n, Limit: e.limit}
	}
	if err := o.OnText(0, "yes"); err != nil {
		return nil, err
	}
	return []lm.Text{{Text: "yes", Finish: lm.FinishLength, Tokens: 1}}, nil
}

// TestConversationForgets: what does not fit the model is left out from the
// beginning on, but for the system's message.
func TestConversationForgets(t *testing.T) {
	var out, errs bytes.Buffer
	model := &endless{limit: 4}
	c := &conversation{
		program: &cli.Program{Terminal: ui.Terminal{Stdin: strings.NewReader("a\nb\n\nc\n/quit\nd\n"), Stdout: &out, Stderr: &errs}},
		model:   model, options: lm.GenerateOptions{MaxTokens: 1}, system: "be brief",
	}
	c.reset()
	if err := c.lines(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(model.lens); got != "[2 4 6 4]" {
		t.Errorf("messages: %s", got)
	}
	expect.Equal(t, "c.messages[0].Content", c.messages[0].Content, "be brief")
	expect.Equal(t, "c.messages[1].Content", c.messages[1].Content, "b")
	expect.Len(t, "c.messages", c.messages, 5)
	expect.Equal(t, "out", out.String(), "yes\nyes\nyes\n")
	expect.Contains(t, "errs", errs.String(), "forgotten")
	expect.Contains(t, "errs", errs.String(), "cut off after 1 tokens")
	model.limit = 1
	var long *lm.ContextError
	if c.reset(); !errors.As(c.answer(t.Context(), "too much"), &long) || len(c.messages) != 1 {
		t.Errorf("%+v", c.messages)
	}
	c.program.Stdout = clitest.FullDisk{}
	model.limit = 10
	if err := c.answer(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Error(err)
	}
}

// TestConcurrentInterrupt: Ctrl-C ends an answer, of which the beginning stays, and
// not the conversation; a request to terminate ends both.
func TestConcurrentInterrupt(t *testing.T) {
	for sent, want := range map[os.Signal]bool{os.Interrupt: false, syscall.SIGTERM: true} {
		var out, errs bytes.Buffer
		signals := make(chan os.Signal, 1)
		c := &conversation{
			program: &cli.Program{Terminal: ui.Terminal{Stdout: &out, Stderr: &errs}},
			model:   &slow{begun: func() { signals <- sent }}, options: lm.GenerateOptions{MaxTokens: 1},
		}
		if over := c.exchange(t.Context(), "hello", signals); over != want {
			t.Errorf("%v: the conversation is over: %v", sent, over)
		}
		at := expect.At(t, "%v", sent)
		expect.Len(at, "c.messages", c.messages, 2)
		expect.Equal(at, "c.messages[1].Content", c.messages[1].Content, "well")
		expect.Equal(at, "out", out.String(), "well\n")
		expect.Equal(at, "errs", errs.String(), "\n")
	}
}

// slow begins an answer and does not end it.
type slow struct {
	lm.Model
	begun func()
}

func (s *slow) Generate(ctx context.Context, _ []lm.Prompt, o lm.GenerateOptions) ([]lm.Text, error) {
	if err := o.OnText(0, "well"); err != nil {
		return nil, err
	}
	s.begun()
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestFailureInConversation: the reader is told, and may continue.
func TestFailureInConversation(t *testing.T) {
	var out, errs bytes.Buffer
	c := &conversation{program: &cli.Program{Terminal: ui.Terminal{Stdout: &out, Stderr: &errs}}, model: &endless{limit: 0}, options: lm.GenerateOptions{MaxTokens: 1}}
	over := c.exchange(t.Context(), "hello", nil)
	expect.True(t, "not over", !over)
	expect.Contains(t, "errs", errs.String(), "sotto: sequence 0 would have")
	expect.Len(t, "c.messages", c.messages, 0)
}
