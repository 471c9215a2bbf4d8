package start

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/flags"
	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/schema"
)

// interview asks the questions that flags do not answer, on a terminal.
type interview struct {
	*cli.Program
	active bool
	in     *bufio.Reader
}

// say prints a line between questions.
func (a *interview) say(format string, args ...any) {
	if a.active {
		fmt.Fprintf(a.Stderr, format+"\n", args...)
	}
}

// text fills in a flag: with the answer to a question on a terminal, where an empty line takes what
// is suggested; with the suggestion for --yes. What is left empty is an error.
func (a *interview) text(to *string, flag, question, suggested string) error {
	if err := a.maybe(to, flag, question, suggested); err != nil || *to != "" {
		return err
	}
	return cli.Usage("--%s is missing: %s; on a terminal it is asked for", flag, question)
}

// maybe is text for what may stay empty.
func (a *interview) maybe(to *string, flag, question, suggested string) error {
	if *to != "" || !a.active {
		return nil
	}
	if a.in == nil {
		a.in = bufio.NewReader(a.Stdin)
	}
	fmt.Fprintf(a.Stderr, "%s%s: ", question, ui.If(suggested != "", " ["+ui.Visible(suggested)+"]"))
	line, err := a.in.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read an answer: %w", err)
	}
	if *to = strings.TrimSpace(line); *to == "" {
		*to = suggested
	}
	return nil
}

// ask fills in what flags left open.
func (o *initOptions) ask(a *interview) error {
	if o.yes {
		otherwise(&o.kind, o.guessKind())
	}
	if err := a.text(&o.kind, "kind", "what to make of them: "+strings.Join(initKinds(), ", "), o.guessKind()); err != nil {
		return err
	}
	if !slices.Contains(initKinds(), o.kind) {
		return cli.Usage("--kind is %q, it should be one of %s", o.kind, strings.Join(initKinds(), ", "))
	}
	steps := []func(*interview) error{o.askText, o.askLabels}
	switch o.kind {
	case string(prompt.Generate):
		steps = []func(*interview) error{o.askGenerate}
	case kindTable:
		steps = []func(*interview) error{o.askTable}
	}
	for _, step := range append(steps, o.askBudget) {
		if err := step(a); err != nil {
			return err
		}
	}
	return nil
}

func otherwise(to *string, suggested string) {
	if *to == "" {
		*to = suggested
	}
}

// column asks for one, and checks that it is there.
func (o *initOptions) column(a *interview, to *string, flag, question, suggested string) error {
	if o.yes {
		otherwise(to, suggested)
	}
	if o.yes && *to == "" && o.names != nil {
		return cli.Usage("--%s is missing, %s, and no name suggests it: the columns are %s (--kind says what to make of them)", flag, question, ui.Visible(strings.Join(o.names, ", ")))
	}
	if err := a.text(to, flag, question, suggested); err != nil {
		return err
	}
	return o.has(flag, *to)
}

func (o *initOptions) askText(a *interview) error {
	if err := o.column(a, &o.text, "text", "the column of the text", o.guessText()); err != nil {
		return err
	}
	if err := o.column(a, &o.label, "label", "the column of the label", o.guessLabel()); err != nil {
		return err
	}
	if o.text == o.label {
		return cli.Usage("--text and --label are both %q: they should be two columns", o.text)
	}
	return nil
}

func (o *initOptions) askLabels(a *interview) error {
	if o.labels == nil && !o.discover {
		var list string
		question := "all labels there can be, with commas between them (they become public; empty: have them found for a tenth of ε)"
		if err := a.maybe(&list, "labels", question, ""); err != nil {
			return err
		}
		if o.labels, o.discover = splitList(list), list == "" && a.active; len(o.labels) == 0 && !o.discover {
			if o.size == "" {
				return cli.Usage("--labels and --size are missing: all labels that there can be, such as --labels Billing,Delivery, which are not looked up in the records (--discover-labels has them found for a tenth of ε), and about how many records there are, such as --size 20000")
			}
			return cli.Usage("--labels is missing: all labels that there can be, such as --labels Billing,Delivery; they are not looked up in the records, which would not be private; --discover-labels has them found for a tenth of ε")
		}
	}
	if o.labels != nil && o.discover {
		return cli.Usage("--labels and --discover-labels exclude each other: labels are known, or found")
	}
	return nil
}

