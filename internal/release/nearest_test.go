package release

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/prompt"
)

// TestNearestIsSaid: prompt.json has all examples, and how many a question gets; what gives all questions the same has the
// first of them, and use.md says so.
func TestNearestIsSaid(t *testing.T) {
	r := news(t)
	r.Origin = Chosen
	r.Examples = nil
	for _, text := range []string{"first", "second", "third"} {
		r.Examples = append(r.Examples, prompt.Example{Input: text + " of the pool", Output: "World"})
	}
	near := prompt.Nearest{Examples: 2, Encoder: "minilm 12ab"}
	r.Prompt = &prompt.Prompt{Examples: r.Examples, Nearest: near}
	r.Worth = &Worth{Metric: "accuracy", Value: 0.8, Low: 0.7, High: 0.9, Epsilon: 0.1}
	for _, used := range []bool{true, false} {
		if !used {
			r.Prompt.Nearest = prompt.Nearest{}
		}
		files := rendered(t, r)
		var p prompt.Prompt
		err := json.Unmarshal(files[promptFile], &p)
		at := expect.At(t, "used %v: prompt.json", used)
		expect.NoError(at, err)
		expect.Equal(at, "p.Nearest", p.Nearest, r.Prompt.Nearest)
		expect.Len(at, "p.Examples", p.Examples, 3)
		expect.Equal(at, "strings.Contains(string(files[promptFile]), `'nearest'`)", strings.Contains(string(files[promptFile]), `"nearest"`), used)
		for _, name := range []string{"chat.json", "prompt.txt", "dspy.json"} {
			if !strings.Contains(string(files[name]), "second of the pool") || strings.Contains(string(files[name]), "third of the pool") == used {
				t.Errorf("used %v: %s has not the first two alone: %s", used, name, files[name])
			}
		}
		if !strings.Contains(string(files["demos.jsonl"]), "third of the pool") {
			t.Errorf("used %v: demos.jsonl does not have all", used)
		}
		for what, name := range map[string]string{"the 2 of these 3 examples that are nearest to it by the encoder minilm 12ab": "use.md", "measured with the nearest examples": "report.html"} {
			t.Run(what, func(t *testing.T) {
				if strings.Contains(string(files[name]), what) != used {
					t.Errorf("used %v: %s says %q: %v", used, name, what, !used)
				}
			})
		}
	}
}
