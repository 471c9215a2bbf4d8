package release

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/prompt"
)

// ReportFile is the page for a person who must decide.
const ReportFile = "report.html"

//go:embed report.html.tmpl
var page string

//go:embed report.css
var style string

// reportPage escapes everything by its context. The style is this program's own.
var reportPage = template.Must(template.New("report").Funcs(template.FuncMap{
	"add":      func(a, b int) int { return a + b },
	"atLeast":  atLeast,
	"atMost":   atMost,
	"percent":  percent,
	"sentence": sentence,
	"scale":    func(share float64) float64 { return gaugeWidth * min(1, max(0, share)) },
	"style":    func() template.CSS { return template.CSS(style) },
}).Parse(page))

// gaugeWidth is the width of drawings.
const gaugeWidth = 640.0

type reportView struct {
	Release
	Title, Summary string
	Conclusion     conclusion
	// Glance are the facts of the first page.
	Glance []tableLine
	// Guess draws how far a guess gets, from a coin to certainty.
	Guess *guess
	// Several: the same about people with several records.
	Several []several
	Budget  *budgetView
	// Names of the fields, and the cards: what a text was written for, and the text.
	Names          [2]string
	Cards          [][2]string
	Facts, Options []tableLine
	Bound, Event   string
	Command        string
	Lines          string
	Limits         []string
	Files          []fileLine
	Foot           string
	// MeasuredAs says how labels were read off for the measured worth.
	MeasuredAs string
	// Blind says how often a guess among the labels is right, and the commonest.
	Blind string
	// Ungained is said first, if nothing was gained.
	Ungained *NoGain
	// Classifier: there is no prompt, and no language model.
	Classifier bool
}

// guess is the best guess about a unit, as a share of the way from a coin to certainty.
type guess struct {
	Share float64
	Text  string
	Noun  string
}

// fileLine is a file of the release; the ones that are not made yet have no sum.
type fileLine struct{ Name, What, Sum string }

// budgetView shows how the budget stands.
type budgetView struct {
	Account
	// First is the global budget. Before, Own and Left are shares of its allowance; where charges
	// are not added up one by one, Own is 0 and Before all that is spent.
	First             Balance
	Before, Own, Left float64
	Earlier           float64
	More              int // uses that are not listed
	// Share: the run counts as more than its ε, because it was charged at a share of δ.
	Share bool
	// SoFar and All bound the guess about a unit with everything released so far, and with all
	// that the budget allows.
	SoFar, All, Noun string
}

// maxUses is how many other uses are listed.
const maxUses = 12

