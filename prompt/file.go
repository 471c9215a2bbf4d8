package prompt

import (
	"embed"
	"slices"

	"github.com/sotto-dp/sotto/internal/sys/document"
)

//go:embed tasks/*.toml
var builtin embed.FS

var tasks = document.Collection[Task]{
	Kind: "task", Files: builtin, Folder: "tasks", Examine: Examine,
	Order: []string{"agnews", "dbpedia", "trec", "mit-g", "mit-d", "samsum", "e2e", "wikilarge"},
}

// Builtins lists the names of the built-in tasks.
func Builtins() []string { return tasks.Names() }

// Builtin returns a built-in task.
func Builtin(name string) (Task, error) { return tasks.Builtin(name) }

// Find returns the task that a user names: a built-in one, or the path of a file.
func Find(ref string) (Task, error) { return tasks.Find(ref) }

// Source returns the text of a task's file: of a built-in task, to start one's own from, or
// of a path, which ends in .toml, has a slash in it or exists.
func Source(ref string) ([]byte, error) { return tasks.Source(ref) }

// NameOf returns the name of a task whose file does not say it.
func NameOf(ref string) string { return document.NameOf(ref) }

// Parse reads a task from TOML. It has the given name unless it says its own. What is wrong
// with it is an *[InvalidError] that lists everything at once.
func Parse(name string, data []byte) (Task, error) { return tasks.Parse(name, data) }

// file is a task file. Columns of generation tasks are called input and output.
type file struct {
	Task
	Input  string `toml:"input"`
	Output string `toml:"output"`
}

// Examine is like [Parse] but returns all problems of a file, including warnings.
func Examine(name string, data []byte) (Task, []Problem) {
	var f file
	found, ok := document.Decode(data, &f)
	if !ok {
		return Task{Name: name}.WithDefaults(), found.List
	}
	t := f.task(name, found)
	f.explicitZeros(found)
	t.check(found)
	return t.WithDefaults(), found.List
}

// task returns the task of a file.
func (f file) task(name string, found *document.Problems) Task {
	t := f.Task
	setDefault(&t.Name, name)
	if f.Kind == Generate {
		if f.Text != "" || f.Label != "" {
			found.Wrong("kind", "a generation task has no text and label columns", "write input = … and output = …, or another kind")
		}
		t.Label, t.Text = f.Input, f.Output
	} else if f.Input != "" || f.Output != "" {
		found.Wrong("kind", "input and output are columns of generation tasks", "write text = … and label = …, or kind = %q", Generate)
	}
	return t
}

// explicitZeros finds limits that are explicitly 0, which a task takes as unset.
func (f file) explicitZeros(found *document.Problems) {
	for _, l := range f.Limits.list() {
		if l.value == 0 && slices.Contains(found.Keys(), "limits."+l.key) {
			found.Wrong("limits."+l.key, "it is 0", "give at least 1, or leave the line out for the default")
		}
	}
	if len(f.Stop) == 0 && slices.Contains(found.Keys(), "stop") {
		found.Wrong("stop", "the list is empty", "give the strings that end a text, or leave the line out for a newline")
	}
}

// Problem is one problem of a task: where it is, what it is, and what to do about it. A
// task with a warning can be used, but may not do what is meant.
type Problem = document.Problem

// InvalidError lists all that is wrong with a task.
type InvalidError = document.InvalidError

// UnknownError reports that there is no such task.
type UnknownError = document.UnknownError
