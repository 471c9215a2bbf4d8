package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/demo"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/prompt"
)

// TestDemoSearch: a secret in any file of a release is found, whatever its case.
func TestDemoSearch(t *testing.T) {
	dir := t.TempDir()
	secrets := demo.Office().Secrets(1000)
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := demoRun{program: &program{Terminal: ui.Terminal{JSON: true}}, secrets: secrets}
	d.result.Release = dir
	put("a.txt", "My landlord does not answer.")
	if err := d.search(t.Context()); err != nil || len(d.result.SecretsFound) > 0 {
		t.Errorf("found %q (%v)", d.result.SecretsFound, err)
	}
	put("journal.jsonl", `{"text": "I am `+strings.ToUpper(secrets[7])+`."}`)
	if err := d.search(t.Context()); err != nil || !slices.Contains(d.result.SecretsFound, secrets[7]) {
		t.Errorf("found %q (%v), want %q", d.result.SecretsFound, err, secrets[7])
	}
	d.result.Release = filepath.Join(dir, "none")
	if err := d.search(t.Context()); err == nil {
		t.Error("a folder that cannot be read was not searched")
	}
}

func TestDemoSets(t *testing.T) {
	task := prompt.Task{Labels: []string{"a", "b"}, Limits: prompt.Limits{Shots: 2}}
	texts := []prompt.Example{{Input: "1", Output: "a"}, {Input: "2", Output: "b"}, {Input: "3", Output: "b"}, {Input: "4", Output: "a"}, {Input: "5", Output: "a"}}
	want := [][]prompt.Example{{{Input: "1", Output: "a"}, {Input: "2", Output: "b"}}, {{Input: "3", Output: "b"}, {Input: "4", Output: "a"}}}
	if got := demoSets(texts, task); !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
	if got := demoSets(nil, task); len(got) != 0 {
		t.Errorf("%v", got)
	}
	task.Limits.Shots = 4
	if got := demoSets(texts, task); len(got) != 1 || len(got[0]) != 4 {
		t.Errorf("%v", got)
	}
}

// TestDemoIsFair: nothing but the examples differs between what the demo compares. All are
// asked with the task's own instruction, labels are read off in one way, and sets have as many
// examples, of each label equally often. What is chosen can have no instruction or example that
// the others have not.
func TestDemoIsFair(t *testing.T) {
	task, err := demo.Office().Task()
	if err != nil {
		t.Fatal(err)
	}
	d := &demoRun{program: &program{Terminal: ui.Terminal{JSON: true}}, request: demoRequest(task, 1, 1e-6, 50_000)}
	d.sets = 2
	c := d.request.Choosing
	if len(c.Instructions)+len(c.Examples)+len(c.Sets) > 0 || !c.OwnWords || c.Own >= 0 || c.Reading == "" || c.Shots != task.Limits.Shots || c.Most != task.Limits.Shots {
		t.Errorf("choosing has more to choose from than examples: %+v", c)
	}
	for i := range d.sets * task.Limits.Shots {
		d.public = append(d.public, prompt.Example{Input: fmt.Sprint("own ", i), Output: task.Labels[i%len(task.Labels)]})
	}
	d.chosen = prompt.Prompt{Examples: []prompt.Example{{Input: "chosen", Output: "Red"}}, Calibrated: true}
	var asked []prompt.Prompt
	err = d.compare(func(p prompt.Prompt) (float64, error) {
		asked = append(asked, p)
		return float64(len(asked)) / 10, nil
	})
	if err != nil || len(asked) != 2+2*d.sets {
		t.Fatalf("%d prompts were compared (%v)", len(asked), err)
	}
	for i, p := range asked {
		if p.For(task).Answer.Instruction != task.Answer.Instruction || p.Calibrated != asked[1].Calibrated {
			t.Errorf("prompt %d is asked otherwise: %+v", i, p)
		}
		if i < 2 {
			continue
		}
		count := map[string]int{}
		for _, e := range p.Examples {
			count[e.Output]++
			if own := strings.HasPrefix(e.Input, "own "); own != (i%2 == 0) {
				t.Errorf("prompt %d has the example %q", i, e.Input)
			}
		}
		for _, l := range task.Labels {
			if count[l] != task.Limits.Shots/len(task.Labels) {
				t.Errorf("prompt %d has %d examples of %s", i, count[l], l)
			}
		}
	}
	if r := d.result; r.ZeroShot != 0.1 || r.ChosenDemos != 0.2 || math.Abs(r.PublicDemos-0.4) > 1e-12 || math.Abs(r.RealDemos-0.5) > 1e-12 {
		t.Errorf("the numbers are mixed up: %+v", r)
	}
}

func TestDemoBar(t *testing.T) {
	for share, want := range map[float64]string{-1: "░░░░░░░░░░░░", 0: "░░░░░░░░░░░░", 0.5: "██████░░░░░░", 1: "████████████", 2: "████████████"} {
		if got := demoBar(share); got != want {
			t.Errorf("%v: %s", share, got)
		}
	}
}

func TestSpread(t *testing.T) {
	mean, deviation := spread([]demoPair{{RealDemos: 0.2}, {RealDemos: 0.4}, {RealDemos: 0.6}}, func(s demoPair) float64 { return s.RealDemos })
	if math.Abs(mean-0.4) > 1e-12 || math.Abs(deviation-0.2) > 1e-12 {
		t.Errorf("%v ± %v", mean, deviation)
	}
}
