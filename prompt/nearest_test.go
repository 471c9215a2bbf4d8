package prompt_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/prompt"
)

func films(nearest int) prompt.Prompt {
	return prompt.Prompt{
		Examples: []prompt.Example{{"a silly musical", "musical"}, {"films noir", "noir"}, {"a war film", "war"}},
		Nearest:  prompt.Nearest{Examples: nearest, Encoder: "toy"},
	}
}

// TestNearestShown: where nothing finds the nearest examples, the first stand in for them, in texts and turns.
func TestNearestShown(t *testing.T) {
	task := builtinTask(t, "mit-g")
	for nearest, want := range map[int]int{1: 1, 2: 2, 3: 3, 9: 3} {
		p := films(nearest)
		fixed := p.With(p.Examples[:want])
		if fixed.Nearest.Used() || !reflect.DeepEqual(p.Shown(), fixed.Examples) {
			t.Errorf("%d: %v are shown", nearest, p.Shown())
		}
		if !reflect.DeepEqual(p.Segments(task), fixed.Segments(task)) || !reflect.DeepEqual(p.Turns(task), fixed.Turns(task)) {
			t.Errorf("%d: what is laid out is not what is shown", nearest)
		}
	}
	if p := films(0); len(p.With(p.Examples).Shown()) != 3 {
		t.Error("a prompt without does not show all")
	}
}

// TestNearestCheck: what cannot be done is refused, and what is written down is read again.
func TestNearestCheck(t *testing.T) {
	task, labels := builtinTask(t, "mit-g"), builtinTask(t, "agnews")
	if err := films(2).Check(task); err != nil {
		t.Error(err)
	}
	data, err := json.Marshal(films(2))
	if err != nil || !strings.Contains(string(data), `"nearest":{"examples":2,"encoder":"toy"}`) {
		t.Errorf("%s: %v", data, err)
	}
	var again prompt.Prompt
	if err := json.Unmarshal(data, &again); err != nil || !reflect.DeepEqual(again, films(2)) {
		t.Errorf("%+v: %v", again, err)
	}
	if data, err := json.Marshal(prompt.Prompt{}); err != nil || strings.Contains(string(data), "nearest") {
		t.Errorf("%s: %v", data, err)
	}
	news := prompt.Prompt{Examples: []prompt.Example{{"text", "World"}}, Nearest: prompt.Nearest{Examples: 1, Encoder: "toy"}}
	if err := news.Check(labels); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*prompt.Prompt){
		"at least one":            func(p *prompt.Prompt) { p.Nearest.Examples = -1 },
		"has a name":              func(p *prompt.Prompt) { p.Nearest.Encoder = "" },
		"not 0 by":                func(p *prompt.Prompt) { p.Nearest.Examples = 0 },
		"there are none":          func(p *prompt.Prompt) { p.Examples = nil },
		"not calibrated":          func(p *prompt.Prompt) { p.Calibrated = true },
		"evidence, or has":        func(p *prompt.Prompt) { p.Evidence = prompt.Use{How: prompt.Hinted} },
		"the label \"elsewhere\"": func(p *prompt.Prompt) { p.Examples = []prompt.Example{{"text", "elsewhere"}} },
	} {
		t.Run(want, func(t *testing.T) {
			p := news
			change(&p)
			if err := p.Check(labels); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v", err)
			}
		})
	}
}
