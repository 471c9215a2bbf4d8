package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/sotto-dp/sotto/internal/plan/search"
	"github.com/sotto-dp/sotto/internal/private/choose"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/private/measure"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/schema"
)

// Choose says that what is written is a pool, and that the records choose a prompt made
// from it.
type Choose struct {
	choose.Choice
	// First and Next are how many sets of examples the first and a later round propose.
	First int `json:"first"`
	Next  int `json:"next"`
	// ExplorationRounds are rounds with sets at random, before those that vary the winner.
	ExplorationRounds int64 `json:"heats"`
	// Last is one more round after those, between winners, if set.
	Last *Last `json:"last,omitempty"`
	// Shots is how many examples a set has to begin with, and MaxShots at most.
	Shots    int `json:"shots"`
	MaxShots int `json:"max_shots"`
	// Own are model-generated texts in the pool, beside those from records.
	Own *OwnTexts `json:"own,omitempty"`
	// Examples of the user's own that are in the pool too: public.
	Examples []prompt.Example `json:"examples,omitempty"`
	// Given are sets of Examples, by their places, that the first round proposes in place of
	// random ones.
	Given [][]int `json:"given,omitempty"`
	// Instructions to try beside the task's own: public.
	Instructions []string `json:"instructions,omitempty"`
	// Made is what a model made up that sees no record, if one did: public.
	Made *PoolContent `json:"made,omitempty"`
	// Vary is how many texts like the winner's examples join the pool after a round.
	Vary int `json:"vary,omitempty"`
	// Nearest are the ways to give each question the nearest examples of the pool, if that competes.
	Nearest *Nearest `json:"nearest,omitempty"`
	// Measure says in the end for how many records the chosen prompt is right, if set.
	Measure *measure.Measure `json:"measure,omitempty"`
	// Form of the prompts: a text ([prompt.TextForm], also if it is empty), or turns
	// ([prompt.ChatForm]), among which some are one message.
	Form prompt.Form `json:"form,omitempty"`
	// Reading restricts how labels are read off answers: raw or calibrated; "" tries both.
	// In turns they are read off what the model writes.
	Reading search.Reading `json:"reading,omitempty"`
	// Work is what was allowed, in tokens.
	Work float64 `json:"work"`
}

// Last is a round with more weight than the others, in which the winners of rounds and no examples
// meet: what is released is at least the best of them, up to its noise.
type Last struct {
	choose.Choice
	// Finalists is how many winners compete at most.
	Finalists int `json:"finalists"`
}

// OwnTexts are those that the model writes by itself, without any record: so that what they are
// worth is a candidate too, where texts from records turn out worse.
type OwnTexts struct {
	Texts  int           `json:"texts"`
	Method decode.Public `json:"method"`
}

// ChooseRequest is what a user asks of choosing. The zero value of a field leaves it to [New].
type ChooseRequest struct {
	// Pool is how many texts are written; with NoGeneration none are, and the pool is Examples.
	Pool         int
	NoGeneration bool
	// Writing is the share of ε for writing the pool from the records, by the method of the
	// request. With 0, the default, or less the model writes it by itself, which costs nothing:
	// all of ε chooses.
	Writing float64
	// Own is how many texts the model writes by itself beside those from records; below 0
	// none.
	Own int
	// Rounds before the last one, Records of a round, and sets that the First and a later round
	// (Next) propose.
	Rounds, Records   int64
	First, Next       int
	ExplorationRounds int64
	// Last is how much weight the last round has against noise, as a multiple of that of another
	// one: 1.5 by default, where there are at least three others. Below 0 there is none.
	Last float64
	// Measuring is the share of ε for saying in the end for how many records the chosen
	// prompt is right: [DefaultMeasuring] by default, [EvidentMeasuring] with evidence; below 0 nothing is measured.
	Measuring float64
	// Shots is how many examples a set has to begin with (the task's), and MaxShots at most.
	Shots, MaxShots int
	Utility         choose.Utility
	// Work is about how many tokens may go through the model once there is a pool, to choose and to
	// measure. Default: what [Request.Within] makes of a time and of the model's speed; where no
	// model is at hand, DefaultWork.
	Work float64
	// Examples and Instructions are as in [Choose].
	Examples     []prompt.Example
	Instructions []string
	// OwnWords leaves out instructions that a task with written outputs has beside its own
	// and Instructions ([prompt.Task.Wordings]).
	OwnWords bool
	// Made is as in [Choose]. With examples of it none are written, unless Writing has a share
	// of ε for that: all of ε chooses.
	Made *PoolContent
	// Vary is as in [Choose].
	Vary int
	// Evidence is the share of ε for adding up all records as evidence for labels, by the Encoder of
	// this name. With 0 it is what [Request.Evident] says, if there is an encoder; below 0 there is none.
	Evidence float64
	Encoder  string
	// Nearest has prompts compete that give each question the examples of the pool that are nearest to it, by Encoder:
	// so many, and half as many; 0 or less has none. It is for tasks without a closed list of labels.
	Nearest int
	// Schema is that of the table whose rows, in words, are the records, if they are: Encoder is then that of
	// its rows ([rows.New]).
	Schema *schema.Schema
	// Form and Reading are as in [Choose].
	Form    prompt.Form
	Reading search.Reading
	// Sets are ready-made sets of examples to choose from, in place of random ones: public.
	// There is one round by default, and no text is written.
	Sets [][]prompt.Example
}

