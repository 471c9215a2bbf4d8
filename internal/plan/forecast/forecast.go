package forecast

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/plan"
)

// Interval of a gain in points: what it is on the data sets of suites, from the least to the
// most, and as far beyond as single runs deviate, with the median.
type Interval struct {
	Middle float64 `json:"middle"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

func (i Interval) holds(x float64) bool { return i.Low <= x && x <= i.High }

// Forecast is what the prompt of a plan is likely to be worth.
type Forecast struct {
	// Weight of a round's records against the noise, and the share of what choosing can gain
	// that it leaves.
	Weight float64 `json:"weight"`
	Kept   float64 `json:"kept"`
	// OverNone, OverOwn and OverReal are gains over no examples, over model-generated ones and
	// over real records, which few forecasts have.
	OverNone Interval  `json:"over_none"`
	OverOwn  Interval  `json:"over_own"`
	OverReal *Interval `json:"over_real,omitempty"`
	// DataSets that suites ran, with Models, and on how many of them the prompt is better than
	// no examples: BetterOn. Guess: yours is none of these models.
	DataSets int      `json:"data_sets"`
	BetterOn int      `json:"better_on"`
	Models   []string `json:"models"`
	Guess    bool     `json:"guess"`
	// Sure is how often such an interval held what was measured on a data set that it was not
	// made from, from 0 to 1; 0 if that is not known.
	Sure float64 `json:"sure"`
}

// ErrUnlike: suites have measured nothing like the plan.
var ErrUnlike = errors.New("there is no forecast of what the chosen prompt is worth: suites have measured nothing like it")

// RoundsError: suites have measured plans of such a size, with many more rounds.
type RoundsError struct{ Planned, Measured int64 }

// Error says what to do.
func (e *RoundsError) Error() string {
	return fmt.Sprintf("there is no forecast of what the chosen prompt is worth: it was not measured with so few rounds (%d, where suites had %d for as much data); --set rounds=N and --time decide how many there are", e.Planned, e.Measured)
}

// Of forecasts a plan in which records choose among texts that are written for it, with a
// model of this name. It fails with [ErrUnlike], an [*EvidenceError] or a [*RoundsError] where nothing
// like it was measured.
func Of(p plan.Plan, model string) (Forecast, error) { return Measured().Of(p, model) }

// Of is as the function of this name, from a table.
func (t Table) Of(p plan.Plan, model string) (Forecast, error) {
	c := p.Choose
	if c == nil || len(c.Given) > 0 || p.Shots == 0 {
		return Forecast{}, ErrUnlike
	}
	if p.Evidence != nil {
		return Forecast{}, t.evident(p)
	}
	f, guess := t.like(written(p.Task.Kind), model)
	if f == nil {
		return Forecast{}, ErrUnlike
	}
	w := c.Range * c.Draw.Expected(p.Units())
	if usual := t.rounds(written(p.Task.Kind), float64(p.Units())*p.Epsilon); c.Rounds < usual {
		if 2*c.Rounds < usual {
			return Forecast{}, &RoundsError{c.Rounds, usual}
		}
		// With the usual number of rounds, each would have had at least this part of the
		// records, and of the range. What fewer rounds gain by that was not measured.
		part := float64(c.Rounds) / float64(usual)
		w *= part * part
	}
	out := Forecast{
		Weight: w, Kept: f.Kept(w), OverNone: f.interval(none, w), OverOwn: f.interval(own, w),
		Guess: guess, Sure: t.sure(written(p.Task.Kind), guess),
	}
	if len(f.over(real, w)) == len(f.Curves) {
		in := f.interval(real, w)
		out.OverReal = &in
	}
	// With several models a data set counts as better if it is with most.
	better := map[string]int{}
	for i, gain := range f.over(none, w) {
		better[f.Curves[i].Task] += map[bool]int{true: 1, false: -1}[gain > 0]
		if m := f.Curves[i].Model; !slices.Contains(out.Models, m) {
			out.Models = append(out.Models, m)
		}
	}
	for _, more := range better {
		if more > 0 {
			out.BetterOn++
		}
	}
	out.DataSets = len(better)
	return out, nil
}

// rounds returns how many rounds runs had at least that had about as much to choose by: records
// times ε, which decides how many rounds a plan has by default. These are the runs with the
// largest such product up to this one, or with the smallest of all.
func (t Table) rounds(texts bool, amount float64) int64 {
	fewest := map[int64]int64{} // by product, rounded
	for _, c := range t.Curves {
		for _, r := range c.Runs {
			of := int64(math.Round(float64(r.Records) * r.Epsilon))
			if known, ok := fewest[of]; written(c.Kind) == texts && (!ok || r.Rounds < known) {
				fewest[of] = r.Rounds
			}
		}
	}
	products := slices.Sorted(maps.Keys(fewest))
	if len(products) == 0 {
		return 0
	}
	above := slices.IndexFunc(products, func(of int64) bool { return of > int64(math.Round(amount)) })
	if above < 0 {
		above = len(products)
	}
	return fewest[products[max(0, above-1)]]
}

// near is how many times larger or smaller a model may be and be about as large.
const near = 3

// like returns the fit of curves with the same kind of answers, of the model itself if there
// are any, else of those of about its size, else of all; nil if there are too few.
func (t Table) like(texts bool, model string) (f *Fit, guess bool) {
	all := NewFit(t.Curves)
	if all == nil {
		return nil, true
	}
	if all = all.only(func(c Curve) bool { return written(c.Kind) == texts }); len(all.Curves) < 2 {
		return nil, true
	}
	if same := all.only(func(c Curve) bool { return c.Model == model }); len(same.Curves) > 1 {
		return same, false
	}
	size := Parameters(model)
	alike := all.only(func(c Curve) bool {
		of := Parameters(c.Model)
		return size > 0 && of > 0 && math.Max(size/of, of/size) <= near
	})
	if len(alike.Curves) > 1 {
		return alike, true
	}
	return all, true
}

// interval spans what a gain is on the curves, and what single runs add to it.
func (f *Fit) interval(of reference, weight float64) Interval {
	gains := f.over(of, weight)
	slices.Sort(gains)
	k := len(gains)
	return Interval{Middle: (gains[(k-1)/2] + gains[k/2]) / 2, Low: gains[0] - f.Deviation, High: gains[k-1] + f.Deviation}
}

// sure is how often intervals held what they were not made from.
func (t Table) sure(texts, guess bool) float64 {
	c := coverage(t.Curves, guess, func(c Curve) bool { return written(c.Kind) == texts })
	return float64(min(c.None, c.Own)) / float64(max(1, c.Settings))
}

// Words say what to expect, and how sure that is.
func (f Forecast) Words() string {
	said := fmt.Sprintf("what to expect of the chosen prompt: %s above no examples, %s above model-generated ones", f.OverNone.words(), f.OverOwn.words())
	if f.Kept < 0.5 {
		said += fmt.Sprintf("; the noise leaves about %.0f %% of what choosing can gain", 100*f.Kept)
	}
	return said + ". " + f.sure()
}

// sure says what it rests on.
func (f Forecast) sure() string {
	from, held := "That is from %d data sets with this model, where chosen prompts are better than none on %d", "forecasts of another data set"
	if f.Guess {
		from = "That is a guess, since no suite ran your model on such a task: it is from %d data sets with " + strings.Join(f.Models, " and ") + ", where chosen prompts are better than none on %d"
		held = "guesses"
	}
	said := fmt.Sprintf(from, f.DataSets, f.BetterOn)
	if f.Sure == 0 {
		return said + "; how often such " + held + " hold is not known"
	}
	return said + fmt.Sprintf("; such %s held %.0f times of 100", held, 100*f.Sure)
}

func (i Interval) words() string {
	return fmt.Sprintf("%s to %s points (middle %s)", points(i.Low), points(i.High), points(i.Middle))
}

// points prints a gain without digits that nobody knows.
func points(x float64) string {
	if x = math.Round(x); x == 0 {
		return "0"
	}
	return fmt.Sprintf("%+.0f", x)
}

// Warning says that examples are unlikely to beat none; "" if they are not.
func (f Forecast) Warning() string {
	if 2*f.BetterOn > f.DataSets && f.OverNone.Middle > 0 {
		return ""
	}
	return fmt.Sprintf("examples are unlikely to beat none here: the forecast is %s above no examples, better on %d of %d data sets of suites. Rehearse it on public records (sotto rehearse), or measure what the model does without examples (sotto eval private)", f.OverNone.words(), f.BetterOn, f.DataSets)
}
