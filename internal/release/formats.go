package release

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/sotto-dp/sotto/internal/reply"
	"github.com/sotto-dp/sotto/prompt"
)

// markMember marks JSON of releases without a guarantee.
const markMember = "not_private"

// member is a name and a value of an object whose order is kept.
type member struct {
	name  string
	value any
}

type object []member

// MarshalJSON implements [json.Marshaler].
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := encode(m.name, "")
		if err != nil {
			return nil, err
		}
		value, err := encode(m.value, "")
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// encode returns JSON with < and > unescaped.
func encode(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

func (r Release) mark(o object) object {
	if r.NotPrivate() {
		o = append(o, member{markMember, true})
	}
	return o
}

// columns returns the data's names of an example's input and output.
func columns(t prompt.Task) (input, output string) {
	if t.Kind == prompt.Generate {
		return t.Label, t.Text
	}
	return t.Text, t.Label
}

// lines returns one JSON object per line.
func lines(r Release, line func(prompt.Example) object) ([]byte, error) {
	var b bytes.Buffer
	for _, e := range r.Examples {
		data, err := encode(r.mark(line(e)), "")
		if err != nil {
			return nil, err
		}
		b.Write(data)
		b.WriteByte('\n')
	}
	return b.Bytes(), nil
}

func demos(r Release) ([]byte, error) {
	input, output := columns(r.Task)
	return lines(r, func(e prompt.Example) object {
		return object{{input, e.Input}, {output, e.Output}}
	})
}

// finetune returns what OpenAI's fine-tuning takes: a conversation a line.
func finetune(r Release) ([]byte, error) {
	return lines(r, func(e prompt.Example) object {
		return object{{"messages", prompt.Prompt{Examples: []prompt.Example{e}}.Turns(r.Task)}}
	})
}

// chat returns the first turns of a conversation, and how a question is laid out as the
// next one.
func chat(r Release) ([]byte, error) {
	p := r.shown()
	place, question := openQuestion(r.Task, p)
	o := object{{"messages", append([]prompt.Turn{}, p.Turns(r.Task)...)}, {"question", question}, {"placeholder", place}}
	if !r.Task.Open() {
		o = append(o, member{"labels", r.Task.Labels})
		if len(r.Task.Aliases) > 0 {
			o = append(o, member{"aliases", r.Task.Aliases})
		}
	}
	// How an answer is asked for and read: as package reply does it.
	t := r.Task.WithDefaults()
	limit, err := reply.Limit(context.Background(), nil, t)
	if err != nil {
		return nil, err
	}
	o = append(o, object{{"name", reply.Name(t)}, {"stop", t.Stop}, {"max_tokens", limit}}...)
	return encodeFile(r.mark(o))
}

// shown is the prompt of the release as turns: those in which it was chosen, if it was.
func (r Release) shown() prompt.Prompt {
	p := prompt.Prompt{Examples: r.fixed(), Form: prompt.ChatForm}
	if r.Prompt != nil && r.Prompt.Form.Turns() {
		p.Form = r.Prompt.Form
	}
	return p
}

// fixed are the examples for clients that give all questions the same.
func (r Release) fixed() []prompt.Example {
	if r.Prompt == nil {
		return r.Examples
	}
	return prompt.Prompt{Examples: r.Examples, Nearest: r.Prompt.Nearest}.Shown()
}

// openQuestion returns a question's layout, and what stands in the place of its text, which
// does not occur in it otherwise.
func openQuestion(t prompt.Task, p prompt.Prompt) (place, layout string) {
	input, _ := fields(t)
	empty := p.Question(t, slot(0)).Content
	for place = "{" + input + "}"; strings.Contains(empty, place); place = "{" + input + "}" {
		input += "_"
	}
	return place, p.Question(t, place).Content
}

func prefix(r Release) ([]byte, error) {
	var b strings.Builder
	if r.NotPrivate() {
		fmt.Fprintf(&b, "%s: %s.\n", Mark, r.why())
	}
	for _, s := range (prompt.Prompt{Examples: r.fixed()}).Segments(r.Task) {
		b.WriteString(s)
	}
	return []byte(b.String()), nil
}

// identifier is a name that Python's keyword arguments and templates take.
var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// fields returns the columns where Python can name them, else input and output.
func fields(t prompt.Task) (input, output string) {
	input, output = columns(t)
	if !identifier.MatchString(input) || !identifier.MatchString(output) {
		return "input", "output"
	}
	return input, output
}

// dspy returns the state that dspy.Predict("input -> output").load reads: its signature's
// instructions and fields, and the demonstrations. Versions are left out, so that none is
// found to differ.
func dspy(r Release) ([]byte, error) {
	input, output := fields(r.Task)
	list := []object{}
	for _, e := range r.fixed() {
		list = append(list, r.mark(object{{input, e.Input}, {output, e.Output}}))
	}
	instructions := r.Task.Instruction()
	if instructions == "" {
		instructions = fmt.Sprintf("Given the fields `%s`, produce the fields `%s`.", input, output)
	}
	field := func(name, title string) object {
		return object{{"prefix", title + ":"}, {"description", "${" + name + "}"}}
	}
	return encodeFile(r.mark(object{
		{"traces", []any{}},
		{"train", []any{}},
		{"demos", list},
		{"signature", object{
			{"instructions", instructions},
			{"fields", []object{field(input, r.Task.Answer.Input), field(output, r.Task.Answer.Output)}},
		}},
		{"lm", nil},
		{"metadata", object{{"dependency_versions", object{}}}},
	}))
}

// slot returns a placeholder for a value: a character that no task has.
func slot(i int) string { return string(rune(0xF0000 + i)) }

func encodeFile(v any) ([]byte, error) {
	data, err := encode(v, "  ")
	return append(data, '\n'), err
}
