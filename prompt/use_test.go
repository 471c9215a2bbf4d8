package prompt_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/prompt"
)

// TestUse: which prompts may use evidence, and how.
func TestUse(t *testing.T) {
	example := []prompt.Example{{Input: "a text", Output: "World"}}
	for _, c := range []struct {
		task string
		use  prompt.Use
		p    prompt.Prompt
		says string // nothing where it is allowed
	}{
		{"agnews", prompt.Use{}, prompt.Prompt{}, ""},
		{"samsum", prompt.Use{}, prompt.Prompt{}, ""},
		{"agnews", prompt.Use{Weight: 1}, prompt.Prompt{}, "does not use it"},
		{"agnews", prompt.Use{Weight: math.NaN()}, prompt.Prompt{}, "does not use it"},
		{"agnews", prompt.Use{Wording: 1}, prompt.Prompt{}, "does not use it"},

		{"agnews", prompt.Use{How: prompt.Combined, Weight: 1}, prompt.Prompt{}, ""},
		{"agnews", prompt.Use{How: prompt.Combined, Weight: 0.25}, prompt.Prompt{Examples: example, Calibrated: true, Instruction: "Say."}, ""},
		{"agnews", prompt.Use{How: prompt.Combined, Weight: 1}, prompt.Prompt{Form: prompt.ChatForm}, "use it as a hint"},
		{"agnews", prompt.Use{How: prompt.Combined}, prompt.Prompt{}, "positive weight"},
		{"agnews", prompt.Use{How: prompt.Combined, Weight: -1}, prompt.Prompt{}, "positive weight"},
		{"agnews", prompt.Use{How: prompt.Combined, Weight: math.NaN()}, prompt.Prompt{}, "positive weight"},
		{"agnews", prompt.Use{How: prompt.Combined, Weight: math.Inf(1)}, prompt.Prompt{}, "positive weight"},
		{"agnews", prompt.Use{How: prompt.Combined, Weight: math.Inf(-1)}, prompt.Prompt{}, "positive weight"},
		{"agnews", prompt.Use{How: prompt.Combined, Weight: 1, Wording: 1}, prompt.Prompt{}, "wording"},

		{"agnews", prompt.Use{How: prompt.Hinted}, prompt.Prompt{Examples: example}, ""},
		{"agnews", prompt.Use{How: prompt.Hinted, Wording: prompt.Hints() - 1}, prompt.Prompt{Form: prompt.ChatForm}, ""},
		{"agnews", prompt.Use{How: prompt.Hinted, Wording: prompt.Hints()}, prompt.Prompt{}, "a wording from 0 to"},
		{"agnews", prompt.Use{How: prompt.Hinted, Wording: -1}, prompt.Prompt{}, "a wording from 0 to"},
		{"agnews", prompt.Use{How: prompt.Hinted, Weight: 1}, prompt.Prompt{}, "no weight"},
		{"agnews", prompt.Use{How: prompt.Hinted, Weight: math.NaN()}, prompt.Prompt{}, "no weight"},

		{"agnews", prompt.Use{How: prompt.Alone}, prompt.Prompt{}, ""},
		{"agnews", prompt.Use{How: prompt.Alone, Weight: 1}, prompt.Prompt{}, "no model reads them"},
		{"agnews", prompt.Use{How: prompt.Alone, Wording: 1}, prompt.Prompt{}, "no model reads them"},
		{"agnews", prompt.Use{How: prompt.Alone}, prompt.Prompt{Examples: example}, "no model reads them"},
		{"agnews", prompt.Use{How: prompt.Alone}, prompt.Prompt{Instruction: "Say."}, "no model reads them"},
		{"agnews", prompt.Use{How: prompt.Alone}, prompt.Prompt{Calibrated: true}, "no model reads them"},

		{"agnews", prompt.Use{How: "loudly"}, prompt.Prompt{}, `not "loudly"`},
		{"samsum", prompt.Use{How: prompt.Hinted}, prompt.Prompt{}, "no closed list"},
		{"mit-g", prompt.Use{How: prompt.Alone}, prompt.Prompt{}, "no closed list"},
	} {
		c.p.Evidence = c.use
		err := c.p.Check(builtinTask(t, c.task))
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s, %+v: %v, which does not say %q", c.task, c.p, err, c.says)
		}
		if c.use.Used() != (c.use.How != "") {
			t.Errorf("%+v is used: %v", c.use, c.use.Used())
		}
	}
}

// TestUseInAFile: a prompt without evidence has the bytes that it had before there was any.
func TestUseInAFile(t *testing.T) {
	for want, u := range map[string]prompt.Use{
		`{"instruction":"Say."}`: {},
		`{"instruction":"Say.","evidence":{"use":"combined","weight":0.5}}`: {How: prompt.Combined, Weight: 0.5},
		`{"instruction":"Say.","evidence":{"use":"hinted","wording":1}}`:    {How: prompt.Hinted, Wording: 1},
		`{"instruction":"Say.","evidence":{"use":"alone"}}`:                 {How: prompt.Alone},
	} {
		t.Run(want, func(t *testing.T) {
			got, err := json.Marshal(prompt.Prompt{Instruction: "Say.", Evidence: u})
			var back prompt.Prompt
			expect.NoError(t, err)
			expect.Equal(t, "string(got)", string(got), want)
			expect.NoError(t, json.Unmarshal(got, &back))
			expect.Equal(t, "back.Evidence", back.Evidence, u)
		})
	}
}

// TestHint: what is said stands after the text, whatever it has of percents.
func TestHint(t *testing.T) {
	seen := map[string]bool{}
	for wording := range prompt.Hints() {
		got := prompt.Hint(wording, "100 %d of it", "a %s 90%")
		at := expect.At(t, "%q", got)
		expect.Prefix(at, "got", got, "100 %d of it ")
		expect.Contains(at, "got", got, "a %s 90%")
		expect.Equal(at, "strings.Contains(got, \"\\n\")", strings.Contains(got, "\n"), false)
		expect.Equal(at, "strings.Contains(got, \"%!\")", strings.Contains(got, "%!"), false)
		seen[got] = true
	}
	if len(seen) != prompt.Hints() || prompt.Hints() < 1 {
		t.Error("two wordings are the same")
	}
}
