package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/private/choose"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/private/measure"
	"github.com/sotto-dp/sotto/internal/scheme"
	"github.com/sotto-dp/sotto/internal/search"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/prompt"
)

// Choose says that what is written is a pool, and that the records choose a prompt made
// from it.
type Choose struct {
	choose.Choice
	// First and Next are how many sets of examples the first and a later round propose.
	First int `json:"first"`
	Next  int `json:"next"`
	// Heats are rounds with sets at random, before those that vary the winner.
	Heats int64 `json:"heats"`
	// Shots is how many examples a set has to begin with, and Most at most.
	Shots int `json:"shots"`
	Most  int `json:"most"`
	// Own are texts of the model's own in the pool, beside those from records.
	Own *OwnTexts `json:"own,omitempty"`
	// Examples of the user's own that are in the pool too: public.
	Examples []prompt.Example `json:"examples,omitempty"`
	// Given are sets of Examples, by their places, that the first round proposes in place of
	// random ones.
	Given [][]int `json:"given,omitempty"`
	// Instructions to try beside the task's own: public.
	Instructions []string `json:"instructions,omitempty"`
	// Made is what a model made up that sees no record, if one did: public.
	Made *Made `json:"made,omitempty"`
	// Vary is how many texts like the winner's examples join the pool after a round.
	Vary int `json:"vary,omitempty"`
	// Measure says in the end for how many records the chosen prompt is right, if set.
	Measure *measure.Measure `json:"measure,omitempty"`
	// Reading restricts how labels are read off answers: raw or calibrated; "" tries both.
	Reading search.Reading `json:"reading,omitempty"`
	// Work is what was allowed, in tokens.
	Work float64 `json:"work"`
}

// OwnTexts are those that the model writes by itself, without any record: so that what they are
// worth is a candidate too, where texts from records turn out worse.
type OwnTexts struct {
	Texts  int           `json:"texts"`
	Method decode.Public `json:"method"`
}

// Choosing is what a user asks of choosing. The zero value of a field leaves it to [New].
type Choosing struct {
	// Pool is how many texts are written; with Bare none are, and the pool is Examples.
	Pool int
	Bare bool
	// Writing is the share of ε for writing the pool from the records, by the method of the
	// request: [DefaultWriting] unless told, where that leaves a record something to say.
	// Below 0 the model writes it by itself, which costs nothing.
	Writing float64
	// Own is how many texts the model writes by itself beside those from records; below 0
	// none.
	Own int
	// Rounds, Records of a round, and sets that the First and a later round (Next) propose.
	Rounds, Records int64
	First, Next     int
	Heats           int64
	// Measuring is the share of ε for saying in the end for how many records the chosen
	// prompt is right: [DefaultMeasuring] unless told; below 0 nothing is measured.
	Measuring float64
	// Shots is how many examples a set has to begin with (the task's), and Most at most.
	Shots, Most int
	Utility     choose.Utility
	// Work is about how many tokens may go through the model: DefaultWork unless told.
	Work float64
	// Examples and Instructions are as in [Choose].
	Examples     []prompt.Example
	Instructions []string
	// OwnWords leaves out instructions that a task with written outputs has beside its own
	// and Instructions ([prompt.Task.Wordings]).
	OwnWords bool
	// Made is as in [Choose]. With examples of it none are written, unless Writing has a share
	// of ε for that: all of ε chooses.
	Made *Made
	// Vary is as in [Choose].
	Vary int
	// Reading is as in [Choose].
	Reading search.Reading
	// Sets are ready-made sets of examples to choose from, in place of random ones: public.
	// There is one round unless told, and no text is written.
	Sets [][]prompt.Example
}

// ready turns ready-made sets into examples and their places.
func (c *Choosing) ready() (given [][]int) {
	place := map[prompt.Example]int{}
	for i, e := range c.Examples {
		place[e] = i
	}
	for _, set := range c.Sets {
		var at []int
		for _, e := range set {
			i, known := place[e]
			if !known {
				i = len(c.Examples)
				place[e] = i
				c.Examples = append(c.Examples, e)
			}
			at = append(at, i)
		}
		given = append(given, at)
	}
	return given
}

