package purse

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"sotto/privacy"
	"sotto/privacy/ledger"
)

// Ledger is what a purse needs of a [ledger.Ledger].
type Ledger interface {
	Init(context.Context, ledger.InitRequest) (ledger.Dataset, error)
	Reserve(context.Context, ledger.ReserveRequest) (ledger.Charge, error)
	Balance(context.Context, string) (ledger.Dataset, error)
}

// Purse pays for uses of one data set.
type Purse struct {
	// Ledger and Dataset are required.
	Ledger  Ledger
	Dataset ledger.Fingerprint
	// Name is how people call the data, if they do.
	Name string
	// Adjacency and Unit are what guarantees are about, Labels those of charges.
	Adjacency privacy.Adjacency
	Unit      privacy.Unit
	Labels    map[string]string
}

// Use is what is paid for. All fields are required; see [ledger.ReserveRequest].
type Use struct {
	Event    privacy.Event
	Run, Key string
}

// Request is how the ledger is asked for a use. Uses without a proof are not to be paid
// for: they protect nobody.
func (p *Purse) Request(u Use) ledger.ReserveRequest {
	return ledger.ReserveRequest{
		Dataset: string(p.Dataset), Event: u.Event, Adjacency: p.Adjacency, Unit: p.Unit,
		Proof: ledger.Proven, Run: u.Run, Key: u.Key, Labels: p.Labels,
	}
}

// Reserve charges a use before it touches the data. Its errors say what to do.
func (p *Purse) Reserve(ctx context.Context, u Use) (ledger.Charge, error) {
	c, err := p.Ledger.Reserve(ctx, p.Request(u))
	return c, p.Explain(ctx, err)
}

// First is the budget of a data set that the ledger did not know.
type First struct {
	Epsilon, Delta float64
	// By says in the ledger who entered the data set; Key makes that repeatable.
	By, Key string
}

// Enter gives the data set its first budget, and returns a sentence that says so.
func (p *Purse) Enter(ctx context.Context, f First) (string, error) {
	_, err := p.Ledger.Init(ctx, ledger.InitRequest{
		Dataset: p.Dataset, Name: p.Name,
		Budget: ledger.Budget{Epsilon: f.Epsilon, Delta: f.Delta, Adjacency: p.Adjacency, Unit: p.Unit},
		Reason: "made on first use, by " + f.By,
		Key:    f.Key,
	})
	var exists *ledger.ExistsError
	if errors.As(err, &exists) {
		return "", fmt.Errorf("%w: the data was not known to the ledger, and the name %q is that of other data, or of this before it changed. Choose another name, or decide with sotto ledger init what budget is left for it", err, p.Name)
	}
	if err != nil {
		return "", err
	}
	name := ""
	if p.Name != "" {
		name = fmt.Sprintf(" %q", p.Name)
	}
	return fmt.Sprintf("the ledger did not know this data set: it now has a budget%s of ε = %v at δ = %v", name, f.Epsilon, f.Delta), nil
}

// Adaptive reports whether every budget of these names is a filter, to which steps that
// were not taken can be handed back; nil stands for all budgets of the data set.
func (p *Purse) Adaptive(ctx context.Context, budgets []string) (bool, error) {
	d, err := p.Ledger.Balance(ctx, string(p.Dataset))
	if err != nil {
		return false, fmt.Errorf("read the budgets: %w", err)
	}
	return !slices.ContainsFunc(d.Budgets, func(b ledger.Balance) bool {
		return b.Composition != ledger.Adaptive && (budgets == nil || slices.Contains(budgets, b.Name))
	}), nil
}

// Explain says of what the ledger answered what the user can do about it.
func (p *Purse) Explain(ctx context.Context, err error) error {
	var mismatch *ledger.MismatchError
	if errors.As(err, &mismatch) {
		return fmt.Errorf("%w: choose the unit (--unit) and the way to draw (--sampler), or of a table the neighbours (--adjacency; perturbed rows are always replace-one), with which the data set was entered (see sotto ledger show)", err)
	}
	var refused *ledger.RefusedError
	if !errors.As(err, &refused) || refused.Closed || math.IsInf(float64(refused.Needed), 1) {
		return err
	}
	// The ledger may know the data by another name than the caller.
	words := []string{"sotto ledger grant", string(p.Dataset)}
	if d, err := p.Ledger.Balance(ctx, string(p.Dataset)); err == nil && d.Name != "" {
		words[1] = strconv.Quote(d.Name)
	}
	if refused.Budget != ledger.Global {
		words = append(words, "--budget", strconv.Quote(refused.Budget))
	}
	missing := strconv.FormatFloat(upward(float64(refused.Needed)-refused.Limit), 'g', 3, 64)
	return fmt.Errorf("%w (%s --epsilon %s --reason …)", err, strings.Join(words, " "), missing)
}

// upward rounds up to a number of three digits.
func upward(v float64) float64 {
	if !(v > 0) {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(v))-2)
	return math.Ceil(v/unit) * unit
}
