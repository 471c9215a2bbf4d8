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
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/eval/worth"
	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/icl"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/sys/bounded"
)

type learnPredictOptions struct {
	cli.TaskFlag
	textColumn  string
	labelColumn string
	data, out   string
}

func newLearnPredictCommand(p *cli.Program) *cobra.Command {
	var opt learnPredictOptions
	cmd := &cobra.Command{
		Use:   "predict DIR --data F",
		Short: "Labels for texts, by a released classifier",
		Long: `Labels texts by the classifier in DIR that "sotto learn" made, without a
language model. It costs nothing, since it reads the release only: predict any
number of texts, any number of times. The evidence of a release of "sotto synth"
is used the same way, alone.

The texts are a file with the task's column of texts (CSV, JSON, JSONL, Parquet,
Excel; also .gz or .zst), or "-" for standard input: a text a line, or
JSON lines. The task is the one that the release was made for, as its plan.json
has it, unless --task names another. Where the file has labels too, the output
says how many predictions are right, and how many the commonest label alone
would have been: exact numbers, which nothing charges, for texts that may be
seen. "sotto eval private" measures on records with noise.

With --out, a new file gets the label of each text, in their order, and the
probability of each label: CSV, or JSON lines if the name ends in .jsonl; "-"
writes CSV to standard output, and nothing else.` + ui.JSONKeys(learnPredictResult{}, "probabilities are in the order of labels."),
		Example: `  sotto learn predict labels --data new.csv
  sotto learn predict labels --data new.csv --out predictions.csv
  sotto learn predict labels --data - --out -`,
		Args: cli.Takes("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.Require(cmd, "data"); err != nil {
				return err
			}
			return runLearnPredict(cmd.Context(), p, args[0], opt)
		},
	}
	f := cmd.Flags()
	f.StringVar(&opt.data, "data", "", "the texts: a `FILE` with the task's column, or - for standard input; required")
	f.StringVar(&opt.Task, "task", "", "the `TASK` whose columns the file has (default: that of the release)")
	f.StringVar(&opt.textColumn, "text-column", "", "the `COLUMN` of the text, if not the task's")
	f.StringVar(&opt.labelColumn, "label-column", "", "the `COLUMN` of the label, if not the task's")
	f.StringVar(&opt.out, "out", "", "write all predictions to a new `FILE`, or to standard output with -")
	_ = cmd.RegisterFlagCompletionFunc("task", cli.CompleteTasks) // the flag exists
	return cmd
}

