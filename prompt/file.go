package prompt

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"sotto/internal/spell"
)

// maxFile is the size of the largest task file that is read.
const maxFile = 1 << 20

//go:embed tasks/*.toml
var builtin embed.FS

// Builtins lists the names of the built-in tasks.
func Builtins() []string {
	return []string{"agnews", "dbpedia", "trec", "mit-g", "mit-d", "samsum", "e2e", "wikilarge"}
}

// Builtin returns a built-in task.
func Builtin(name string) (Task, error) {
	data, err := builtinSource(name)
	if err != nil {
		return Task{}, err
	}
	return Parse(name, data)
}

func builtinSource(name string) ([]byte, error) {
	if slices.Contains(Builtins(), name) {
		return builtin.ReadFile("tasks/" + name + ".toml")
	}
	return nil, &UnknownError{Name: name, Near: spell.Near(name, Builtins())}
}

// Find returns the task that a user names: a built-in one, or the path of a file.
func Find(ref string) (Task, error) {
	data, err := Source(ref)
	if err != nil {
		return Task{}, err
	}
	return parseFile(ref, data)
}

// Load reads a task file. The task is called as the file is, unless that says name.
func Load(path string) (Task, error) {
	data, err := read(path)
	if err != nil {
		return Task{}, err
	}
	return parseFile(path, data)
}

// Source is the text of a task's file: of a built-in task, to start one's own from, or
// of a path, which ends in .toml, has a slash in it or exists.
func Source(ref string) ([]byte, error) {
	if isPath(ref) {
		return read(ref)
	}
	data, err := builtinSource(ref)
	if err != nil {
		if _, statErr := os.Stat(ref); statErr == nil {
			return read(ref)
		}
	}
	return data, err
}

// NameOf is what a task is called if its file does not say.
func NameOf(ref string) string { return strings.TrimSuffix(filepath.Base(ref), ".toml") }

func parseFile(ref string, data []byte) (Task, error) {
	t, err := Parse(NameOf(ref), data)
	var invalid *InvalidError
	if errors.As(err, &invalid) {
		invalid.Name = ref
	}
	return t, err
}

func isPath(ref string) bool {
	return strings.HasSuffix(ref, ".toml") || strings.ContainsRune(ref, '/') || strings.ContainsRune(ref, filepath.Separator)
}

// read reads a file that may be a task. A FIFO would be waited for without end, and a
// file of data is no task.
func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "read", Path: path, Err: errors.New("it is not a file; name the task's TOML file")}
	} else if err == nil && info.Size() > maxFile {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("it is larger than %d bytes, so it is no task file; data is named elsewhere", maxFile)}
	}
	if err != nil {
		return nil, fmt.Errorf("task file: %w", err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("task file: %w", err)
	}
	return data, nil
}

// document is a task file. Columns of generation tasks are called input and output.
type document struct {
	Name       string            `toml:"name"`
	Title      string            `toml:"title"`
	Kind       Kind              `toml:"kind"`
	Text       string            `toml:"text"`
	Label      string            `toml:"label"`
	Input      string            `toml:"input"`
	Output     string            `toml:"output"`
	Labels     []string          `toml:"labels"`
	Aliases    map[string]string `toml:"aliases"`
	Conditions []string          `toml:"conditions"`
	Stop       []string          `toml:"stop"`
	Generate   struct {
		Instruction string `toml:"instruction"`
		Condition   string `toml:"condition"`
		Text        string `toml:"text"`
		Template    string `toml:"template"`
	} `toml:"generate"`
	Answer struct {
		Instruction string `toml:"instruction"`
		Input       string `toml:"input"`
		Output      string `toml:"output"`
		Template    string `toml:"template"`
	} `toml:"answer"`
	Limits struct {
		MaxTokens    int `toml:"max_tokens"`
		MinTokens    int `toml:"min_tokens"`
		RecordTokens int `toml:"record_tokens"`
		InputTokens  int `toml:"input_tokens"`
		AnswerTokens int `toml:"answer_tokens"`
		Shots        int `toml:"shots"`
	} `toml:"limits"`
}

// keys of a file, by the table they are in.
var keys = map[string][]string{
	"":         {"name", "title", "kind", "text", "label", "input", "output", "labels", "aliases", "conditions", "stop", "generate", "answer", "limits"},
	"generate": {"instruction", "condition", "text", "template"},
	"answer":   {"instruction", "input", "output", "template"},
	"limits":   {"max_tokens", "min_tokens", "record_tokens", "input_tokens", "answer_tokens", "shots"},
}

// Parse reads a task from TOML. name is what it is called unless it says so itself.
// What is wrong with it is an *[InvalidError] that lists everything at once.
func Parse(name string, data []byte) (Task, error) {
	t, found := parse(name, data)
	if !found.valid() {
		return Task{}, &InvalidError{Name: name, Problems: found}
	}
	return t.WithDefaults(), nil
}

