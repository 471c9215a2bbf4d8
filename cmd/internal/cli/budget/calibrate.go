package budget

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/sys/fault"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
)

type calibrateOptions struct {
	cli.TermFlags
	epsilon cli.Number
}

func newCalibrateCommand(p *cli.Program) *cobra.Command {
	var opt calibrateOptions
	cmd := &cobra.Command{
		Use:   "calibrate EXPR-with-x --epsilon E --delta D",
		Short: "The number x for which an event costs at most ε",
		Long: `Solves an expression for one unknown number x, so that the upper end of ε is
at most the target: the smallest x where more of it costs less (such as the
noise σ), the largest where more of it costs more (such as the ε of pure, the c
of boundedrange, or a number of steps). x may stand for any number of the
expression, also within a fraction, and more than once.

The x that is printed satisfies the target as it stands, with all its digits.` + ui.JSONKeys(calibrateResult{}, `extreme is "smallest" or "largest".`),
		Example: `  sotto calibrate 'repeat(100, poisson(20/30000, gaussian(x)))' --epsilon 1 --delta 1/30000
  sotto calibrate 'repeat(x, poisson(0.01, gaussian(1)))' --epsilon 3 --delta 1e-6
  sotto calibrate 'poisson(x/30000, gaussian(0.5))' --epsilon 0.1 --size 30000 --json`,
		Args: cli.Takes("EXPR-with-x"),
		RunE: func(cmd *cobra.Command, args []string) error { return runCalibrate(cmd, p, args[0], opt) },
	}
	opt.Add(cmd)
	cmd.Flags().Var(&opt.epsilon, "epsilon", "the largest ε allowed; required")
	return cmd
}

// calibrateResult is the number found.
type calibrateResult struct {
	X       float64 `json:"x"`
	Extreme string  `json:"extreme"`
	eventCost
	EpsilonTarget float64 `json:"epsilon_target"`
	Evaluations   int     `json:"evaluations"`
}

func (r *calibrateResult) Print(p *ui.Page) {
	p.Line("%s", p.Paint(ui.Bold, "x = "+ui.Decimal(r.X)))
	p.Line("the %s that keeps ε ≤ %s at δ = %s, %s\n", r.Extreme, ui.Whole(r.EpsilonTarget), ui.Whole(r.Delta), r.Adjacency)
	p.Facts(
		"event", r.Event,
		"exact ε", ui.Interval(r.epsilon),
		"accountant", fmt.Sprintf("%s, asked %s", r.Accountant, ui.Counted(r.Evaluations, "time")),
	)
}

func runCalibrate(cmd *cobra.Command, p *cli.Program, expr string, opt calibrateOptions) error {
	r, err := fault.Await(cmd.Context(), func() (*calibrateResult, error) { return opt.calibrate(expr, cmd.Flags().Changed("size")) })
	if err != nil {
		return err
	}
	return p.Warned(r, r.Warnings)
}

// calibrate solves an expression; sized says that the number of records is given.
func (o *calibrateOptions) calibrate(expr string, sized bool) (*calibrateResult, error) {
	t, err := privacy.ParseTemplate(expr)
	if err != nil {
		return nil, err
	}
	if !o.epsilon.Given {
		return nil, cli.Usage("--epsilon is missing: give the largest ε allowed, such as --epsilon 1")
	}
	if err := privacy.CheckEpsilon(o.epsilon.Value); err != nil {
		return nil, cli.Usage("--epsilon: %w", err)
	}
	q, err := o.Terms(sized)
	if err != nil {
		return nil, err
	}
	found, err := accountant.Calibrate(t, accountant.Target{
		Epsilon: o.epsilon.Value, Delta: q.Delta, Adjacency: q.Adjacency, Accountant: q.Accountant,
	})
	if err != nil {
		return nil, err
	}
	r := &calibrateResult{found.X, "smallest", cost(&q, found.Event.String(), found.Epsilon, q.Accountant.Name()), o.epsilon.Value, found.Evaluations}
	if found.Increasing {
		r.Extreme = "largest"
	}
	return r, nil
}

// Calibrate is "sotto calibrate" for a program.
func Calibrate(expr string, terms cli.TermFlags, epsilon cli.Number) (any, error) {
	o := calibrateOptions{TermFlags: terms, epsilon: epsilon}
	return o.calibrate(expr, terms.Size != 0)
}
