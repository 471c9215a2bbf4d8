package check

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/eval/worth"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/measure"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/flags"
	"github.com/sotto-dp/sotto/internal/ui/settings"
	"github.com/sotto-dp/sotto/prompt"
)

type evalPrivateOptions struct {
	flags.Model
	cli.SourceFlags
	cli.TargetFlags
	demos     []string
	shots     int
	calibrate bool
	compare   bool
	form      string
	metric    string
	records   int64
	dry       bool
	out       string

	given func(flag string) bool
}

func newEvalPrivateCommand(p *cli.Program) *cobra.Command {
	var opt evalPrivateOptions
	cmd := &cobra.Command{
		Use:   "private --task T --data F --size N --epsilon E --out DIR",
		Short: "How well a model answers on the private records themselves, with noise",
		Long: `Lets a model answer the questions of private records with a set of
demonstrations in its prompt, and says how many answers are right: a number with
noise, with a 95 % interval that covers both the noise and the chance of which
records were asked. It costs ε, which is charged to the budget of the records,
and comes with a certificate. "sotto eval --private --data F …" is the same.

Demonstrations (--demos) are as for "sotto eval": a folder of "sotto synth", a
file of public examples, or zero, which is the default. They end up in public
files, and those that are NOT PRIVATE are refused. Two sets are compared on the
same records for the price of one: the difference has an interval of its own.
Three or more share ε.

A set that records chose is measured in the form in which it was chosen: turns
of a chat and what the model writes in its turn, or one text. Others have the
form that --form names. The output says which. A prompt that uses evidence is
measured with it, read by the encoder that is built in; sets of one call have
the evidence of one release. --set compare adds the same prompt without
evidence, and the evidence alone, for which no model is asked.

Every record is asked with the same probability, about --records in all. More of
them make the number better at the same ε, and take longer. --dry-run says what
interval to expect, and spends nothing; so does the run before it begins.

Metrics are means over records of numbers from 0 to 1: accuracy (of labels and
phrases), probability (that the right label gets, or the right phrase), for
texts rouge_l (their overlap with what the model writes), or token_probability
(that their tokens get, on average). Others have no bound on what one record
changes: the mean over labels of F1, for example.

The cost is charged before a record is drawn; what the budget does not allow is
refused (exit code 3) and nothing is charged. A run that was interrupted resumes
when the same command is repeated, and nothing is charged twice.

` + flags.ModelHelp + ui.JSONKeys(evalPrivateResult{}, "Figures at the top are of the first set, and asked is how many records are asked on average. With --dry-run: "+ui.KeyList(evalPrivatePlan{})+"; expected is half an interval at 0.8."),
		Example: `  sotto eval private --task agnews --data news.jsonl --size 20000 --epsilon 0.1 --demos demos --out measured
  sotto eval private --task mine.toml --data records.csv --size 1500 --epsilon 0.1 --demos zero --demos demos --out measured
  sotto eval private --task samsum --data chats.jsonl --size 14000 --epsilon 0.2 --metric rouge_l --records 300 --out measured
  sotto eval private --task agnews --data news.jsonl --size 20000 --epsilon 0.05 --dry-run`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opt.given = settings.Given(cmd)
			needs := []string{"task", "size", "epsilon"}
			if !opt.dry {
				needs = append(needs, "data", "out")
			}
			if err := cli.Require(cmd, needs...); err != nil {
				return err
			}
			return runEvalPrivate(cmd.Context(), p, opt)
		},
	}
	opt.add(cmd)
	return cmd
}

func (o *evalPrivateOptions) add(cmd *cobra.Command) {
	few := settings.AddSet(cmd).Flags
	o.Model.AddFew(cmd)
	o.AddRecords(cmd)
	o.TargetFlags.Add(cmd, "", "the numbers may cost, such as 0.1", "required")
	f := cmd.Flags()
	f.StringArrayVar(&o.demos, "demos", nil, "the `DEMONSTRATIONS`: a folder, a file, or zero; may be repeated (default zero)")
	few.IntVar(&o.shots, "shots", 0, "use the first `K` demonstrations of a set (default: all)")
	few.BoolVar(&o.calibrate, "calibrate", true, "divide labels' probabilities by those after questions without content")
	few.BoolVar(&o.compare, "compare", false, "also measure each set that uses evidence without it, and its evidence alone")
	cli.AddChoice(cmd, &o.form, "form", "", "the form of prompts that no records chose: chat (turns, and what the model writes), message (one turn), or text (one text, and the probabilities of labels) (default: chat, where the model has a chat template and half a billion parameters or more)", formNames()...)
	cli.AddChoice(cmd, &o.metric, "metric", "", "what to measure (default: accuracy for labels and phrases, rouge_l for texts)", privateMetrics()...)
	f.Int64Var(&o.records, "records", 0, fmt.Sprintf("ask about `N` of the records (default %d)", plan.DefaultRecords))
	f.BoolVar(&o.dry, "dry-run", false, "say what interval to expect, and spend nothing")
	cli.AddDir(cmd, &o.out, "out", "the `DIR` to write to, also to continue with a run; required")
}