// Examine is Parse for those who want to see warnings too: it tells every problem of
// a file.
func Examine(name string, data []byte) (Task, []Problem) {
	t, found := parse(name, data)
	return t.WithDefaults(), found
}

func parse(name string, data []byte) (Task, problems) {
	var d document
	var found problems
	meta, err := toml.Decode(strings.TrimPrefix(string(data), "\ufeff"), &d)
	if err != nil {
		found.undecodable(err)
		return Task{Name: name}, found
	}
	for _, key := range meta.Undecoded() {
		found.unknown(key)
	}
	t := d.task(name, &found)
	d.explicitZeros(meta, &found)
	return t, append(found, t.Check()...)
}

// badType is what the decoder says of a value of the wrong type.
var badType = regexp.MustCompile(`^(?:toml: )?line \d+ \(last key "([^"]*)"\): incompatible types: TOML value has type (\S+); destination has type (\S+)$`)

// typeNames are the decoder's names of types, for people.
var typeNames = map[string]string{
	"string": "a string in quotes", "int64": "a number", "integer": "a number", "float64": "a fraction", "bool": "true or false",
	"slice": "a list in brackets", "map": "a table", "struct": "a table",
}

// undecodable tells why a file is no TOML, or has a value of another type.
func (p *problems) undecodable(err error) {
	var syntax toml.ParseError
	if errors.As(err, &syntax) && syntax.Message != "" {
		p.wrong(fmt.Sprintf("line %d", syntax.Position.Line), syntax.Message, "correct the line; strings go in \"quotes\", lists in [brackets]")
		return
	}
	if m := badType.FindStringSubmatch(err.Error()); m != nil {
		have, want := typeNames[m[2]], typeNames[m[3]]
		setDefault(&have, m[2])
		setDefault(&want, m[3])
		p.wrong(m[1], "it is "+have, "give %s", want)
		return
	}
	p.wrong("file", strings.TrimPrefix(err.Error(), "toml: "), "correct the line; strings go in \"quotes\", lists in [brackets]")
}

func (p *problems) unknown(key toml.Key) {
	table, last := "", key[len(key)-1]
	if len(key) > 1 {
		table = key[0]
	}
	known, ok := keys[table]
	if !ok {
		return // the table itself is reported
	}
	fix := "known are " + strings.Join(known, ", ")
	if close := spell.Near(last, known); len(close) > 0 {
		fix = "did you mean " + strings.Join(close, " or ") + "?"
	} else if table == "" {
		for in, names := range keys {
			if in != "" && slices.Contains(names, last) {
				fix = fmt.Sprintf("it belongs under [%s]", in)
			}
		}
	} else if slices.Contains(keys[""], last) {
		fix = fmt.Sprintf("it belongs above the first [table], not under [%s]", table)
	}
	p.wrong(key.String(), "there is no such key", "%s", fix)
}

// task takes over what a file says.
func (d document) task(name string, found *problems) Task {
	setDefault(&d.Name, name)
	t := Task{
		Name: d.Name, Title: d.Title, Kind: d.Kind, Text: d.Text, Label: d.Label,
		Labels: d.Labels, Aliases: d.Aliases, Conditions: d.Conditions, Stop: d.Stop,
		Generate: Generation(d.Generate), Answer: Answering(d.Answer), Limits: Limits(d.Limits),
	}
	if d.Kind == Generate {
		if d.Text != "" || d.Label != "" {
			found.wrong("kind", "a generation task has no text and label columns", "write input = … and output = …, or another kind")
		}
		t.Label, t.Text = d.Input, d.Output
	} else if d.Input != "" || d.Output != "" {
		found.wrong("kind", "input and output are columns of generation tasks", "write text = … and label = …, or kind = %q", Generate)
	}
	return t
}

// explicitZeros finds limits that are said to be 0, which a task reads as not said.
func (d document) explicitZeros(meta toml.MetaData, found *problems) {
	values := map[string]int{
		"max_tokens": d.Limits.MaxTokens, "min_tokens": d.Limits.MinTokens, "record_tokens": d.Limits.RecordTokens,
		"input_tokens": d.Limits.InputTokens, "answer_tokens": d.Limits.AnswerTokens, "shots": d.Limits.Shots,
	}
	for _, key := range keys["limits"] {
		if values[key] == 0 && meta.IsDefined("limits", key) {
			found.wrong("limits."+key, "it is 0", "give at least 1, or leave the line out for the default")
		}
	}
	if meta.IsDefined("stop") && len(d.Stop) == 0 {
		found.wrong("stop", "the list is empty", "give the strings that end a text, or leave the line out for a newline")
	}
}
