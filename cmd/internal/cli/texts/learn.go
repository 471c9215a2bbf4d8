package texts

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/plan/ask"
	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/settings"
)

type learnOptions struct {
	cli.TargetFlags
	cli.SourceFlags
	measuring cli.Number
	out       string
}

// newLearnCommand makes a classifier of all records.
func newLearnCommand(p *cli.Program) *cobra.Command {
	var opt learnOptions
	cmd := &cobra.Command{
		Use:   "learn --task T --data F --size N --epsilon E --out DIR",
		Short: "A private classifier of texts, without a language model",
		Long: `Makes a classifier of texts from private records, for a task with a closed list
of labels: (ε, δ)-differentially private, with a certificate. No language model
takes part, neither here nor where it answers. A public encoder of sentences in
this process turns each record's text into a vector, and sums of vectors by
label are released with noise: a small linear classifier (evidence.json). All of
ε is for that. The encoder is minilm, 91 MB, fetched once if it is not here.

Where the answer is one of a list, and nothing has to be written, this is all
that you need: it answers in milliseconds, with the probabilities of all labels,
any number of times at no further cost:

  sotto predict DIR --data F           labels for a file of texts
  sotto serve route set NAME ...       OpenAI's API, without an upstream model
  sotto eval --demos DIR ...           how often it is right on a test
  sotto verify DIR                     its certificate

"sotto synth" makes a prompt for a language model from the same records, which
knows things that records do not say.

--set measurement-share=0.1 keeps a tenth of ε to say in the end, with noise, on
how many of the private records the classifier is right.

The data, the ledger and the budget are as in "sotto synth". A run that was
interrupted resumes with the same command, and nothing is charged twice.` + ui.JSONKeys(learnResult{}, ui.ProgressHelp),
		Example: `  sotto learn --task agnews --data news.jsonl --size 120000 --epsilon 1 --out labels
  sotto learn --task mine.toml --data tickets.csv --size 20000 --epsilon 0.3 --unit customer --out labels
  sotto learn --task mine.toml --data tickets.csv --size 20000 --epsilon 1 --set measurement-share=0.1 --out labels
  sotto predict labels --data new.csv --out predictions.csv`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runLearn(cmd.Context(), p, opt)
		},
	}
	few := settings.AddSet(cmd).Flags
	opt.TargetFlags.Add(cmd, "", "the classifier may cost, such as 1", "how far sums go follows from it; required")
	opt.AddRecords(cmd)
	few.Var(&opt.measuring, "measurement-share", "the share of ε for saying in the end on how many records the classifier is right (default 0)")
	cli.AddDir(cmd, &opt.out, "out", "the `DIR` to write to, also to continue with a run; required")
	cli.Needs(cmd, "task", "data", "size", "epsilon", "out")
	return cmd
}

// options makes of the flags what the library takes.
func (o *learnOptions) options() (s sotto.SynthesizeOptions, err error) {
	task, size, unit, err := o.Target()
	if err != nil {
		return s, err
	}
	if o.Size == cli.SizeAuto {
		return s, cli.Usage("--size is auto, and how far sums go follows from it: declare about how many records there are, such as 20000")
	}
	o.Columns(&task)
	s = sotto.SynthesizeOptions{Out: o.out, Request: sotto.Request{
		Task: task, Size: size, Unit: unit, Epsilon: o.Epsilon.Value, Delta: o.Delta.Value, Learning: &sotto.LearnRequest{Measuring: o.measuring.Value},
	}}
	if s.Source, s.Use, err = o.Source(o.Task, plan.Learns); err != nil {
		return s, err
	}
	// What cannot be met is said before anything is fetched.
	dry := s.Request
	dry.Learning = &sotto.LearnRequest{Encoder: "any", Measuring: o.measuring.Value}
	_, err = plan.New(ask.As[plan.Request](dry))
	return s, err
}

func runLearn(ctx context.Context, p *cli.Program, opt learnOptions) error {
	o, err := opt.options()
	if err != nil {
		return err
	}
	if o.Source.Schema == nil { // rows of a table are read by their schema
		if err := p.FetchEncoder(ctx); err != nil {
			return err
		}
	}
	client, progress, err := p.BeginWithoutModel()
	if err != nil {
		return err
	}
	o.Observe, o.Source.Progress = progress.Report, progress.Reading
	return cli.CarryOut(ctx, p, client, progress, client.Learn, o, newLearnResult)
}

// encoderFor fetches the encoder of sentences where records are added up as evidence, or the nearest examples compete.
// Where that was not asked for and it cannot be had, the run is without, and says so.
func encoderFor(ctx context.Context, p *cli.Program, r plan.Request) error {
	nearest := r.Choosing != nil && r.Choosing.Nearest > 0
	if r.Evident() == 0 && !nearest {
		return nil
	}
	err := p.FetchEncoder(ctx)
	if err != nil && ctx.Err() == nil && r.Choosing.Evidence == 0 && !nearest {
		p.Warn(fmt.Sprintf("%v; the run continues without evidence", err))
		return nil
	}
	return err
}

type learnResult struct {
	cli.ReleaseResult
	Labels  []string       `json:"labels"`
	Encoder string         `json:"encoder"`
	Sums    int            `json:"sums"`
	Sigma   float64        `json:"sigma"`
	Worth   *release.Worth `json:"worth,omitempty"`
	// Ungained says that nothing was gained, and what to do next.
	Ungained *release.NoGain `json:"nothing_gained,omitempty"`

	seeded bool
}

func newLearnResult(d *sotto.Run) *learnResult {
	r := &learnResult{
		ReleaseResult: cli.NewReleaseResult(d.Result, "no tokens through a language model", d.Plan.Delta, d.Plan.Adjacency, d.Plan.Unit),
		Worth:         d.Worth, seeded: !d.Private, Ungained: release.Gained(d.Plan.Task, d.Prompt, d.Worth),
	}
	if e := d.Evidence; e != nil {
		r.Labels, r.Encoder, r.Sums, r.Sigma = e.Labels, e.Encoder, e.Sums, e.Sigma
	}
	return r
}

func (r *learnResult) Print(p *ui.Page) {
	ungained(p, r.Ungained)
	what := fmt.Sprintf("a classifier for %s is in %s", ui.Counted(len(r.Labels), "label"), r.Dir)
	if r.seeded {
		p.Alarm("%s: NOT PRIVATE, the random numbers are known", what)
	} else {
		p.Head("%s: ε ≤ %s at δ = %s, %s", what, ui.AtMost(r.Epsilon), ui.Whole(r.Delta), r.Adjacency)
	}
	if r.Worth != nil {
		p.Painted(ui.Bold, 2, r.Worth.Sentence())
		if said := r.Worth.Against(len(r.Labels)); said != "" {
			p.Text(2, said)
			uncounted(p, r.Worth)
		}
		p.Line("")
	}
	p.Sentences(r.Guarantee)
	r.Facts(p,
		"method", fmt.Sprintf("%s: %s over all records, each with noise of σ = %.3g", plan.Learns, ui.Counted(r.Sums, "sum"), r.Sigma),
		"encoder", r.Encoder,
		"event", r.Event,
		"needs", "no language model: sotto predict "+r.Dir+" --data FILE labels others, and a route of sotto serve answers by it",
	)
}
