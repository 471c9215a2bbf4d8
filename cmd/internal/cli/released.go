package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy"
)

// ChargeResult is what a run was charged, and where.
type ChargeResult struct {
	Charge   string   `json:"charge,omitempty"`
	Ledger   string   `json:"ledger,omitempty"`
	Keys     string   `json:"keys,omitempty"`
	Resumed  bool     `json:"resumed"`
	Warnings []string `json:"warnings,omitempty"`

	// Standing says in words how much of the budget is spent, and work what the run did.
	Standing, work string `json:"-"`
	seconds        float64
	finished       bool
}

// NewChargeResult takes what the run did; "" for what went through the model.
func NewChargeResult(r sotto.Result, work string) ChargeResult {
	work = cmp.Or(work, fmt.Sprintf("%s tokens through %s", ui.Thousands(r.Usage.Computed), r.Model))
	return ChargeResult{Charge: string(r.Charge), Resumed: r.Resumed, Warnings: r.Warnings, finished: r.Finished, work: work, seconds: r.Seconds}
}

// Work is what the run did, and how long it took.
func (c *ChargeResult) Work() (work string, seconds float64) { return c.work, c.seconds }

// PaidBy says from which ledger the run was paid, and who signed.
func (c *ChargeResult) PaidBy(ctx context.Context, client *sotto.Client) {
	c.Ledger, c.Keys, c.Standing = config.Redact(client.Ledger()), client.Keys(), standing(ctx, client.Ledger(), c.Charge)
}

// Free says that a run that was complete cost nothing more.
func (c *ChargeResult) Free() string {
	return ui.If(c.finished, "nothing: the run was complete already")
}

// ReleaseResult is what results of runs with a folder have in common.
type ReleaseResult struct {
	Dir       string            `json:"dir"`
	Files     []string          `json:"files"`
	Private   bool              `json:"private"`
	Event     string            `json:"event"`
	Epsilon   ui.Real           `json:"epsilon"`
	Delta     float64           `json:"delta"`
	Adjacency privacy.Adjacency `json:"adjacency"`
	Unit      privacy.Unit      `json:"unit"`
	Guarantee []string          `json:"guarantee"`
	Drawn     *drawnEpsilon     `json:"drawn,omitempty"`
	ChargeResult
}

// drawnEpsilon is what is left, over all that was released, against someone who knows whose
// records were drawn each time.
type drawnEpsilon struct {
	Event   string  `json:"event"`
	Epsilon ui.Real `json:"epsilon"`
}

// NewReleaseResult takes what a run released; work is what it did, "" for what went through the model.
func NewReleaseResult(r sotto.Result, work string, delta float64, adjacency privacy.Adjacency, unit privacy.Unit) ReleaseResult {
	out := ReleaseResult{
		Dir: r.Dir, Files: r.Files, Private: r.Private, Event: r.Event.String(), Epsilon: ui.Real(math.Inf(1)), Delta: delta,
		Adjacency: adjacency, Unit: unit, Guarantee: r.Words(), ChargeResult: NewChargeResult(r, work),
	}
	if r.Private {
		out.Epsilon = ui.Real(r.Guarantee.Epsilon.Upper)
		if g := r.Drawn; g != nil {
			out.Drawn = &drawnEpsilon{g.Event.String(), ui.Real(g.Epsilon.Upper)}
		}
	}
	return out
}

// Facts lists what was charged, and where things are, after what the run says itself.
func (r *ReleaseResult) Facts(p *ui.Page, own ...string) {
	page := ui.If(slices.Contains(r.Files, "report.html"), filepath.Join(r.Dir, "report.html"))
	p.Facts(append(own, "charge", r.Charge, "budget", r.Standing, "files", strings.Join(r.Files, ", "), "look at", page, "check", r.check())...)
}

// check is the command that verifies the certificate, if there is one.
func (r *ReleaseResult) check() string { return ui.If(r.Private, "sotto verify "+r.Dir) }

// Outcome is the result of a run that is charged.
type Outcome interface {
	ui.Result
	PaidBy(context.Context, *sotto.Client)
	Work() (work string, seconds float64)
}

// CarryOut carries out a run that is charged, a method of a client, with its options; closes the client; and prints
// the result that is made of what was done. Who interrupts it reads that it can continue.
func CarryOut[O, D any, R Outcome](ctx context.Context, p *Program, client *sotto.Client, progress *ui.RunProgress, run func(context.Context, O) (D, error), options O, result func(D) R) (err error) {
	defer func() { err = errors.Join(err, client.Close()) }()
	done, err := run(ctx, options)
	progress.Clear()
	if err != nil {
		var stopped *sotto.InterruptedError
		if ctx.Err() != nil && errors.As(err, &stopped) {
			texts := ui.If(stopped.Texts > 0, fmt.Sprintf("%d of %d texts are done; ", stopped.Done, stopped.Texts))
			progress.Say(texts + "the same command resumes from here, and nothing is charged twice")
		}
		return err
	}
	r := result(done)
	r.PaidBy(ctx, client)
	p.Took(r.Work())
	return p.Emit(r)
}
