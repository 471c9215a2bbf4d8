package texts

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/figures"
	"github.com/sotto-dp/sotto/eval/worth"
	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/plan/ask"
	"github.com/sotto-dp/sotto/internal/plan/forecast"
	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/internal/sys/fault"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/flags"
	"github.com/sotto-dp/sotto/internal/ui/settings"
	"github.com/sotto-dp/sotto/privacy"
)

type planOptions struct {
	textFlags
	flags.Model
	chooseFlags
	methods []string
	answers int64
	plot    string
	// file names the plan file to write.
	file string
}

func newPlanCommand(p *cli.Program) *cobra.Command {
	var opt planOptions
	cmd := &cobra.Command{
		Use:   "plan --task T --size N --epsilon E",
		Short: "What each method would do and cost at an ε",
		Long: `Plans the same texts with each method that has a guarantee, before any record is
read: how much noise it needs (σ, or how far C in nats one record may move a
score), how many records it draws, how many tokens go through the model with
and without caches, how long that takes on this machine, and what it guarantees.

Costs are for texts of full length and records at the task's limit. Times come
from measuring the model for a second or two. Where records choose, a run takes
about the time that you allow (--time, five minutes by default), and how many
texts, rounds, prompts and records there are follows from that. There is also a
forecast of what the prompt will be worth, from suites on public data sets: how
many points above no examples and above model-generated ones, and how often such
forecasts held. "sotto rehearse" tries a plan out.

Settings that few people change have no flags: --set NAME=VALUE gives one a
value, and --write makes a plan file with all that the first method of the plan
has, each with what it is and its default. synth, rehearse, answer and plan read
it: --plan FILE.

With --answers N it plans answers of "sotto answer" instead, with each method
that answers questions of the task, such that N of them together cost at most ε:
what one costs and what ten times N cost, and with --plot how many answers a
budget buys.

` + flags.ModelHelp + ui.JSONKeys(planResult{}, "The forecast is in points: low, middle and high. With --answers there is answers instead of shots, and tokens and seconds are of one answer."),
		Example: `  sotto plan --task agnews --size 120000 --epsilon 1
  sotto plan --task trec --size 5452 --set label-size=Abbreviation=86 --epsilon 4 --shots 6 --json
  sotto plan --task agnews --size 120000 --epsilon 1 --plot cost.svg
  sotto plan --task samsum --size 14732 --epsilon 8 --answers 100
  sotto plan --task agnews --size 120000 --epsilon 1 --set rounds=6 --write plan.toml`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.Require(cmd, append([]string{"task"}, opt.spends(cmp.Or(strings.Join(opt.methods, ""), cli.MethodChoose))...)...); err != nil {
				return err
			}
			return runPlan(cmd.Context(), p, opt, cmd.Flags().Changed("answers"))
		},
	}
	opt.textFlags.add(cmd, method.Texts, method.Answers)
	opt.Model.AddFew(cmd)
	cmd.Flags().StringArrayVar(&opt.methods, "method", nil, "plan with this method; may be repeated (default: all with a guarantee)")
	cli.Complete(cmd, "method", sotto.Methods()...)
	cmd.Flags().Int64Var(&opt.answers, "answers", 0, "plan `N` answers to questions instead of texts, at --epsilon together")
	addTime(cmd, &opt.time)
	addEvidence(cmd, &opt.evidence)
	opt.addSettings(cmd)
	opt.addPool(cmd)
	opt.Rest.Group(settings.Choosing)
	// A plan has no use for these, and its file is for runs.
	new(cli.SourceFlags).AddFew(cmd, "texts", "records that cannot be used")
	opt.Rest.Group(settings.Machine)
	cmd.Flags().StringVar(&opt.file, "write", "", "write settings that the plan has to `FILE`, for --plan")
	cmd.Flags().StringVar(&opt.plot, "plot", "", "draw model tokens against ε, or with --answers ε against answers, into `FILE`.svg")
	return cmd
}