// What choosing does unless told. Settled in trials on five data sets (docs/results): the
// first round brings most of what there is to gain; a few rounds of variations and a last
// round among all winners add some points; ten times the work adds next to nothing.
const (
	// DefaultWork is in tokens: about five minutes of the default model on two processors.
	DefaultWork = 220_000
	// ServedWork is for models on servers, which are faster and mostly larger: four times the
	// work was worth 1.5 points there with labels, and 1.8 with written outputs.
	ServedWork = 4 * DefaultWork
	// DefaultPool is the number of texts that sets are made from.
	DefaultPool = 24
	// DefaultMeasuring is the share of ε for the number in the end.
	DefaultMeasuring = 0.05
	// DefaultWriting is the share of ε for writing them from the records.
	DefaultWriting = 0.5

	// OwnPool is that where no record writes: costs no ε, and little time.
	OwnPool = 40

	ownBeside           = 16
	firstSets, nextSets = 24, 8
	leastSets           = 5
	usualRounds         = 12
	mostRounds          = 25
	fewRecords          = 32
	manyRecords         = 400
	mostShots           = 16
	// leastRoom in nats is how much a record should have to say in a text.
	leastRoom = 1
	// measuredRecords are asked in the end: an interval of about ± 5 points.
	measuredRecords = 500
	// enoughWeight is how many records' worth of opinion a round should tell from noise: the
	// weights are exp(Range·u), and u grows with the number of records.
	enoughWeight = 30
)

// Chooses is how people call the method in which records choose.
const Chooses = "choose"

// By returns the same request for another method, with those of its settings that the method
// has, or for records that choose.
func (r Request) By(name string) Request {
	r.Method = name
	switch {
	case name != Chooses:
		r.Choosing = nil
		r.Settings = r.Settings.For(spec(name))
	default:
		r.Method, r.Settings = "", r.Settings.For(spec("clipped")) // which writes from records
		if r.Choosing == nil {
			r.Choosing = &Choosing{}
		}
	}
	return r
}

// spec describes a method; an unknown one has no settings.
func spec(name string) method.Spec {
	s, _ := method.Lookup(name)
	return s
}

// Served is the same request with the work that models on servers have for choosing, unless
// it says how much.
func (r Request) Served() Request {
	own := Choosing{}
	if r.Choosing != nil {
		own = *r.Choosing
	}
	setDefault(&own.Work, ServedWork)
	r.Choosing = &own
	return r
}

// Steps say what a plan in which records choose is going to do, before anything is spent;
// "" for others.
func (p Plan) Steps() string {
	c := p.Choose
	if c == nil {
		return ""
	}
	pool := fmt.Sprintf("the model writes %d texts by itself", p.Shots)
	switch {
	case p.Shots == 0:
		pool = "no ε is for writing"
	case p.WritesFromRecords():
		pool = fmt.Sprintf("%d texts are written from records", p.Shots)
		if c.Own != nil {
			pool += fmt.Sprintf(", %d by the model itself", c.Own.Texts)
		}
	}
	if n := len(c.Examples); n > 0 {
		pool += fmt.Sprintf(", %d examples are given", n)
	}
	pool += c.Made.words()
	out := fmt.Sprintf("the plan: %s; then about %.0f records a round choose among prompts made from them, in %d rounds", pool, c.Draw.Expected(p.Units()), c.Rounds)
	if c.Rounds == 1 {
		out = fmt.Sprintf("the plan: %s; then about %.0f records choose once among prompts made from them", pool, c.Draw.Expected(p.Units()))
	}
	if m := c.Measure; m != nil {
		out += fmt.Sprintf("; then about %.0f say whether it is right for them", m.Draw.Expected(p.Units()))
	}
	return out
}

// choosing plans to write a pool and have the records choose.
func (r Request) choosing() (Plan, error) {
	c := *r.Choosing
	c.Examples = slices.Clone(c.Examples)
	given := c.ready()
	c.bare()
	if len(given) > 0 {
		c.Bare, c.First = true, len(given)
		setDefault(&c.Rounds, 1)
	} else if !c.OwnWords {
		c.Instructions = slices.Concat(c.Instructions, r.Task.Wordings())
	}
	if err := r.fillChoosing(&c); err != nil {
		return Plan{}, err
	}
	for _, set := range given {
		c.Most = max(c.Most, len(set))
	}
	p, err := r.pool(c)
	if err != nil {
		return Plan{}, err
	}
	n := max(p.Units(), r.Size) // parts of equal sizes leave a remainder
	p.Choose = &Choose{
		Choice: choose.Choice{Utility: c.Utility}, First: c.First, Next: c.Next, Heats: c.Heats, Shots: c.Shots, Most: c.Most,
		Examples: c.Examples, Given: given, Instructions: c.Instructions, Reading: c.Reading, Work: c.Work,
		Made: c.Made.clone(), Vary: c.Vary,
	}
	if p.WritesFromRecords() && c.Own >= 0 {
		p.Choose.Own = &OwnTexts{cmp.Or(c.Own, max(ownBeside, len(p.Parts))), decode.Public{Temperature: 1, Candidates: r.Settings.Tokens()}}
	}
	if c.Measuring >= 0 {
		if err := p.measuring(cmp.Or(c.Measuring, DefaultMeasuring), n); err != nil {
			return Plan{}, err
		}
	}
	if err := r.rounds(&p, c, n); err != nil {
		return Plan{}, err
	}
	if err := p.Check(); err != nil {
		return Plan{}, wrong("%v", err)
	}
	return p, nil
}