// released reads the classifier of a folder, and whether it is marked as not private.
func (o *learnPredictOptions) released(dir string) (e *evidence.Evidence, t prompt.Task, marked bool, err error) {
	path := filepath.Join(dir, evidence.File)
	if e, err = evidence.Read(path); errors.Is(err, os.ErrNotExist) {
		return nil, t, false, cli.Usage("%s has no %s: name a folder that \"sotto learn\" has finished", dir, evidence.File)
	}
	if err != nil {
		return nil, t, false, cli.Usage("%w", err)
	}
	if marked, err = worth.Marked(path); err != nil {
		return nil, t, false, err
	}
	if o.Task != "" {
		t, err = o.Find()
	} else {
		t, err = taskOf(dir)
	}
	if err != nil {
		return nil, t, false, err
	}
	if err := e.Suits(t.Labels); err != nil {
		return nil, t, false, cli.Usage("%w", err)
	}
	s := cli.SourceFlags{TextColumn: o.textColumn, LabelColumn: o.labelColumn}
	s.Columns(&t)
	return e, t, marked, nil
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

func runLearnPredict(ctx context.Context, p *cli.Program, dir string, opt learnPredictOptions) (err error) {
	e, task, marked, err := opt.released(dir)
	if err != nil {
		return err
	}
	texts, err := readTexts(p.Stdin, opt.data, task)
	if err != nil && e.Rows() {
		return cli.Usage("%w; for rows with the columns of the schema: sotto table predict --profile %s --data %s", err, dir, opt.data)
	}
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
	r := &learnPredictResult{Dir: dir, Task: task.Name, Labels: e.Labels, Private: !marked, Predictions: []learnPrediction{}, Out: opt.out}
	if marked {
		r.Warnings = append(r.Warnings, fmt.Sprintf("the classifier in %s is NOT PRIVATE: what it says may reveal records", dir))
	}
	bar := p.Bar("texts")
	for done := 0; done < len(texts); {
		some := texts[done:min(len(texts), done+predictedAtOnce)]
		inputs := make([]string, len(some))
		for i, t := range some {
			inputs[i] = t.Input
		}
		found, err := by.(*icl.Alone).Classify(ctx, inputs)
		if err != nil {
			return err
		}
		for i, f := range found {
			r.add(f, some[i].Output)
		}
		done += len(some)
		bar.Show(done, len(texts), "texts")
	}
	bar.Clear()
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

// predictedAtOnce is how many texts are encoded between two reports.
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

type learnPrediction struct {
	Label         string    `json:"label"`
	Probabilities []float64 `json:"probabilities"`
	// NotPrivate marks lines of files.
	NotPrivate bool `json:"not_private,omitempty"`
}

type learnPredictResult struct {
	Dir         string            `json:"dir"`
	Task        string            `json:"task"`
	Labels      []string          `json:"labels"`
	Private     bool              `json:"private"`
	Predictions []learnPrediction `json:"predictions"`
	Accuracy    *learnAccuracy    `json:"accuracy,omitempty"`
	Out         string            `json:"out,omitempty"`
	Warnings    []string          `json:"warnings,omitempty"`

	wanted []string
}

// learnAccuracy is about the texts that had a label.
type learnAccuracy struct {
	Texts int     `json:"texts"`
	Right float64 `json:"right"`
	// Commonest is how many would be right if all had the label that most of them have.
	Commonest float64 `json:"commonest_label"`
	// Exact says that no noise protects the labels of the file: these numbers are for texts that may be seen.
	Exact bool `json:"exact"`
}

func (r *learnPredictResult) add(found icl.Prediction, want string) {
	r.Predictions = append(r.Predictions, learnPrediction{Label: found.Label, Probabilities: found.Scores, NotPrivate: !r.Private})
	r.wanted = append(r.wanted, want)
}

// compare says how many predictions are right, where labels are known.
func (r *learnPredictResult) compare() {
	labels := make([]string, len(r.Predictions))
	for i, p := range r.Predictions {
		labels[i] = p.Label
	}
	if n, right, commonest := cli.Compared(labels, r.wanted); n > 0 {
		r.Accuracy = &learnAccuracy{Texts: n, Right: right, Commonest: commonest, Exact: true}
	}
}

// save writes a new file, as its name says.
func (r *learnPredictResult) save(path string) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if strings.HasSuffix(path, ".jsonl") {
		for _, p := range r.Predictions {
			if err := json.NewEncoder(f).Encode(p); err != nil {
				return err
			}
		}
		return nil
	}
	return r.writeCSV(f)
}

func (r *learnPredictResult) writeCSV(to io.Writer) error {
	header := []string{"label"}
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

func (r *learnPredictResult) Print(p *ui.Page) {
	p.Head("labels of %s, by the classifier in %s", ui.Counted(len(r.Predictions), "text"), r.Dir)
	cli.PrintPredictions(p, "text", r.Predictions, func(q learnPrediction) (string, []float64) { return ui.Visible(q.Label), q.Probabilities })
	right := ""
	if a := r.Accuracy; a != nil {
		right = fmt.Sprintf("%s of %s with a label; the commonest label alone would be on %s (exact numbers, for texts that may be seen)", ui.Percent(a.Right), ui.Counted(a.Texts, "text"), ui.Percent(a.Commonest))
	}
	p.Facts("right", right, "file", r.Out, "cost", "nothing more: the release was paid for before")
}