// What choosing does by default. Settled in trials on five data sets (lab/results), and by a model of
// the search that was fitted to them (choosing_rounds.go).
const (
	// DefaultWork is in tokens: about what the default model does in [DefaultTime] on two processors.
	// It is for plans that are made without a model.
	DefaultWork = 220_000
	// DefaultPool is the number of texts that sets are made from, where records write them: that
	// costs ε and time.
	DefaultPool = 24
	// OwnPool is that where the model writes by itself.
	OwnPool = 40
	// DefaultMeasuring is the share of ε for the number in the end.
	DefaultMeasuring = 0.05
	// EvidentMeasuring is that with evidence, which leaves less to choose.
	EvidentMeasuring = 0.1

	ownBeside = 16
	maxShots  = 16
	// measuredRecords are asked in the end: an interval of about ± 5 points. They have a tenth of the
	// work at most, and minMeasured are asked in any case.
	measuredRecords = 500
	minMeasured     = 60
	measuredShare   = 0.1
	// With evidence there is less to choose, and more of the work says what the prompt is worth.
	evidentRecords, evidentShare = 1000, 0.35
)

// Chooses is how people call the method in which records choose.
const Chooses = "choose"

// choosing plans to write a pool and have the records choose.
func (r Request) choosing() (Plan, error) {
	c := *r.Choosing
	c.Examples = slices.Clone(c.Examples)
	given := c.ready()
	c.bare()
	if len(given) > 0 {
		c.NoGeneration, c.First = true, len(given)
		setDefault(&c.Rounds, 1)
	} else if !c.OwnWords {
		c.Instructions = slices.Concat(c.Instructions, r.Task.Wordings(c.Form))
	}
	if err := r.fillChoosing(&c); err != nil {
		return Plan{}, err
	}
	for _, set := range given {
		c.MaxShots = max(c.MaxShots, len(set))
	}
	p, err := r.pool(c)
	if err != nil {
		return Plan{}, err
	}
	n := max(p.Units(), r.Size) // parts of equal sizes leave a remainder
	p.Choose = &Choose{
		Choice: choose.Choice{Utility: c.Utility}, ExplorationRounds: c.ExplorationRounds, Shots: c.Shots, MaxShots: c.MaxShots,
		Examples: c.Examples, Given: given, Instructions: c.Instructions, Form: formOf(c.Form), Reading: c.Reading, Work: c.Work,
		Made: c.Made.clone(), Vary: c.Vary,
	}
	if p.WritesFromRecords() && c.Own >= 0 {
		p.Choose.Own = &OwnTexts{cmp.Or(c.Own, max(ownBeside, len(p.Parts))), decode.Public{Temperature: 1, Candidates: r.Settings.Tokens()}}
	}
	if c.Evidence > 0 {
		if err := p.evidence(c.Encoder, c.Schema, c.Evidence*p.Epsilon, n); err != nil {
			return Plan{}, err
		}
	}
	p.Choose.Nearest = c.nearest()
	if c.Measuring >= 0 {
		if p.Choose.Measure, err = p.measuring(c.measuring(), n, p.measured(c.Work)); err != nil {
			return Plan{}, err
		}
	}
	if err := p.rounds(c, n); err != nil {
		return Plan{}, err
	}
	if err := p.Check(); err != nil {
		return Plan{}, wrong("%v", err)
	}
	return p, nil
}