// privateGrades are metrics that are means over records of numbers from 0 to 1.
var privateGrades = []measure.Grade{measure.Right, measure.Probability, measure.Rouge, measure.Written}

func privateMetrics() []string {
	var names []string
	for _, v := range privateGrades {
		names = append(names, measure.Metric(v))
	}
	return names
}

// grade is what a metric is the mean of.
func (o *evalPrivateOptions) grade(t prompt.Task) (measure.Grade, error) {
	name := o.metric
	if name == "exact_match" { // what accuracy is called for phrases
		name = measure.Metric(measure.Right)
	}
	if name == "" {
		return measure.Default(t), nil
	}
	if at := slices.Index(privateMetrics(), name); at >= 0 {
		if err := measure.Suits(privateGrades[at], t); err != nil {
			return "", cli.Usage("--metric %s does not suit the task: %w", o.metric, err)
		}
		return privateGrades[at], nil
	}
	list := strings.Join(privateMetrics(), ", ")
	switch name {
	case "macro_f1":
		return "", cli.Usage("--metric macro_f1 cannot be measured on private records: it divides by the number of records of each label, and one record of a rare label may change it as far as it likes, so that no noise hides that record. Use one of %s", list)
	case "token_f1":
		return "", cli.Usage("--metric token_f1 is not offered on private records: rouge_l is as bounded and says the same of texts. Use one of %s", list)
	}
	return "", cli.Usage("--metric is %q: on private records only means of numbers from 0 to 1 can be measured, of which there are %s", o.metric, list)
}

// request reads the flags.
func (o *evalPrivateOptions) request() (q plan.MeasurementRequest, err error) {
	if q.Task, q.Size, q.Unit, err = o.Target(); err != nil {
		return q, err
	}
	o.Columns(&q.Task)
	switch {
	case !o.Epsilon.Given:
		return q, cli.Usage("--epsilon is missing: what the numbers may cost, such as 0.1")
	case q.Size == 0:
		return q, cli.Usage("--size is missing: about how many records there are, a public number")
	case o.given("records") && o.records < 1:
		return q, cli.Usage("--records is %d, it should be positive; leave it out for %d", o.records, plan.DefaultRecords)
	case o.given("shots") && o.shots < 1:
		return q, cli.Usage("--set shots is %d, it should be positive; for none there is --demos zero", o.shots)
	case o.given("calibrate") && !worth.Listed(q.Task):
		return q, cli.Usage("--set calibrate is about lists of labels, and %s has none: leave it out", q.Task.Name)
	case o.form != "" && !slices.Contains(formNames(), o.form):
		return q, cli.Usage("--form is %q, it should be one of %s", o.form, strings.Join(formNames(), ", "))
	case o.given("calibrate") && o.calibrate && prompt.Form(o.form).Turns():
		return q, cli.Usage("--set calibrate is about probabilities of labels, and with --form %s answers are what the model writes: leave one of them out", o.form)
	}
	if q.Form = prompt.Form(o.form); o.given("calibrate") && o.calibrate {
		q.Form = prompt.TextForm
	}
	q.Epsilon, q.Delta, q.Records = o.Epsilon.Value, o.Delta.Value, o.records
	if q.Grade, err = o.grade(q.Task); err != nil {
		return q, err
	}
	return q, o.prompts(&q)
}