// planSummary is what plans of texts and of answers have in common.
type planSummary struct {
	Task     string     `json:"task"`
	Epsilon  float64    `json:"epsilon"`
	Delta    float64    `json:"delta"`
	Tokens   int        `json:"tokens"`
	Model    string     `json:"model"`
	Shape    plan.Shape `json:"shape"`
	Speed    plan.Speed `json:"speed"`
	Rows     []planRow  `json:"rows"`
	Plot     string     `json:"plot,omitempty"`
	Warnings []string   `json:"warnings,omitempty"`
}

type planResult struct {
	planSummary
	Shots int `json:"shots"`
	// Forecast is what prompts that records choose are likely to be worth, where something
	// like it was measured.
	Forecast *forecast.Forecast `json:"forecast,omitempty"`
	// Time is how many seconds a run was planned for in which records choose.
	Time float64 `json:"time_seconds,omitempty"`

	// Alternative is a verb that may be all that is needed, where it is.
	Alternative string `json:"alternative,omitempty"`

	steps, expected string // in words
}

type planRow struct {
	Method string `json:"method"`
	Error  string `json:"error,omitempty"`
	*plannedRow
	*answersCost
}

// plannedRow is of a method that can do it.
type plannedRow struct {
	Noise     string            `json:"noise"`
	Draws     string            `json:"draws"`
	Settings  json.RawMessage   `json:"settings"`
	Sequences float64           `json:"sequences"`
	Tokens    int64             `json:"model_tokens"`
	Uncached  int64             `json:"model_tokens_uncached"`
	Seconds   float64           `json:"seconds"`
	Slower    float64           `json:"seconds_uncached"`
	Event     string            `json:"event"`
	Upper     float64           `json:"epsilon_upper"`
	Delta     float64           `json:"delta"`
	Adjacency privacy.Adjacency `json:"adjacency"`
	Guarantee string            `json:"guarantee"`
}

// newPlannedRow is of a method with settings, and with a guarantee at a cost.
func newPlannedRow(method string, settings any, c plan.Cost, g privacy.Guarantee) (*plannedRow, error) {
	encoded, err := json.Marshal(settings)
	if err != nil {
		return nil, fmt.Errorf("encode the settings of %s: %w", method, err)
	}
	return &plannedRow{
		Settings: encoded, Sequences: c.Sequences, Tokens: int64(math.Round(c.Cached.Tokens)), Uncached: int64(math.Round(c.Uncached.Tokens)),
		Seconds: c.Cached.Seconds, Slower: c.Uncached.Seconds, Event: g.Event.String(), Upper: g.Epsilon.Upper, Delta: g.Delta,
		Adjacency: g.Adjacency, Guarantee: release.Sentence(g),
	}, nil
}

func runPlan(ctx context.Context, p *cli.Program, opt planOptions, answers bool) error {
	r, err := plans(ctx, p, opt, answers)
	if err != nil {
		return err
	}
	if opt.file != "" {
		if err := opt.write(r.rows(), answers); err != nil {
			return err
		}
	}
	return p.Warned(r, r.warned())
}

// write makes a plan file of the first method that can do it: the default one, or the one that was named.
func (o *planOptions) write(rows []planRow, answers bool) error {
	at := slices.IndexFunc(rows, func(r planRow) bool { return r.plannedRow != nil })
	if at < 0 {
		return nil // the rows say why
	}
	var planned map[string]any
	if err := json.Unmarshal(rows[at].Settings, &planned); err != nil {
		return fmt.Errorf("read the settings of %s: %w", rows[at].Method, err)
	}
	about := fmt.Sprintf("%s at ε = %s", o.Task, ui.Whole(o.Epsilon.Value))
	if err := os.WriteFile(o.file, []byte(o.Rest.Write(about, rows[at].Method, answers, planned)), 0o644); err != nil {
		return fmt.Errorf("--write: %w", err)
	}
	return nil
}

// planOutput is what a plan of texts or of answers comes to.
type planOutput interface {
	ui.Result
	warned() []string
	rows() []planRow
}

func (r *planSummary) warned() []string { return r.Warnings }

