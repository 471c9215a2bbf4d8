package attack

import (
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/sotto-dp/sotto/internal/audit"
	"github.com/sotto-dp/sotto/internal/stat"
)

// Attacks, as rows name them.
const (
	Answers = "answers"
	Reads   = "record"
	Writes  = "text"
	Choice  = "choice"
	// Published is the papers' statistic, with their sign: how likely the record's own label is.
	Published = "answers, published"
	// OfCanary begins the attacks on canaries.
	OfCanary = "canary, "
)

// Conclusions.
const (
	Attackable = "attackable"
	NotShown   = "not shown"
	Within     = "within what ε allows"
	Beyond     = "BEYOND what ε allows"
)

// Rate is the rate of false positives at which the share of members that is found is reported.
const Rate = 0.001

// Score is one of a record, in a release. Releases are independent of each other, scores of one are not.
type Score struct {
	Release int
	In      bool
	Value   float64
}

// Row is how well one attack does on one kind of demonstrations.
type Row struct {
	Attack string `json:"attack"`
	// Private demonstrations have an Epsilon and a Delta, real ones are records.
	Private bool    `json:"private"`
	Epsilon float64 `json:"epsilon,omitempty"`
	Delta   float64 `json:"delta,omitempty"`
	// Releases that were attacked, and scores of members and of others in them.
	Releases int `json:"releases"`
	Members  int `json:"members"`
	Others   int `json:"others"`
	// AUC is how likely a member scores above another, with an interval over releases.
	AUC     float64 `json:"auc"`
	AUCLow  float64 `json:"auc_low"`
	AUCHigh float64 `json:"auc_high"`
	// Found is the share of members at a threshold that at most Rate of the others exceed. The rate that
	// this threshold really has is at most RateHigh.
	Found     float64 `json:"tpr"`
	FoundLow  float64 `json:"tpr_low"`
	FoundHigh float64 `json:"tpr_high"`
	Rate      float64 `json:"fpr"`
	RateHigh  float64 `json:"fpr_high"`
	// AUCAllowed and FoundAllowed are the most that any attack gets under (ε, δ).
	AUCAllowed   float64       `json:"auc_allowed"`
	FoundAllowed float64       `json:"tpr_allowed"`
	Conclusion   string        `json:"conclusion"`
	Points       []audit.Point `json:"-"`
}

// NewRow judges scores. Those of real demonstrations have no ε: it is +Inf.
func NewRow(attack string, scores []Score, epsilon, delta, confidence float64) (Row, error) {
	r := Row{Attack: attack, Private: !math.IsInf(epsilon, 1)}
	var members, others []float64
	releases := map[int]bool{}
	for _, s := range scores {
		if math.IsNaN(s.Value) {
			return r, errors.New("a score is not a number")
		}
		releases[s.Release] = true
		if s.In {
			members = append(members, s.Value)
		} else {
			others = append(others, s.Value)
		}
	}
	roc, err := NewROC(members, others, Rate, confidence)
	if err != nil {
		return r, err
	}
	r.Releases, r.Members, r.Others, r.Points = len(releases), roc.Members, roc.Others, roc.Points
	area := areaOf(scores, confidence)
	r.AUC, r.AUCLow, r.AUCHigh = roc.Area, area.Low, area.High
	r.Found, r.FoundLow, r.FoundHigh, r.Rate = roc.Share, roc.Hits.Low, roc.Hits.High, roc.Rate
	// With k of n others above it, a threshold has a rate of at most this.
	r.RateHigh = stat.ClopperPearson(int64(Rate*float64(roc.Others)), int64(roc.Others), (1-confidence)/2).High
	r.judge(epsilon, delta)
	return r, nil
}

// judge compares what was found with what is allowed. The share is compared at the upper end of the rate:
// few others cannot show a rate as small as [Rate].
func (r *Row) judge(epsilon, delta float64) {
	if !r.Private {
		r.AUCAllowed, r.FoundAllowed, r.Conclusion = 1, 1, NotShown
		if r.AUCLow > 0.5 {
			r.Conclusion = Attackable
		}
		return
	}
	r.Epsilon, r.Delta = epsilon, delta
	r.AUCAllowed, r.FoundAllowed = MaxArea(epsilon, delta), audit.MaxFound(r.Rate, epsilon, delta)
	r.Conclusion = Within
	if r.AUCLow > r.AUCAllowed || r.FoundLow > audit.MaxFound(r.RateHigh, epsilon, delta) {
		r.Conclusion = Beyond
	}
}

