package prompt

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sotto-dp/sotto/internal/sys/document"
)

// checkGeneration checks the layout of texts. Names missing in said are defaults, or come
// from the other layout, where they are checked.
func (t Task) checkGeneration(found *document.Problems, said Generation) {
	g := t.Generate
	if g.Instruction == "" && g.Template == named(g.Condition, "condition", g.Text, "text") {
		found.Wrong("generate.instruction", "it is missing", "say what is to be written, for example \"Given a label, write a text of that kind.\"; or lay prompts out with generate.template")
	}
	checkInstruction(found, "generate.instruction", g.Instruction)
	checkFieldName(found, "generate.condition", said.Condition)
	checkFieldName(found, "generate.text", said.Text)
	l, err := t.checkTemplate(found, "generate.template", g.Template, textField)
	if err == nil && l.count(conditionField) == 0 {
		found.Warn("generate.template", "the condition is never used", "put {condition} in, otherwise all texts are of one kind")
	}
}

func (t Task) checkAnswering(found *document.Problems, said AnswerLayout) {
	a := t.Answer
	last, question := conditionField, textField
	if t.Kind == Generate {
		last, question = textField, conditionField
	}
	if a.Instruction == "" && t.Kind == Classify {
		found.Warn("answer.instruction", "it is missing", "say what is to be answered, for example \"Classify the texts into the categories of A and B.\"")
	}
	checkInstruction(found, "answer.instruction", a.Instruction)
	checkFieldName(found, "answer.input", said.Input)
	checkFieldName(found, "answer.output", said.Output)
	l, err := t.checkTemplate(found, "answer.template", a.Template, last)
	if err == nil && l.count(question) == 0 {
		found.Wrong("answer.template", "the question is never used", "put {input} in")
	}
	t.checkNamed(found)
}

// checkNamed warns if the instruction of a classifier does not name a label.
func (t Task) checkNamed(found *document.Problems) {
	if t.Kind != Classify || t.Answer.Instruction == "" {
		return
	}
	var missing []string
	named := fold(t.Answer.Instruction)
	for _, l := range t.Labels {
		if f := fold(l); f != "" && !strings.Contains(named, f) {
			missing = append(missing, l)
		}
	}
	if len(missing) > 0 {
		found.Warn("answer.instruction", fmt.Sprintf("it does not name %s", document.Quote(missing)), "name every label as it is to be answered: models choose better when they see what there is")
	}
}

func checkInstruction(found *document.Problems, where, s string) {
	switch {
	case !utf8.ValidString(s):
		found.Wrong(where, "it is not UTF-8", "save the file as UTF-8")
	case s != "" && strings.TrimSpace(s) == "":
		found.Wrong(where, "it is blank", "say what is to be done")
	case strings.TrimSpace(s) != s:
		found.Wrong(where, "it has spaces around it", "remove them")
	}
	for _, k := range []string{"{condition}", "{text}", "{label}", "{labels}", "{input}", "{output}"} {
		if strings.Contains(s, k) {
			found.Warn(where, k+" is not replaced in an instruction", "write it out, or put it in the template")
		}
	}
}

func checkFieldName(found *document.Problems, where, s string) {
	if s == "" {
		return // there is a default
	}
	if what := document.Flaw(s); what != "" {
		found.Wrong(where, what, "write the name that stands before the colon in a prompt")
	} else if strings.HasSuffix(s, ":") {
		found.Wrong(where, "it ends with a colon", "leave it out: the layout puts one")
	}
}

// checkTemplate checks that a template ends with a field and has each once.
func (t Task) checkTemplate(found *document.Problems, where, template string, last field) (layout, error) {
	names := map[field]string{textField: "{text}", conditionField: "{label}"}
	switch {
	case t.Kind == Generate:
		names = map[field]string{textField: "{output}", conditionField: "{input}"}
	case strings.HasPrefix(where, "answer"):
		names = map[field]string{textField: "{input}", conditionField: "{output}"}
	}
	if !utf8.ValidString(template) {
		found.Wrong(where, "it is not UTF-8", "save the file as UTF-8")
		return nil, errTemplate
	}
	l, err := parseTemplate(t.Kind, template)
	if err != nil {
		found.Wrong(where, err.Error(), "placeholders are %s; write braces that are meant twice, as {{ and }}", t.Kind.placeholders())
		return nil, errTemplate
	}
	if len(l) == 0 || l[len(l)-1].field != last {
		found.Wrong(where, fmt.Sprintf("it does not end with %s", names[last]), "put %s last: a prompt is the template up to there", names[last])
		return l, errTemplate
	}
	if n := l.count(last); n > 1 {
		found.Wrong(where, fmt.Sprintf("%s occurs %d times", names[last], n), "use it once, at the end: what comes before it is shown to the model as the question")
	}
	return l, nil
}

// errTemplate: what is wrong with the template is among the problems.
var errTemplate = errors.New("the template is wrong")

func (l layout) count(f field) int {
	n := 0
	for _, p := range l {
		if p.field == f {
			n++
		}
	}
	return n
}

// maxLimit bounds limits: no model that this program runs has a use for more.
const maxLimit = 1 << 16

// limit is one of [Limits], as files call it.
type limit struct {
	key   string
	value int
}

func (l Limits) list() []limit {
	return []limit{
		{"max_tokens", l.MaxTokens},
		{"min_tokens", l.MinTokens},
		{"record_tokens", l.RecordTokens},
		{"input_tokens", l.InputTokens},
		{"answer_tokens", l.AnswerTokens},
		{"shots", l.Shots},
	}
}

func (t Task) checkLimits(found *document.Problems) {
	l := t.Limits
	for _, c := range l.list() {
		if c.value < 1 || c.value > maxLimit {
			found.Wrong("limits."+c.key, fmt.Sprintf("%d is not from 1 to %d", c.value, maxLimit), "give a number in that range, or leave it out for the default")
		}
	}
	if l.MinTokens > l.MaxTokens && l.MaxTokens > 0 {
		found.Wrong("limits.min_tokens", fmt.Sprintf("%d is more than max_tokens, %d", l.MinTokens, l.MaxTokens), "lower it, or raise max_tokens")
	}
	if l.MaxTokens > 500 && l.MaxTokens <= maxLimit {
		found.Warn("limits.max_tokens", fmt.Sprintf("%d tokens are a long text", l.MaxTokens), "every token costs privacy: demonstrations of 15 to 100 tokens do")
	}
}
