package decode

import (
	"context"
	"fmt"
	"strings"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/internal/mechanism"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
)

func init() {
	register[Public](method.Spec{
		Name: "public", Guarantee: method.Free, Look: 5,
		Summary: "write without any record",
		Idea:    "The model writes by the instruction alone, at a temperature.",
		Cost:    "One sequence.",
		When:    "What privacy is free of charge: other methods have to be better than this to be worth their ε.",
		Draws:   "nobody", Steps: []string{
			"Show the model the instruction and the label, without any record.",
			"Draw tokens by its scores until a stop token or the limit.",
		},
		Not:      "Where what is particular about your records matters: it knows nothing of them.",
		Needs:    "scores of the most likely tokens",
		Settings: []method.Setting{method.Temperature("1"), method.Candidates()},
	}, func(a method.Ask) (*Public, error) {
		return &Public{Temperature: a.Values.Float("temperature", 1), Candidates: a.Values.Tokens()}, nil
	})
	register[NonPrivate](method.Spec{
		Name: "nonprivate", Guarantee: method.None, Look: 6, Scheduled: true,
		Summary: "gaussian without noise, which has no privacy guarantee",
		Idea:    "The token that the prompts' probabilities agree on.",
		Cost:    "As gaussian.",
		When:    "To see what noise costs, on data that may be shown.",
		Draws:   "records for each token, spread over the prompts",
		Steps: []string{
			"As gaussian, with noise of 0.",
		},
		Not:      "On data that nobody may see.",
		Needs:    "scores of the most likely tokens",
		Settings: append(promptSettings(), method.Candidates()),
	}, func(a method.Ask) (*NonPrivate, error) {
		sampling, err := prompts(a)
		return &NonPrivate{Draw: sampling, Candidates: a.Values.Tokens()}, err
	})
	register[Real](method.Spec{
		Name: "real", Guarantee: method.None, Look: 8, Copies: true,
		Summary: "copy records as they are, which has no privacy guarantee",
		Idea:    "Records at random are the examples.",
		Cost:    "None: no model writes.",
		When:    "To see what private examples cost, on data that may be shown.",
		Draws:   "about 64 records for each text",
		Steps: []string{
			"Draw records at random.",
			"Release them as they are.",
		},
		Not:   "On data that nobody may see.",
		Needs: "nothing",
	}, func(a method.Ask) (*Real, error) {
		// Enough that none is drawn only by a rare chance, also where fewer have the label.
		sampling, err := a.Draw(scheme.PerText, int(min(64, a.Size)), 0)
		return &Real{Draw: sampling}, err
	})
}

// Public samples from the model without any record: what privacy is free of charge.
type Public struct {
	// Temperature of the choice, and the number of best tokens it is among.
	Temperature float64 `json:"temperature"`
	Candidates  int     `json:"candidates"`
}

// Name implements [Method].
func (*Public) Name() string { return "public" }

// Proof implements [Method].
func (*Public) Proof() string { return "no record is read" }

// Check implements [Method].
func (p *Public) Check() error {
	if !(p.Temperature > 0) || p.Candidates < 0 {
		return fmt.Errorf("public needs a positive temperature and no negative number of candidates, not %v and %d", p.Temperature, p.Candidates)
	}
	return nil
}

// Scheme implements [Method]: nobody is drawn.
func (*Public) Scheme() scheme.Scheme { return scheme.Scheme{} }

// draw implements [Method]: there is nobody to draw.
func (p *Public) draw(scheme.Scheme) Method { out := *p; return &out }

// Amounts implements [Method]: there is none.
func (*Public) Amounts() []method.Amount { return nil }

// Step implements [Method]: the empty composition costs nothing.
func (*Public) Step() privacy.Event { return privacy.Compose{} }

// Shortlist implements [Method].
func (p *Public) Shortlist() Shortlist { return Shortlist{Best: p.Candidates} }

