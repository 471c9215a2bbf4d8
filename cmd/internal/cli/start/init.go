package start

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/config"
	tables "github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/sys/machine"
	"github.com/sotto-dp/sotto/internal/sys/spell"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/schema"
)

// kindTable is what people begin with that is no task: a table, which has a schema.
const kindTable = "table"

// initOptions are the answers to the questions of "sotto init".
type initOptions struct {
	cli.DataFlags
	kind, text, label, input, output string
	labels                           []string
	discover                         bool
	inputs                           string
	columns                          []string
	size, model, out                 string
	unit                             cli.UnitFlag
	epsilon                          cli.Number
	budget                           cli.Number
	yes, force                       bool

	// names and kinds of the columns of the data; nil where they are in the records.
	names []string
	kinds []schema.Kind
}

func newInitCommand(p *cli.Program) *cobra.Command {
	var opt initOptions
	cmd := &cobra.Command{
		Use:   "init --data FILE",
		Short: "Begin: a task or a schema for your data, and the commands to run",
		Long: `Asks a few questions about private records, or takes the answers as flags, and
writes what the other verbs need: a task (task.toml) or the schema of a table
(schema.toml), sotto.toml for commands in the same folder, and NEXT.md with the
commands to run, which it prints too. Where answers are labels there is also
examples.csv, to fill in: a few examples of your own, which are public.

It looks at the names of columns, and where the source has them at their kinds:
the first row of a CSV file, the footer of a Parquet file, the catalogue of a
database. It reads no record, so nothing is charged and nothing leaks. What only
the records know has to come from you: labels, bounds and values are public once
they are in a file. --discover-labels has labels found for a part of ε instead.

  classify   one label of a list for a text: --text, --label, --labels
  extract    a phrase of a text: --text, --label, and labels to write for
  generate   an output for an input: --input, --output, and --inputs, a public
             file of inputs to write for
  table      rows with numbers and values: --label, and a --column for each

Questions are asked on a terminal alone. Elsewhere what is missing is an error,
and --yes takes what the names suggest. Files that are there are kept, unless
--force replaces them.

The first of the commands gives the data a budget, for two runs unless --budget
says otherwise, so that a first try does not take all of it. NEXT.md also names
a larger model that fits the free memory of this machine.` + ui.JSONKeys(initResult{}, "commands work as they are, in this order; later ones need a file of yours, or wait for requests."),
		Example: `  sotto init --data tickets.csv
  sotto init --data tickets.csv --kind classify --text message --label queue --labels Billing,Delivery --size 20000
  sotto init --data chats.csv --kind generate --input chat --output summary --inputs public.txt --size 5000 --epsilon 2
  sotto init --data loans.csv --kind table --label repaid --column 'age=18..80' --column 'repaid=yes|no' --size 20000`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a := &interview{Program: p, active: p.Keyboard && p.Screen && !p.JSON && !opt.yes}
			if !a.active && !opt.yes {
				if err := opt.complete(cmd.Flags().Changed); err != nil {
					return err
				}
			}
			return runBegin(cmd.Context(), a, opt)
		},
	}
	f := cmd.Flags()
	f.StringVar(&opt.Data, "data", "", "the private records: a `FILE`, or the address of a database; required")
	f.StringVar(&opt.Query, "query", "", "the rows of a database, as `SQL` with an ORDER BY that leaves no ties")
	cli.AddChoice(cmd, &opt.kind, "kind", "", "what to make of them: classify, extract, generate or table", initKinds()...)
	f.StringVar(&opt.text, "text", "", "the `COLUMN` of the text")
	f.StringVar(&opt.label, "label", "", "the `COLUMN` of the label, or of a table the column to predict")
	f.StringSliceVar(&opt.labels, "labels", nil, "all labels that there can be, `A,B,C`: the list is public")
	f.BoolVar(&opt.discover, "discover-labels", false, "have the labels that many records share found, for a tenth of ε")
	f.StringVar(&opt.input, "input", "", "generate: the `COLUMN` of the input")
	f.StringVar(&opt.output, "output", "", "generate: the `COLUMN` of the output")
	f.StringVar(&opt.inputs, "inputs", "", "generate: a public `FILE` of inputs to write for, a line each")
	f.StringArrayVar(&opt.columns, "column", nil, "table: what a column allows, `NAME=LOW..HIGH` or NAME=A|B|C; may be repeated")
	f.StringVar(&opt.size, "size", "", "about how many records there are, a public number `N`, or auto, which counts them for a twentieth of ε")
	opt.unit.Add(cmd)
	f.Var(&opt.epsilon, "epsilon", "the most ε that the examples may cost (default 1)")
	f.Var(&opt.budget, "budget", "the most ε that all runs on the data together may cost (default: twice --epsilon)")
	f.StringVar(&opt.model, "model", "", "the model, as --model of other verbs has it, for sotto.toml (default: none)")
	cli.AddDir(cmd, &opt.out, "out", "the `DIR` to write to (default: the working directory)")
	f.BoolVar(&opt.yes, "yes", false, "ask nothing: take what the names of columns suggest")
	f.BoolVar(&opt.force, "force", false, "replace files that are there")
	return cmd
}

