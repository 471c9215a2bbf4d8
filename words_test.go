package sotto_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// words are those of this house that the field has others for, with what to write instead.
var words = []struct{ pattern, instead string }{
	{`\b(work(s|ed|ing)? out)\b`, "compute"},
	{`\b(goes|went|gone) on\b`, "resume, or continue"},
	{`\bhears?\b`, "is called with, or is told"},
	{`\bwhoever\b`, "the operator, caller or client, or anyone who"},
	{`\bfaults? of the program\b`, "internal error"},
	{`\bprotects? nobody\b`, "has no privacy guarantee"},
	{`\b(jury|juries|jurors?|hearing|verdicts?)\b`, "grader, batch, grade, conclusion"},
	{`model['’]s own( (examples?|texts?|pool|and|or|is|are)\b|[^\w ]|$)`, "model-generated"},
	{`\bThe one idea\b`, "what the package does"},
}

// spoken are files with made-up messages and sentences, of people who speak as they like.
var spoken = []string{"internal/demo", "lm/bert/testdata", "words_test.go"}

// TestWords: code, help and documentation say things in the words of the field.
func TestWords(t *testing.T) {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = w.pattern
	}
	any := regexp.MustCompile(`(?i)` + strings.Join(all, "|"))
	files := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		at := filepath.ToSlash(path)
		hidden := strings.HasPrefix(d.Name(), ".") && at != "."
		switch {
		case hidden || slices.Contains(spoken, at) || at == "docs/decisions" || at == "dist" || at == "bin" || strings.HasPrefix(at, "lab/results/") && d.IsDir():
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir() || !slices.Contains([]string{".go", ".md", ".txtar", ".html", ".py", ".bug"}, filepath.Ext(path)) || at == "CHANGELOG.md":
			return nil
		}
		files++
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !any.Match(data) {
			return nil
		}
		for i, line := range strings.Split(string(data), "\n") {
			for _, w := range words {
				if found := regexp.MustCompile(`(?i)` + w.pattern).FindString(line); found != "" && !strings.Contains(line, "goes on a command line") {
					t.Errorf("%s:%d: %q: write %s", at, i+1, found, w.instead)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 1000 {
		t.Errorf("only %d files were read", files)
	}
}
