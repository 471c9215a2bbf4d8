package schema

import (
	"slices"

	"github.com/sotto-dp/sotto/internal/sys/document"
	"github.com/sotto-dp/sotto/prompt"
)

// Task returns the task of answering for a row in words what its label is. Its records have
// the columns text and label, which hold [Schema.Text] and [Schema.Answer]; a demonstration
// reads "<text> Answer: <label>", as in Carey et al., tables VIII and IX.
func (s Schema) Task() (prompt.Task, error) {
	s = s.WithDefaults()
	if found := s.Check(); !document.Valid(found) {
		return prompt.Task{}, &InvalidError{Kind: "schema", Name: s.Name, Problems: found}
	}
	i := s.LabelColumn()
	if i < 0 {
		return prompt.Task{}, &InvalidError{Kind: "schema", Name: s.Name, Problems: []Problem{{
			Where: "label", What: "it is missing", Fix: "name the column that is to be answered, for example label = \"income\"",
		}}}
	}
	c := s.Columns[i]
	t := prompt.Task{
		Name: s.Name, Title: s.Title, Kind: prompt.Classify, Text: "text", Label: "label",
		Generate: prompt.Generation{
			Instruction: "Given an answer, describe something that it is the answer for.",
			Template:    "Answer: {label}\nDescription: {text}",
		},
		Answer: prompt.AnswerLayout{Template: "{input} Answer: {output}"},
		Limits: prompt.Limits{MaxTokens: s.rowLength(), RecordTokens: rowTokens, InputTokens: rowTokens},
	}
	for _, v := range c.Domain() {
		t.Labels = append(t.Labels, c.phrase(v))
	}
	found := t.Check()
	if slices.ContainsFunc(found, func(p prompt.Problem) bool { return !p.Warning }) {
		return prompt.Task{}, &prompt.InvalidError{Kind: "task", Name: s.Name, Problems: found}
	}
	return t.WithDefaults(), nil
}

// rowTokens is room for a row in words: fourteen columns take about 200 tokens.
const rowTokens = 512

// rowLength estimates the number of tokens of a row in words, generously, from a made-up
// row.
func (s Schema) rowLength() int {
	const letters, minTokens = 3, 32 // of a token
	return min(rowTokens, max(minTokens, len(s.Text(s.Example()))/letters))
}
