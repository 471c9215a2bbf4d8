package plan

import (
	"fmt"
	"math"

	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
)

// Event is what perturbing the table does to privacy.
func (l Local) Event() privacy.Event { return l.Settings.Event() }

// Adjacency is replace-one: the number of rows is public.
func (l Local) Adjacency() privacy.Adjacency { return l.Settings.Adjacency() }

// Unit of privacy: a row.
func (l Local) Unit() privacy.Unit { return privacy.Record }

// Check finds what is wrong with a plan that was read from a file.
func (l Local) Check() error {
	if err := l.Settings.Fits(l.Schema); err != nil {
		return err
	}
	cost, err := accountant.Auto{}.Epsilon(l.Event(), l.Adjacency(), 0)
	if err != nil {
		return fmt.Errorf("checking a plan to perturb: %w", err)
	}
	if !(cost.Upper <= l.Epsilon) {
		return fmt.Errorf("the columns cost ε = %v together, more than the %v of the plan: plan again", cost.Upper, l.Epsilon)
	}
	return nil
}

// LocalError is what is known about a column before a row is read.
type LocalError struct {
	Column  string  `json:"column"`
	Values  int     `json:"values"`
	Epsilon float64 `json:"epsilon"`
	// Keep is the chance that a value stays what it is.
	Keep float64 `json:"keep"`
	// Worst is the standard error of the estimated share of a value, for the share at which
	// it is largest; Even for a value as common as the others. 0 without a number of rows.
	Worst float64 `json:"worst"`
	Even  float64 `json:"even"`
}

// Errors predicts how well each column will be known.
func (l Local) Errors() []LocalError {
	c := l.Settings.Channel()
	out := make([]LocalError, len(c.Domains))
	for i, d := range c.Domains {
		out[i] = LocalError{Column: l.Schema.Columns[i].Name, Values: d, Epsilon: l.Settings.Epsilons[i], Keep: c.Keep[i]}
		if l.Rows > 0 {
			out[i].Worst, out[i].Even = c.WorstError(i, l.Rows), c.ShareError(i, 1/float64(d), l.Rows)
		}
	}
	return out
}

// CellError predicts the root mean square of the standard errors of the unbiased shares of
// all combinations of values; 0 without a number of rows. Cells is how many there are.
func (l Local) CellError() float64 {
	if l.Rows == 0 {
		return 0
	}
	return l.Settings.Channel().CellError(l.Rows)
}

// Cells is the number of combinations of values; it stops counting at 2^62.
func (l Local) Cells() int64 { return l.Settings.Channel().Cells() }

// exposedEpsilon is the ε of a row above which it is hardly protected: reports call such a guarantee by that name too.
const exposedEpsilon = 5

// Exposed says in plain words that rows are hardly protected; "" where they are.
func (l Local) Exposed() string {
	if l.Epsilon <= exposedEpsilon {
		return ""
	}
	lowest, highest, whole := 1.0, 0.0, 1.0
	for _, k := range l.Settings.Channel().Keep {
		lowest, highest, whole = min(lowest, k), max(highest, k), whole*k
	}
	return fmt.Sprintf("at ε = %v a row is hardly protected: each value stays as it is with a chance of %.0f to %.0f %%, and %.2g %% of rows stay so in all columns. "+
		"Of somebody who may have had one of two rows, the perturbed row can show which with near certainty. Treat these rows as you would the table; "+
		"for rows to publish take an ε of %d or less, which needs more rows or fewer columns, and where one party has the table anyway take \"sotto table profile\" at ε = 1",
		l.Epsilon, 100*lowest, 100*highest, 100*whole, exposedEpsilon)
}

// unclear is the standard error of a share above which a column is as good as unknown.
const unclear = 0.25

// Warnings are about what the settings alone show, in words.
func (l Local) Warnings() []string {
	if l.Rows == 0 {
		return nil
	}
	var out []string
	for _, e := range l.Errors() {
		if e.Worst > unclear {
			out = append(out, fmt.Sprintf("column %q will hardly be known: the share of a value is estimated to ±%.2g; spend a larger ε, perturb fewer columns, or use coarser bins", e.Column, e.Worst))
		}
	}
	if cells := float64(l.Cells()); len(out) == 0 && l.CellError() > math.Sqrt(1/cells) {
		out = append(out, fmt.Sprintf("combinations of all columns will hardly be known: the unbiased shares of the %v cells are estimated to ±%.2g each; reconstruct groups of two or three columns, or trust estimates of few columns only", l.Cells(), l.CellError()))
	}
	return out
}
