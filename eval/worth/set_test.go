package worth

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sotto-dp/sotto/prompt"
)

// TestMarkedWithoutExamples: a release that says NOT PRIVATE is read as such though it has no examples to say
// so, and a classifier needs no file of examples.
func TestMarkedWithoutExamples(t *testing.T) {
	task := prompt.Task{Name: "t", Kind: prompt.Classify, Text: "text", Label: "label", Labels: []string{"a", "b"}}
	const evidence = `{"encoder": "toy", "labels": ["a", "b"], "sums": 1, "sigma": 1, "vectors": [[1], [2]]}`
	for name, c := range map[string]struct {
		prompt string
		demos  bool
		want   string
	}{
		"an empty file":       {`{"form": "text"}`, true, "private"},
		"marked":              {"{\n\"form\": \"text\",\n\"not_private\": true}", true, "marked"},
		"a classifier":        {`{"form": "text", "evidence": {"use": "alone"}}`, false, "private"},
		"a marked classifier": {`{"form": "text", "evidence": {"use": "alone"}, "not_private": true}`, false, "marked"},
		"no examples":         {`{"form": "text"}`, false, "refused"},
		"hints":               {`{"form": "text", "evidence": {"use": "hinted"}}`, false, "refused"},
		"said to be none":     {`{"form": "text", "examples": []}`, false, "private"},
		"none, and marked":    {`{"form": "text", "examples": [], "not_private": true}`, false, "marked"},
		"lost":                {`{"form": "text", "examples": [{"input": "x", "output": "a"}]}`, false, "refused"},
	} {
		dir := t.TempDir()
		files := map[string]string{"prompt.json": c.prompt, "evidence.json": evidence}
		if c.demos {
			files["demos.jsonl"] = ""
		}
		for file, content := range files {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		set, err := ReadSet(dir, task)
		got := map[bool]string{true: "marked", false: "private"}[set.NotPrivate]
		if err != nil {
			got = "refused"
		}
		if got != c.want {
			t.Errorf("%s is %s, want %s: %v", name, got, c.want, err)
		}
	}
}