// areaOf is an interval of the area over releases, by the variance of DeLong et al. (1988) for clusters
// (Obuchowski 1997), with Student's quantile. It is approximate: right for many releases.
func areaOf(scores []Score, confidence float64) stat.Interval {
	var members, others []float64
	for _, s := range scores {
		if s.In {
			members = append(members, s.Value)
		} else {
			others = append(others, s.Value)
		}
	}
	slices.Sort(members)
	slices.Sort(others)
	m, n := float64(len(members)), float64(len(others))
	// below is the share of sorted values below v, and half of those that are equal.
	below := func(sorted []float64, v float64) float64 {
		first, _ := slices.BinarySearch(sorted, v)
		last := first
		for last < len(sorted) && sorted[last] == v {
			last++
		}
		return float64(first+last) / 2 / float64(len(sorted))
	}
	area := 0.
	for _, v := range members {
		area += below(others, v) / m
	}
	parts := map[int]float64{}
	sides := [2]map[int]bool{{}, {}}
	for _, s := range scores {
		if s.In {
			sides[0][s.Release] = true
			parts[s.Release] += (below(others, s.Value) - area) / m
		} else {
			sides[1][s.Release] = true
			parts[s.Release] += (1 - below(members, s.Value) - area) / n
		}
	}
	releases := float64(len(parts))
	var variance float64
	for _, release := range slices.Sorted(maps.Keys(parts)) { // always in the same order, to the last bit
		variance += parts[release] * parts[release]
	}
	miss := (1 - confidence) / 2
	if releases < 3 {
		return stat.Interval{Low: 0, High: 1}
	}
	variance *= releases / (releases - 1)
	half := student(1-miss, releases-1) * math.Sqrt(variance)
	out := stat.Interval{Low: area - half, High: area + half}
	// A variance of next to nothing, where all members are above all others or nearly so, is no
	// certainty: as many releases could still have had an exception.
	k := int64(max(1, min(len(sides[0]), len(sides[1]))))
	exception := 1 - stat.ClopperPearson(k, k, miss).Low
	out.Low, out.High = min(out.Low, area*(1-exception)), max(out.High, area+(1-area)*exception)
	return out.Within(0, 1)
}

// student is about the quantile of Student's distribution, by the expansion of Fisher and Cornish (1960).
func student(p, degrees float64) float64 {
	z := -math.Sqrt2 * math.Erfcinv(2*p)
	z = math.Abs(z)
	z3, z5, z7 := z*z*z, math.Pow(z, 5), math.Pow(z, 7)
	return z + (z3+z)/(4*degrees) + (5*z5+16*z3+3*z)/(96*degrees*degrees) + (3*z7+19*z5+17*z3-15*z)/(384*math.Pow(degrees, 3))
}

// Ratios turns scores into likelihood ratios: Gaussians of one variance are fitted to those of members and
// of others on half of the releases, and judge the other half. Each canary has fits of its own.
func Ratios(of map[int][]Score) []Score {
	var out []Score
	for _, c := range slices.Sorted(maps.Keys(of)) {
		halves := [2][]Score{}
		at := map[int]int{}
		// Every second of the releases that begin with a member, and of the others: both halves have
		// some of each.
		begun := map[bool]int{}
		for _, s := range of[c] {
			h, known := at[s.Release]
			if !known {
				h = begun[s.In] % 2
				begun[s.In]++
				at[s.Release] = h
			}
			halves[h] = append(halves[h], s)
		}
		for h, half := range halves {
			ratio, ok := fit(halves[1-h])
			if !ok {
				continue
			}
			for _, s := range half {
				s.Value = ratio(s.Value)
				out = append(out, s)
			}
		}
	}
	return out
}

// fit learns Gaussians, and returns the logarithm of their ratio. Two scores of each side are needed.
func fit(scores []Score) (func(float64) float64, bool) {
	var sums, squares, counts [2]float64
	side := map[bool]int{true: 1}
	for _, s := range scores {
		i := side[s.In]
		sums[i] += s.Value
		squares[i] += s.Value * s.Value
		counts[i]++
	}
	if counts[0] < 2 || counts[1] < 2 {
		return nil, false
	}
	out, in := sums[0]/counts[0], sums[1]/counts[1]
	variance := (squares[0] - counts[0]*out*out + squares[1] - counts[1]*in*in) / (counts[0] + counts[1] - 2)
	variance = max(variance, 1e-6*(1+in*in+out*out))
	return func(v float64) float64 { return ((v-out)*(v-out) - (v-in)*(v-in)) / (2 * variance) }, true
}
