package texts

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/estimate"
	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/eval/worth"
	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/icl"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/sys/bounded"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/prompt"
)

type predictOptions struct {
	cli.TaskFlag
	textColumn  string
	labelColumn string
	data, out   string
}

func newPredictCommand(p *cli.Program) *cobra.Command {
	var opt predictOptions
	cmd := &cobra.Command{
		Use:   "predict DIR --data F",
		Short: "Labels for texts or rows, by a released classifier",
		Long: `Labels texts or rows by the release in DIR, without a language model. It costs
nothing, since it reads the release only: predict any number, any number of
times. DIR is a classifier of "sotto learn", the evidence of a release of
"sotto synth", or a profile of "sotto table profile --histograms" (or with
--statistic COLUMN=moments), by naive Bayes.

Texts are a file with the task's column of texts (CSV, JSON, JSONL, Parquet,
Excel; also .gz or .zst), or "-" for standard input: a text a line, or JSON
lines. The task is the one that the release was made for, as its plan.json has
it, unless --task names another. Rows of a table are a CSV file with a header
that names every column of the schema but the predicted one, which is the
schema's label, or another one that the profile is grouped by (--label-column).
A classifier of rows takes texts of "sotto table items" too, as JSON lines.

Where the file has labels, the output says how many predictions are right, and
how many the commonest label alone would have been: exact numbers, which nothing
charges, for data that may be seen. "sotto eval private" measures on records
with noise.

With --out, a new file gets all labels, in their order, and the probability of
each label: CSV, or JSON lines if the name ends in .jsonl; "-" writes CSV to
standard output, and nothing else.` + ui.JSONKeys(predictResult{}, "probabilities are in the order of labels; rows is the declared number."),
		Example: `  sotto predict labels --data new.csv
  sotto predict labels --data - --out -
  sotto predict demos --data questions.csv --out predictions.csv`,
		Args: cli.Takes("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runPredict(cmd.Context(), p, args[0], opt)
		},
	}
	f := cmd.Flags()
	f.StringVar(&opt.data, "data", "", "what to predict: a `FILE`, or - for standard input; required")
	f.StringVar(&opt.Task, "task", "", "the `TASK` whose columns the file of texts has (default: that of the release)")
	f.StringVar(&opt.textColumn, "text-column", "", "the `COLUMN` of the text, if not the task's")
	f.StringVar(&opt.labelColumn, "label-column", "", "the `COLUMN` of the label, if not that of the task or the schema")
	f.StringVar(&opt.out, "out", "", "write all predictions to a new `FILE`, or to standard output with -")
	_ = cmd.RegisterFlagCompletionFunc("task", cli.CompleteTasks) // the flag exists
	cli.Needs(cmd, "data")
	return cmd
}

// runPredict reads what the folder is.
func runPredict(ctx context.Context, p *cli.Program, dir string, opt predictOptions) error {
	r := &predictResult{Dir: dir, Predictions: []prediction{}, Out: opt.out}
	e, err := evidence.Read(filepath.Join(dir, evidence.File))
	switch {
	case errors.Is(err, os.ErrNotExist):
		err = r.rows(opt)
	case err != nil:
		return cli.Usage("%w", err)
	case e.Rows() && opt.data != "-" && !strings.Contains(filepath.Base(opt.data), ".json"):
		err = r.rows(opt)
	default:
		err = r.texts(ctx, p, e, opt)
	}
	if err != nil {
		return err
	}
	r.compare()
	if opt.out == "-" {
		for _, w := range r.Warnings {
			p.Warn(w)
		}
		return r.writeCSV(p.Stdout)
	}
	if opt.out != "" {
		if err := r.save(opt.out); err != nil {
			return cli.Usage("--out: %w", err)
		}
	}
	return p.Warned(r, r.Warnings)
}

// rows predicts rows of a table.
func (r *predictResult) rows(opt predictOptions) error {
	by, err := estimate.ReadPredictor(r.Dir, opt.labelColumn)
	if err != nil {
		return cli.AsUsage[*estimate.InputError](err)
	}
	in, err := os.Open(opt.data)
	if err != nil {
		return cli.Usage("--data: %w", err)
	}
	defer in.Close()
	found, err := by.Predict(in)
	if err != nil {
		return cli.AsUsage[*estimate.InputError](err)
	}
	r.Task, r.Column, r.Labels, r.Private, r.Rows, r.Epsilon = by.Schema.Name, by.Column, by.Classes, by.Private, by.Rows, by.Epsilon
	for _, q := range found {
		r.add(q.Value, q.Probabilities, q.Known)
	}
	if !by.Private {
		r.Warnings = append(r.Warnings, by.Warning())
	}
	return nil
}