// prompts reads the sets of demonstrations. They are public, and written to public files.
func (o *evalPrivateOptions) prompts(q *plan.MeasurementRequest) error {
	t := q.Task
	demos := o.demos
	if len(demos) == 0 {
		demos = []string{demosZero}
	}
	if slices.Contains(demos, demosReal) {
		return cli.Usage("--demos real would show records in public files: measure real records on public questions, with sotto eval --test")
	}
	sets, err := readSets(demos, t, o.shots)
	if err != nil {
		return err
	}
	names := shortNames(demos)
	for i, set := range sets {
		if set.NotPrivate {
			return cli.Usage("the demonstrations of %s are NOT PRIVATE, and those that are measured are written to public files: leave them out", set.Name)
		}
		n := plan.NamedPrompt{Name: names[i], Prompt: prompt.Prompt{Examples: set.Examples, Calibrated: o.calibrate && worth.Listed(t)}}
		if c := set.Chosen; c != nil {
			n.Prompt.Instruction, n.Prompt.Form = c.Instruction, c.Form.Name()
			n.Prompt.Calibrated = n.Prompt.Calibrated && !c.Form.Turns()
			if !o.given("calibrate") {
				n.Prompt.Calibrated = c.Calibrated && worth.Listed(t)
			}
			n.Prompt.Evidence, n.Prompt.Nearest = c.Evidence, c.Nearest
		}
		if n.Prompt.Evidence.How == prompt.Alone {
			n.Prompt = aloneOf(n.Prompt)
		}
		if err := n.Prompt.Check(t); err != nil {
			return cli.Usage("demonstrations %s: %w", set.Name, err)
		}
		if q.Evidence == nil {
			q.Evidence = set.Evidence
		} else if set.Evidence != nil && !reflect.DeepEqual(set.Evidence, q.Evidence) {
			return cli.Usage("the prompt of %s uses other evidence than one before it, and a measurement has one: measure them one by one", set.Name)
		}
		q.Prompts = append(q.Prompts, n)
		if o.compare {
			q.Prompts = append(q.Prompts, comparedWith(n)...)
		}
	}
	if o.compare && q.Evidence == nil {
		return cli.Usage("--set compare is about prompts that use evidence, and no set has one: leave it out, or name the folder of a release whose records chose to use it")
	}
	return nil
}

// aloneOf is evidence alone, in place of a prompt: no model reads the rest.
func aloneOf(p prompt.Prompt) prompt.Prompt {
	return prompt.Prompt{Form: p.Form, Evidence: prompt.Use{How: prompt.Alone}}
}

// comparedWith are the prompt without its evidence, and the evidence alone, unless that is what it is; none
// if it uses none.
func comparedWith(n plan.NamedPrompt) []plan.NamedPrompt {
	if !n.Prompt.Evidence.Used() {
		return nil
	}
	without := n.Prompt
	without.Evidence = prompt.Use{}
	out := []plan.NamedPrompt{{Name: n.Name + " without evidence", Prompt: without}}
	if n.Prompt.Evidence.How != prompt.Alone {
		out = append(out, plan.NamedPrompt{Name: n.Name + ", evidence alone", Prompt: aloneOf(n.Prompt)})
	}
	return out
}

// formNames are the forms that a prompt may have.
func formNames() (names []string) {
	for _, f := range prompt.Forms() {
		names = append(names, string(f))
	}
	return names
}

// shortNames returns the last parts of paths where these differ: readers of the results need
// not know what is before them.
func shortNames(paths []string) []string {
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = filepath.Base(p)
		for j, other := range paths {
			if i != j && filepath.Base(other) == out[i] {
				out[i] = p
				break
			}
		}
	}
	return out
}

// options makes of the flags what the library takes.
func (o *evalPrivateOptions) options(p *cli.Program, request plan.MeasurementRequest) (s sotto.MeasureOptions, err error) {
	if o.out == "" {
		return s, cli.Usage("--out is missing: the folder to write to")
	}
	s = sotto.MeasureOptions{Request: sotto.MeasureRequest(request), Out: o.out}
	s.Source, s.Use, err = o.Source(o.Task, "")
	return s, err
}

func runEvalPrivate(ctx context.Context, p *cli.Program, opt evalPrivateOptions) error {
	request, err := opt.request()
	if err != nil {
		return err
	}
	if opt.dry {
		planned, err := plan.NewMeasurement(request)
		if err != nil {
			return err
		}
		r, err := newEvalPrivatePlan(request, planned)
		if err != nil {
			return err
		}
		return p.Emit(r)
	}
	o, err := opt.options(p, request)
	if err != nil {
		return err
	}
	client, progress, err := p.Begin(opt.Model)
	if err != nil {
		return err
	}
	o.Observe, o.Source.Progress = progress.Report, progress.Reading
	return cli.CarryOut(ctx, p, client, progress, client.Measure, o, newEvalPrivateResult)
}
