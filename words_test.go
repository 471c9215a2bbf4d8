package sotto_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
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
var spoken = []string{"internal/demo/", "lm/bert/testdata/", "words_test.go"}

// TestWords: code, help and documentation say things in the words of the field.
func TestWords(t *testing.T) {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = w.pattern
	}
	any := regexp.MustCompile(`(?i)` + strings.Join(all, "|"))
	files := 0
	eachText(t, []string{".go", ".md", ".txtar", ".html", ".py", ".bug"}, func(at string, data []byte) {
		theirs := slices.ContainsFunc(spoken, func(s string) bool { return strings.HasPrefix(at, s) })
		if theirs || strings.HasPrefix(at, "docs/decisions/") || strings.HasPrefix(at, "lab/results/") && strings.Count(at, "/") > 2 || at == "CHANGELOG.md" {
			return
		}
		files++
		if !any.Match(data) {
			return
		}
		for i, line := range strings.Split(string(data), "\n") {
			for _, w := range words {
				if found := regexp.MustCompile(`(?i)` + w.pattern).FindString(line); found != "" && !strings.Contains(line, "goes on a command line") {
					t.Errorf("%s:%d: %q: write %s", at, i+1, found, w.instead)
				}
			}
		}
	})
	if files < 1000 {
		t.Errorf("only %d files were read", files)
	}
}

// eachText calls a function for each file below here with one of the extensions, build outputs aside.
func eachText(t *testing.T, extensions []string, each func(at string, data []byte)) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		at := filepath.ToSlash(path)
		switch {
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && at != "." || at == "dist" || at == "bin"):
			return fs.SkipDir
		case d.IsDir() || strings.HasPrefix(d.Name(), ".") || !slices.Contains(extensions, filepath.Ext(path)):
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		each(at, data)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// participle matches the last word of a type's name that does not say what its values are.
var participle = regexp.MustCompile(`^(un|re|mis|over|under)?(` + strings.Join([]string{
	`\w*[^e]ed`, "begun", "bent", "blown", "born", "bought", "broken", "brought", "built", "caught", "chosen", "cut", "done", "drawn", "driven", "fallen",
	"felt", "flown", "forgotten", "found", "frozen", "given", "gone", "grown", "heard", "held", "hidden", "kept", "known", "laid", "left", "lent", "lost",
	"made", "meant", "met", "paid", "proven", "put", "read", "said", "seen", "sent", "shown", "sold", "spelt", "spent", "spoken", "stolen", "struck", "taken",
	"taught", "thrown", "told", "took", "torn", "understood", "won", "worn", "written",
}, "|") + `)$`)

// participles are names that are nouns all the same, with the reason.
var participles = map[string]string{
	"internal/private/decode.Clipped": "a method's name: its sums are of clipped scores",
}

// TestTypesAreNouns: the name of a type ends with a noun, which says what a value is; "the asked", "the found" or "the
// planned" do not.
func TestTypesAreNouns(t *testing.T) {
	types, used := 0, map[string]bool{}
	files := token.NewFileSet()
	eachText(t, []string{".go"}, func(at string, data []byte) {
		file, err := parser.ParseFile(files, at, data, parser.SkipObjectResolution)
		if err != nil {
			return // an example of what does not compile
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, is := n.(*ast.TypeSpec)
			if !is {
				return true
			}
			types++
			name := spec.Name.Name
			last := name[max(0, strings.LastIndexFunc(name, unicode.IsUpper)):]
			if !participle.MatchString(strings.ToLower(last)) {
				return true
			}
			key := path.Dir(at) + "." + name
			if used[key] = true; participles[key] == "" {
				t.Errorf("%s: the type %s is called by a participle: name it by a noun, for what a value is", files.Position(spec.Pos()), name)
			}
			return true
		})
	})
	if types < 2000 {
		t.Errorf("only %d types were found", types)
	}
	for name := range participles {
		if !used[name] {
			t.Errorf("%s is not a type any more: drop it from the list", name)
		}
	}
}
