package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sotto-dp/sotto/eval/worth"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/prompt"
)

// evalResult is what sets are worth. The figures of the first are at the top too, so that
// programs that evaluate one set need not look into rows.
type evalResult struct {
	*worth.Result
	Test        string `json:"test"`
	Predictions string `json:"predictions,omitempty"`
}

func (r *evalResult) Print(p *ui.Page) {
	short, long, _ := strings.Cut(r.Metric, " ") // what follows is the encoder
	p.Head("%s %s on %s questions of %s", short, ofModel(r.Model), ui.Thousands(int64(r.N)), r.Task)
	t := ui.NewTable("examples", "#shots", "#"+short, "#95 % interval")
	// A prompt that records chose says itself whether its labels are calibrated.
	raw := slices.ContainsFunc(r.Rows, func(row worth.Row) bool { return row.Uncalibrated != nil })
	if raw {
		t.Column("#uncalibrated")
	}
	other := r.Rows[0].Other
	if other != nil {
		t.Column("#" + formColumns[other.Form])
	}
	t.Column("#tokens")
	room := ui.Width
	for _, name := range t.Columns()[1:] {
		room -= 2 + max(len("1,234,567"), utf8.RuneCountInString(name))
	}
	for _, row := range r.Rows {
		line := []string{ui.Ending(row.Demos, max(8, room-2)), fmt.Sprint(row.Shots), ui.Percent(row.Value), ui.Between(row.Low, row.High)}
		switch {
		case raw && row.Uncalibrated != nil:
			line = append(line, ui.Percent(*row.Uncalibrated))
		case raw:
			line = append(line, ui.Percent(row.Value))
		}
		switch {
		case other != nil && row.Other != nil:
			line = append(line, ui.Percent(row.Other.Value))
		case other != nil:
			line = append(line, "–")
		}
		t.Add(append(line, ui.Thousands(row.ModelTokens))...)
	}
	t.Paint = func(row, column int) string {
		return ui.If(column == 0 && !r.Rows[row].Private, ui.Red)
	}
	p.Table(t)
	r.printOthers(p)
	r.printComparisons(p)
	if len(r.Rows) == 1 {
		printLabels(p, r.Rows[0])
	} else {
		r.printByLabel(p)
	}
	p.Line("")
	r.printNotes(p, long)
}

// ofModel says who answers: a model, or where it has no name nobody but evidence.
func ofModel(name string) string {
	if name == "" {
		return "without a language model"
	}
	return "of " + name
}

// formColumns and formWords name the forms of prompts.
var (
	formColumns = map[prompt.Form]string{prompt.ChatForm: "as a chat", prompt.MessageForm: "as one message", prompt.TextForm: "as text"}
	formWords   = map[prompt.Form]string{
		prompt.ChatForm:    "turns of a chat, as chat.json has them; answers are what the model writes",
		prompt.MessageForm: "one message of a chat, as chat.json has it; answers are what the model writes",
		prompt.TextForm:    "one text, as prompt.txt has it",
	}
)

// printOthers shows metrics beside the one that was asked for.
func (r *evalResult) printOthers(p *ui.Page) {
	names := slices.Sorted(maps.Keys(r.Rows[0].Metrics))
	if len(names) == 0 {
		return
	}
	t := ui.NewTable("also")
	for _, name := range names {
		t.Column("#" + name)
	}
	for _, row := range r.Rows {
		line := []string{ui.Ending(row.Demos, 22)}
		for _, name := range names {
			line = append(line, ui.Percent(row.Metrics[name]))
		}
		t.Add(line...)
	}
	p.Line("")
	p.Table(t)
}

func (r *evalResult) printComparisons(p *ui.Page) {
	if len(r.Comparisons) == 0 {
		return
	}
	t := ui.NewTable("compared on the same questions", "#points", "#95 % interval", "#p", "#adjusted")
	for _, c := range r.Comparisons {
		t.Add(
			ui.Ending(c.A, 13)+" less "+ui.Ending(c.B, 13), fmt.Sprintf("%+.1f", 100*c.Difference),
			fmt.Sprintf("%+.1f to %+.1f", 100*c.Low, 100*c.High), chance(c.P), chance(c.Adjusted),
		)
	}
	t.Paint = func(row, column int) string {
		c := r.Comparisons[row]
		if column == 1 && c.Adjusted < 0.05 {
			return map[bool]string{true: ui.Green, false: ui.Red}[c.Difference > 0]
		}
		return ""
	}
	p.Line("")
	p.Table(t)
}

