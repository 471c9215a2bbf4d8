package texts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/eval/worth"
	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/plan/ask"
	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/flags"
	"github.com/sotto-dp/sotto/internal/ui/settings"
	"github.com/sotto-dp/sotto/prompt"
)

type rehearseOptions struct {
	synthOptions
	file   string
	invent int
	items  int
	sets   int
}

func newRehearseCommand(p *cli.Program) *cobra.Command {
	var opt rehearseOptions
	cmd := &cobra.Command{
		Use:   "rehearse --task T --size N --epsilon E [--stand-in FILE]",
		Short: "A whole run on stand-in data, with nothing charged",
		Long: `Carries out what "sotto synth" would do with the same flags, on records that
stand in for the private ones, and measures on others of them what comes out:
no examples, model-generated ones, those of the run, and stand-in records as
they are. It opens neither private data nor ledger nor keys, charges nothing and
signs nothing; its files are in a temporary folder that is removed in the end.

Stand-in records come from a public file in the format of your data
(--stand-in), or the model invents some. They are repeated up to the declared
size, so that as many are drawn in a round, with the same noise, as in the real
run; but fewer of them are different. The closer they are to your records, the
more a rehearsal says. Invented ones are in the model's own words, and some are
not what their label says: they show that the run works, how long it takes, and
whether the noise leaves it something to choose by. They do not show what
examples are worth on yours: as a rule it is less.

A file that is not public does not belong here: nothing protects its records.
All of it takes about --time (five minutes by default), with inventing and
measuring. So the rehearsed run has half of the time of the real one, or 70 %
with --stand-in; and where time is short fewer records are invented and asked,
unless the settings invent, items and sets say how many. The real run measures
the model again, and may plan a little more or less.

With --out the files of the run are kept, without a certificate and marked as
a rehearsal.

` + flags.ModelHelp + ui.JSONKeys(rehearseResult{}, "epsilon and delta belong to the real run, and gains to its examples.", ui.ProgressHelp),
		Example: `  sotto rehearse --task agnews --size 120000 --epsilon 1
  sotto rehearse --task mine.toml --stand-in public.jsonl --size 20000 --epsilon 1 --time 5m --out rehearsed
  sotto rehearse --task samsum --stand-in public.jsonl --inputs inputs.jsonl --size 14732 --epsilon 2 --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			given := opt.Given
			for _, name := range notRehearsed {
				if given(name) {
					return cli.Usage("--%s is for the real run: a rehearsal opens neither private data nor ledger nor keys. Leave it out; --stand-in takes a public file", name)
				}
			}
			if err := opt.settle(given); err != nil {
				return err
			}
			if err := cli.Require(cmd, append([]string{"task"}, opt.spends(opt.method)...)...); err != nil {
				return err
			}
			if err := opt.Positive(map[string]float64{"invent": float64(opt.invent), "items": float64(opt.items), "sets": float64(opt.sets)}); err != nil {
				return err
			}
			if opt.file != "" && given("invent") {
				return cli.Usage("--set invent and --stand-in exclude each other")
			}
			return runRehearse(cmd.Context(), p, opt)
		},
	}
	opt.add(cmd)
	return cmd
}

// notRehearsed are flags of "sotto synth" that a rehearsal has no use for.
var notRehearsed = []string{"data", "query", "label"}

func (o *rehearseOptions) add(cmd *cobra.Command) {
	o.textFlags.add(cmd, method.Texts)
	o.Model.AddFew(cmd)
	o.chooseFlags.add(cmd)
	o.addSettings(cmd)
	o.addPool(cmd)
	o.Rest.Group(settings.Choosing)
	o.addMethod(cmd)
	f := cmd.Flags()
	f.StringVar(&o.file, "stand-in", "", "take the records of `FILE`, a public one in the format of the data (default: the model invents some)")
	few := settings.Flags(cmd)
	few.IntVar(&o.invent, "invent", 0, fmt.Sprintf("have the model invent `N` records (default %d)", sotto.DefaultInvented))
	few.IntVar(&o.items, "items", 0, fmt.Sprintf("hold `N` records out to measure on, a third of all at most (default %d)", sotto.DefaultItems))
	few.IntVar(&o.sets, "sets", 0, fmt.Sprintf("compare with `N` sets of model-generated examples and of stand-in records (default %d)", sotto.DefaultSets))
	o.AddColumns(cmd)
	f.Var(&o.Seed, "seed", "take all random numbers from `N`, to repeat a rehearsal")
	cli.AddParallel(cmd, &o.Parallel, "texts")
	cli.AddOnError(cmd, &o.OnError, "records that cannot be used")
	o.Rest.Group(settings.Machine)
	cli.AddDir(cmd, &o.out, "out", "keep what came out in `DIR`, a new folder (default: nothing is kept)")
	for _, name := range notRehearsed {
		f.StringArray(name, nil, "")
		_ = f.MarkHidden(name) // the flag exists
	}
}

// options makes of the flags what the library takes.
func (o *rehearseOptions) options(p *cli.Program) (r sotto.RehearseOptions, err error) {
	request, err := o.request(o.method)
	if err == nil && o.method == cli.MethodChoose {
		if err = o.choosing(&request, &o.SettingFlags); err == nil {
			r.Pool, err = o.pooled(p, &request, o.Given)
		}
	}
	if err != nil {
		return r, err
	}
	o.Columns(&request.Task)
	if o.Parallel < 0 {
		return r, cli.Usage("--set parallel is %d, it should be positive", o.Parallel)
	}
	r = sotto.RehearseOptions{
		Request: ask.As[sotto.Request](request), Pool: r.Pool, Invent: o.invent, Items: o.items, Sets: o.sets, Out: o.out, Parallel: o.Parallel, Time: o.time,
		Seed: o.Seed.Value,
	}
	if o.file != "" {
		r.StandIn, err = readStandIn(o.file, request.Task)
	}
	return r, err
}

// readStandIn reads public records.
func readStandIn(path string, t prompt.Task) ([]prompt.Example, error) {
	items, err := eval.ReadItems(path, t)
	var wrong *eval.ItemError
	if errors.As(err, &wrong) {
		where := wrong.Path
		if wrong.Record > 0 {
			where = fmt.Sprintf("%s, record %d", wrong.Path, wrong.Record)
		}
		return nil, cli.Usage("--stand-in %s: %s", where, wrong.Reason)
	}
	if err != nil {
		return nil, err
	}
	notPrivate, err := worth.Marked(path)
	if err != nil {
		return nil, cli.AsUsage[*worth.InputError](err)
	}
	if notPrivate {
		return nil, cli.Usage("--stand-in %s says that it is NOT PRIVATE: what stands in is public, and that may not be", path)
	}
	out := make([]prompt.Example, len(items))
	for i, item := range items {
		out[i] = prompt.Example{Input: item.Input, Output: item.Output}
	}
	return out, nil
}

func runRehearse(ctx context.Context, p *cli.Program, opt rehearseOptions) (err error) {
	o, err := opt.options(p)
	if err != nil {
		return err
	}
	opt.warnUnfilled(p)
	client, progress, err := p.Begin(opt.Model)
	if err != nil {
		return err
	}
	if err := encoderFor(ctx, p, ask.As[plan.Request](o.Request)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	o.Observe = func(e sotto.Progress) {
		if e.Kind == sotto.Notice { // a stage begins: texts count anew
			progress.Restart()
		}
		if e.Kind == sotto.Released && !progress.JSON && !progress.Bar {
			return // hundreds of lines
		}
		progress.Report(e)
	}
	done, err := client.Rehearse(ctx, o)
	progress.Clear()
	if err != nil {
		return err
	}
	return p.Emit(newRehearseResult(done))
}

type rehearseResult struct {
	Rehearsal bool                  `json:"rehearsal"`
	Invented  bool                  `json:"invented"`
	Records   int                   `json:"records"`
	Items     int                   `json:"items"`
	Copies    int64                 `json:"copies"`
	Rows      []sotto.RehearsedRow  `json:"rows"`
	Gains     []sotto.RehearsedGain `json:"gains"`
	Steps     string                `json:"steps,omitempty"`
	Method    string                `json:"method"`
	Event     string                `json:"event"`
	Epsilon   float64               `json:"epsilon"`
	Delta     float64               `json:"delta"`
	Chosen    *synthChoice          `json:"chosen,omitempty"`
	Texts     []prompt.Example      `json:"texts"`
	Run       float64               `json:"run_seconds"`
	RealLow   float64               `json:"real_seconds_low"`
	RealHigh  float64               `json:"real_seconds_high"`
	Seconds   float64               `json:"seconds"`
	Model     string                `json:"model"`
	Tokens    int64                 `json:"model_tokens"`
	Planned   int64                 `json:"model_tokens_planned"`
	Dir       string                `json:"dir,omitempty"`
	Files     []string              `json:"files,omitempty"`
	Warnings  []string              `json:"warnings,omitempty"`
	// Ungained says that nothing was gained in the rehearsal, and what to do next; Share is the rehearsed run's part
	// of the real one's time.
	Ungained *release.NoGain `json:"nothing_gained,omitempty"`
	Share    float64         `json:"share_of_time"`

	// generate: texts are outputs, and what they are for inputs.
	generate bool
}

// inventedWarning is about records that the model made up.
const inventedWarning = "the model invented these records: they are in its own words, and some are not what their label says. Expect other numbers on yours, as a rule lower ones; a public file that is like your records says more (--stand-in)"

func newRehearseResult(d *sotto.Rehearsal) *rehearseResult {
	r := &rehearseResult{
		Rehearsal: true, Invented: d.Invented, Records: d.Records, Items: d.Items, Copies: d.Copies, Rows: d.Rows, Gains: d.Gains,
		Steps: d.Plan.Steps(), Method: d.Plan.Method(), Event: d.Event.String(), Epsilon: d.Plan.Epsilon, Delta: d.Plan.Delta,
		Chosen: newSynthChoice(&d.Run), Run: d.Run.Seconds, RealLow: d.RunLow, RealHigh: d.RunHigh, Seconds: d.Total,
		Model: d.Model, Tokens: d.Usage.Computed, Planned: d.Planned, Dir: d.Dir, Files: d.Files, Warnings: slices.Clone(d.Warnings),
		Texts: append([]prompt.Example{}, d.Examples...), generate: d.Plan.Task.Kind == prompt.Generate,
	}
	r.Share, r.Ungained = d.Share, r.ungained(d)
	if d.Invented {
		r.Warnings = append(r.Warnings, inventedWarning)
	}
	return r
}

// ungained finds that the run's prompt is no better than what is there without it.
func (r *rehearseResult) ungained(d *sotto.Rehearsal) *release.NoGain {
	measured := &release.Worth{}
	for _, row := range d.Rows {
		switch row.Examples {
		case sotto.RehearsedRun:
			measured.Metric, measured.Value, measured.Low, measured.High = row.Metric, row.Value, row.Low, row.High
		case sotto.RehearsedCommonest:
			measured.Commonest = &release.Commonest{Share: row.Value}
		case sotto.RehearsedAlone:
			measured.Classifier = &release.Beside{Value: row.Value, Low: row.Low, High: row.High}
		}
	}
	for _, g := range d.Gains {
		if c := measured.Classifier; g.Over == sotto.RehearsedAlone && c != nil {
			c.Over, c.OverLow, c.OverHigh = g.Difference, g.Low, g.High
		}
	}
	if r.Chosen.alone() {
		measured.Classifier = nil
	}
	return release.Gained(d.Plan.Task, d.Prompt, measured)
}

// name says what a kind of examples is.
func (r *rehearseResult) name(kind string) string {
	switch kind {
	case sotto.RehearsedNone:
		return "none"
	case sotto.RehearsedOwn:
		return "model-generated"
	case sotto.RehearsedReal:
		return "stand-in records"
	case sotto.RehearsedAlone:
		return "evidence, without a model"
	case sotto.RehearsedCommonest:
		return "the commonest label, always"
	}
	if r.Chosen != nil {
		return "chosen by the records"
	}
	return "written from the records"
}

func (r *rehearseResult) Print(p *ui.Page) {
	ungained(p, r.Ungained)
	p.Head("A rehearsal at ε = %s and δ = %s: nothing was charged, nothing is private or signed", ui.Whole(r.Epsilon), ui.Whole(r.Delta))
	made := "chosen"
	if r.Chosen == nil {
		made = "written"
	}
	t := ui.NewTable("examples", "#"+r.metric(), "#95 % interval", made+" − this")
	for _, row := range r.Rows {
		gain := ""
		for _, g := range r.Gains {
			if g.Over == row.Examples {
				gain = fmt.Sprintf("%+.1f points (%+.1f to %+.1f)", 100*g.Difference, 100*g.Low, 100*g.High)
			}
		}
		t.Add(r.name(row.Examples), fmt.Sprintf("%.1f %%", 100*row.Value), fmt.Sprintf("%.1f to %.1f", 100*row.Low, 100*row.High), gain)
	}
	p.Table(t)
	p.Line("")
	p.Text(2, r.about())
	if r.Invented {
		p.Painted(ui.Yellow, 2, "Note: "+inventedWarning+".")
	}
	p.Line("")
	p.Facts(
		"plan", strings.TrimPrefix(r.Steps, "the plan: "),
		"chosen", r.Chosen.words(len(r.Texts)),
		"prompt", r.Chosen.instruction(),
		"tokens", fmt.Sprintf("%s through %s, %s planned", ui.Thousands(r.Tokens), r.Model, ui.Thousands(r.Planned)),
		"time", fmt.Sprintf("%s for the run, %s for all of the rehearsal", ui.Span(r.Run), ui.Span(r.Seconds)),
		"real run", r.expected(),
		"files", r.Dir,
	)
}

// metric is what was measured.
func (r *rehearseResult) metric() string {
	if len(r.Rows) == 0 {
		return ""
	}
	return r.Rows[0].Metric
}

// about says what the numbers are about.
func (r *rehearseResult) about() string {
	whose := "public records"
	if r.Invented {
		whose = "records that the model invented"
	}
	said := fmt.Sprintf("On %d of %d %s; the others were repeated up to %s to stand in for yours, so that the noise was as large as in the real run.", r.Items, r.Records, whose, ui.Thousands(r.Copies))
	if r.Chosen != nil {
		said += fmt.Sprintf(" This is one run by chance: about %s records chose in a round, and others would choose otherwise. The intervals are about the records that were asked, not about that.", ui.Thousands(r.Chosen.Records))
	}
	if r.Share > 0 && r.Share < 1 {
		said += fmt.Sprintf(" The rehearsed run had %.0f %% of the time, so that inventing and measuring fit in; the real one has all of it.", 100*r.Share)
	}
	return said
}

// expected is how long the real run takes.
func (r *rehearseResult) expected() string {
	if ui.Span(r.RealLow) == ui.Span(r.RealHigh) {
		return "about " + ui.Span(r.RealLow) + " on this machine"
	}
	return fmt.Sprintf("about %s to %s on this machine, the longer the records the longer", ui.Span(r.RealLow), ui.Span(r.RealHigh))
}
