package plan_test

import (
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/prompt"
)

// TestLabelsWithoutExample: by default every label has a text; who asks for fewer texts
// than there are labels learns what that leaves out.
func TestLabelsWithoutExample(t *testing.T) {
	eight := prompt.Task{
		Name: "desks", Kind: prompt.Classify, Text: "text", Label: "label", Labels: strings.Split("abcdefgh", ""),
		Generate: prompt.Generation{Instruction: "Write."},
	}
	four := eight
	four.Limits.Shots = 4
	open := eight
	open.Labels, open.Conditions = nil, eight.Labels
	const words = "4 texts leave 4 of the task's 8 labels without an example"
	for name, c := range map[string]struct {
		task  prompt.Task
		shots int
		texts int
		want  string
	}{
		"default":         {eight, 0, 8, ""},
		"asked for":       {eight, 4, 4, words},
		"task":            {four, 0, 4, words},
		"more than task":  {four, 8, 8, ""},
		"open labels":     {open, 0, 4, ""},
		"several a label": {eight, 9, 9, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, writer := range []string{"clipped", "public"} {
				p := mustPlan(t, plan.Request{Task: c.task, Size: 80000, Epsilon: 8, Shots: c.shots, Tokens: 5, Settings: method.Values{"batch": 16}}.By(writer))
				if p.Shots != c.texts {
					t.Errorf("%s: %d texts, want %d", writer, p.Shots, c.texts)
				}
				said := strings.Join(p.Warnings(), "\n")
				if c.want == "" && said != "" || !strings.Contains(said, c.want) {
					t.Errorf("%s: warnings %q, want %q", writer, said, c.want)
				}
			}
		})
	}
}