// printLabels shows which labels were taken for which, where that fits the page.
func printLabels(p *ui.Page, r worth.Row) {
	if len(r.Labels) == 0 {
		return
	}
	p.Line("")
	t := ui.NewTable("wanted", "#items", "#right")
	width := 0
	for _, l := range r.Labels {
		width = max(width, utf8.RuneCountInString(l.Label))
	}
	matrix := 2+min(width, 20)+2+5+2+7+len(r.Labels)*6 <= ui.Width
	if matrix {
		for i := range r.Labels {
			t.Column("#" + "→" + fmt.Sprint(i+1))
		}
	} else {
		t.Column("otherwise taken for")
	}
	for i, l := range r.Labels {
		line := []string{ui.Cut(l.Label, 20), fmt.Sprint(l.N), share(l.Accuracy, l.N)}
		if matrix {
			line[0] = fmt.Sprintf("%d %s", i+1, line[0])
			for _, n := range r.Confusion[i] {
				line = append(line, fmt.Sprint(n))
			}
		} else {
			line = append(line, strings.Join(mistakes(r.Labels, r.Confusion[i], i), ", "))
		}
		t.Add(line...)
	}
	if matrix {
		t.Paint = func(row, column int) string {
			return ui.If(column == row+3, ui.Green)
		}
	}
	p.Table(t)
}

// mistakes lists what a label was taken for, the most frequent first.
func mistakes(labels []worth.Label, counts []int, right int) []string {
	var order []int
	for j, n := range counts {
		if j != right && n > 0 {
			order = append(order, j)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return counts[b] - counts[a] })
	var words []string
	for _, j := range order[:min(3, len(order))] {
		words = append(words, fmt.Sprintf("%s %d", labels[j].Label, counts[j]))
	}
	return words
}

// printByLabel shows the accuracy of each label with each set.
func (r *evalResult) printByLabel(p *ui.Page) {
	if len(r.Rows[0].Labels) == 0 {
		return
	}
	t := ui.NewTable("wanted", "#items")
	for _, row := range r.Rows {
		t.Column("#" + ui.Ending(row.Demos, 12))
	}
	for i, l := range r.Rows[0].Labels {
		line := []string{ui.Cut(l.Label, 20), fmt.Sprint(l.N)}
		for _, row := range r.Rows {
			line = append(line, share(row.Labels[i].Accuracy, l.N))
		}
		t.Add(line...)
	}
	p.Line("")
	p.Table(t)
}

func (r *evalResult) printNotes(p *ui.Page, encoder string) {
	notes := []string{"Intervals are for other questions of the same kind, with the same demonstrations and the same model."}
	for _, row := range r.Rows {
		if row.Low == row.High {
			notes = append(notes, fmt.Sprintf("With %s all questions have the same score, so there is no interval.", row.Demos))
		}
		if row.Unanswered > 0 {
			notes = append(notes, fmt.Sprintf("With %s, %s none of the labels, which counts as wrong.", row.Demos, ui.Were(row.Unanswered, "answer")))
		}
	}
	if c := r.Commonest; c != nil && len(r.Rows[0].Labels) > 1 {
		notes = append(notes, fmt.Sprintf("A blind guess is right on %.0f %%, the commonest label (%q) on %.0f %%.", 100/float64(len(r.Rows[0].Labels)), c.Label, 100*c.Share))
	}
	first := r.Rows[0]
	if first.Other != nil {
		notes = append(notes, fmt.Sprintf("Prompts are %s; %q is for %s. --form measures one of the two.", formWords[first.Form], formColumns[first.Other.Form], formWords[first.Other.Form]))
	}
	for _, note := range notes {
		p.Text(2, note)
	}
	p.Line("")
	p.Facts(
		"answers", r.How,
		"prompts", ui.If(r.Model != "", formWords[first.Form]),
		"encoder", strings.Trim(encoder, "()"),
		"questions", r.Test,
		"every answer", r.Predictions,
		"time", fmt.Sprintf("%s, %s", ui.Span(r.Seconds), r.speed()),
	)
}

// share is of n items, of which there may be none.
func share(v float64, n int) string {
	if n == 0 {
		return "–"
	}
	return ui.Percent(v)
}

// chance prints a p-value.
func chance(p float64) string {
	if p < 0.001 {
		return "< 0.001"
	}
	return fmt.Sprintf("%.3f", p)
}

// speed counts the time of answering alone.
func (r *evalResult) speed() string {
	var seconds float64
	answers := 0
	for _, row := range r.Rows {
		seconds += row.Seconds
		answers += r.N
		if row.Other != nil {
			answers += r.N
		}
	}
	v := float64(answers) / seconds
	if v < 10 {
		return fmt.Sprintf("%.2f items/s", v)
	}
	return fmt.Sprintf("%.0f items/s", v)
}
