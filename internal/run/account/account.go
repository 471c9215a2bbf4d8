package account

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/privacy/sketch"
)

// Ledger is what those who reads records needs of a [ledger.Ledger]: to find the budget, to
// reserve, and to report what became of the charge.
type Ledger interface {
	Init(context.Context, ledger.InitRequest) (ledger.Dataset, error)
	Reserve(context.Context, ledger.ReserveRequest) (ledger.Charge, error)
	Balance(context.Context, string) (ledger.Dataset, error)
	Show(context.Context, string) (ledger.Dataset, error)
	Resolve(context.Context, ledger.ResolveRequest) (ledger.Resolution, error)
	Draw(context.Context, ledger.ReserveRequest) (ledger.DrawResult, error)
	InSeries(context.Context, ledger.ReserveRequest) (int64, error)
	CanReserve(context.Context, ledger.ReserveRequest, int64) error
	Commit(context.Context, ledger.CommitRequest) (ledger.Charge, error)
	Forfeit(context.Context, ledger.ForfeitRequest) (ledger.Charge, error)
	Checkpoint(context.Context) (ledger.Checkpoint, error)
}

// Account pays for uses of one data set.
type Account struct {
	// Ledger and Dataset are required.
	Ledger  Ledger
	Dataset ledger.Fingerprint
	// Sketch, KeyID and KeyPath are what the data is recognised by; see [ledger.Identity].
	// Default: a data set of the ledger that somebody has named.
	Sketch         sketch.Sketch
	KeyID, KeyPath string
	// Database says that the data is in a database: rows come and go there, and the same
	// rows have many queries, so that its owner gives it a budget and not its first use.
	Database bool
	// Known says that data that the ledger does not know gets no budget by its first use.
	Known bool
	// Name is how people call the data, if they do.
	Name string
	// Adjacency and Unit are what guarantees are about, Labels those of charges.
	Adjacency privacy.Adjacency
	Unit      privacy.Unit
	Labels    map[string]string
	// Report, if set, is called with what the data was recognised as. It has numbers of records, and
	// is for the owner of the data.
	Report func(string)
}

// Use is what is paid for. All fields are required; see [ledger.ReserveRequest].
type Use struct {
	Event    privacy.Event
	Run, Key string
}

// Request is how the ledger is asked for a use. Uses without a proof are not to be paid
// for: they have no privacy guarantee.
func (p *Account) Request(u Use) ledger.ReserveRequest {
	return ledger.ReserveRequest{
		Dataset: string(p.Dataset), Event: u.Event, Adjacency: p.Adjacency, Unit: p.Unit,
		Proof: ledger.Proven, Run: u.Run, Key: u.Key, Labels: p.Labels,
	}
}

// Settle finds the data set that the data is: the one way by which every kind of use comes
// to a budget. See [ledger.Ledger.Resolve] for what it records and refuses. The key is that
// of the use. Reserve does it by itself.
func (p *Account) Settle(ctx context.Context, key string) error {
	id := ledger.Identity{Fingerprint: p.Dataset, Sketch: p.Sketch, KeyID: p.KeyID, KeyPath: p.KeyPath}
	found, err := p.Ledger.Resolve(ctx, ledger.ResolveRequest{Identity: id, Key: key})
	if err != nil {
		return err
	}
	if found.Version && p.Report != nil {
		p.Report(recognised(found))
	}
	return nil
}

// recognised says of a new version what it is.
func recognised(as ledger.Resolution) string {
	name := strconv.Quote(as.Name)
	if as.Name == "" {
		name = string(as.Dataset)
	}
	switch o := as.Overlap; {
	case o.Relation == "":
		return fmt.Sprintf("this is data set %s, whose records the ledger had not seen in this state; the same budget counts", name)
	case o.Equal:
		return fmt.Sprintf("this is data set %s, saved anew: the same rows; the same budget counts", name)
	default:
		return fmt.Sprintf("this is data set %s, saved anew: %s; the same budget counts", name, o)
	}
}

// Reserve charges a use before a record is drawn for it. Its errors say what to do.
func (p *Account) Reserve(ctx context.Context, u Use) (ledger.Charge, error) {
	if err := p.Settle(ctx, u.Key); err != nil {
		return ledger.Charge{}, err
	}
	c, err := p.Ledger.Reserve(ctx, p.Request(u))
	return c, p.Explain(ctx, err)
}

// Series reserves n uses at once, for [Account.Draw] to take. Its errors say what to do.
func (p *Account) Series(ctx context.Context, u Use, n int64) (ledger.Charge, error) {
	c, err := p.Ledger.Reserve(ctx, p.SeriesRequest(u, n))
	return c, p.Explain(ctx, err)
}

// SeriesRequest is how the ledger is asked for n uses at once.
func (p *Account) SeriesRequest(u Use, n int64) ledger.ReserveRequest {
	r := p.Request(u)
	r.Event, r.Series = privacy.Repeat{N: n, Event: u.Event}, true
	return r
}

