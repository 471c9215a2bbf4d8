package release

import (
	"fmt"
	"math"
	"strings"

	"github.com/sotto-dp/sotto/privacy"
)

// grade says how far a guarantee protects, for people who decide.
type grade string

const (
	// untouched: no record had any influence.
	untouched grade = "untouched"
	strong    grade = "strong"
	limited   grade = "limited"
	weak      grade = "weak"
	// exposed: hardly any protection, or none.
	exposed grade = "exposed"
)

// The largest ε of each grade. A best guess is then right 52.5, 73.2, 95.3 and 99.4 times in 100.
// They are a convention of this program: no law and no theorem draws these lines.
const (
	tinyEpsilon    = 0.1
	strongEpsilon  = 1
	limitedEpsilon = 3
	weakEpsilon    = 5
)

// gradeLines explains them.
var gradeLines = fmt.Sprintf("The conclusion follows ε: up to %v is for anyone, up to %v for a decision, up to %v is weak, and more protects hardly at all. A δ that is not below one divided by the number of records counts as no protection. Where these lines are is a convention of Sotto, not a law.", strongEpsilon, limitedEpsilon, weakEpsilon)

// gradeOf grades a guarantee for so many units; 0 if their number is not known.
func gradeOf(g privacy.Guarantee, units int64) grade {
	e := g.Epsilon.Upper
	switch {
	case free(g):
		return untouched
	case privacy.LargeDelta(g.Delta, units) != "":
		return exposed
	case e <= strongEpsilon:
		return strong
	case e <= limitedEpsilon:
		return limited
	case e <= weakEpsilon:
		return weak
	}
	return exposed
}

// conclusion is what a reader sees first.
type conclusion struct {
	Grade grade
	// Headline is one sentence. Its last words are Unit, a record or a person, if it is set.
	Headline, Unit string
	// Meaning is what it means in everyday words.
	Meaning []string
}

// subject names what was released, and it in a sentence.
func (r Release) subject() (what, they, s string) {
	n := len(r.Examples)
	switch {
	case r.learned():
		return "This classifier", "it", "s"
	case r.bare():
		return "This prompt", "it", "s"
	case r.Origin == Averaged && n == 1:
		return "This profile", "it", "s"
	case r.Origin == Averaged:
		return fmt.Sprintf("These %d profiles", n), "they", ""
	case n == 1:
		return "This example", "it", "s"
	}
	return fmt.Sprintf("These %d examples", n), "they", ""
}

// noun is what the unit of a guarantee is called every day.
func noun(g privacy.Guarantee) string {
	if strings.HasPrefix(string(g.Unit), "user:") {
		return "person"
	}
	return "record"
}

// conclusion judges a release.
func (r Release) conclusion() conclusion {
	what, they, s := r.subject()
	them := map[string]string{"it": "it", "they": "them"}[they]
	lower := strings.ToLower(what[:1]) + what[1:]
	if r.NotPrivate() {
		return conclusion{Grade: exposed, Headline: fmt.Sprintf("%s: keep %s where the records may be.", Mark, lower), Meaning: []string{sentence(r.why())}}
	}
	g := *r.Guarantee
	v := conclusion{Grade: gradeOf(g, r.units()), Unit: noun(g)}
	switch v.Grade {
	case untouched:
		v.Headline, v.Unit = fmt.Sprintf("%s may be shown to anyone: no record had any influence on %s.", what, them), ""
		v.Meaning = r.Words[1:]
		return v
	case strong:
		v.Headline = fmt.Sprintf("%s may be shown to anyone: %s reveal%s %s about any one", what, they, s, map[bool]string{true: "almost nothing", false: "little"}[g.Epsilon.Upper <= tinyEpsilon])
	case limited:
		v.Headline = fmt.Sprintf("Decide to whom you show %s: %s may reveal more than a little about any one", lower, they)
	case weak:
		v.Headline = fmt.Sprintf("Show %s only to people whom you trust: the guarantee is weak for any one", lower)
	case exposed:
		v.Headline = fmt.Sprintf("Keep %s where the records may be: the guarantee hardly protects any one", lower)
	}
	v.Meaning = r.meaning(g)
	if b := r.budget(g); b != nil && len(b.Others) > 0 && v.Grade != exposed {
		v.Meaning = append(v.Meaning, fmt.Sprintf("That is about this release alone. With everything that was released from the same data before, a guess may be right up to %s of the time.", b.SoFar))
	}
	return v
}

// meaning explains a guarantee to somebody who does not know what ε is.
func (r Release) meaning(g privacy.Guarantee) []string {
	if math.IsInf(g.Epsilon.Upper, 1) {
		return []string{"Anyone who reads this may find out with certainty who is in the data."}
	}
	guess := fmt.Sprintf("whether one particular %s was in it", noun(g))
	if g.Adjacency == privacy.ReplaceOne {
		guess = fmt.Sprintf("which of two %s was in it", map[string]string{"record": "records", "person": "people"}[noun(g)])
	}
	right := fmt.Sprintf("is right at most %s times in 100, whatever they compute from this", strings.TrimSuffix(percent(Guess(g)), " %"))
	if Guess(g) > 0.999 {
		right = "may be right nearly every time"
	}
	out := []string{fmt.Sprintf("Someone who knows all the rest of the data and has to guess, at even odds, %s %s. Who tosses a coin is right 50 times in 100.", guess, right)}
	if large := privacy.LargeDelta(g.Delta, r.units()); large != "" {
		return append(out, sentence(large))
	}
	if g.Delta > 0 {
		out = append(out, fmt.Sprintf("With a probability of at most %s no limit is promised (δ); the number above counts that in.", odds(g.Delta)))
	}
	return out
}

// units is how many units there are, as it was declared or counted with noise.
func (r Release) units() (n int64) {
	for _, s := range r.Sizes {
		n += s.Units
	}
	return n
}

// odds writes a small probability as one in so many, rounded up.
func odds(p float64) string {
	if n := math.Floor(1/p + 1e-6); n >= 2 && n < 1e15 {
		return "1 in " + grouped(int64(n))
	}
	return number(p)
}

// sentence makes one of a clause.
func sentence(clause string) string {
	return strings.ToUpper(clause[:1]) + strings.TrimSuffix(clause[1:], ".") + "."
}

// several is how well somebody with so many records is protected.
type several struct {
	Records int
	Guess   string
	Share   float64 // of the way from a coin to certainty
}

// together bounds the guess about k units: they are protected by k·ε, and by
// δ·(1+e^ε+…+e^((k−1)ε)), since k steps lead from one data set to the other, of which each
// multiplies what the ones before have added to δ. (Dwork and Roth 2014, theorem 2.2, with δ.)
func together(g privacy.Guarantee, k int) several {
	all := g
	all.Epsilon.Upper = float64(k) * g.Epsilon.Upper
	all.Delta = g.Delta * float64(k)
	if g.Epsilon.Upper > 0 {
		all.Delta = g.Delta * math.Expm1(all.Epsilon.Upper) / math.Expm1(g.Epsilon.Upper)
	}
	best := 1.
	if !math.IsInf(all.Delta, 0) && !math.IsNaN(all.Delta) {
		best = Guess(all)
	}
	return several{k, percent(best), 2*best - 1}
}