// fillChoosing sets what was left open and checks the rest.
func (r *Request) fillChoosing(c *Choosing) error {
	t := r.Task.WithDefaults()
	if err := privacy.CheckEpsilon(r.Epsilon); err != nil || r.Epsilon == 0 {
		return wrong("an ε above 0 is needed to choose by the records, such as 1, not %v; without any record there is the method public", r.Epsilon)
	}
	if !(c.Writing < 1) {
		return wrong("the share of ε for writing is to be below 1, so that some is left for choosing, not %v", c.Writing)
	}
	if !(c.Measuring < 1-max(0, c.Writing)) {
		return wrong("the shares of ε for writing (%v) and measuring (%v) leave nothing for choosing", max(0, c.Writing), c.Measuring)
	}
	if r.Sampler == scheme.Disjoint {
		return wrong("each round of choosing has a draw of its own: use poisson draws, or fixed-size ones")
	}
	if err := r.checkPoolSettings(); err != nil {
		return err
	}
	setDefault(&c.Utility, defaultUtility(t))
	if err := choose.Suits(c.Utility, t); err != nil {
		return wrong("%v", err)
	}
	shots := cmp.Or(r.Shots, t.Limits.Shots)
	if t.Kind == prompt.Generate { // inputs are long, and one example can be enough
		setDefault(&c.Most, max(2*shots, c.Shots))
		shots = 1
	}
	setDefault(&c.Shots, shots)
	setDefault(&c.Most, max(mostShots, 2*c.Shots, len(t.Labels)+2))
	setDefault(&c.Pool, max(DefaultPool, 3*len(t.Labels), min(c.Most, 32)))
	setDefault(&c.First, firstSets)
	setDefault(&c.Heats, 1)
	setDefault(&c.Next, nextSets)
	setDefault(&c.Work, DefaultWork)
	switch {
	case c.Pool < 1 || c.Shots < 1 || c.Most < c.Shots || c.First < 1 || c.Next < 2 || c.Heats < 1 || c.Rounds < 0 || c.Records < 0 || !(c.Work > 0):
		return wrong("choosing needs a pool, sets of at least one example, and two to choose from: pool %d, shots %d, at most %d, sets %d and %d", c.Pool, c.Shots, c.Most, c.First, c.Next)
	case c.Reading != "" && c.Reading != search.Raw && c.Reading != search.Calibrated:
		return wrong("labels are read off %s or %s, or either way, not %q", search.Raw, search.Calibrated, c.Reading)
	case c.Bare && (c.Writing > 0 || r.Discover || r.Ending):
		return wrong("no texts are to be written, and a share of ε is for writing them: leave one out")
	case c.Bare && len(c.Examples)+len(c.Made.texts()) == 0:
		return wrong("a pool without texts of this run needs examples of your own")
	}
	if err := checkExamples(c.Examples, t); err != nil {
		return wrong("%v", err)
	}
	if err := c.Made.check(t, c.Vary); err != nil {
		return wrong("%v", err)
	}
	return nil
}

// checkPoolSettings refuses settings that neither the method which writes the pool from
// records has, nor the one which writes it without.
func (r *Request) checkPoolSettings() (err error) {
	writer, public := spec(cmp.Or(r.Method, DefaultWriter)), spec("public")
	for name := range r.Settings {
		if _, ok := public.Setting(name); !ok {
			if r.Settings, err = r.Settings.Check(writer); err != nil {
				return err
			}
			return nil
		}
	}
	r.Settings, err = r.Settings.Check(public)
	return err
}

// checkExamples finds examples of the user's own that a task has no use for.
func checkExamples(list []prompt.Example, t prompt.Task) error {
	for i, e := range list {
		if err := (prompt.Prompt{Examples: []prompt.Example{e}}).Check(t); err != nil {
			return fmt.Errorf("your own example %d: %w", i+1, err)
		}
	}
	return nil
}

// defaultUtility is what records say about a prompt, unless told.
func defaultUtility(t prompt.Task) choose.Utility {
	if t.Kind == prompt.Generate {
		return choose.Rouge
	}
	return choose.Hard
}

