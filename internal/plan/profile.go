package plan

import (
	"fmt"
	"math"

	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/schema"
)

// Profile fixes how a table is summed up in typical rows, except for randomness and data. It is
// public.
type Profile struct {
	Schema schema.Schema `json:"schema"`
	// Epsilon and Delta that were asked for; what the profile costs is at most that.
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
	// Unit is what the guarantee is about, under the adjacency of Settings.
	Unit privacy.Unit `json:"unit"`
	// Size is the declared number of rows, or 0: errors are predicted from it.
	Size     int64           `json:"size,omitempty"`
	Settings global.Settings `json:"settings"`
}

// ProfileRequest is what a user asks for. The zero value of a field leaves the choice to
// [NewProfile].
type ProfileRequest struct {
	// Schema is required.
	Schema schema.Schema
	// Epsilon is required; +Inf adds no noise, and is NOT PRIVATE. Delta is 0 by default:
	// Gaussian noise needs one, and takes min(1e-6, n^-1.1) of a declared Size.
	Epsilon, Delta float64
	// Adjacency is add-remove by default, and Unit a record. RowsPerUnit is how many rows
	// of another unit are used at most; 1 by default.
	Adjacency   privacy.Adjacency
	Unit        privacy.Unit
	RowsPerUnit int
	// Size is the declared number of rows. It is for the prediction of errors only.
	Size int64
	// Rate samples the units first; 0 takes all of them. At equal ε the noise relative to
	// what is left is not smaller.
	Rate float64
	// Groups whose product the rows are divided into; none makes one group of all.
	Groups []schema.Group
	// Noise is Laplace by default.
	Noise global.Noise
	// Statistics of columns other than their mean or mode; Quantiles of
	// those that have them (the median by default), and Cells of their grids.
	Statistics map[string]global.Statistic
	Quantiles  map[string][]float64
	Cells      map[string]int
	// Weights are the shares of the budget that columns have relative to each other, 1
	// by default, and CountWeight that of the count of rows. Where a Size is declared,
	// modes without a weight have less if that is enough; Even keeps them at 1.
	Weights     map[string]float64
	CountWeight float64
	Even        bool
	// Published divides the budget and adds up as Carey et al. 2024 do: a share for every
	// column, of which numeric ones spend half on a count of their own, sums that are not
	// centred, and modes by the largest of noisy counts. (Their noise is for a sensitivity of high − low, which is less than
	// what a row can do if low is above 0 or high below it; ours is for the larger bound.)
	Published bool
}

// NewProfile makes a plan that keeps to the ε and δ of a request.
func NewProfile(r ProfileRequest) (Profile, error) {
	if err := r.fill(); err != nil {
		return Profile{}, err
	}
	p := Profile{
		Schema: r.Schema, Epsilon: r.Epsilon, Delta: r.Delta, Unit: r.Unit, Size: r.Size,
		Settings: global.Settings{
			Groups: r.Groups, Adjacency: r.Adjacency, Noise: r.Noise, Rate: r.Rate, RowsPerUnit: r.RowsPerUnit,
			Uncentred: r.Published,
		},
	}
	shares, err := r.split()
	if err != nil {
		return Profile{}, err
	}
	if r.Noise == global.None {
		p.Epsilon, p.Delta = 0, 0 // there is no ε, and JSON has no infinity
		p.Settings = r.settings(p.Settings, shares, 0)
	} else if p.Settings, err = r.calibrate(p.Settings, shares); err != nil {
		return Profile{}, err
	}
	if err := p.Check(); err != nil {
		return Profile{}, wrong("%v", err)
	}
	return p, nil
}

// fill sets what was left open and checks the rest.
func (r *ProfileRequest) fill() error {
	for _, p := range r.Schema.Check() {
		if !p.Warning {
			return wrong("the schema cannot be used: %v", p)
		}
	}
	r.Schema = r.Schema.WithDefaults()
	setDefault(&r.Adjacency, privacy.AddRemove)
	setDefault(&r.Unit, privacy.Record)
	setDefault(&r.Noise, global.Laplace)
	setDefault(&r.Rate, 1)
	if r.Unit != privacy.Record {
		setDefault(&r.RowsPerUnit, 1)
	} else if r.RowsPerUnit != 0 {
		return wrong("%d rows of a unit are to be used, and rows are the units: name the column of units, or leave it out", r.RowsPerUnit)
	}
	if math.IsInf(r.Epsilon, 1) {
		r.Noise = global.None
	}
	switch {
	case r.Size < 0:
		return wrong("a table of %d rows: declare about how many it has, or leave it out", r.Size)
	case !(r.Rate > 0 && r.Rate <= 1):
		return wrong("a sampling rate of %v: it must be above 0 and at most 1, or left out to use all rows", r.Rate)
	case r.Noise == global.None:
		return nil
	}
	if err := privacy.CheckEpsilon(r.Epsilon); err != nil || r.Epsilon == 0 {
		return about("Epsilon", "an ε above 0 is needed, such as 1, not %v", r.Epsilon)
	}
	if r.Noise == global.Gaussian && r.Delta == 0 {
		if r.Size == 0 {
			return about("Delta", "Gaussian noise needs a δ, such as 1e-6, or a declared number of rows that one follows from")
		}
		r.Delta = privacy.DefaultDelta(r.Size)
	}
	if r.Delta != 0 {
		if err := privacy.CheckDelta(r.Delta); err != nil {
			return wrong("%v", err)
		}
	}
	return nil
}

// Event is all that the profile may do to the data.
func (p Profile) Event() privacy.Event { return p.Settings.Event() }

// Adjacency is what the guarantee is about, with [Profile.Unit].
func (p Profile) Adjacency() privacy.Adjacency { return p.Settings.WithDefaults().Adjacency }

// Private reports whether noise is added. Without it there is no charge and no
// certificate, and files say NOT PRIVATE.
func (p Profile) Private() bool { return p.Settings.WithDefaults().Noise != global.None }

// Proof cites why the event is right; "" for a profile without noise.
func (p Profile) Proof() string {
	switch p.Settings.WithDefaults().Noise {
	case global.None:
		return ""
	case global.Gaussian:
		return "Gaussian mechanism on whole-number sums of clamped values and on counts over whole domains, of disjoint groups; exponential mechanism for quantiles"
	}
	return "Laplace mechanism (Dwork, McSherry, Nissim, Smith 2006) on whole-number sums of clamped values and on counts over whole domains, of disjoint groups; exponential mechanism for quantiles"
}

// Check finds what is wrong with a plan that was read from a file.
func (p Profile) Check() error {
	s := p.Settings.WithDefaults()
	if (p.Unit != privacy.Record) != (s.RowsPerUnit > 0) {
		return fmt.Errorf("the unit of privacy is %q and %d of its rows are used: rows_per_unit is for units other than a record, and they need it", p.Unit, s.RowsPerUnit)
	}
	if _, err := global.New(p.Schema, s); err != nil {
		return err
	}
	return privacy.Validate(p.Event())
}