// initKinds lists what people can begin with.
func initKinds() []string {
	var out []string
	for _, k := range prompt.Kinds() {
		out = append(out, string(k))
	}
	return append(out, kindTable)
}

// complete refuses a command line that leaves questions open where nobody can answer them, all at once.
func (o *initOptions) complete(given func(flag string) bool) error {
	var left []string
	for _, name := range o.needs() {
		if !given(name) {
			left = append(left, "--"+name)
		}
	}
	if len(left) == 0 {
		return nil
	}
	whole := map[string]string{
		"":                      "--kind classify --text COLUMN --label COLUMN --labels A,B,C --size N (other kinds: sotto init --help)",
		string(prompt.Classify): "--text COLUMN --label COLUMN --labels A,B,C --size N (--discover-labels has the labels found)",
		string(prompt.Extract):  "--text COLUMN --label COLUMN --labels A,B,C --size N (--discover-labels has the labels found)",
		string(prompt.Generate): "--input COLUMN --output COLUMN --inputs FILE --size N",
		kindTable:               "--label COLUMN --column 'NAME=LOW..HIGH' --column 'NAME=A|B|C' --size N",
	}[o.kind]
	are := " is"
	if len(left) > 1 {
		are = " are"
	}
	return cli.Usage("%s missing, and without a terminal nobody can be asked: sotto init --data %s%s %s; --yes takes what the names of columns suggest", strings.Join(left, ", ")+are, cmp.Or(config.Redact(o.Data), "FILE"), ui.If(o.kind != "", " --kind "+o.kind), whole)
}

// needs lists the flags without which questions stay open.
func (o *initOptions) needs() []string {
	switch o.kind {
	case string(prompt.Classify), string(prompt.Extract):
		if o.discover {
			return []string{"data", "text", "label", "size"}
		}
		return []string{"data", "text", "label", "labels", "size"}
	case string(prompt.Generate):
		return []string{"data", "input", "output", "inputs", "size"}
	}
	return []string{"data", "kind", "size"}
}

func runBegin(ctx context.Context, a *interview, opt initOptions) error {
	if opt.out == "" {
		opt.out = "."
	}
	if err := opt.look(ctx, a); err != nil {
		return err
	}
	if err := opt.ask(a); err != nil {
		return err
	}
	files, err := opt.files()
	if err != nil {
		return err
	}
	r := opt.result()
	r.Model = opt.larger(machine.Free())
	files = append(files, initFile{"NEXT.md", r.page(opt)})
	if err := opt.write(files); err != nil {
		return err
	}
	for _, f := range files {
		r.Files = append(r.Files, f.name)
	}
	return a.Emit(r)
}