// report returns the page. It lists the files that were made before it.
func report(r Release, files []File) ([]byte, error) {
	v := reportView{
		Release: r, Title: r.title(), Summary: r.summary(), Conclusion: r.conclusion(), Glance: r.glance(), Lines: gradeLines,
		Names: [2]string{r.Task.Answer.Output, r.Task.Answer.Input}, Limits: r.limits(), Facts: r.facts(), Options: r.settings(),
		Foot: Mark, MeasuredAs: r.measuredAs(), Classifier: r.learned(),
	}
	if r.Worth != nil && !r.Task.Open() {
		v.Blind = r.Worth.Against(len(r.Task.Labels))
	}
	v.Ungained = Gained(r.Task, r.Prompt, r.Worth)
	turn := r.Task.Kind == prompt.Generate
	if turn {
		slices.Reverse(v.Names[:])
	}
	for _, e := range r.Examples {
		card := [2]string{e.Output, e.Input}
		if turn {
			slices.Reverse(card[:])
		}
		v.Cards = append(v.Cards, card)
	}
	for _, f := range r.contents() {
		one := fileLine{Name: f[0], What: strings.ReplaceAll(f[1], "`", "")}
		if at := slices.IndexFunc(files, func(made File) bool { return made.Name == f[0] }); at >= 0 {
			sum := sha256.Sum256(files[at].Data)
			one.Sum = hex.EncodeToString(sum[:])
		}
		v.Files = append(v.Files, one)
	}
	if !r.NotPrivate() {
		v.guarantee()
	}
	var b bytes.Buffer
	if err := reportPage.Execute(&b, v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// guarantee fills in what there is to say of a guarantee.
func (v *reportView) guarantee() {
	g := *v.Release.Guarantee
	v.Bound = bound(g)
	v.Foot = v.Bound + " for one " + noun(g)
	v.Event = g.Event.String()
	v.Command = fmt.Sprintf("sotto account '%s' --delta %s --adjacency %s", g.Event, number(g.Delta), g.Adjacency)
	v.Budget = v.Release.budget(g)
	if free(g) || math.IsInf(g.Epsilon.Upper, 1) {
		return
	}
	best := Guess(g)
	v.Guess = &guess{Share: 2*best - 1, Text: percent(best), Noun: noun(g)}
	if noun(g) == "record" {
		for _, k := range []int{1, 2, 5, 10} {
			v.Several = append(v.Several, together(g, k))
		}
	}
}

// bound is ε and δ.
func bound(g privacy.Guarantee) string {
	if free(g) {
		return "ε = 0"
	}
	return fmt.Sprintf("ε ≤ %s, δ = %s", atMost(g.Epsilon.Upper), number(g.Delta))
}

// budget shows the budget that paid, if one did.
func (r Release) budget(g privacy.Guarantee) *budgetView {
	if r.Account == nil || len(r.Account.Budgets) == 0 || r.Account.Budgets[0].Epsilon <= 0 {
		return nil
	}
	first := r.Account.Budgets[0]
	v := &budgetView{Account: *r.Account, First: first, Noun: noun(g), Earlier: max(0, first.Spent-first.Own)}
	v.Share = first.Own > g.Epsilon.Upper*1.0005
	v.More = max(0, len(v.Others)-maxUses)
	v.Others = v.Others[v.More:]
	v.Before, v.Own = min(1, v.Earlier/first.Epsilon), min(1, first.Own/first.Epsilon)
	v.Left = max(0, 1-v.Before-v.Own)
	of := func(epsilon float64) string {
		all := g
		all.Epsilon.Upper, all.Delta = epsilon, first.Delta
		return percent(Guess(all))
	}
	v.SoFar, v.All = of(first.Spent), of(max(first.Epsilon, first.Spent))
	return v
}

// glance lists the facts that a decision needs.
func (r Release) glance() []tableLine {
	var list []tableLine
	add := func(name, value string) {
		if value != "" {
			list = append(list, tableLine{name, value})
		}
	}
	if !r.Date.IsZero() {
		add("Date", r.Date.UTC().Format("2 January 2006"))
	}
	if a := r.Account; a != nil {
		add("Data set", a.Dataset)
	}
	if r.NotPrivate() {
		add("Protects", "nobody")
	} else if g := *r.Guarantee; !free(g) {
		add("Protects", protects(g))
		add("Privacy spent", bound(g))
	} else {
		add("Privacy spent", "nothing: no record was read")
	}
	for _, s := range r.sizes() {
		add(strings.ToUpper(s.Name[:1])+s.Name[1:], s.Value)
	}
	if a := r.Account; a != nil && len(a.Budgets) > 0 {
		add("Budget left", fmt.Sprintf("ε = %s of %s, when this was charged", atLeast(a.Budgets[0].Left), number(a.Budgets[0].Epsilon)))
	}
	if w := r.Worth; w != nil {
		as := ""
		if r.Prompt != nil && r.Prompt.Calibrated {
			as = ", with labels read off calibrated"
		} else if r.Prompt != nil && r.Prompt.Form.Turns() {
			as = ", in turns, as clients ask"
		}
		add("Measured worth", fmt.Sprintf("%.0f %% (%.0f to %.0f)%s", 100*w.Value, 100*w.Low, 100*w.High, as))
	}
	add("Model", r.readBy())
	switch {
	case r.Signer != "":
		add("Signed by", "key "+short(r.Signer))
	case !r.NotPrivate() && r.Unsigned:
		add("Signed by", "nobody")
	}
	return list
}

// short cuts the id of a key; the whole is where it is checked.
func short(id string) string {
	if limit := 16; len(id) > limit+1 {
		return strings.ToValidUTF8(id[:limit], "") + "…"
	}
	return id
}

// protects names the unit.
func protects(g privacy.Guarantee) string {
	what := "each record by itself"
	if noun(g) == "person" {
		what = fmt.Sprintf("each person: %s together", unit(g))
	}
	if g.Adjacency == privacy.ReplaceOne {
		what += "; that it is there is public"
	}
	return what
}

// readBy says which model it was, and where records went.
func (r Release) readBy() string {
	reads := r.Guarantee == nil || !free(*r.Guarantee)
	switch {
	case r.Model == "" || r.Backend == "":
		return r.Model
	case r.Backend == "embedded" && reads:
		return r.Model + ", run by Sotto itself: records were sent to no server"
	case r.Backend == "embedded":
		return r.Model + ", run by Sotto itself"
	case reads:
		said := fmt.Sprintf("%s, run by a server (%s) to which records were sent", r.Model, r.Backend)
		if r.Isolation != "" {
			said += "; each was read " + r.Isolation
		}
		return said
	}
	return fmt.Sprintf("%s, run by a server (%s)", r.Model, r.Backend)
}

// atLeast prints what is left with four digits, rounded down; what buys nothing is 0.
func atLeast(v float64) string {
	if v < 1e-3 {
		return "0"
	}
	text := strconv.FormatFloat(v, 'g', 4, 64)
	if r, err := strconv.ParseFloat(text, 64); err == nil && r > v {
		step := math.Pow(10, math.Floor(math.Log10(v))-3)
		text = strconv.FormatFloat(r-step, 'g', 4, 64)
	}
	return plain(text)
}
