package attack

import (
	"errors"
	"math"
	"slices"

	"github.com/sotto-dp/sotto/internal/audit"
	"github.com/sotto-dp/sotto/internal/stat"
)

// ROC is how well scores distinguish members from others, whichever threshold is taken.
type ROC struct {
	// AUC is how likely a member scores above another: 0.5 is chance.
	AUC stat.Interval `json:"auc"`
	// Area is its estimate.
	Area float64 `json:"area"`
	// Rate and Hits: at a threshold that takes at most this share of the others for members, this share
	// of the members is found.
	Rate  float64       `json:"false_positive_rate"`
	Share float64       `json:"true_positive_rate"`
	Hits  stat.Interval `json:"true_positive_interval"`
	// Points of the curve, from none to all.
	Points []audit.Point `json:"points"`

	Members, Others int
}

// NewROC compares the scores of members, higher if they are, with those of others. Intervals hold
// with the confidence: of the area by the formula of Hanley and McNeil (1982), of the share by
// Clopper and Pearson.
func NewROC(members, others []float64, rate, confidence float64) (ROC, error) {
	r := ROC{Rate: rate, Members: len(members), Others: len(others)}
	if len(members) == 0 || len(others) == 0 {
		return r, errors.New("there should be scores of members and of others")
	}
	m, o := slices.Sorted(slices.Values(members)), slices.Sorted(slices.Values(others))
	n, k := float64(len(m)), float64(len(o))
	positive := make([]bool, len(m)+len(o))
	for i := range m {
		positive[i] = true
	}
	a, err := AUC(positive, slices.Concat(m, o))
	if err != nil {
		return r, err
	}
	r.Area = a
	q1, q2 := a/(2-a), 2*a*a/(1+a)
	deviation := math.Sqrt(max(0, a*(1-a)+(n-1)*(q1-a*a)+(k-1)*(q2-a*a)) / (n * k))
	z := normalQuantile(1 - (1-confidence)/2)
	r.AUC = stat.Interval{Low: max(0, a-z*deviation), High: min(1, a+z*deviation)}

	allowed := int(rate * k)
	// The least threshold that at most that many others exceed.
	threshold := o[len(o)-1-allowed]
	found := int64(0)
	for _, s := range m {
		if s > threshold {
			found++
		}
	}
	r.Share = float64(found) / n
	r.Hits = stat.ClopperPearson(found, int64(len(m)), (1-confidence)/2)
	r.points(m, o)
	return r, nil
}

// points of the curve: a hundred at most.
func (r *ROC) points(m, o []float64) {
	thresholds := slices.Compact(slices.Sorted(slices.Values(slices.Concat(m, o))))
	slices.Reverse(thresholds)
	share := func(sorted []float64, t float64) float64 {
		below, _ := slices.BinarySearch(sorted, t)
		return float64(len(sorted)-below) / float64(len(sorted))
	}
	r.Points = []audit.Point{{}}
	step := max(1, len(thresholds)/100)
	for i := 0; i < len(thresholds); i += step {
		r.Points = append(r.Points, audit.Point{FalsePositives: share(o, thresholds[i]), TruePositives: share(m, thresholds[i])})
	}
	if last := r.Points[len(r.Points)-1]; last.TruePositives < 1 || last.FalsePositives < 1 {
		r.Points = append(r.Points, audit.Point{FalsePositives: 1, TruePositives: 1})
	}
}

// MaxArea is the largest area that any attack has, if the guarantee is (ε, δ).
func MaxArea(epsilon, delta float64) float64 {
	// The curve goes up by e^ε and then by e^-ε: two lines that meet where both errors are equal.
	meet := (1 - delta) / (1 + math.Exp(epsilon))
	return 1 - meet*(1-delta)
}

// Exposure of a secret is how many bits of it a ranking of all that it could be gives away: with the secret
// at that place of so many (Carlini et al. 2019, "The secret sharer").
func Exposure(place, of int) float64 { return math.Log2(float64(of)) - math.Log2(float64(place)) }

func normalQuantile(p float64) float64 { return -math.Sqrt2 * math.Erfcinv(2*p) }
