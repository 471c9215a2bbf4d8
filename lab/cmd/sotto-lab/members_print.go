package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/lab/attack"
)

// membersResult is what membership inference found.
type membersResult struct {
	// Beyond: a private release gives more away than ε allows. Weak: no attack succeeds on real
	// demonstrations, so that its failures on others say nothing.
	Beyond     bool         `json:"beyond"`
	OK         bool         `json:"ok"`
	Weak       bool         `json:"weak"`
	Method     string       `json:"method"`
	Task       string       `json:"task"`
	Records    int          `json:"records"`
	Trials     int          `json:"trials"`
	Size       int          `json:"size"`
	Scored     int          `json:"scored"`
	Canaries   int          `json:"canaries"`
	Confidence float64      `json:"confidence"`
	Seeded     bool         `json:"seeded"`
	Model      string       `json:"model"`
	Rows       []attack.Row `json:"rows"`
	// WeakAttacks do not clearly succeed even where nobody is protected.
	WeakAttacks []string          `json:"weak_attacks,omitempty"`
	Papers      []publishedAttack `json:"papers"`
	Tokens      int64             `json:"model_tokens"`
	Seconds     float64           `json:"seconds"`
}

// publishedAttack are areas that a paper reports, by ε.
type publishedAttack struct {
	Paper    string  `json:"paper"`
	Data     string  `json:"data"`
	Model    string  `json:"model"`
	One      float64 `json:"auc_1"`
	Two      float64 `json:"auc_2"`
	Four     float64 `json:"auc_4"`
	Eight    float64 `json:"auc_8"`
	Infinite float64 `json:"auc_infinity"`
}

var publishedMembers = []publishedAttack{
	{"Tang et al. 2024, table 15", "DBpedia", "Babbage", 0.5056, 0.5058, 0.5055, 0.5053, 0.8184},
	{"Flemings et al. 2025, table 2", "AG News", "LLaMA-3 3B", 0.5041, 0.5065, 0.5108, 0.5184, 0.7820},
	{"Flemings et al. 2025, table 2", "TREC", "LLaMA-3 3B", 0.5030, 0.5045, 0.5072, 0.5116, 0.7572},
}

// clearly is what the lower end of an area has to exceed, for an attack that counts.
const clearly = 0.6

// judge finds what is beyond, and attacks that say nothing about private demonstrations because they
// fail on those that have no privacy guarantee.
func (r *membersResult) judge() {
	strong := map[string]bool{}
	for _, row := range r.Rows {
		r.Beyond = r.Beyond || row.Conclusion == attack.Beyond
		strong[row.Attack] = strong[row.Attack] || !row.Private && row.AUCLow > clearly
	}
	for _, row := range r.Rows {
		if !strong[row.Attack] && !slices.Contains(r.WeakAttacks, row.Attack) {
			r.WeakAttacks = append(r.WeakAttacks, row.Attack)
		}
	}
	r.Weak = true
	for _, row := range r.Rows {
		r.Weak = r.Weak && !(row.Private && strong[row.Attack])
	}
	r.OK = !r.Beyond
}

func (r *membersResult) headline() string {
	switch {
	case r.Beyond:
		return "BEYOND: a private release gives more away than its ε allows"
	case r.Weak:
		return "No attack clearly succeeds where nobody is protected: too weak to count"
	}
	return "Real demonstrations are attackable, private ones within what ε allows"
}

// shownOf says what kind of demonstrations a row is about.
func (r *membersResult) shownOf(row attack.Row) string {
	switch {
	case row.Private:
		return "ε = " + ui.Whole(row.Epsilon)
	case row.Attack == attack.Choice || row.Attack == attack.OfCanary+attack.Choice:
		return "exact"
	}
	return "real"
}

// memberCells are a row in percent.
func memberCells(row attack.Row) []string {
	allowed, found := "", ""
	if row.Private {
		allowed, found = fmt.Sprintf("%.1f", 100*row.AUCAllowed), fmt.Sprintf("%.2f", 100*row.FoundAllowed)
	}
	return []string{
		strings.TrimPrefix(row.Attack, "answers, "), fmt.Sprintf("%.1f", 100*row.AUC), fmt.Sprintf("%.1f–%.1f", 100*row.AUCLow, 100*row.AUCHigh), allowed,
		fmt.Sprintf("%.1f", 100*row.Found), found, strings.TrimSuffix(row.Conclusion, " what ε allows"),
	}
}

func (r *membersResult) Print(p *ui.Page) {
	if r.Beyond {
		p.Alarm("%s", r.headline())
	} else {
		p.Head("%s", r.headline())
	}
	t := ui.NewTable("shown", "attack", "#AUC", "#interval", "#most", "#found", "#most", "conclusion")
	for _, row := range r.Rows {
		t.Add(append([]string{r.shownOf(row)}, memberCells(row)...)...)
	}
	p.Table(t)
	p.Line("")
	p.Text(2, r.about())
	if len(r.WeakAttacks) > 0 {
		p.Text(2, "Too weak to count, since they do not clearly succeed where nobody is protected: "+strings.Join(r.WeakAttacks, "; ")+".")
	}
	p.Line("")
	t = ui.NewTable("papers' AUC", "data", "#ε = 1", "#2", "#4", "#8", "#∞")
	for _, q := range r.Papers {
		t.Add(q.Paper, q.Data, percent(q.One), percent(q.Two), percent(q.Four), percent(q.Eight), percent(q.Infinite))
	}
	p.Table(t)
	p.Line("")
	p.Facts("model", r.Model, "tokens", ui.Thousands(r.Tokens)+" through it", "time", ui.Span(r.Seconds))
}

func percent(x float64) string { return fmt.Sprintf("%.2f", 100*x) }

// about says what the numbers are.
func (r *membersResult) about() string {
	fewest := 0
	for _, row := range r.Rows {
		if fewest == 0 || row.Others < fewest {
			fewest = row.Others
		}
	}
	return fmt.Sprintf("All in percent. %d releases of each kind, of about %d of %d public records of %s, by %s. AUC is how likely a member scores above another; found is the share of members at a threshold that 0.1 %% of the others exceed, or none of them where there are fewer than 1000 (at least %d here); most is what any attack may get at that ε. Intervals hold with a confidence of %v each: those of AUC about, and those of found exactly where scores are independent, as those of canaries are.",
		r.Trials, r.Size, r.Records, r.Task, r.Method, fewest, r.Confidence)
}