// texts predicts labels of texts.
func (r *predictResult) texts(ctx context.Context, p *cli.Program, e *evidence.Evidence, opt predictOptions) (err error) {
	task, marked, err := opt.released(r.Dir, e)
	if err != nil {
		return err
	}
	texts, err := readTexts(p.Stdin, opt.data, task)
	if err != nil {
		return err
	}
	reader, done, err := readsEvidence(ctx, p, e, texts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	by, err := icl.Open(ctx, nil, task, nil, icl.Options{Use: prompt.Use{How: prompt.Alone}, Evidence: reader})
	if err != nil {
		return err
	}
	r.Task, r.Column, r.Labels, r.Private = task.Name, task.Label, e.Labels, !marked
	if marked {
		r.Warnings = append(r.Warnings, fmt.Sprintf("the classifier in %s is NOT PRIVATE: what it says may reveal records", r.Dir))
	}
	bar := p.Bar("texts")
	defer bar.Clear()
	for some := range slices.Chunk(texts, predictedAtOnce) {
		inputs := make([]string, len(some))
		for i, t := range some {
			inputs[i] = t.Input
		}
		found, err := by.(*icl.Alone).Classify(ctx, inputs)
		if err != nil {
			return err
		}
		for i, f := range found {
			r.add(f.Label, f.Scores, some[i].Output)
		}
		bar.Show(len(r.Predictions), len(texts), "texts")
	}
	return nil
}

// released finds the task of a classifier of texts, and whether it is marked as not private.
func (o *predictOptions) released(dir string, e *evidence.Evidence) (t prompt.Task, marked bool, err error) {
	if marked, err = worth.Marked(filepath.Join(dir, evidence.File)); err != nil {
		return t, false, err
	}
	if o.Task != "" {
		t, err = o.Find()
	} else {
		t, err = taskOf(dir)
	}
	if err != nil {
		return t, false, err
	}
	if err := e.Suits(t.Labels); err != nil {
		return t, false, cli.Usage("%w", err)
	}
	s := cli.SourceFlags{TextColumn: o.textColumn, LabelColumn: o.labelColumn}
	s.Columns(&t)
	return t, marked, nil
}

// taskOf is the task that a release was made for.
func taskOf(dir string) (prompt.Task, error) {
	var made plan.Plan
	data, err := bounded.ReadFile(filepath.Join(dir, "plan.json"), bounded.Huge)
	if err == nil {
		err = bounded.UnmarshalJSON(data, bounded.Huge, &made)
	}
	if err != nil || made.Task.Name == "" {
		return made.Task, cli.Usage("%s does not say which task it is for, since it has no plan.json: name the task with --task", dir)
	}
	return made.Task, nil
}

// predictedAtOnce texts are encoded between two reports of progress.
const predictedAtOnce = 256

// readsEvidence opens what reads texts by evidence: the encoder of sentences, or for rows of a table their schema. What
// it returns closes it.
func readsEvidence(ctx context.Context, p *cli.Program, e *evidence.Evidence, texts []eval.Item) (*evidence.Reader, func() error, error) {
	if e.Rows() {
		r, err := evidence.Open(e, nil)
		if err == nil {
			inputs := make([]string, len(texts))
			for i, t := range texts {
				inputs[i] = t.Input
			}
			err = r.Reads(inputs)
		}
		return r, func() error { return nil }, ui.AsUsage(err)
	}
	if err := p.FetchEncoder(ctx); err != nil {
		return nil, nil, err
	}
	encoder, err := p.Encoder()
	if err != nil {
		return nil, nil, err
	}
	r, err := evidence.Open(e, encoder)
	if err != nil {
		return nil, nil, errors.Join(cli.Usage("%w", err), encoder.Close())
	}
	return r, encoder.Close, nil
}

// readTexts reads texts, with labels where there are some.
func readTexts(stdin io.Reader, path string, t prompt.Task) ([]eval.Item, error) {
	if path != "-" {
		items, err := eval.ReadTexts(path, t)
		return items, ui.AsUsage(err)
	}
	var items []eval.Item
	lines := bufio.NewScanner(stdin)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		item := eval.Item{Input: string(line)}
		var object map[string]any
		if line[0] == '{' && json.Unmarshal(line, &object) == nil {
			text, is := object[t.Text].(string)
			if !is {
				return nil, cli.Usage("line %d of standard input has no text in %q, which the task names: --text-column names another member", len(items)+1, t.Text)
			}
			said, _ := object[t.Label].(string)
			item = eval.Item{Input: text, Output: eval.KnownLabel(t, said)}
		}
		items = append(items, item)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read standard input: %w", err)
	}
	if len(items) == 0 {
		return nil, cli.Usage("standard input has no texts: give a text a line")
	}
	return items, nil
}

