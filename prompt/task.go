package prompt

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Kind is the kind of a task.
type Kind string

// The kinds.
const (
	Classify Kind = "classify" // one label of a list for a text
	Extract  Kind = "extract"  // a phrase of the text: an open set of labels
	Generate Kind = "generate" // an output text for an input
)

// Kinds lists them.
func Kinds() []Kind { return []Kind{Classify, Extract, Generate} }

// Task is public: nothing in it may come from private records.
//
// Empty fields have defaults, which [Task.WithDefaults] fills in; the tasks that this
// package returns are filled in.
type Task struct {
	// Name of the task, as it appears in plans and certificates. Title is for people.
	Name  string `json:"name" toml:"name"`
	Title string `json:"title" toml:"title"`
	// Kind is required.
	Kind Kind `json:"kind" toml:"kind"`
	// Text and Label are columns of the data. In a generation task, Label is the column of
	// the input and Text the column of the output. Required.
	Text  string `json:"text" toml:"text"`
	Label string `json:"label" toml:"label"`
	// Labels is the closed list of labels; empty if labels are open, and for
	// generation.
	Labels []string `json:"labels" toml:"labels"`
	// Aliases are spellings in data files and the labels they stand for.
	Aliases map[string]string `json:"aliases" toml:"aliases"`
	// Conditions to write texts for when labels are open or for generation. Empty:
	// they have to be given, or open labels to be discovered at a price.
	Conditions []string `json:"conditions" toml:"conditions"`
	// Generate lays out the generation of texts, Answer the answering of questions.
	Generate Generation   `json:"generate" toml:"generate"`
	Answer   AnswerLayout `json:"answer" toml:"answer"`
	// Stop: a released text ends before the first of these. Default: a newline.
	Stop []string `json:"stop" toml:"stop"`
	// Limits on lengths and numbers.
	Limits Limits `json:"limits" toml:"limits"`
}

// Generation lays out prompts for a text.
type Generation struct {
	// Instruction is what comes first. Required unless Template says what to do.
	Instruction string `json:"instruction" toml:"instruction"`
	// Condition and Text name the two fields in a prompt. Default: as they are called
	// in [AnswerLayout]; Label and Text, for generation Input and Output, if they are not.
	Condition string `json:"condition" toml:"condition"`
	Text      string `json:"text" toml:"text"`
	// Template lays out a demonstration and ends with the text, if names and colons
	// do not do. Default: "Condition: {condition}\nText: {text}"; for generation that
	// of [AnswerLayout], if no layout names fields.
	Template string `json:"template" toml:"template"`
}

// AnswerLayout lays out prompts for an answer.
type AnswerLayout struct {
	// Instruction is what comes first; for generation that of [Generation] by default.
	Instruction string `json:"instruction" toml:"instruction"`
	// Input and Output name the two fields in a prompt. Default: as they are called in
	// [Generation].
	Input  string `json:"input" toml:"input"`
	Output string `json:"output" toml:"output"`
	// Template lays out a demonstration and ends with the answer. Default:
	// "Input: {input}\nOutput: {output}".
	Template string `json:"template" toml:"template"`
}

// Limits on lengths in tokens, and on numbers. 0 takes the default.
type Limits struct {
	// MaxTokens of a released text, 60. Every token costs privacy.
	MaxTokens int `json:"max_tokens" toml:"max_tokens"`
	// MinTokens before a text may end, 3.
	MinTokens int `json:"min_tokens" toml:"min_tokens"`
	// RecordTokens of a private text that a prompt uses, 100.
	RecordTokens int `json:"record_tokens" toml:"record_tokens"`
	// InputTokens of a question, and of the input of a generation task, 150.
	InputTokens int `json:"input_tokens" toml:"input_tokens"`
	// AnswerTokens of an answer that is written, 10; for generation MaxTokens.
	AnswerTokens int `json:"answer_tokens" toml:"answer_tokens"`
	// Shots is the number of demonstrations of a set: one for each label of a closed
	// list, and at least 4.
	Shots int `json:"shots" toml:"shots"`
}