// Draw takes a use out of an open series; a [*ledger.NoSeriesError] says that there is none.
func (p *Account) Draw(ctx context.Context, u Use) (ledger.DrawResult, error) {
	return p.Ledger.Draw(ctx, p.Request(u))
}

// InSeries returns how many such uses the open series have left.
func (p *Account) InSeries(ctx context.Context, u Use) (int64, error) {
	return p.Ledger.InSeries(ctx, p.Request(u))
}

// Sums reports whether a budget of the data set adds up what single charges cost, so that
// uses reserved together cost less.
func (p *Account) Sums(ctx context.Context) (bool, error) {
	d, err := p.Ledger.Balance(ctx, string(p.Dataset))
	return slices.ContainsFunc(d.Budgets, func(b ledger.Balance) bool { return b.Composition == ledger.Sums }), err
}

// First is the budget of a data set that the ledger did not know.
type First struct {
	Epsilon, Delta float64
	// By says in the ledger who entered the data set; Key makes that repeatable.
	By, Key string
}

// Enter gives the data set its first budget, and returns a sentence that says so; an empty
// one if somebody else has entered the same records in the meantime.
func (p *Account) Enter(ctx context.Context, f First) (string, error) {
	if p.Known {
		return "", fmt.Errorf("%w. Its owner gives it a budget before it is used: sotto ledger init NAME --data … --epsilon … --delta …", &ledger.UnknownDatasetError{Dataset: cmp.Or(p.Name, string(p.Dataset))})
	}
	if p.Database {
		return "", fmt.Errorf("%w. Rows of a database get no budget by themselves: other queries and copies reach the same people. Their owner gives them one: sotto ledger init NAME --data … --query … (or --table …) --epsilon %v --delta %v", &ledger.UnknownDatasetError{Dataset: cmp.Or(p.Name, string(p.Dataset))}, f.Epsilon, f.Delta)
	}
	_, err := p.Ledger.Init(ctx, ledger.InitRequest{
		Dataset: p.Dataset, Name: p.Name, Sketch: p.Sketch, KeyID: p.KeyID, KeyPath: p.KeyPath,
		Budget: ledger.Budget{Epsilon: f.Epsilon, Delta: f.Delta, Adjacency: p.Adjacency, Unit: p.Unit},
		Reason: "made on first use, by " + f.By,
		Key:    f.Key,
	})
	var exists *ledger.ExistsError
	var overlap *ledger.OverlapError
	if errors.As(err, &exists) || errors.As(err, &overlap) {
		if p.Settle(ctx, "") == nil {
			return "", nil
		}
	}
	if errors.As(err, &exists) {
		return "", fmt.Errorf("%w: the data was not known to the ledger, and the name %q belongs to other data. Choose another name (--name); or, if it has the same people and was changed beyond recognition, its owner says so with sotto ledger link", err, p.Name)
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
func (p *Account) Adaptive(ctx context.Context, budgets []string) (bool, error) {
	d, err := p.Ledger.Balance(ctx, string(p.Dataset))
	if err != nil {
		return false, fmt.Errorf("read the budgets: %w", err)
	}
	return !slices.ContainsFunc(d.Budgets, func(b ledger.Balance) bool {
		return b.Composition != ledger.Adaptive && (budgets == nil || slices.Contains(budgets, b.Name))
	}), nil
}

// Explain says of what the ledger answered what the user can do about it.
func (p *Account) Explain(ctx context.Context, err error) error {
	if _, ok := errors.AsType[*ledger.MismatchError](err); ok {
		return fmt.Errorf("%w: choose the unit (--unit) and the way to draw (--sampler), or of a table the neighbours (--adjacency; perturbed rows are always replace-one), with which the data set was entered (see sotto ledger show)", err)
	}
	var refused *ledger.RefusedError
	if !errors.As(err, &refused) || refused.Closed || math.IsInf(float64(refused.Needed), 1) {
		return err
	}
	// The ledger may know the data by another name than the caller, and it may be the budget
	// of a data set that this one is linked with.
	words := []string{"sotto ledger grant", string(refused.Dataset)}
	if d, err := p.Ledger.Balance(ctx, string(refused.Dataset)); err == nil && d.Name != "" {
		words[1] = strconv.Quote(d.Name)
	}
	if refused.Budget != ledger.Global {
		words = append(words, "--budget", strconv.Quote(refused.Budget))
	}
	for _, missing := range []struct {
		flag string
		by   float64
	}{{"--epsilon", float64(refused.Needed) - refused.Limit}, {"--delta", refused.NeededDelta - refused.Delta}} {
		if missing.by > 0 {
			words = append(words, missing.flag, strconv.FormatFloat(upward(missing.by), 'g', 3, 64))
		}
	}
	return fmt.Errorf("%w (%s --reason …)", err, strings.Join(words, " "))
}

// upward rounds up to a number of three digits.
func upward(v float64) float64 {
	if !(v > 0) {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(v))-2)
	return math.Ceil(v/unit) * unit
}