// look finds out what the columns are called.
func (o *initOptions) look(ctx context.Context, a *interview) (err error) {
	if err := a.text(&o.Data, "data", "the file of your records", ""); err != nil {
		return err
	}
	if err := o.Present(); err != nil {
		return err
	}
	if config.IsURL(o.Data) {
		if err := config.WithoutPassword(o.Data, "would be in NEXT.md"); err != nil {
			return ui.AsUsage(err)
		}
	}
	o.names, o.kinds, err = tables.Describe(ctx, o.Data, tables.Options{Query: o.Query})
	if errors.Is(err, tables.ErrInRecords) {
		a.say("The columns of JSON are in its records, which are not read: you name them.")
		return nil
	}
	if err != nil {
		return cli.TableSourceError(err)
	}
	a.say("%s: %s. No record was read.", ui.Counted(len(o.names), "column"), ui.Visible(strings.Join(o.names, ", ")))
	return nil
}

// has refuses a column that is not there.
func (o *initOptions) has(flag, column string) error {
	if column == "" || o.names == nil || slices.Contains(o.names, column) {
		return nil
	}
	hint := ""
	if near := spell.Near(column, o.names); len(near) > 0 {
		hint = "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return cli.Usage("--%s is %q, and %s has no such column: it has %s%s", flag, column, config.Redact(o.Data), ui.Visible(strings.Join(o.names, ", ")), hint)
}

// guess returns the first column whose name has one of some words in it.
func (o *initOptions) guess(words ...string) string {
	for _, w := range words {
		for _, name := range o.names {
			if strings.Contains(strings.ToLower(name), w) {
				return name
			}
		}
	}
	return ""
}

// guesses by the names of columns.
func (o *initOptions) guessText() string {
	return o.guess("text", "message", "body", "content", "comment", "review", "ticket", "description", "article", "title")
}

func (o *initOptions) guessLabel() string {
	return o.guess("label", "category", "class", "queue", "topic", "sentiment", "intent", "type", "target", "team", "department", "status", "priority", "group", "tag")
}

func (o *initOptions) guessInput() string {
	return o.guess("input", "question", "dialogue", "chat", "prompt", "source", "document")
}

func (o *initOptions) guessOutput() string {
	return o.guess("output", "answer", "summary", "response", "reply", "target")
}

func (o *initOptions) guessKind() string {
	switch {
	case o.text != "" || o.labels != nil || o.discover:
		return string(prompt.Classify)
	case o.input != "" || o.output != "" || o.inputs != "":
		return string(prompt.Generate)
	case o.columns != nil:
		return kindTable
	case o.guessText() != "" && (o.guessLabel() != "" || o.guessInput() == ""): // a text without a label: which column has it is asked
		return string(prompt.Classify)
	case o.guessInput() != "" && o.guessOutput() != "":
		return string(prompt.Generate)
	case o.names != nil:
		return kindTable
	}
	return string(prompt.Classify)
}

// initFile is one that is written.
type initFile struct{ name, text string }

// write writes all files, or none where one is there.
func (o *initOptions) write(files []initFile) error {
	for _, f := range files {
		path := filepath.Join(o.out, f.name)
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) && !o.force {
			return cli.Usage("%s is there already: name another folder with --out, or replace it with --force", path)
		}
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return cli.Usage("--out: %w", err)
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(o.out, f.name), []byte(f.text), 0o644); err != nil {
			return fmt.Errorf("write %s: %w", f.name, err)
		}
	}
	return nil
}

// source is the data as a command in the folder of the files names it.
func (o *initOptions) source() string {
	file, isSQLite := strings.CutPrefix(o.Data, "sqlite:")
	if config.IsURL(o.Data) || filepath.IsAbs(file) {
		return o.Data
	}
	from, err := filepath.Abs(o.out)
	if err != nil {
		return o.Data
	}
	to, err := filepath.Abs(file)
	if err != nil {
		return o.Data
	}
	if rel, err := filepath.Rel(from, to); err == nil {
		to = rel
	}
	return ui.If(isSQLite, "sqlite:") + to
}