type prediction struct {
	Label         string    `json:"label"`
	Probabilities []float64 `json:"probabilities"`
	// NotPrivate marks lines of files.
	NotPrivate bool `json:"not_private,omitempty"`
}

type predictResult struct {
	Dir  string `json:"dir"`
	Task string `json:"task"`
	// Column is what is predicted.
	Column  string   `json:"column"`
	Labels  []string `json:"labels"`
	Private bool     `json:"private"`
	// Rows and Epsilon are those of the release, where it is about a table.
	Rows        int64        `json:"rows,omitempty"`
	Epsilon     float64      `json:"epsilon,omitempty"`
	Predictions []prediction `json:"predictions"`
	Accuracy    *accuracy    `json:"accuracy,omitempty"`
	Out         string       `json:"out,omitempty"`
	Warnings    []string     `json:"warnings,omitempty"`

	wanted []string
}

// accuracy is about what had a label.
type accuracy struct {
	Labelled int     `json:"labelled"`
	Right    float64 `json:"right"`
	// Commonest is how many would be right if all had the label that most of them have.
	Commonest float64 `json:"commonest_label"`
	// Exact says that no noise protects the labels of the file: these numbers are for data that may be seen.
	Exact bool `json:"exact"`
}

func (r *predictResult) add(label string, probabilities []float64, want string) {
	r.Predictions = append(r.Predictions, prediction{Label: label, Probabilities: probabilities, NotPrivate: !r.Private})
	r.wanted = append(r.wanted, want)
}

// compare says which share of the known labels was predicted right, and which the commonest label would be.
func (r *predictResult) compare() {
	count, a := map[string]int{}, accuracy{Exact: true}
	for i, want := range r.wanted {
		if want == "" {
			continue
		}
		a.Labelled++
		count[want]++
		a.Commonest = max(a.Commonest, float64(count[want]))
		if r.Predictions[i].Label == want {
			a.Right++
		}
	}
	if n := float64(a.Labelled); n > 0 {
		a.Right, a.Commonest = a.Right/n, a.Commonest/n
		r.Accuracy = &a
	}
}

// save writes a new file, as its name says.
func (r *predictResult) save(path string) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if !strings.HasSuffix(path, ".jsonl") {
		return r.writeCSV(f)
	}
	to := json.NewEncoder(f)
	for _, p := range r.Predictions {
		if err := to.Encode(p); err != nil {
			return err
		}
	}
	return nil
}

func (r *predictResult) writeCSV(to io.Writer) error {
	header := []string{r.Column}
	for _, l := range r.Labels {
		header = append(header, "probability of "+l)
	}
	if !r.Private {
		header = append(header, "not_private")
	}
	lines := [][]string{header}
	for _, p := range r.Predictions {
		line := []string{p.Label}
		for _, x := range p.Probabilities {
			line = append(line, strconv.FormatFloat(x, 'g', 6, 64))
		}
		if !r.Private {
			line = append(line, "true")
		}
		lines = append(lines, line)
	}
	return csv.NewWriter(to).WriteAll(lines)
}

// maxPredictions are printed.
const maxPredictions = 20

func (r *predictResult) Print(p *ui.Page) {
	from := ui.If(r.Private && r.Epsilon > 0, ": ε ≤ "+ui.AtMost(r.Epsilon))
	p.Head("%s of %s, by the release in %s%s", r.Column, ui.Counted(len(r.Predictions), "item"), r.Dir, from)
	for i, q := range r.Predictions[:min(len(r.Predictions), maxPredictions)] {
		p.Line("  %-4d %s (probability %.2f)", i+1, ui.Visible(q.Label), slices.Max(q.Probabilities))
	}
	if more := len(r.Predictions) - maxPredictions; more > 0 {
		p.Line("  and %s more: --out writes all of them", ui.Thousands(int64(more)))
	}
	p.Line("")
	right := ""
	if a := r.Accuracy; a != nil {
		right = fmt.Sprintf("%s of %s with a label; the commonest label alone would be on %s (exact numbers, for data that may be seen)", ui.Percent(a.Right), ui.Thousands(int64(a.Labelled)), ui.Percent(a.Commonest))
	}
	p.Facts("right", right, "file", r.Out, "cost", "nothing more: the release was paid for before")
}
