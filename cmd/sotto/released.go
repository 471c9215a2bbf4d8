package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy"
)

// synthProgress tells people how a run is going: with a bar on a terminal, with a line
// for each text elsewhere; programs get a JSON object a line.
type synthProgress struct {
	*ui.Progress

	began   time.Time
	chosen  time.Time   // when the records began to choose
	written map[int]int // tokens of each text that is not done
	total   int         // tokens of those that are
}

func newSynthProgress(p *program) *synthProgress {
	return &synthProgress{Progress: p.Progress(), written: map[int]int{}}
}

// tell hears of an event of the run.
func (s *synthProgress) report(e sotto.Progress) {
	now := s.Now()
	token := e.Kind == sotto.Wrote
	if token {
		if s.began.IsZero() {
			s.began = now
		}
		s.written[e.Text] = e.Tokens
		if !s.Due() {
			return
		}
	}
	if e.Kind == sotto.Released {
		s.total += s.written[e.Text]
		delete(s.written, e.Text)
	}
	switch {
	case e.Kind == sotto.Judged:
		// How often that comes depends on the records: it is for a terminal alone.
		if s.Bar && s.Due() {
			s.Draw(s.judging(e, now))
		}
	case s.JSON:
		s.Object(e)
	case token && s.Bar:
		s.Draw(s.line(e, now))
	case token:
	case e.Message != "":
		s.Say(e.Message)
	case e.Kind == sotto.Chose:
		s.Say(fmt.Sprintf("round %d of %d: the records chose %s", e.Round, e.Rounds, examplesInWords(e.Examples)))
	case e.Kind == sotto.Released && !s.Bar:
		s.Say(fmt.Sprintf("text %d is done, %d of %d", e.Text, e.Done, e.Texts))
	}
}

// line is a bar of at most 80 columns: how much is written, how fast, how long at most.
func (s *synthProgress) line(e sotto.Progress, now time.Time) string {
	// Texts that are done count in full, also those that ended early.
	open := 0
	for _, n := range s.written {
		open += n
	}
	left := max(0, (e.Texts-e.Done)*e.MaxTokens-open)
	share := 1 - float64(left)/float64(max(1, e.Texts*e.MaxTokens))
	parts := []string{
		ui.Gauge(share, 20),
		fmt.Sprintf("text %d of %d", e.Text, e.Texts),
		fmt.Sprintf("%d of %d tokens", e.Tokens, e.MaxTokens),
	}
	if elapsed := now.Sub(s.began).Seconds(); elapsed > 0.5 {
		rate := float64(s.total+open) / elapsed
		wait := time.Duration(float64(left) / rate * float64(time.Second))
		parts = append(parts, fmt.Sprintf("%.1f/s", rate), "≤ "+wait.Round(time.Second).String()+" left")
	}
	return "  " + strings.Join(parts, "  ")
}

// judging is a bar for the rounds in which records choose. It moves with the rounds alone.
func (s *synthProgress) judging(e sotto.Progress, now time.Time) string {
	if s.chosen.IsZero() {
		s.chosen = now
	}
	parts := []string{ui.Gauge(float64(e.Round-1)/float64(max(1, e.Rounds)), 20), fmt.Sprintf("round %d of %d", e.Round, e.Rounds), "records are judging"}
	if e.Round > 1 {
		each := now.Sub(s.chosen) / time.Duration(e.Round-1)
		parts = append(parts, "about "+(each*time.Duration(e.Rounds-e.Round+1)).Round(time.Second).String()+" left")
	}
	return "  " + strings.Join(parts, "  ")
}

// examplesInWords counts the examples of a prompt.
func examplesInWords(n int) string {
	switch n {
	case 0:
		return "no examples"
	case 1:
		return "one example"
	}
	return fmt.Sprintf("%d examples", n)
}

// charged is what a run was charged, and where.
type charged struct {
	Charge   string   `json:"charge,omitempty"`
	Ledger   string   `json:"ledger,omitempty"`
	Keys     string   `json:"keys,omitempty"`
	Resumed  bool     `json:"resumed"`
	Warnings []string `json:"warnings,omitempty"`

	// standing says in words how much of the budget is spent, and work what the run did.
	standing, work string
	seconds        float64
	finished       bool
}

