package prompt

import (
	"fmt"
	"strings"

	"github.com/sotto-dp/sotto/internal/sys/document"
)

// GenerationPrefix returns what prompts for a text begin with: the instruction.
func (t Task) GenerationPrefix() string { return prefix(t.WithDefaults().Generate.Instruction) }

// GenerationHead returns the head of a text that fits a condition. It ends where the text,
// with a space before it, begins.
func (t Task) GenerationHead(condition string) string {
	return t.generation().head(t.values(condition, ""))
}

// GenerationDemo returns an example of a text that fits a condition.
func (t Task) GenerationDemo(condition, text string) string {
	return t.generation().demo(t.values(condition, text))
}

// AnswerPrefix returns what prompts for an answer begin with: the instruction.
func (t Task) AnswerPrefix() string { return prefix(t.WithDefaults().Answer.Instruction) }

// AnswerItem returns a question. It ends where the answer, with a space before it, begins.
func (t Task) AnswerItem(input string) string {
	return t.answering().head(t.values(t.backward(input, "")))
}

// AnswerDemo returns an example of a question with its answer.
func (t Task) AnswerDemo(input, output string) string {
	return t.answering().demo(t.values(t.backward(input, output)))
}

func prefix(instruction string) string {
	if instruction == "" {
		return ""
	}
	return instruction + "\n"
}

// field is one of the two that a record has.
type field int

const (
	none field = iota
	conditionField
	textField
)

// backward gives condition and text of a question and its answer.
func (t Task) backward(input, output string) (condition, text string) {
	if t.Kind == Generate {
		return input, output
	}
	return output, input
}

func (t Task) values(condition, text string) map[field]string {
	return map[field]string{conditionField: strings.TrimSpace(condition), textField: strings.TrimSpace(text)}
}

// fieldOf reports what a placeholder stands for, none if nothing.
func (k Kind) fieldOf(placeholder string) field {
	generation := k == Generate
	switch placeholder {
	case "condition":
		return conditionField
	case "text":
		return textField
	case "label":
		if !generation {
			return conditionField
		}
	case "input":
		if generation {
			return conditionField
		}
		return textField
	case "output":
		if generation {
			return textField
		}
		return conditionField
	}
	return none
}

// placeholders that a kind of task knows, for messages.
func (k Kind) placeholders() string {
	if k == Generate {
		return "{input} or {condition}, and {output} or {text}"
	}
	return "{label}, {condition} or {output}, and {text} or {input}"
}

// layout is a parsed template: pieces of text, each followed by a field. The last
// piece may have none.
type layout []piece

type piece struct {
	before string
	field  field
}

// generation and answering parse the templates. A task that fails its check gets what
// can be made of it.
func (t Task) generation() layout {
	l, _ := parseTemplate(t.Kind, t.WithDefaults().Generate.Template)
	return l
}

func (t Task) answering() layout {
	l, _ := parseTemplate(t.Kind, t.WithDefaults().Answer.Template)
	return l
}

// parseTemplate reads {placeholders}; braces that are meant are written twice.
func parseTemplate(k Kind, template string) (layout, error) {
	var l layout
	after, err := document.Template(template, func(before, name string) error {
		f := k.fieldOf(name)
		if f == none {
			return fmt.Errorf("{%s} is no placeholder here", document.Shorten(name))
		}
		l = append(l, piece{before, f})
		return nil
	})
	if err == nil && after != "" {
		l = append(l, piece{after, none})
	}
	return l, err
}

// named returns the template of two fields with their names, a line each.
func named(first, a, second, b string) string {
	return escapes.Replace(first) + ": {" + a + "}\n" + escapes.Replace(second) + ": {" + b + "}"
}

// escapes make a name safe to put in a template.
var escapes = strings.NewReplacer("{", "{{", "}", "}}")

// head returns all but the last field and the spaces before it: tokens of words carry the
// space in front of them.
func (l layout) head(values map[field]string) string {
	var b strings.Builder
	b.WriteByte('\n')
	for i, p := range l {
		switch {
		case i == len(l)-1 || values[p.field] == "":
			b.WriteString(strings.TrimRight(p.before, " "))
		default:
			b.WriteString(p.before)
		}
		if i < len(l)-1 {
			b.WriteString(values[p.field])
		}
	}
	return b.String()
}

func (l layout) demo(values map[field]string) string {
	head := l.head(values)
	if len(l) == 0 {
		return head
	}
	last := l[len(l)-1]
	if value := values[last.field]; value != "" {
		spaces := last.before[len(strings.TrimRight(last.before, " ")):]
		return head + spaces + value + "\n"
	}
	return head + "\n"
}