func splitList(text string) (out []string) {
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

func (o *initOptions) askGenerate(a *interview) error {
	if err := o.column(a, &o.input, "input", "the column of the input", o.guessInput()); err != nil {
		return err
	}
	if err := o.column(a, &o.output, "output", "the column of the output", o.guessOutput()); err != nil {
		return err
	}
	if o.input == o.output {
		return cli.Usage("--input and --output are both %q: they should be two columns", o.input)
	}
	if err := a.text(&o.inputs, "inputs", "a public file of inputs to write outputs for, a line each (no record of yours)", ""); err != nil {
		return err
	}
	if !cli.Exists(o.inputs) {
		return cli.Usage("%s: --inputs names a public file of inputs, a line each", cli.Absent(o.inputs))
	}
	return nil
}

// askTable asks what every column allows.
func (o *initOptions) askTable(a *interview) error {
	if o.columns == nil && a.active && o.names != nil {
		a.say("For every column: LOW..HIGH for numbers, A|B|C for values, or nothing to leave it out.\nThat is public: take it from a form or a code book, not from the rows.")
		for _, name := range o.names {
			var rule string
			if err := a.maybe(&rule, "column", "  "+ui.Visible(name), ""); err != nil {
				return err
			}
			if rule != "" {
				o.columns = append(o.columns, name+"="+rule)
			}
		}
	}
	if o.columns == nil && o.names == nil {
		return cli.Usage("--column is missing: what each column allows, such as --column 'age=18..80' --column 'repaid=yes|no'")
	}
	for _, spec := range o.columns {
		name, _, _ := strings.Cut(spec, "=")
		if err := o.has("column", name); err != nil {
			return err
		}
	}
	if o.columns == nil { // the schema is to be filled in
		return o.has("label", o.label)
	}
	if err := a.text(&o.label, "label", "the column to predict", ""); err != nil {
		return err
	}
	return o.has("label", o.label)
}

// columnOf reads NAME=LOW..HIGH or NAME=A|B|C.
func columnOf(spec string) (c schema.Column, err error) {
	name, rule, ok := strings.Cut(spec, "=")
	c.Name = strings.TrimSpace(name)
	if low, high, numeric := strings.Cut(rule, ".."); ok && numeric {
		c.Kind, c.Clamp = schema.Numeric, true
		if c.Low, err = method.ParseNumber(low); err == nil {
			c.High, err = method.ParseNumber(high)
		}
		if err != nil {
			return c, cli.Usage("--column is %q: %w", spec, err)
		}
		return c, nil
	}
	c.Kind = schema.Categorical
	for v := range strings.SplitSeq(rule, "|") {
		c.Values = append(c.Values, strings.TrimSpace(v))
	}
	if !ok || c.Name == "" || len(c.Values) < 2 {
		return c, cli.Usage("--column is %q, it should be NAME=LOW..HIGH for numbers, or NAME=A|B|C for values", spec)
	}
	return c, nil
}

// askBudget asks how many records there are and what may be spent.
func (o *initOptions) askBudget(a *interview) error {
	question := "about how many records there are, a public number, or auto to count them for a twentieth of ε"
	if o.kind == kindTable {
		question = "about how many rows there are, a public number"
	}
	if err := a.text(&o.size, "size", question, ""); err != nil {
		return err
	}
	if o.size != cli.SizeAuto || o.kind == kindTable {
		n, err := cli.SizeOf(o.size, "records")
		if err != nil {
			return err
		}
		o.size = strconv.FormatInt(n, 10)
	}
	if !o.epsilon.Given {
		said := "1"
		if a.active {
			said = ""
		}
		if err := a.text(&said, "epsilon", "the most ε that the examples may cost", "1"); err != nil {
			return err
		}
		if err := o.epsilon.Set(said); err != nil {
			return cli.Usage("--epsilon: %w", err)
		}
	}
	if !(o.epsilon.Value > 0) {
		return cli.Usage("--epsilon is %s, it should be above 0, such as 1", ui.Whole(o.epsilon.Value))
	}
	unit := o.unit.String()
	if err := a.maybe(&unit, "unit", "the column of whom to protect with all their records (empty: each record by itself)", ""); err != nil {
		return err
	}
	if err := o.unit.Set(unit); err != nil {
		return cli.Usage("--unit: %w", err)
	}
	if !o.budget.Given {
		twice := ui.Whole(2 * o.epsilon.Value)
		said := twice
		if a.active {
			said = ""
		}
		if err := a.text(&said, "budget", "the most ε that all runs together may cost: a run that you repeat counts again", twice); err != nil {
			return err
		}
		if err := o.budget.Set(said); err != nil {
			return cli.Usage("--budget: %w", err)
		}
	}
	if o.budget.Value < o.epsilon.Value {
		return cli.Usage("--budget is %s, which does not pay for a run of --epsilon %s: give it more, such as %s for two runs", ui.Whole(o.budget.Value), ui.Whole(o.epsilon.Value), ui.Whole(2*o.epsilon.Value))
	}
	if flags.IsHTTP(o.model) {
		return cli.Usage("--model is the address of a server: those are in your own configuration, since they see records; leave it out, and see \"sotto --help\"")
	}
	return o.has("unit", o.unit.Unit.Column())
}
