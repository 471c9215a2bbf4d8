package check

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/eval/worth"
	"github.com/sotto-dp/sotto/internal/metric"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/flags"
	"github.com/sotto-dp/sotto/internal/ui/settings"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/prompt"
)

type evalOptions struct {
	flags.Model
	cli.TaskFlag
	demos       []string
	test        string
	data, query string
	size        int64
	limit       int
	shots       int
	calibrate   bool
	normalise   bool
	form        string
	metric      string
	encoder     string
	seed        int64
	predictions string

	// asked has the flags that were given.
	asked func(flag string) bool
}

func newEvalCommand(p *cli.Program) *cobra.Command {
	var opt evalOptions
	cmd := &cobra.Command{
		Use:   "eval --task T --demos DIR|FILE|zero|real --test F",
		Short: "What examples are worth: how well a model answers with them",
		Long: `Lets a model answer the questions of a test file with a set of demonstrations in
its prompt, and says how many answers are right (or how much they overlap with
the wanted ones), with a 95 % interval over questions. Demonstrations are

  DIR     what "sotto synth" or "sotto table" wrote, or any folder with a
          demos.jsonl
  FILE    JSONL, CSV or Parquet with the task's columns
  zero    none
  real    --shots records of --data as they are: NOT PRIVATE, for comparison

With several --demos, each set has a row, and all pairs are compared on the same
questions: the difference, its interval, and how likely a difference as large
would be by chance alone (p, adjusted for the number of comparisons).

For tables, --task table:SCHEMA asks for the label of a row in words; "sotto
table items" makes the test file.

Models with a chat template get the prompt as chat.json ships it, in turns, and
the row says beside it what they do with the one text of prompt.txt; others get
the text. --form measures one of the two.

Labels are chosen by their probability after the question. Calibration divides
it by what the labels get for questions without content, since demonstrations
favour labels that come often or last; --set calibrate=false leaves that out. A
model that only writes text is asked to write the label. Answers that are no
label count as wrong. Where a release's prompt uses evidence, what all records
say about labels, so do its answers. Nothing is charged: released demonstrations
and evidence cost nothing more however often they are used. Sets that are NOT
PRIVATE go only to models that may see private records.

` + flags.ModelHelp + ui.JSONKeys(evalResult{}, "Figures at the top are of the first set."),
		Example: `  sotto eval --task agnews --demos demos --test test.jsonl
  sotto eval --task mine.toml --demos zero --demos demos --test held-out.csv --limit 300
  sotto eval --task agnews --demos demos --demos real --data news.jsonl --test test.jsonl --json
  sotto eval --task samsum --demos demos --test dialogues.jsonl --metric rouge_l --url http://localhost:8000
  sotto eval --task table:adult --demos zero --demos profiles --test items.jsonl`,
		Args:        cli.NoneBut,
		Annotations: map[string]string{cli.RunsItself: "yes"},
		RunE: func(cmd *cobra.Command, _ []string) error {
			opt.asked = settings.Given(cmd)
			return runEval(cmd.Context(), p, opt)
		},
	}
	opt.add(cmd)
	cli.Needs(cmd, "task", "demos", "test")
	cmd.AddCommand(newEvalPrivateCommand(p))
	return cmd
}

func (o *evalOptions) add(cmd *cobra.Command) {
	few := settings.AddSet(cmd).Flags
	o.Model.AddFew(cmd)
	o.TaskFlag.Add(cmd, "")
	f := cmd.Flags()
	f.StringArrayVar(&o.demos, "demos", nil, "the `DEMONSTRATIONS`: a folder, a file, zero or real; may be repeated; required")
	f.StringVar(&o.test, "test", "", "the questions and their answers: a `FILE` with the task's columns; required")
	f.StringVar(&o.data, "data", "", "for real: the records, a `FILE`, a folder or the address of a database")
	few.StringVar(&o.query, "query", "", "for real: the rows of a database, as `SQL` with an ORDER BY")
	few.Int64Var(&o.size, "size", 0, "for real: how many records there are, if they should not all be drawn to choose from")
	f.IntVar(&o.limit, "limit", 0, "ask `N` of the questions, the same ones every time (default: all)")
	f.IntVar(&o.shots, "shots", 0, "use the first `K` demonstrations of a set (default: all; for real the task's)")
	few.BoolVar(&o.calibrate, "calibrate", true, "divide labels' probabilities by those after questions without content")
	few.BoolVar(&o.normalise, "normalise", false, "divide a label's log-probability by its number of tokens")
	cli.AddChoice(cmd, &o.form, "form", "", "lay prompts out as turns of a chat, whose answers are what the model writes, or as one text (default: as they were chosen, and the other beside it)", string(prompt.ChatForm), string(prompt.TextForm))
	cli.AddChoice(cmd, &o.metric, "metric", "", "what to measure (default: accuracy for labels, exact_match for phrases, rouge_l for texts)", metric.Names()...)
	few.StringVar(&o.encoder, "encoder", "", "for embedding metrics: ask the server at `URL` for vectors of words (default: the encoder minilm, here)")
	f.Int64Var(&o.seed, "seed", 0, "choose real records and resample questions by `N`")
	f.StringVar(&o.predictions, "predictions", "", "write every answer to `FILE`.jsonl")
}

// setting holds what all sets of an evaluation share.
type setting struct {
	evalOptions
	*cli.Program
	target prompt.Task
	items  []eval.Item
	model  lm.Model
	// trusted is the model if it may be shown private records.
	trusted lm.TrustedScorer
}

