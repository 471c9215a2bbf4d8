package release

import (
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/prompt"
)

// TestGained: a release that is no better than what is there without it says so, with what to do next, and one that is
// better says nothing.
func TestGained(t *testing.T) {
	labels := prompt.Task{Name: "t", Kind: prompt.Classify, Text: "text", Label: "label", Labels: []string{"a", "b", "c", "d"}}
	some := prompt.Prompt{Examples: []prompt.Example{{Input: "x", Output: "a"}}}
	evident, alone := some, prompt.Prompt{Evidence: prompt.Use{How: prompt.Alone}}
	evident.Evidence = prompt.Use{How: prompt.Combined, Weight: 1}
	worth := func(low, high float64, change ...func(*Worth)) *Worth {
		w := &Worth{Metric: "accuracy", Value: (low + high) / 2, Low: low, High: high, Commonest: &Commonest{Label: "b", Share: 0.35, Measured: true}}
		for _, c := range change {
			c(w)
		}
		return w
	}
	unknown := func(w *Worth) { w.Commonest = nil }
	beside := func(low float64) func(*Worth) {
		return func(w *Worth) {
			w.Classifier = &Beside{Value: 0.8, Low: 0.7, High: 0.9, OverLow: low, OverHigh: low + 0.1}
		}
	}
	for name, c := range map[string]struct {
		task prompt.Task
		p    *prompt.Prompt
		w    *Worth
		over string
		says string
	}{
		"better than the commonest label":      {labels, &some, worth(0.36, 0.5), "", ""},
		"as the commonest label":               {labels, &some, worth(0.34, 0.5), OverCommonest, `always saying "b" on 35 %`},
		"above a guess, below the commonest":   {labels, &some, worth(0.28, 0.33), OverCommonest, "sotto model recommend"},
		"as a blind guess":                     {labels, &some, worth(0.25, 0.5, unknown), OverGuess, "a blind guess on 25 %"},
		"better than a guess":                  {labels, &some, worth(0.26, 0.5, unknown), "", ""},
		"nothing measured":                     {labels, &some, nil, "", ""},
		"no examples":                          {labels, &prompt.Prompt{}, worth(0.6, 0.8), OverNothing, "--examples FILE"},
		"no examples, nothing measured":        {labels, &prompt.Prompt{}, nil, OverNothing, "--time 15m"},
		"no examples, with evidence":           {labels, &prompt.Prompt{Evidence: prompt.Use{How: prompt.Combined, Weight: 1}}, worth(0.6, 0.8), "", ""},
		"as the classifier":                    {labels, &evident, worth(0.7, 0.9, beside(-0.05)), OverClassifier, "sotto learn"},
		"better than the classifier":           {labels, &evident, worth(0.7, 0.9, beside(0.01)), "", ""},
		"the classifier":                       {labels, &alone, worth(0.7, 0.9), "", ""},
		"the classifier, as the commonest":     {labels, &alone, worth(0.2, 0.5), OverCommonest, "noise is what is in the way"},
		"the commonest before the classifier":  {labels, &evident, worth(0.2, 0.5, beside(-0.05)), OverCommonest, ""},
		"outputs that are written, no example": {prompt.Task{Name: "g", Kind: prompt.Generate}, &prompt.Prompt{}, &Worth{Metric: "rouge_l", Value: 0.2, High: 0.3}, OverNothing, "--examples FILE"},
		"outputs that are written":             {prompt.Task{Name: "g", Kind: prompt.Generate}, &some, &Worth{Metric: "rouge_l", Value: 0.2, High: 0.3}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			u := Gained(c.task, c.p, c.w)
			switch {
			case c.over == "" && u != nil:
				t.Errorf("%+v", u)
			case c.over != "" && (u == nil || u.Over != c.over || !strings.Contains(u.Text+" "+strings.Join(u.Next, " "), c.says) || len(u.Next) == 0):
				t.Errorf("%+v", u)
			}
		})
	}
}

// TestAgainst: a number stands beside a blind guess, the commonest label and the classifier, where they are known.
func TestAgainst(t *testing.T) {
	w := Worth{Metric: "accuracy", Value: 0.9}
	if got := w.Against(4); got != "A blind guess is right on 25 %." {
		t.Error(got)
	}
	w.Commonest = &Commonest{Label: "b", Share: 0.351}
	if got := w.Against(4); got != `A blind guess is right on 25 %, the commonest label ("b") on 35 % (as declared).` {
		t.Error(got)
	}
	w.Commonest.Measured, w.Classifier = true, &Beside{Value: 0.8, Low: 0.7, High: 0.9}
	if got := w.Against(4); got != `A blind guess is right on 25 %, the commonest label ("b") on 35 % (about, counted with noise), and the private classifier without a language model on 80 % (70 to 90).` {
		t.Error(got)
	}
	if w.Metric = "rouge_l"; w.Against(4) != "" || (Worth{Metric: "accuracy"}).Against(0) != "" {
		t.Error("what is no share of labels stands beside a guess")
	}
}

// TestMostCommon: the label with the largest number, which noise may make too large or too small for a share.
func TestMostCommon(t *testing.T) {
	for _, c := range []struct {
		numbers []int64
		of      int64
		label   string
		share   float64
	}{{[]int64{3, 5, -1}, 10, "b", 0.5}, {[]int64{-3, -1, -2}, 10, "b", 0}, {[]int64{3, 12, 0}, 10, "b", 1}, {[]int64{1, 1, 0}, -4, "a", 1}} {
		got := MostCommon([]string{"a", "b", "c"}, c.numbers, c.of, true)
		at := expect.At(t, "%v of %d", c.numbers, c.of)
		expect.Equal(at, "got.Label", got.Label, c.label)
		expect.Equal(at, "got.Share", got.Share, c.share)
		expect.True(at, "got.Measured", got.Measured)
	}
	if MostCommon([]string{"a"}, nil, 3, true) != nil {
		t.Error("no numbers have a largest")
	}
}
