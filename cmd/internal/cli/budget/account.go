package budget

import (
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/figures"
	"github.com/sotto-dp/sotto/internal/sys/fault"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
)

type accountOptions struct {
	cli.TermFlags
	epsilon cli.Number
	plot    string
}

func newAccountCommand(p *cli.Program) *cobra.Command {
	var opt accountOptions
	cmd := &cobra.Command{
		Use:   "account EXPR --delta D",
		Short: "The ε that an event costs",
		Long: `Evaluates an event: the ε at which it is (ε, δ)-differentially private, as an
interval whose ends are both guaranteed. Only the upper end may be claimed.

Events: gaussian(σ) laplace(b) pure(ε) approx(ε,δ) boundedrange(c) rr(ε,k)
zcdp(ρ) compose(e,…) repeat(n,e) poisson(q,e) fixedsize(n,m,e) parallel(e,…)
nonprivate(). σ and b are multipliers of the sensitivity; numbers may be
fractions.` + ui.JSONKeys(accountResult{}, `An infinite ε is the text "Infinity".`),
		Example: `  sotto account 'repeat(100, poisson(20/30000, gaussian(0.51)))' --delta 1/30000
  sotto account 'laplace(2)' --delta 0 --adjacency replace-one
  sotto account 'repeat(1000, poisson(0.01, gaussian(1)))' --size 50000 --plot epsilon.svg
  sotto account 'gaussian(1)' --delta 1e-6 --epsilon 1 --json`,
		Args: cli.Takes("EXPR"),
		RunE: func(cmd *cobra.Command, args []string) error { return runAccount(cmd, p, args[0], opt) },
	}
	opt.Add(cmd)
	cmd.Flags().Var(&opt.epsilon, "epsilon", "also compute the δ at this ε")
	cmd.Flags().StringVar(&opt.plot, "plot", "", "draw ε against δ and against the number of steps into `FILE`.svg")
	return cmd
}

// eventCost is what an event costs.
type eventCost struct {
	Event        string            `json:"event"`
	Delta        float64           `json:"delta"`
	Adjacency    privacy.Adjacency `json:"adjacency"`
	EpsilonLower ui.Real           `json:"epsilon_lower"`
	EpsilonUpper ui.Real           `json:"epsilon_upper"`
	Accountant   string            `json:"accountant"`
	Warnings     []string          `json:"warnings,omitempty"`

	epsilon privacy.Interval
}

func cost(t *cli.Terms, event string, epsilon privacy.Interval, accountant string) eventCost {
	return eventCost{event, t.Delta, t.Adjacency, ui.Real(epsilon.Lower), ui.Real(epsilon.Upper), accountant, t.Warnings, epsilon}
}

type accountResult struct {
	eventCost
	Width     ui.Real      `json:"width"`
	Why       string       `json:"why"`
	AtEpsilon *deltaResult `json:"at_epsilon,omitempty"`
	Plot      string       `json:"plot,omitempty"`

	of    privacy.Event
	terms cli.Terms
}

type deltaResult struct {
	Epsilon    float64 `json:"epsilon"`
	DeltaLower float64 `json:"delta_lower"`
	DeltaUpper float64 `json:"delta_upper"`
}

func (r *accountResult) Print(p *ui.Page) {
	found := "ε ≤ " + ui.AtMost(r.EpsilonUpper)
	if math.IsInf(float64(r.EpsilonUpper), 1) {
		found = "no finite ε"
	}
	p.Line("%s", p.Paint(ui.Bold, fmt.Sprintf("%s at δ = %s, %s", found, ui.Whole(r.Delta), r.Adjacency)))
	p.Line("")
	list := []string{"event", r.Event, "exact ε", ui.Interval(r.epsilon), "accountant", r.Accountant + ": " + r.Why}
	if d := r.AtEpsilon; d != nil {
		list = append(list, "δ at ε = "+ui.Whole(d.Epsilon), "at most "+ui.AtMost(d.DeltaUpper)+", at least "+ui.AtLeast(d.DeltaLower))
	}
	p.Facts(append(list, "plot", r.Plot)...)
}

func runAccount(cmd *cobra.Command, p *cli.Program, expr string, opt accountOptions) error {
	if err := cli.CheckPlotPath(opt.plot); err != nil {
		return err
	}
	ctx := cmd.Context()
	r, err := fault.Await(ctx, func() (*accountResult, error) { return opt.account(expr, cmd.Flags().Changed("size")) })
	if err != nil {
		return err
	}
	if opt.plot != "" {
		at := figures.Terms{Delta: r.Delta, Adjacency: r.Adjacency, Accountant: r.terms.Accountant}
		notes, err := figures.Account(ctx, at, r.of, accountant.Result{Interval: r.epsilon, Accountant: r.Accountant}, opt.plot)
		if err != nil {
			return err
		}
		r.Plot = opt.plot
		r.Warnings = append(r.Warnings, notes...)
	}
	return p.Warned(r, r.Warnings)
}

// account computes what an event costs; sized says that the number of records is given.
func (o *accountOptions) account(expr string, sized bool) (*accountResult, error) {
	e, err := cli.ParseEvent(expr)
	if err != nil {
		return nil, err
	}
	t, err := o.Terms(sized)
	if err != nil {
		return nil, err
	}
	if o.epsilon.Given {
		if err := privacy.CheckEpsilon(o.epsilon.Value); err != nil {
			return nil, cli.Usage("--epsilon: %w", err)
		}
	}
	found, err := evaluate(&t, e)
	if err != nil {
		return nil, err
	}
	r := &accountResult{
		eventCost: cost(&t, privacy.Canonical(e).String(), found.Interval, found.Accountant), Width: ui.Real(found.Width()), Why: found.Why, of: e, terms: t,
	}
	if math.IsInf(found.Upper, 1) {
		r.Warnings = append(r.Warnings, noGuarantee(e, t.Delta))
	}
	if o.epsilon.Given {
		d, err := t.Accountant.Delta(e, t.Adjacency, o.epsilon.Value)
		if err != nil {
			return nil, err
		}
		r.AtEpsilon = &deltaResult{o.epsilon.Value, d.Lower, d.Upper}
	}
	return r, nil
}

// evaluate asks the accountant, and says which one answered and why that one.
func evaluate(t *cli.Terms, e privacy.Event) (accountant.Result, error) {
	if auto, ok := t.Accountant.(accountant.Auto); ok {
		return auto.Explain(e, t.Adjacency, t.Delta)
	}
	i, err := t.Accountant.Epsilon(e, t.Adjacency, t.Delta)
	return accountant.Result{Interval: i, Accountant: t.Accountant.Name(), Why: "asked for by name"}, err
}

// noGuarantee says why ε is infinite.
func noGuarantee(e privacy.Event, delta float64) string {
	named := privacy.Walk(e, func(n privacy.Event, _ int) error {
		if _, ok := n.(privacy.NonPrivate); ok {
			return fmt.Errorf("the event holds nonprivate(), so it gives no guarantee")
		}
		return nil
	})
	if named != nil {
		return named.Error()
	}
	return fmt.Sprintf("no finite ε holds at δ = %s; try a larger --delta", ui.Whole(delta))
}

// Account is "sotto account" for a program, which gives the number of records or δ, and maybe an ε.
func Account(expr string, terms cli.TermFlags, epsilon cli.Number) (any, error) {
	o := accountOptions{TermFlags: terms, epsilon: epsilon}
	return o.account(expr, terms.Size != 0)
}