func (o *evalOptions) check() (prompt.Task, error) {
	task, err := o.Find()
	if err != nil {
		return task, err
	}
	real := slices.Contains(o.demos, demosReal)
	switch {
	case real && o.data == "":
		return task, cli.Usage("--demos real needs --data: the records to take demonstrations from")
	case !real && (o.data != "" || o.query != "" || o.asked("size")):
		return task, cli.Usage("--data, --query and --size are for --demos real, and would change nothing: leave them out")
	case o.asked("size") && o.size < 1:
		return task, cli.Usage("--size is %d, it should be the number of records", o.size)
	case o.asked("limit") && o.limit < 1:
		return task, cli.Usage("--limit is %d, it should be positive; leave it out for all questions", o.limit)
	case o.asked("shots") && o.shots < 1:
		return task, cli.Usage("--shots is %d, it should be positive; for none there is --demos zero", o.shots)
	case o.form != "" && o.form != string(prompt.ChatForm) && o.form != string(prompt.TextForm):
		return task, cli.Usage("--form is %q, it should be %s or %s", o.form, prompt.ChatForm, prompt.TextForm)
	case task.Kind != prompt.Classify && (o.asked("calibrate") || o.asked("normalise")):
		return task, cli.Usage("--calibrate and --normalise are about lists of labels, and %s has none: leave them out", task.Name)
	}
	return task, o.checkMetric(task)
}

func runEval(ctx context.Context, p *cli.Program, opt evalOptions) (err error) {
	s := &setting{evalOptions: opt, Program: p}
	if s.target, err = s.check(); err != nil {
		return err
	}
	if s.items, err = s.readTest(); err != nil {
		return err
	}
	sets, err := readSets(s.demos, s.target, s.shots)
	if err != nil {
		return err
	}
	if err := s.openModel(ctx, sets); err != nil {
		return err
	}
	if s.model != nil {
		defer func() { err = errors.Join(err, s.model.Close()) }()
	}
	kept, err := openPredictions(s.predictions, s.inputs()...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kept.Close()) }()
	r, err := s.evaluate(ctx, sets, kept)
	if err != nil {
		return err
	}
	return p.Warned(r, r.Warnings)
}

// evaluate answers all questions with each set and compares the sets.
func (s *setting) evaluate(ctx context.Context, sets []worth.Set, kept *cli.JsonLines) (_ *evalResult, err error) {
	spec, err := s.ModelSpec(s.Model)
	if err != nil {
		return nil, err
	}
	bars := map[string]*ui.Bar{}
	e := &worth.Evaluation{
		Task: s.target, Items: s.items, Model: s.model, Form: prompt.Form(s.form), Normalise: s.normalise, Metric: s.metric, Encoder: s.openEncoder, Vectors: s.Program.Encoder, Seed: uint64(s.seed),
		Keep: func(lines []worth.Prediction) (err error) {
			for i := 0; i < len(lines) && err == nil; i++ {
				err = kept.Add(lines[i])
			}
			return err
		},
		Observe: func(set string, done, of int) {
			if bars[set] == nil {
				bars[set] = s.Bar(set)
			}
			if bars[set].Show(done, of, "questions"); done == of {
				bars[set].Clear()
			}
		},
	}
	if s.asked("calibrate") {
		e.Calibrate = &s.calibrate
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	done, err := e.Run(ctx, sets, func(set *worth.Set) (err error) {
		if set.Name == demosReal {
			set.Examples, err = s.drawReal(ctx)
		}
		return err
	})
	if err != nil {
		return nil, cli.AsUsage[*worth.InputError](err)
	}
	if s.model != nil {
		done.Model = flags.ModelName(spec, s.model.Info())
	}
	return &evalResult{done, s.test, s.predictions}, nil
}

// readTest reads the questions, the same ones whatever the demonstrations.
func (s *setting) readTest() ([]eval.Item, error) {
	all, err := eval.ReadItems(s.test, s.target)
	if err != nil {
		return nil, cli.Usage("%w", err)
	}
	items, err := eval.Subset(all, s.limit)
	if err == nil && len(items) < 2 {
		err = cli.Usage("one question says nothing about others: ask at least two")
	}
	return items, err
}

// openModel opens the model, as one that may see private records if a set needs that.
func (s *setting) openModel(ctx context.Context, sets []worth.Set) error {
	if !slices.ContainsFunc(sets, func(d worth.Set) bool { return d.Chosen == nil || d.Chosen.Evidence.How != prompt.Alone }) {
		return s.FetchEncoder(ctx) // no model is asked
	}
	spec, err := s.ModelSpec(s.Model)
	if err != nil {
		return err
	}
	for _, d := range sets {
		if !d.NotPrivate {
			continue
		}
		if s.encoder != "" {
			return cli.Usage("the demonstrations of %s are NOT PRIVATE, and answers may repeat them: leave out the setting encoder", d.Name)
		}
		s.trusted, err = s.OpenTrusted(ctx, spec)
		if ui.Is[*backend.UntrustedError](err) {
			return cli.Usage("the demonstrations of %s are NOT PRIVATE and may not go to %s: use the embedded model, or mark the server as trusted in your own configuration", d.Name, backend.Address(spec.URL))
		}
		if err != nil {
			return err
		}
		s.model = s.trusted.Public()
		return nil
	}
	if s.model, err = backend.Scorer(ctx, spec); ui.Is[*lm.UnsupportedError](err) {
		s.model, err = backend.Open(ctx, spec)
	}
	return err
}
