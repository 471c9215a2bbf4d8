package release

import (
	"html"
	"math"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
)

// TestConclusions: what a reader sees first follows ε, names a record or a person, and never
// reassures where a guess may be nearly certain.
func TestConclusions(t *testing.T) {
	anyone := "may be shown to anyone"
	for _, c := range []struct {
		epsilon, delta float64
		unit           privacy.Unit
		grade          grade
		want           []string
		reassures      bool
	}{
		{0, 0, "record", untouched, []string{"no record had any influence"}, true},
		{0.05, 1e-6, "record", strong, []string{"almost nothing about any one <strong>record</strong>", "51.3 times in 100", "1 in 1,000,000"}, true},
		{1, 0, "record", strong, []string{"reveal little about any one <strong>record</strong>", "73.2 times in 100"}, true},
		{1, 1e-6, "user:customer", strong, []string{"any one <strong>person</strong>", "whether one particular person", `"customer"`}, true},
		{2, 1e-6, "record", limited, []string{"more than a little about any one <strong>record</strong>", "88.1 times"}, false},
		{4, 1e-6, "record", weak, []string{"only to people whom you trust", "98.3 times"}, false},
		{8, 1e-6, "record", exposed, []string{"Keep these 4 examples where the records may be", "nearly every time"}, false},
		{math.Inf(1), 1e-6, "record", exposed, []string{"find out with certainty"}, false},
		// Records that are hardly ever drawn have an ε of 0, and δ pays for it.
		{0, 1e-6, "record", strong, []string{"almost nothing about any one <strong>record</strong>", "50.1 times in 100"}, true},
		{0, 0.01, "record", exposed, []string{"releasing one of the records in clear"}, false},
		// Publishing one record in clear has δ = 1/n.
		{0.1, 1. / 120000, "record", exposed, []string{"releasing one of the records in clear"}, false},
	} {
		r := paid(news(t))
		r.Guarantee.Epsilon, r.Guarantee.Delta, r.Guarantee.Unit = privacy.Interval{Upper: c.epsilon}, c.delta, c.unit
		page := html.UnescapeString(string(rendered(t, r)[ReportFile]))
		first := page[strings.Index(page, `class="conclusion`):strings.Index(page, `id="texts"`)]
		for _, want := range append(c.want, `class="conclusion `+string(c.grade)) {
			if !strings.Contains(first, want) {
				t.Errorf("ε = %v, δ = %v: there is no %q before the texts", c.epsilon, c.delta, want)
			}
		}
		if strings.Contains(page, anyone+":") != c.reassures {
			t.Errorf("ε = %v, δ = %v: %q", c.epsilon, c.delta, first[:min(300, len(first))])
		}
		if several := strings.Contains(page, "records of one person"); several != (c.unit == "record" && c.epsilon+c.delta > 0 && !math.IsInf(c.epsilon, 1)) {
			t.Errorf("ε = %v for %s: people with several records are mentioned: %v", c.epsilon, c.unit, several)
		}
	}
}

// TestMarkedOnce: a page without a guarantee says so first, and says nothing of ε.
func TestMarkedOnce(t *testing.T) {
	for name, change := range map[string]func(*Release){
		"seed":    func(r *Release) { r.Seeded = true },
		"claimed": func(r *Release) { r.Private, r.Claim = false, "claimed, not proven" },
		"nothing": func(r *Release) { r.Guarantee = nil },
	} {
		t.Run(name, func(t *testing.T) {
			r := news(t)
			change(&r)
			page := string(rendered(t, r)[ReportFile])
			body := page[strings.Index(page, "<body"):]
			expect.Equal(t, "number of Mark", strings.Count(body, Mark), 1)
			expect.True(t, "no ε in body", !strings.Contains(body, "ε"), body)
			expect.True(t, "no sotto verify in body", !strings.Contains(body, "sotto verify"), body)
			expect.True(t, "no anyone in body", !strings.Contains(body, "anyone"), body)
			if !strings.Contains(body, `class="conclusion exposed"`) || (name == "claimed") != strings.Contains(body, "claimed, not proven") {
				t.Errorf("%s", body)
			}
		})
	}
}