// pool plans the texts that prompts are made from.
func (r Request) pool(c Choosing) (Plan, error) {
	writing := r
	writing.Choosing, writing.Shots = nil, c.Pool
	if c.Bare { // a plan has parts, and something to write for
		writing.Shots = 1
		if r.Task.Open() && len(r.Conditions) == 0 {
			writing.Conditions = []string{"none"}
		}
	}
	if r.Ending {
		setDefault(&writing.EndingEpsilon, r.Epsilon/20)
	}
	byItself := c.Writing < 0 || c.Bare
	if c.Writing == 0 && !byItself {
		if p, ok := r.defaultPool(c); ok {
			return p, nil
		}
		byItself = true
	}
	if byItself {
		writing.Method, writing.Sampler = "public", ""
		writing.Settings = writing.Settings.For(spec("public"))
		if r.Choosing.Pool == 0 && !c.Bare {
			writing.Shots = max(c.Pool, OwnPool)
		}
	} else {
		setDefault(&writing.Method, DefaultWriter)
		writing.Settings = writing.Settings.For(spec(writing.Method))
		writing.Epsilon *= c.Writing
		if r.Count {
			setDefault(&writing.CountEpsilon, r.Epsilon/20)
		}
		if r.Discover {
			setDefault(&writing.DiscoverEpsilon, r.Epsilon/10)
		}
	}
	p, err := New(writing)
	if err != nil {
		return p, err
	}
	p.Epsilon = r.Epsilon
	if c.Bare {
		p.Shots, p.Conditions = 0, nil
	}
	if r.Sampler == scheme.FixedSize && byItself {
		if r.Count || r.Discover || r.Ending {
			return p, wrong("counting and discovery are under add-remove adjacency, and draws of a fixed size are under replace-one: use poisson draws")
		}
		p.Adjacency = privacy.ReplaceOne
	}
	return p, nil
}

// defaultPool writes the pool from the records if they have something to say with a share
// of ε. Where they have not, all of ε is better spent on choosing.
func (r Request) defaultPool(c Choosing) (Plan, bool) {
	c.Writing = DefaultWriting
	p, err := r.pool(c)
	if err != nil {
		return p, false
	}
	for _, part := range p.Parts {
		if m, ok := part.Method.Method.(decode.Roomy); ok && m.Room() < leastRoom {
			return p, false
		}
	}
	return p, true
}

// Texts is how many are written in all: Shots, which the parts pay for, and after them those
// of the model's own.
func (p Plan) Texts() int {
	if p.Choose == nil || p.Choose.Own == nil {
		return p.Shots
	}
	return p.Shots + p.Choose.Own.Texts
}

// Units is the declared number of units in all parts together.
func (p Plan) Units() int64 {
	var n int64
	for _, part := range p.Parts {
		n += part.Size
	}
	return n
}

// Reads reports whether the plan looks at records.
func (p Plan) Reads() bool {
	return p.WritesFromRecords() || p.Count != nil || p.Discover != nil || p.Ending != nil || p.Choose != nil
}

// WritesFromRecords reports whether texts are written from records.
func (p Plan) WritesFromRecords() bool {
	for _, part := range p.Parts {
		if part.Method.Scheme().Kind != "" {
			return true
		}
	}
	return false
}

// checkChoose finds what is wrong with choosing.
func (p Plan) checkChoose() error {
	c := p.Choose
	if c == nil {
		return nil
	}
	if err := c.Check(); err != nil {
		return err
	}
	if err := choose.Suits(c.Utility, p.Task); err != nil {
		return err
	}
	if m := c.Measure; m != nil {
		if err := m.Check(); err != nil {
			return err
		}
		if m.Prompts != 1 || m.Draw.Adjacency() != p.Adjacency {
			return fmt.Errorf("one prompt is measured in the end, under the adjacency of the plan")
		}
		if err := measure.Suits(m.Verdict, p.Task); err != nil {
			return err
		}
	}
	if c.Own != nil {
		if c.Own.Texts < 1 || p.Shots < 1 {
			return fmt.Errorf("texts of the model's own are at least one, beside others")
		}
		if err := c.Own.Method.Check(); err != nil {
			return err
		}
	}
	if c.Draw.Adjacency() != p.Adjacency {
		return fmt.Errorf("the plan is under %s adjacency, and its records choose under %s", p.Adjacency, c.Draw.Adjacency())
	}
	if err := checkExamples(c.Examples, p.Task); err != nil {
		return err
	}
	if err := c.Made.check(p.Task, c.Vary); err != nil {
		return err
	}
	for _, set := range c.Given {
		if slices.ContainsFunc(set, func(i int) bool { return i < 0 || i >= len(c.Examples) }) {
			return fmt.Errorf("a ready-made set names an example that there is not")
		}
	}
	if c.First < 1 || c.Next < 2 || c.Shots < 1 || c.Most < c.Shots {
		return fmt.Errorf("choosing needs sets of examples to choose from")
	}
	if _, real := p.Parts[0].Method.Method.(*decode.Real); real || !p.Private() {
		return fmt.Errorf("a pool has to protect the records: the method %s does not", p.Parts[0].Method.Name())
	}
	return nil
}

// Schedule is what each round proposes.
func (c *Choose) Schedule() search.Schedule {
	return search.Schedule{Rounds: c.Rounds, Heats: c.Heats, First: c.First, Next: c.Next}
}