// Open reports whether texts are written for conditions that no closed list names.
func (t Task) Open() bool { return len(t.Labels) == 0 }

// OneLine reports whether a text ends with its line, so that white space in records becomes
// single spaces.
func (t Task) OneLine() bool { return slices.Contains(t.stops(), "\n") }

func (t Task) stops() []string {
	if len(t.Stop) == 0 {
		return []string{"\n"}
	}
	return t.Stop
}

// Cut ends a released text before the first stop string, without white space around
// it, and reports whether there was one.
func (t Task) Cut(text string) (string, bool) {
	end := len(text)
	for _, s := range t.stops() {
		if i := strings.Index(text, s); i >= 0 {
			end = min(end, i)
		}
	}
	return strings.TrimSpace(text[:end]), end < len(text)
}

// ResolveLabel returns the label that a spelling in the data stands for. It returns false
// for a spelling that is not on a closed list.
func (t Task) ResolveLabel(label string) (string, bool) {
	if to, ok := t.Aliases[label]; ok {
		label = to
	}
	return label, t.Open() || slices.Contains(t.Labels, label)
}

// Canonical encodes a task with its defaults: equal tasks have equal bytes, however they
// were written.
func (t Task) Canonical() []byte {
	data, err := json.Marshal(struct {
		Format string `json:"format"`
		Task
	}{"sotto task 1", t.WithDefaults()})
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	return data
}

// WithDefaults fills in defaults. It shares nothing with its receiver, and leaves errors
// for [Task.Check] to find.
func (t Task) WithDefaults() Task {
	t.Labels = append([]string{}, t.Labels...)
	t.Conditions = append([]string{}, t.Conditions...)
	aliases := make(map[string]string, len(t.Aliases))
	maps.Copy(aliases, t.Aliases)
	t.Aliases = aliases
	t.Stop = append([]string{}, t.stops()...)
	t.fillLayout()
	t.Limits.fill(t.Kind, len(t.Labels))
	return t
}

func (t *Task) fillLayout() {
	g, a := &t.Generate, &t.Answer
	for _, s := range []*string{&g.Instruction, &g.Template, &a.Instruction, &a.Template} {
		*s = strings.Trim(*s, "\n")
	}
	if t.Kind == Generate {
		setDefault(&a.Instruction, g.Instruction)
		mine, theirs := g.Condition == "" && g.Text == "", a.Input == "" && a.Output == ""
		if theirs {
			setDefault(&a.Template, g.Template)
		}
		if mine && theirs {
			setDefault(&g.Template, a.Template)
		}
		share(&g.Condition, &a.Input, "Input")
		share(&g.Text, &a.Output, "Output")
	} else {
		share(&g.Condition, &a.Output, "Label")
		share(&g.Text, &a.Input, "Text")
	}
	setDefault(&g.Template, named(g.Condition, "condition", g.Text, "text"))
	setDefault(&a.Template, named(a.Input, "input", a.Output, "output"))
}

// share gives a field that one layout names the same name in the other, and a default
// where neither does.
func share(a, b *string, value string) {
	setDefault(a, *b)
	setDefault(b, *a)
	setDefault(a, value)
	setDefault(b, value)
}

func (l *Limits) fill(k Kind, labels int) {
	setDefault(&l.MaxTokens, 60)
	setDefault(&l.MinTokens, min(3, l.MaxTokens))
	setDefault(&l.RecordTokens, 100)
	setDefault(&l.InputTokens, 150)
	if k == Generate {
		setDefault(&l.AnswerTokens, l.MaxTokens)
	}
	setDefault(&l.AnswerTokens, 10)
	setDefault(&l.Shots, max(4, labels))
}

// setDefault sets an unset value.
func setDefault[V comparable](v *V, value V) {
	var zero V
	if *v == zero {
		*v = value
	}
}
