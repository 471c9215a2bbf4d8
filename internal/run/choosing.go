package run

import (
	"context"
	"fmt"
	"slices"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/plan/search"
	"github.com/sotto-dp/sotto/internal/private/choose"
	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// rounds has the records choose a prompt, round after round. A round that is in the journal
// stands; the others come out of the key as they would have.
func (r *runner) rounds(ctx context.Context) error {
	c := r.plan.Choose
	if err := r.checkWinners(); err != nil || c == nil || int64(len(r.exec.progress.winners)) == c.AllRounds() {
		return err
	}
	if len(r.space().Pool) == 0 {
		return r.exec.folder.refuse("no text of the pool can be used as an example. What was charged stays; use a better model, or add examples of your own")
	}
	choosers := map[bool]*choose.Chooser{}
	for int64(len(r.exec.progress.winners)) < c.AllRounds() {
		if err := r.vary(ctx); err != nil {
			return err
		}
		last := int64(len(r.exec.progress.winners)) >= c.Rounds
		if choosers[last] == nil {
			var err error
			if choosers[last], err = r.chooser(ctx, last); err != nil {
				return err
			}
		}
		if err := r.round(ctx, choosers[last], r.space()); err != nil {
			return err
		}
	}
	return nil
}

// chooser holds the rounds, or the last one: its settings are its own, and so is the key, so that its draw
// is none of those before.
func (r *runner) chooser(ctx context.Context, last bool) (*choose.Chooser, error) {
	c := r.plan.Choose
	settings, key := c.Choice, r.exec.key
	if last {
		settings, key = c.Last.Choice, r.exec.key.Derive("last round")
	}
	settings.Draw = r.rate(settings.Draw)
	said, err := r.summed()
	if err != nil {
		return nil, err
	}
	return choose.New(ctx, choose.Options{
		Evidence: said, Encoder: r.exec.env.Encoder,
		Model: r.reader.judge(r.exec), Isolation: r.reader.judges.Isolation(), Task: r.plan.Task, Pool: r.options.Data, Parts: r.options.Data.Parts(), Key: key, Choice: settings, Forms: c.Forms(), Usage: r.judging(),
		PassTokens: r.options.PassTokens, Prompts: held(r.options.PassTokens),
	})
}

// checkWinners makes sure that the journal's winners are of rounds and prompts that there
// are.
func (r *runner) checkWinners() error {
	rounds, space := int64(0), search.Space{}
	if r.plan.Choose != nil {
		rounds, space = r.plan.Choose.AllRounds(), r.space()
	}
	for i, w := range r.exec.progress.winners {
		if int64(i) >= rounds || !space.Valid(w) {
			return r.exec.folder.refuse("the winner of round %d in its journal is none of its prompts: the folder was changed. Restore it from a backup, or start again in another folder", i+1)
		}
	}
	return nil
}

// held is how many prompts are held at once: all of a round where memory is large.
func held(pass int) int {
	if pass > 4*2048 {
		return 64
	}
	return 0
}

// round has the records choose once.
func (r *runner) round(ctx context.Context, chooser *choose.Chooser, space search.Space) error {
	at := int64(len(r.exec.progress.winners))
	lost, err := r.looked()
	if err != nil || lost {
		return err
	}
	points, err := space.Propose(r.plan.Choose.Schedule(), r.exec.progress.winners, r.exec.key.Stream("search", uint64(at)))
	if err != nil {
		return err
	}
	of := at
	if of >= r.plan.Choose.Rounds { // the last one has settings, and a count, of its own
		of -= r.plan.Choose.Rounds
	}
	outcome, err := chooser.Round(ctx, of, space.Prompts(points))
	if err != nil {
		return err
	}
	if err := r.coveredRound(at, outcome); err != nil {
		return err
	}
	winner := points[outcome.Winner]
	return r.exec.announce(entry{State: won, Round: at + 1, Point: &winner}, env.Progress{Kind: env.Chose, Round: at + 1, Rounds: r.plan.Choose.AllRounds(), Examples: len(winner.Set), Usage: r.reader.usage})
}

// looked notes that a round begins, of a model that would not give the same grades again.
// One that was begun and lost is not repeated: a second look would be a second use of the
// records, and the first was paid for. The winner before it stands.
func (r *runner) looked() (lost bool, err error) {
	if r.exec.progress.header.Model.exact() {
		return false, nil
	}
	at := int64(len(r.exec.progress.winners)) + 1
	if !r.exec.progress.looking {
		return false, r.exec.note(entry{State: begun, Round: at})
	}
	var before search.Point
	if n := len(r.exec.progress.winners); n > 0 {
		before = r.exec.progress.winners[n-1]
	}
	return true, r.exec.note(entry{State: won, Round: at, Point: &before, Lost: true})
}

// coveredRound makes sure that a round ran as the plan pays for, before its winner is
// released.
func (r *runner) coveredRound(at int64, out choose.Outcome) error {
	planned := r.plan.Choose.Round(at)
	sampling, one := r.rate(planned.Draw), planned
	one.Draw, one.Rounds = sampling, 1
	if out.Event.String() != one.Event().String() || sampling.Rate > planned.Draw.Rate || sampling.Take != planned.Draw.Take || at >= r.plan.Choose.AllRounds() {
		return fmt.Errorf("round %d ran as %s, which the plan does not pay for: this is an internal error; nothing of it is released", at+1, out.Event)
	}
	return nil
}

// rate draws less often from records that are more than the plan assumed. A draw with a
// smaller rate is a draw from a draw, and costs no more than was charged; a larger one is
// never used.
func (r *runner) rate(sampling scheme.Scheme) scheme.Scheme {
	if counted, assumed := r.units(), r.plan.Units(); sampling.Kind == scheme.Poisson && counted > assumed {
		sampling.Rate = min(sampling.Rate, sampling.Rate*float64(assumed)/float64(counted))
	}
	return sampling
}

// units is how many there are, as declared or as counted.
func (r *runner) units() int64 {
	assumed := r.plan.Units()
	if r.exec.progress == nil {
		return assumed
	}
	var counted int64
	for _, n := range r.exec.progress.sizes {
		counted += n
	}
	return max(assumed, counted)
}

// space is what prompts are made from: the texts that were released, and what the plan
// adds. All of it is public by now.
func (r *runner) space() search.Space {
	c := r.plan.Choose
	out := search.Space{Instructions: c.Wordings(), Shots: c.Shots, MaxShots: c.MaxShots, Forms: c.Forms(), Reading: c.Reading}
	if !r.plan.Task.Open() && r.plan.Task.Kind != prompt.Generate {
		out.Labels = r.plan.Task.Labels
	}
	if e := r.plan.Evidence; e != nil {
		out.Uses = search.Uses{Weights: e.Weights, Hints: e.Hints, Alone: e.Alone, Only: r.plan.OnlyEvident()}
	}
	if n := c.Nearest; n != nil {
		out.Near = search.Near{Examples: n.Examples, Encoder: n.Encoder}
	}
	seen := map[prompt.Example]bool{}
	add := func(e prompt.Example) {
		fits := (prompt.Prompt{Examples: []prompt.Example{e}}).Check(r.plan.Task) == nil
		if fits && !seen[e] {
			seen[e] = true
			out.Pool = append(out.Pool, e)
		}
	}
	written := r.outputs()
	paid := min(r.plan.Shots, len(written))
	for _, e := range written[:paid] {
		add(e)
	}
	for _, e := range c.Texts() {
		add(e)
	}
	before := len(out.Pool)
	for _, e := range written[paid:] {
		add(e)
	}
	out.Beside = search.Span{From: before, To: len(out.Pool)}
	for _, list := range r.variations() { // last, so that earlier winners keep their places
		known := len(out.Pool)
		for _, e := range list {
			add(e)
		}
		out.Fresh = len(out.Pool) - known
	}
	for _, set := range c.Given { // of examples that no text of the run is among
		at := make([]int, len(set))
		for i, of := range set {
			at[i] = slices.Index(out.Pool, c.Examples[of])
		}
		out.Given = append(out.Given, at)
	}
	return out
}

// prompt is the one that the records chose last, none before the first round; or evidence alone, where that
// is all there is.
func (r *runner) prompt() prompt.Prompt {
	if r.plan.Learns() {
		return prompt.Prompt{Evidence: prompt.Use{How: prompt.Alone}}
	}
	if r.exec.progress == nil || len(r.exec.progress.winners) == 0 {
		return prompt.Prompt{}
	}
	return r.space().Prompt(r.exec.progress.winners[len(r.exec.progress.winners)-1])
}

// judging adds up what the model does in rounds; nil if there are none.
func (r *runner) judging() func(lm.Usage) {
	if r.plan.Choose == nil {
		return nil // no model takes part
	}
	before, last := r.reader.usage, lm.Usage{}
	return func(u lm.Usage) {
		if u.Computed < last.Computed { // a new round counts from nothing
			before = before.Plus(last)
		}
		last = u
		r.reader.usage = before.Plus(u)
		r.exec.report(env.Progress{Kind: env.Judged, Round: int64(len(r.exec.progress.winners)) + 1, Rounds: r.plan.Choose.AllRounds(), Usage: r.reader.usage})
	}
}