// measuring is the share of ε for the number in the end. It leaves more than half of what evidence and writing leave for
// choosing.
func (c *ChooseRequest) measuring() float64 {
	if c.Measuring > 0 {
		return c.Measuring
	}
	if c.Evidence > 0 {
		return min(EvidentMeasuring, 0.4*(1-max(0, c.Writing)-c.Evidence))
	}
	return DefaultMeasuring
}

// formOf keeps plans of texts as they were before there were forms.
func formOf(f prompt.Form) prompt.Form {
	if f.Turns() {
		return f
	}
	return ""
}

// Forms are those that prompts may have: none for texts.
func (c *Choose) Forms() []prompt.Form {
	if !c.Form.Turns() {
		return nil
	}
	return []prompt.Form{prompt.ChatForm, prompt.MessageForm}
}

// Schedule is what each round proposes.
func (c *Choose) Schedule() search.Schedule {
	out := search.Schedule{Rounds: c.Rounds, ExplorationRounds: c.ExplorationRounds, First: c.First, Next: c.Next}
	if c.Last != nil {
		out.Finalists = c.Last.Finalists
	}
	return out
}

// Round returns the settings of a round, from 0: those of the last one are its own.
func (c *Choose) Round(at int64) choose.Choice {
	if c.Last != nil && at >= c.Rounds {
		return c.Last.Choice
	}
	return c.Choice
}

// AllRounds is how many there are, the last one among them.
func (c *Choose) AllRounds() int64 {
	if c.Last != nil {
		return c.Rounds + c.Last.Rounds
	}
	return c.Rounds
}

// Event is what all rounds cost.
func (c *Choose) Event() privacy.Event {
	if c.Last == nil {
		return c.Choice.Event()
	}
	return privacy.Canonical(privacy.Compose{Events: []privacy.Event{c.Choice.Event(), c.Last.Event()}})
}

// Steps says what a plan in which records choose or are added up is going to do, before anything is spent;
// "" for others.
func (p Plan) Steps() string {
	c := p.Choose
	if c == nil {
		return p.learnSteps()
	}
	pool := fmt.Sprintf("the model writes %s by itself", counted(p.Shots, "text"))
	switch {
	case p.Shots == 0:
		pool = "no ε is for writing"
	case p.WritesFromRecords():
		pool = are(p.Shots, "text") + " written from records"
		if c.Own != nil {
			pool += fmt.Sprintf(", %d by the model itself", c.Own.Texts)
		}
	}
	if n := len(c.Examples); n > 0 {
		pool += ", " + are(n, "example") + " given"
	}
	pool += c.Made.words()
	pool += p.Evidence.words() + c.Nearest.words()
	out := fmt.Sprintf("the plan: %s; then about %.0f records a round choose among prompts made from them, in %d rounds", pool, c.Draw.Expected(p.Units()), c.Rounds)
	if c.Rounds == 1 {
		out = fmt.Sprintf("the plan: %s; then about %.0f records choose once among prompts made from them", pool, c.Draw.Expected(p.Units()))
	}
	if l := c.Last; l != nil {
		beside := "no examples"
		if p.OnlyEvident() {
			beside = "evidence alone"
		}
		out += fmt.Sprintf("; then about %.0f choose among the winners and %s, which tells differences of about %s apart", l.Draw.Expected(p.Units()), beside, points(p.Tells()))
	}
	if m := c.Measure; m != nil {
		out += fmt.Sprintf("; then about %.0f say whether it is right for them", m.Draw.Expected(p.Units()))
	}
	return out
}

// points are hundredths, in words.
func points(share float64) string {
	return counted(max(1, int(math.Ceil(100*share))), "point")
}

// Tells is about which difference of accuracies, from 0 to 1, the last round of choosing can tell apart:
// the standard deviation of what it sees of one, by its noise and by who is drawn.
func (p Plan) Tells() float64 {
	c := p.Choose.Round(p.Choose.AllRounds() - 1)
	return tells(c.Draw.Expected(p.Units()), c.Range)
}
