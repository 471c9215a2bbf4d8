package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/plan/ask"
	"github.com/sotto-dp/sotto/internal/sys/fault"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/flags"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// routeAnswerOptions are those of "sotto answer" that are about a plan and its data.
type routeAnswerOptions struct {
	cli.AnswerFlags
	flags.Model
	pace  time.Duration
	paced bool // by a flag
}

func newServeRouteAnswerCommand(p *cli.Program) *cobra.Command {
	var opt routeAnswerOptions
	cmd := &cobra.Command{
		Use:   "answer NAME --task T --data F --size N --epsilon E",
		Short: "Make a route that answers from private records",
		Long: `Makes a route whose questions are answered from private records, as "sotto
answer" does: each answer is charged to the data set's budget in the ledger
before a record is drawn. When the budget does not allow another, requests are
refused (402) and no record is drawn. Now nothing is charged; the records are
read to check them, and the plan is made. If the budget of the data does not
allow one answer the route is refused (exit code 3), and if it allows fewer than
--answers there is a warning.

ε is for each answer, or with --answers N for N of them together. A client
sends one question, as one message of the user. It learns what is spent and
left of the budget. How long an answer takes to write depends on how many
records were drawn, so that it is handed out after a whole number of
--latency-quantum, and until then the processors are kept at work. Without
--latency-quantum it is as long as the plan may need, by the model's speed,
which is measured now: on an idle machine as fast as this one, nearly all
answers take one. A shorter one gets a warning.

Processes that serve the route read the records where they are now, with the
model of their own flags or configuration, which must be trusted. A key can be
given a number of such answers ("sotto serve key add --answers"), and the route
a budget of its own: its charges have the label route=NAME.` + ui.JSONKeys(routesResult{}),
		Example: `  sotto serve route answer ask --task tickets.toml --data tickets.jsonl --size 20000 --epsilon 4 --answers 200`,
		Args:    cli.Takes("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.Require(cmd, "task", "data", "size", "epsilon"); err != nil && opt.Method == "" {
				return err
			}
			opt.paced = cmd.Flags().Changed("latency-quantum")
			return runServeRouteAnswer(cmd.Context(), p, args[0], opt)
		},
	}
	opt.AnswerFlags.Add(cmd)
	opt.Model.AddFew(cmd)
	opt.AddRecords(cmd)
	f := cmd.Flags()
	f.DurationVar(&opt.pace, "latency-quantum", 0, "round the time of answers up to a multiple of this; 0 for none, which shows clients how long each took (default: what the plan needs, measured)")
	return cmd
}

// spec makes of the flags what the store keeps.
func (o *routeAnswerOptions) spec(ctx context.Context) (spec store.RouteSpec, err error) {
	switch {
	case o.Seed.Value != nil:
		return spec, cli.Usage("--seed is for tests, and what it draws has no privacy guarantee: a route does not take it")
	case len(o.Scope) > 0:
		return spec, cli.Usage("charges of a route have the label route=NAME: leave out --label")
	case o.pace < 0 || o.pace > time.Hour:
		return spec, cli.Usage("--latency-quantum is %v, it should be 0 or more, and at most an hour", o.pace)
	}
	options, err := o.Options()
	if err != nil {
		return spec, err
	}
	if err := o.Explicit(cmp.Or(options.Request.Method, plan.DefaultAnswer(options.Request.Task))); err != nil {
		return spec, err
	}
	planned, err := fault.Await(ctx, func() (plan.Answers, error) { return plan.NewAnswers(ask.As[plan.Request](options.Request)) })
	if err != nil {
		return spec, err
	}
	from := options.Source
	answers := &store.AnswerSpec{Data: from.Location, Query: from.Query, Skip: from.SkipMalformed, Dataset: options.Dataset, Pace: o.pace}
	if answers.Plan, err = json.Marshal(planned); err != nil {
		return spec, err
	}
	// Anyone who serves may do so from another directory.
	if config.IsURL(answers.Data) {
		if err := config.WithoutPassword(answers.Data, config.KeptInStore); err != nil {
			return spec, ui.AsUsage(err)
		}
	} else if answers.Data, err = filepath.Abs(answers.Data); err != nil {
		return spec, err
	}
	spec = store.RouteSpec{Answers: answers}
	spec.Task, err = anchored(o.Task)
	return spec, err
}

func runServeRouteAnswer(ctx context.Context, p *cli.Program, name string, opt routeAnswerOptions) error {
	spec, err := opt.spec(ctx)
	if err != nil {
		return err
	}
	builder, err := builder(p, opt.Model)
	if err != nil {
		return err
	}
	defer builder.Close()
	short, err := builder.CheckAnswers(ctx, name, spec)
	if errors.Is(err, ledger.ErrBudget) {
		return err
	}
	if err != nil {
		return ui.AsUsage(err)
	}
	if short != nil {
		p.Warn("the budget of the data does not allow all the answers that were planned: " + short.Error())
	}
	warnings, err := builder.SetPace(ctx, spec.Answers, opt.paced)
	if err != nil {
		return err
	}
	p.Warn(warnings...)
	return withStore(ctx, p, true, func(s *store.Store) (ui.Result, error) {
		made, err := s.SetRoute(ctx, actor(), name, spec)
		if err != nil {
			return nil, err
		}
		return routes(ctx, s, made.Name, fmt.Sprintf("clients can ask %s, version %d; each answer is charged to the budget of the data, and takes %s", made.Name, made.Version, paceOf(spec.Answers.Pace)))
	})
}

// paceOf says how long answers take.
func paceOf(pace time.Duration) string {
	if pace == 0 {
		return "as long as it does to write"
	}
	return pace.String() + ", or a multiple of that"
}
