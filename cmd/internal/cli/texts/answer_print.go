package texts

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/internal/sys/fault"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
)

// answerTerms are what all answers of a call have in common.
type answerTerms struct {
	plan      plan.Answers
	guarantee privacy.Guarantee
	// drawn is the ε of one answer, all its tokens and looks, against someone who knows whose
	// records were drawn for it; 0 if there is none.
	drawn  float64
	seeded bool
}

// newAnswerTerms computes what an answer costs.
func newAnswerTerms(ctx context.Context, p plan.Answers, seeded bool) (answerTerms, error) {
	t := answerTerms{plan: p, seeded: seeded}
	if !p.Private() {
		return t, nil
	}
	measure := func(e privacy.Event) (privacy.Guarantee, error) {
		epsilon, err := fault.Await(ctx, func() (privacy.Interval, error) { return accountant.Auto{}.Epsilon(e, p.Adjacency, p.Delta) })
		if err != nil {
			return privacy.Guarantee{}, fmt.Errorf("compute ε: %w", err)
		}
		return privacy.Guarantee{
			Event: e, Adjacency: p.Adjacency, Unit: p.Unit, Epsilon: epsilon, Delta: p.Delta, Accountant: accountant.Auto{}.Name(),
		}, nil
	}
	var err error
	if t.guarantee, err = measure(p.Event()); err != nil {
		return t, err
	}
	if !privacy.Sampled(p.Event()) {
		return t, nil
	}
	one, err := measure(privacy.Unsampled(p.Event()))
	if err != nil {
		return t, err
	}
	t.drawn = one.Epsilon.Upper
	return t, nil
}

// line is an answer with its terms.
func (t answerTerms) line(a *sotto.Answer) answerLine {
	l := answerLine{
		Input: a.Input, Answer: a.Text, Tokens: a.Steps, Method: t.plan.Method(), Private: a.Private,
		Event: t.plan.Event().String(), Epsilon: ui.Real(math.Inf(1)), Delta: t.plan.Delta, Adjacency: t.plan.Adjacency, Unit: t.plan.Unit,
		Claim: t.plan.Claim(), Charge: string(a.Charge), Warnings: a.Warnings,
	}
	if a.Private {
		l.Epsilon = ui.Real(t.guarantee.Epsilon.Upper)
	}
	if a.Charge != "" {
		spent, left, limit := ui.Real(a.Spent), ui.Real(a.Left), ui.Real(a.Limit)
		l.Spent, l.Left, l.Limit, l.InSeries = &spent, &left, &limit, a.InSeries
	}
	return l
}

// caution says that nobody is protected, and why; "" if they are.
func (t answerTerms) caution() string {
	switch {
	case t.plan.Scheme().Kind == "":
		return "" // nobody is drawn
	case t.plan.Claim() != "":
		return "NOT PRIVATE: " + t.plan.Claim()
	case !t.plan.Private():
		return "NOT PRIVATE: the method " + t.plan.Method() + " has no privacy guarantee"
	case t.seeded:
		return "NOT PRIVATE: the random numbers are known"
	}
	return ""
}

// mark warns before the first word of an answer that has no privacy guarantee.
func (v *answerView) mark() error {
	caution := v.terms.caution()
	if caution == "" || v.Program.JSON {
		return nil
	}
	return v.show(func(p *ui.Page) {
		p.Painted(ui.Red, 0, caution)
		p.Line("")
	})
}

// printAnswer shows one of many answers.
func printAnswer(p *ui.Page, number int, a *sotto.Answer) {
	label := fmt.Sprintf("%3d  ", number)
	p.Line("%s%s", label, ui.Cut(ui.Visible(a.Input), ui.Width-len(label)))
	for _, line := range ui.Fold(ui.Visible(a.Text), ui.Width-len(label)) {
		p.Line("%s%s", strings.Repeat(" ", len(label)), p.Paint(ui.Bold, line))
	}
	p.Line("")
}

// sum says what the answers cost, and what is left.
func (v *answerView) sum(s *sotto.AnswerSession) error {
	v.Took(fmt.Sprintf("%s tokens through %s", ui.Thousands(s.Usage().Computed), s.Model), time.Since(v.began).Seconds())
	if v.Program.JSON {
		return nil
	}
	a, charge, spent, drawn := v.newest, "", "", ""
	if a.Charge != "" {
		spent = fmt.Sprintf("ε %s of %s spent, %s left, at δ = %s", ui.AtMost(a.Spent), ui.Whole(a.Limit), ui.AtLeast(a.Left), ui.Whole(a.Delta))
		spent += ui.If(a.InSeries > 0, fmt.Sprintf("; %d more answers are paid for", a.InSeries))
	}
	if v.of == 1 {
		charge = string(a.Charge)
	}
	if v.terms.caution() == "" {
		drawn = v.terms.known()
	}
	return v.show(func(p *ui.Page) {
		if !v.quiet && v.of == 1 {
			p.Line("")
		}
		v.terms.print(p, v.done)
		p.Facts(
			"budget", spent,
			"drawn", drawn,
			"method", v.terms.plan.Method(),
			"event", v.terms.plan.Event().String(),
			"charge", charge,
			"model", s.Model,
			"answers", v.file.Path,
		)
	})
}

// known says what is left against someone who knows whose records were drawn, "" where nothing is
// sampled or nothing is left.
func (t answerTerms) known() string {
	if t.drawn <= 0 || math.IsInf(t.drawn, 1) {
		return ""
	}
	return fmt.Sprintf("ε ≤ %s for one answer, against someone who knows who was drawn for it; answers add up", ui.AtMost(t.drawn))
}

// print says what holds for each answer.
func (t answerTerms) print(p *ui.Page, answers int) {
	if t.caution() != "" {
		return // said before the first answer
	}
	each := "This answer: "
	if answers > 1 {
		each = fmt.Sprintf("Each of %d answers: ", answers)
	}
	together := ""
	if n := t.plan.Answers; n > 1 {
		together = fmt.Sprintf(" %s such answers together: ε ≤ %s.", ui.Thousands(n), ui.Whole(t.plan.Epsilon))
	}
	p.Painted(ui.Bold, 0, each+release.Sentence(t.guarantee)+together)
	p.Line("")
}
