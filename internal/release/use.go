package release

import (
	"bytes"
	_ "embed"
	"strings"
	"text/template"
)

//go:embed use.md.tmpl
var useText string

var useTemplate = template.Must(template.New("use").Parse(useText))

//go:embed use_learned.md.tmpl
var useLearnedText string

var useLearnedTemplate = template.Must(template.New("use of a classifier").Parse(useLearnedText))

// use returns code to paste for the libraries that programs ask models with.
func use(r Release) ([]byte, error) {
	place, question := openQuestion(r.Task, r.shown())
	input, output := fields(r.Task)
	page := struct {
		Mark, Why, Reading, Worth string
		Question, Place           string
		Labels                    []string
		Input, Output             string
		Examples                  bool
	}{
		Question: "    " + strings.ReplaceAll(question, "\n", "\n    "),
		Place:    place, Labels: r.Task.Labels, Input: input, Output: output, Examples: !r.bare(),
	}
	if r.Prompt != nil {
		page.Reading = r.reading()
	}
	if r.Worth != nil {
		page.Worth = strings.TrimSpace(r.Worth.Sentence() + " " + r.measuredAs())
	}
	if r.NotPrivate() {
		page.Mark, page.Why = Mark, r.why()
	}
	var b bytes.Buffer
	of := useTemplate
	if r.learned() {
		of = useLearnedTemplate
	}
	err := of.Execute(&b, page)
	return b.Bytes(), err
}