// TestTogether compares the bound for k records with the best test between data sets that are
// k steps apart, for randomised response, which is as bad as ε allows: the answers of k records
// that are all 1 or all 0, each true with odds e^ε.
func TestTogether(t *testing.T) {
	for _, epsilon := range []float64{0.1, 0.5, 1, 2} {
		for _, k := range []int{1, 2, 5} {
			truth := math.Exp(epsilon) / (1 + math.Exp(epsilon))
			right := 0. // of the guess by majority, from the binomial distribution
			for ones := 0; ones <= k; ones++ {
				p := float64(choose(k, ones)) * math.Pow(truth, float64(ones)) * math.Pow(1-truth, float64(k-ones))
				switch {
				case 2*ones > k:
					right += p
				case 2*ones == k:
					right += p / 2
				}
			}
			all := together(privacy.Guarantee{Epsilon: privacy.Interval{Upper: epsilon}}, k)
			if bound := (1 + all.Share) / 2; right > bound+1e-12 || k == 1 && math.Abs(right-bound) > 1e-12 {
				t.Errorf("ε = %v, %d records: a guess is right with %v, and the bound says %v", epsilon, k, right, bound)
			}
		}
	}
	// δ of k records is what k steps add: each multiplies the δ before it by e^ε.
	g := privacy.Guarantee{Epsilon: privacy.Interval{Upper: 0.5}, Delta: 1e-3}
	delta := 0.
	for range 5 {
		delta = delta*math.Exp(0.5) + 1e-3
	}
	want := Guess(privacy.Guarantee{Epsilon: privacy.Interval{Upper: 2.5}, Delta: delta})
	if got := (1 + together(g, 5).Share) / 2; math.Abs(got-want) > 1e-12 {
		t.Errorf("five records: %v, want %v", got, want)
	}
	if got := together(privacy.Guarantee{Epsilon: privacy.Interval{Upper: 200}, Delta: 1e-3}, 10).Guess; got != "100.0 %" {
		t.Errorf("an ε that cannot be computed with: %s", got)
	}
}

func choose(n, k int) int {
	out := 1
	for i := range k {
		out = out * (n - i) / (i + 1)
	}
	return out
}

// TestGlance: the first page has what a decision needs, rounded against the release.
func TestGlance(t *testing.T) {
	r := paid(news(t))
	r.Account.Budgets[0].Left = 1.24999
	r.Account.Budgets = append(r.Account.Budgets, Balance{Name: "desk", Epsilon: 2, Left: 0.5})
	page := html.UnescapeString(string(rendered(t, r)[ReportFile]))
	for _, want := range []string{
		"17 November 2026", "<dd>articles</dd>", "ε ≤ 1, δ = 1e-6", "ε = 1.249 of 3, when this was charged", "78 % (71 to 85)",
		"run by Sotto itself: records were sent to no server", "key sha256:012345678…", "the key <code>sha256:0123456789abcdef</code>", "agnews answers", "(team=desk)", "2026-10-02",
		"others: ε = 0.75", "released from the same data before, a guess may be right up to 85.2 % of the time", "this run: ε = 1", "85.2 % of the time", "95.3 %", "the budget desk too", "What to expect.", "A blind guess is right on 25 %",
		"sotto verify . --key FILE", "SHA-256 ", "<details>",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("there is no %q", want)
		}
	}
	r.Worth.Low = 0.24
	page = html.UnescapeString(string(rendered(t, r)[ReportFile]))
	at := expect.At(t, "a measured worth that a blind guess may have too is not said to be one")
	expect.Contains(at, "page", page, "This may be no better than a blind guess: it is right on 78 % of the records (24 to 85), and a blind guess on 25 %.")
	expect.Contains(at, "page", page, "sotto model recommend")
	expect.Max(at, "strings.Index(page, 'This may be no better')", strings.Index(page, "This may be no better"), strings.Index(page, "<h1"))
	r.Account.Budgets[0].Left = 3e-9
	r.Backend, r.Isolation = "vllm", "alone, by the operator's word"
	r.Account.Others, r.Worth = nil, nil
	page = html.UnescapeString(string(rendered(t, r)[ReportFile]))
	for _, want := range []string{"a server (vllm) to which records were sent; each was read alone, by the operator's word", "Nobody else had used", "was not measured", "ε = 0 of 3"} {
		if !strings.Contains(page, want) {
			t.Errorf("there is no %q", want)
		}
	}
}