func (r *planSummary) rows() []planRow { return r.Rows }

// plans plans texts, or answers, with each method.
func plans(ctx context.Context, p *cli.Program, opt planOptions, answers bool) (planOutput, error) {
	request, err := opt.planned(answers)
	if err != nil {
		return nil, err
	}
	if err := cli.CheckPlotPath(opt.plot); err != nil {
		return nil, err
	}
	model, name, spec, err := p.OpenScorer(ctx, opt.Model)
	if err != nil {
		return nil, err
	}
	defer model.Close()
	if answers {
		return planAnswers(ctx, p, opt, request, model, name)
	}
	client, err := p.Client(spec)
	if err != nil {
		return nil, err
	}
	found, err := fault.Await(ctx, func() (*sotto.Comparison[sotto.Plan], error) {
		return client.Plan(ctx, sotto.PlanOptions{Request: ask.As[sotto.Request](request), Methods: opt.methods, Model: model, Measure: true, Time: opt.time})
	})
	if err != nil {
		return nil, err
	}
	r, err := newPlanResult(found)
	if err != nil {
		return nil, err
	}
	r.Model = name
	r.foresee(found, cmp.Or(opt.time, plan.DefaultTime))
	if opt.plot != "" {
		methods := opt.methods
		if methods == nil {
			methods = sotto.Methods()
		}
		if err := figures.Plan(ctx, request, methods, found.Shape, opt.plot); err != nil {
			return nil, err
		}
		r.Plot = opt.plot
	}
	return r, nil
}

// planned reads the flags, and checks them for the methods that they are about.
func (o *planOptions) planned(answers bool) (plan.Request, error) {
	request, err := o.request("")
	if err != nil {
		return request, err
	}
	if !answers {
		if err := o.choosing(&request, &o.SettingFlags); err != nil {
			return request, err
		}
		request.Choosing.Vary = o.vary
		if err := cli.FromSchema(o.Task, &request, o.pool, nil); err != nil {
			return request, err
		}
	}
	if answers && o.evidence.Given {
		return request, cli.Usage("--evidence is for prompts that records choose, and not for answers")
	}
	known := sotto.Methods()
	if answers {
		known = sotto.AnswerMethods(request.Task)
		if o.answers < 1 {
			return request, cli.Usage("--answers is %d, it should be positive", o.answers)
		}
		request.Answers = o.answers
	}
	methods := o.methods
	if methods == nil {
		methods = known
	}
	if o.time < 0 || answers && o.time != 0 {
		return request, cli.Usage("--time is how long a run may take in which records choose: it should be positive, and is not for answers")
	}
	for _, m := range methods {
		if !slices.Contains(known, m) {
			return request, cli.Usage("--method is %q, it should be one with a guarantee: %s", m, strings.Join(known, ", "))
		}
	}
	if o.Claims() {
		return request, cli.Usage("--set proof=published has no guarantee to plan with: leave it out")
	}
	if len(methods) == 1 && methods[0] == "public" && o.Size == "" && len(o.labelSizes) == 0 {
		request.Size = int64(max(1, len(request.Task.Labels))) // nobody is drawn from them
	}
	return request, o.explicit(methods...)
}

// newPlanResult gathers rows. If no method can do it, the first says why.
func newPlanResult(c *sotto.Comparison[sotto.Plan]) (*planResult, error) {
	r := &planResult{planSummary: planSummary{Shape: c.Shape, Speed: c.Speed}}
	var planned *plan.Plan // the one to speak of
	for _, row := range c.Rows {
		if row.Err != nil {
			r.Rows = append(r.Rows, planRow{Method: row.Method, Error: row.Err.Error()})
			continue
		}
		var settings any = row.Plan.Choose
		if row.Plan.Choose == nil {
			settings = row.Plan.Parts[0].Method.Method
		}
		cost, err := newPlannedRow(row.Method, settings, row.Cost, row.Guarantee)
		if err != nil {
			return nil, err
		}
		cost.Noise, cost.Draws = row.Plan.Noise(), row.Plan.Draws()
		r.Task, r.Epsilon, r.Delta = row.Plan.Task.Name, row.Plan.Epsilon, row.Plan.Delta
		r.Shots, r.Tokens = row.Plan.Shots, row.Plan.Tokens
		if planned == nil || planned.Method() == "public" {
			planned = &row.Plan
		}
		r.Rows = append(r.Rows, planRow{Method: row.Method, plannedRow: cost})
	}
	if planned != nil && worth.Listed(planned.Task) {
		r.Alternative = plan.Learns
	}
	// What public can do says nothing about the request.
	if planned == nil || planned.Method() == "public" && c.Rows[0].Err != nil {
		return nil, c.Rows[0].Err
	}
	r.Warnings = append(deltaWarning(*planned), planned.Warnings()...)
	return r, nil
}