// Select implements [Method].
func (p *Public) Select(v View, s *noise.Stream) (int, error) {
	scores := make([]int64, len(v.Base))
	for i, b := range v.Base {
		scores[i] = steps(difference(b, 0), nats)
	}
	return mechanism.Selection{Scores: scores, Exponent: nats, Rate: 1 / p.Temperature}.Softmax(s)
}

// NonPrivate is [Gaussian] without noise: the token that the prompts agree on. It has
// no guarantee and serves to see what noise costs.
type NonPrivate struct {
	Draw       scheme.Scheme `json:"draw"`
	Candidates int           `json:"candidates"`
}

// Name implements [Method].
func (*NonPrivate) Name() string { return "nonprivate" }

// Proof implements [Method]: there is none.
func (*NonPrivate) Proof() string { return "" }

// Check implements [Method].
func (n *NonPrivate) Check() error { return checkPrompts(n.Draw) }

// Scheme implements [Method].
func (n *NonPrivate) Scheme() scheme.Scheme { return n.Draw }

// draw implements [Method].
func (n *NonPrivate) draw(s scheme.Scheme) Method { out := *n; out.Draw = s; return &out }

// Amounts implements [Method]: there is none.
func (*NonPrivate) Amounts() []method.Amount { return nil }

// Step implements [Method].
func (*NonPrivate) Step() privacy.Event { return privacy.NonPrivate{} }

// Shortlist implements [Method].
func (n *NonPrivate) Shortlist() Shortlist { return Shortlist{Best: n.Candidates} }

// Select implements [Method].
func (*NonPrivate) Select(v View, _ *noise.Stream) (int, error) {
	return mechanism.Largest(sumOf(v, probabilities)), nil
}

// Real releases records as they are: what a prompt with private examples gives. It has
// no guarantee at all.
type Real struct {
	Draw scheme.Scheme `json:"draw"`
}

// Name implements [Method].
func (*Real) Name() string { return "real" }

// Proof implements [Method]: there is none.
func (*Real) Proof() string { return "" }

// Check implements [Method].
func (r *Real) Check() error { return r.Draw.Check() }

// Scheme implements [Method].
func (r *Real) Scheme() scheme.Scheme { return r.Draw }

// draw implements [Method].
func (r *Real) draw(s scheme.Scheme) Method { out := *r; out.Draw = s; return &out }

// Amounts implements [Method]: there is none.
func (*Real) Amounts() []method.Amount { return nil }

// Step implements [Method].
func (*Real) Step() privacy.Event { return privacy.NonPrivate{} }

// Shortlist implements [Method].
func (*Real) Shortlist() Shortlist { return Shortlist{Best: 1} }

// Select implements [Method]: no token is chosen.
func (*Real) Select(View, *noise.Stream) (int, error) {
	return 0, fmt.Errorf("real demonstrations are copied, not written")
}

// copyOne releases a record of the draw, any with the same probability, cut as in
// prompts, in place of a text. Where labels are open it goes with its own.
func (l *loop) copyOne(ctx context.Context, t *text) (seal.Output, error) {
	var drawn []seal.Record
	for _, prompts := range t.records {
		for _, records := range prompts {
			drawn = append(drawn, records...)
		}
	}
	if len(drawn) == 0 {
		return seal.Output{}, fmt.Errorf("no record was drawn: real demonstrations need a draw that is not empty; ask for a larger one")
	}
	r := drawn[l.Key.Stream("real", t.Index).Uint64n(uint64(len(drawn)))]
	text, err := l.layout().cut(ctx, l.line(seal.Text(r)), l.task.Limits.RecordTokens)
	if err != nil {
		return seal.Output{}, fmt.Errorf("lay out a record: %w", err)
	}
	if len(l.task.Labels) == 0 {
		t.Condition = seal.Condition(r)
	}
	text, _ = l.task.Cut(strings.ToValidUTF8(text, "")) // no rule changes a record
	return seal.Release(strings.TrimSpace(l.line(text)), 0, privacy.NonPrivate{}), nil
}
