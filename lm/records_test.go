package lm_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
)

// pen is a model that writes what answer says, given what it is asked and what it was asked in the
// call before.
type pen struct {
	lm.Scorer
	answer func(call int, before, now string) string
	calls  int
	last   string
	asked  []int
}

func (p *pen) Info() lm.Info { return lm.Info{Backend: "pen", Can: lm.Capabilities{Chat: true}} }

func (p *pen) Generate(_ context.Context, prompts []lm.Prompt, _ lm.GenerateOptions) ([]lm.Text, error) {
	p.calls++
	p.asked = append(p.asked, len(prompts))
	var texts []lm.Text
	for _, q := range prompts {
		texts = append(texts, lm.Text{Text: p.answer(p.calls, p.last, q.Messages[0].Content), Finish: lm.FinishEnd})
	}
	p.last = prompts[0].Messages[0].Content
	return texts, nil
}

// TestCompareRecords: answers that depend on which record came before are counted, those that vary
// by chance or by the prompt are not.
func TestCompareRecords(t *testing.T) {
	size := func(s string) string { return fmt.Sprint(len(s)) }
	for name, test := range map[string]struct {
		answer          func(call int, before, now string) string
		different, vary bool
	}{
		"right":             {func(_ int, _, now string) string { return size(now) }, false, false},
		"the record before": {func(_ int, before, now string) string { return size(before) }, true, false},
		"one record, of one": {func(_ int, before, now string) string {
			return size(now) + fmt.Sprint(strings.Contains(before, "40417") && strings.Contains(now, "hums"))
		}, true, false},
		"the number of the call":  {func(call int, _, now string) string { return fmt.Sprint(call) }, false, true},
		"now and then otherwise":  {func(call int, _, now string) string { return fmt.Sprint(call == 7) }, false, true},
		"the same after the same": {func(_ int, before, now string) string { return fmt.Sprint(before == now) }, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := &pen{answer: test.answer}
			c, err := lm.CompareRecords(t.Context(), p)
			expect.NoError(t, err)
			expect.Min(t, name+": answers", c.Answers, 10)
			expect.Equal(t, name+": different", c.Different > 0, test.different)
			if !test.different {
				expect.Equal(t, name+": varying", c.Varying > 0, test.vary)
			}
			if len(p.asked) < 20 || slices.Min(p.asked) < 2 {
				t.Errorf("%s: %d calls of %v prompts are too few", name, len(p.asked), p.asked)
			}
		})
	}
}

// TestRoughTokenizer: no letter is lost, also where a text is cut and put together, and a text has
// about as many tokens as a model's tokeniser gives it.
func TestRoughTokenizer(t *testing.T) {
	rough := lm.RoughTokenizer{}
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		tokens, err := rough.Encode(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		cut := rapid.IntRange(0, len(tokens)).Draw(t, "cut")
		var parts [2]string
		for i, list := range [][]lm.Token{tokens[:cut], tokens[cut:]} {
			if parts[i], err = rough.Decode(t.Context(), list); err != nil {
				t.Fatal(err)
			}
		}
		if parts[0]+parts[1] != text {
			t.Fatalf("%q came back as %q", text, parts)
		}
		for _, token := range tokens {
			expect.Within(t, "token", int(token), 0, rough.Size()-1)
			expect.True(t, "a token of text", !rough.Control(token), token)
		}
	})
	text := "The committee met on Tuesday to discuss the new budget for the harbour."
	tokens, err := rough.Encode(t.Context(), text)
	expect.NoError(t, err)
	expect.Within(t, "tokens", len(tokens), 12, 24)
	if _, err := rough.Decode(t.Context(), []lm.Token{7}); err == nil {
		t.Error("a token of another tokeniser was decoded")
	}
}