// foresee says what is going to happen in the time, and forecasts what is chosen.
func (r *planResult) foresee(c *sotto.Comparison[sotto.Plan], time time.Duration) {
	for _, row := range c.Rows {
		if row.Err != nil || row.Plan.Choose == nil {
			continue
		}
		r.Time, r.steps = time.Seconds(), fmt.Sprintf("Choosing is planned for %s (--time). %s", ui.Span(time.Seconds()), cli.Sentence(row.Plan.Steps()))
		f, err := forecast.Of(row.Plan, r.Model)
		if err != nil {
			r.expected = cli.Sentence(err.Error())
			continue
		}
		r.Forecast, r.expected = &f, cli.Sentence(f.Words())
		if w := f.Warning(); w != "" {
			r.Warnings = append(r.Warnings, w)
		}
	}
}

func (r *planResult) Print(p *ui.Page) {
	what := fmt.Sprintf("%s of %s, up to %d tokens each,", ui.Counted(r.Shots, "text"), r.Task, r.Tokens)
	if r.Shots == 0 { // rows choose among made-up ones
		what = "a prompt for " + r.Task
	}
	p.Head("%s at ε = %s and δ = %s", what, ui.Whole(r.Epsilon), ui.Whole(r.Delta))
	t := ui.NewTable("method", "noise or clip", "drawn", "#model tokens", "#uncached", "#time")
	for _, row := range r.Rows {
		if row.plannedRow != nil {
			t.Add(row.Method, row.Noise, row.Draws, ui.Thousands(row.Tokens), ui.Thousands(row.Uncached), ui.Span(row.Seconds))
		}
	}
	p.Table(t)
	p.Line("")
	for _, row := range r.Rows {
		text := row.Error
		if row.plannedRow != nil {
			text = row.Guarantee
		}
		p.Hanging("  "+ui.Pad(row.Method, 8)+"  ", text, ui.Width-12)
	}
	p.Line("")
	p.Text(2, fmt.Sprintf("Records count with their limit of %.0f tokens, texts with their full length. Times are for %s on this machine, measured now. No record was read.", r.Shape.Record, r.Model))
	if said := r.long(); said != "" {
		p.Text(2, said)
	}
	if r.steps != "" {
		p.Line("")
		p.Text(2, r.steps)
	}
	if r.expected != "" {
		p.Line("")
		p.Text(2, r.expected)
	}
	if r.Alternative != "" {
		p.Line("")
		p.Text(2, learnInstead)
	}
	if r.Plot != "" {
		p.Line("\n  plot %s", r.Plot)
	}
}

// long says how to bound runs that would take hours.
func (r *planResult) long() string {
	const maxSeconds = 30 * 60 // seconds
	var names []string
	for _, row := range r.Rows {
		if row.plannedRow != nil && row.Seconds > maxSeconds {
			names = append(names, row.Method)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("For less time than %s would take: --method %s --time 5m has the records choose and bounds all of a run; or ask for fewer texts (--shots).", strings.Join(names, ", "), plan.Chooses)
}

// learnInstead is said where answers are labels of a closed list.
const learnInstead = "Where the label is all that you need, there is a cheaper way: sotto learn makes a classifier with all of this ε, which needs no language model and answers in milliseconds."