// newCharged takes what the run did; "" for what went through the model.
func newCharged(r sotto.Result, work string) charged {
	work = cmp.Or(work, fmt.Sprintf("%s tokens through %s", ui.Thousands(r.Usage.Computed), r.Model))
	return charged{Charge: string(r.Charge), Resumed: r.Resumed, Warnings: r.Warnings, finished: r.Finished, work: work, seconds: r.Seconds}
}

func (c *charged) took() (work string, seconds float64) { return c.work, c.seconds }

// by says who paid and signed.
func (c *charged) by(ctx context.Context, client *sotto.Client) {
	c.Ledger, c.Keys, c.standing = config.Redact(client.Ledger()), client.Keys(), standing(ctx, client.Ledger(), c.Charge)
}

// free says that a run that was complete cost nothing more.
func (c *charged) free() string { return ui.If(c.finished, "nothing: the run was complete already") }

// released is what results of runs with a folder have in common.
type released struct {
	Dir       string            `json:"dir"`
	Files     []string          `json:"files"`
	Private   bool              `json:"private"`
	Event     string            `json:"event"`
	Epsilon   ui.Real           `json:"epsilon"`
	Delta     float64           `json:"delta"`
	Adjacency privacy.Adjacency `json:"adjacency"`
	Unit      privacy.Unit      `json:"unit"`
	Guarantee []string          `json:"guarantee"`
	Inner     []innerEpsilon    `json:"inner,omitempty"`
	charged
}

// innerEpsilon is the ε of those of whom it is known that they were drawn.
type innerEpsilon struct {
	Event   string  `json:"event"`
	Epsilon ui.Real `json:"epsilon"`
}

func newReleased(r sotto.Result, work string, delta float64, adjacency privacy.Adjacency, unit privacy.Unit) released {
	out := released{
		Dir: r.Dir, Files: r.Files, Private: r.Private, Event: r.Event.String(), Epsilon: ui.Real(math.Inf(1)), Delta: delta,
		Adjacency: adjacency, Unit: unit, Guarantee: r.Words(), charged: newCharged(r, work),
	}
	if r.Private {
		out.Epsilon = ui.Real(r.Guarantee.Epsilon.Upper)
		for _, g := range r.Inner {
			out.Inner = append(out.Inner, innerEpsilon{g.Event.String(), ui.Real(g.Epsilon.Upper)})
		}
	}
	return out
}

// facts lists what was charged, and where things are, after what the run says itself.
func (r *released) facts(p *ui.Page, own ...string) {
	page := ui.If(slices.Contains(r.Files, "report.html"), filepath.Join(r.Dir, "report.html"))
	p.Facts(append(own, "charge", r.Charge, "budget", r.standing, "files", strings.Join(r.Files, ", "), "look at", page, "check", r.check())...)
}

// check is the command that verifies the certificate, if there is one.
func (r *released) check() string { return ui.If(r.Private, "sotto verify "+r.Dir) }

// outcome is the result of a run that is charged.
type outcome interface {
	ui.Result
	by(context.Context, *sotto.Client)
	took() (work string, seconds float64)
}

// carryOut carries out a run that is charged, closes its client, and prints the result. Who
// interrupts it reads that it can go on.
func (p *program) carryOut(ctx context.Context, client *sotto.Client, progress *synthProgress, run func() (outcome, error)) (err error) {
	defer func() { err = errors.Join(err, client.Close()) }()
	r, err := run()
	progress.Clear()
	if err != nil {
		var stopped *sotto.InterruptedError
		if ctx.Err() != nil && errors.As(err, &stopped) {
			texts := ui.If(stopped.Texts > 0, fmt.Sprintf("%d of %d texts are done; ", stopped.Done, stopped.Texts))
			progress.Say(texts + "the same command goes on from here, and nothing is charged twice")
		}
		return err
	}
	r.by(ctx, client)
	p.Took(r.took())
	return p.Emit(r)
}
