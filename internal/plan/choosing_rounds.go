package plan

import (
	"cmp"
	"math"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/choose"
	"github.com/sotto-dp/sotto/internal/private/measure"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
)

// How work and ε are spent on rounds. The constants come from a model of the search (simulation_test.go):
// accuracies of random prompts spread by 3.5 points, a variation keeps 0.8 of what is good about the
// winner, and records agree but for a variance of 0.06 each. It was fitted to the trials of
// lab/results/choose-ablation. By it
//
//   - more rounds are better as long as each has enough weight, and each doubling of the work is for
//     about a third more rounds, and for more records and variations in each;
//   - a last round between winners, with more records and weight than others, brings about half a point where
//     there are a dozen rounds, nothing where there are six, and costs up to half a point where there are
//     three. It is there from three on all the same: it is what keeps a release from being worse than what
//     is free;
//   - where ε leaves rounds less than enoughWeight each, fewer are better, down to a single one.
const (
	// roundsAt1000 is the number of rounds for 1,000 answers of the model, and roundsPower how it grows.
	roundsAt1000, roundsPower = 4, 0.4
	maxRounds                 = 25
	// firstSets of examples at random are proposed first, or fewFirst where there is less work than for
	// fewAnswers.
	firstSets, fewFirst, fewAnswers = 24, 16, 2000
	minSets                         = 5
	// nextSets are proposed by a later round, up to manyNext with four times nextAnswers.
	nextSets, manyNext, nextAnswers = 8, 16, 4000
	// minRecords judge in a round, at least fewRecords where there are several, and up to manyRecords.
	minRecords  = 8
	fewRecords  = 24
	manyRecords = 400
	// enoughWeight is how many records' worth of opinion a round should bring against noise: the
	// weights are exp(Range·u), and u grows with the number of records.
	enoughWeight = 60

	// A last round comes after lastAfter others, has lastShare of the work and lastWeight times the
	// weight of another one, which is about a sixth of ε. At most lastSets winners compete in it.
	lastAfter      = 3
	lastShare      = 0.2
	lastWeight     = 1.5
	lastSets       = 6
	manyLastRecord = 2000
)

// rounds decides how many there are, of how many records, and calibrates their range: as many as the work
// is enough for, unless each would have too little weight, or too few records.
func (p *Plan) rounds(c ChooseRequest, n int64) error {
	s := p.spending(c, n)
	if c.Rounds > 0 {
		s.plan(p.Choose, c.Rounds)
		return p.calibrateChoice(c.Last, nil)
	}
	// The weight of a round, and its records, fall with their number.
	few, many := int64(1), roundsFor(s.answers())
	for wanted := many; few < many; wanted = (few + many + 1) / 2 {
		s.plan(p.Choose, wanted)
		if err := p.calibrateChoice(c.Last, accountant.Auto{Tolerance: 0.05}); err != nil {
			return err
		}
		if records := p.Choose.Draw.Expected(n); p.Choose.Range*records >= enoughWeight && (records >= fewRecords || records >= float64(n)) {
			few = wanted
		} else {
			many = wanted - 1
		}
	}
	s.plan(p.Choose, few)
	return p.calibrateChoice(c.Last, nil)
}

// measured is how many records are asked in the end, by a part of the work.
func (p *Plan) measured(work float64) int64 {
	limit, share := float64(measuredRecords), measuredShare
	if p.Evidence != nil {
		limit, share = evidentRecords, evidentShare
	}
	return int64(math.Max(minMeasured, math.Min(limit, share*work/p.asked().tokens())))
}

// measuring plans the number in the end, for a share of ε, from so many records or all n.
func (p *Plan) measuring(share float64, n, records int64) (*measure.Measure, error) {
	sampler := scheme.Poisson
	if p.Adjacency == privacy.ReplaceOne {
		sampler = scheme.FixedSize
	}
	prompts := []NamedPrompt{{Name: "chosen"}}
	if p.Choose != nil && p.Evidence != nil { // in the same table, for no more ε: is the classifier alone as good?
		prompts = append(prompts, NamedPrompt{Name: "evidence alone"})
	}
	m, err := NewMeasurement(MeasurementRequest{
		Uncounted: p.Declared() != nil,
		Task:      p.Task, Prompts: prompts, Epsilon: share * p.Epsilon, Delta: p.Delta, Unit: p.Unit,
		Size: n, Records: min(n, records), Sampler: sampler,
	})
	return &m.Measure, err
}

// Declared are the numbers of units by label, where they were declared and differ; else nil.
func (p Plan) Declared() map[string]int64 {
	out := map[string]int64{}
	differ := false
	for _, part := range p.Parts {
		if part.Label == "" || p.Count != nil {
			return nil
		}
		out[part.Label] = part.Size
		differ = differ || part.Size < p.Parts[0].Size-1 || part.Size > p.Parts[0].Size+1 // a remainder
	}
	if !differ || len(out) != len(p.Task.Labels) {
		return nil
	}
	return out
}

// roundBudget is what there is to spend on rounds, in tokens.
type roundBudget struct {
	ChooseRequest
	units     int64
	adjacency privacy.Adjacency
	// work in all, what a prompt takes by itself, and each question after it.
	work, prompt, question float64
	// near is how many more tokens a question takes that has the nearest examples before it.
	near float64
}

func (p *Plan) spending(c ChooseRequest, n int64) roundBudget {
	s := roundBudget{ChooseRequest: c, units: n, adjacency: p.Adjacency, work: c.Work, question: p.asked().tokens()}
	// Texts are about half as long as they may be. The layout is not known without a model.
	const instruction, layout = 30, 12
	example := float64(p.Tokens)/2 + layout
	s.prompt, s.near = instruction+example*float64(c.Shots+c.MaxShots)/2, example*p.Choose.Nearest.mean()
	if m := p.Choose.Measure; m != nil {
		s.work -= s.prompt + m.Draw.Expected(n)*(s.question+s.near)
	}
	s.work = math.Max(s.work, c.Work/2)
	return s
}

// answers is how many the work is about enough for.
func (s roundBudget) answers() float64 { return s.work / s.question }

// roundsFor is how many rounds a number of answers is enough for.
func roundsFor(answers float64) int64 {
	return int64(math.Max(1, math.Min(maxRounds, roundsAt1000*math.Pow(answers/1000, roundsPower))))
}

// plan fills in a choice of so many rounds.
func (s roundBudget) plan(c *Choose, rounds int64) {
	c.Rounds, c.Last = rounds, nil
	c.First, c.Next = s.sets(rounds)
	if s.Last > 0 && rounds > 1 || s.Last == 0 && rounds >= lastAfter && len(c.Given) == 0 {
		c.Last = &Last{Finalists: int(min(lastSets, rounds))}
	}
	share := 0.
	if c.Last != nil {
		share = lastShare
	}
	records := s.records(s.work*(1-share)/s.sized(c.roundSets(), c.nearRounds()), minRecords, manyRecords)
	if s.Records > 0 {
		records = min(s.units, s.Records)
	}
	c.Draw = s.draw(records)
	if c.Last != nil {
		c.Last.Choice = choose.Choice{Utility: c.Utility, Rounds: 1}
		c.Last.Draw = s.draw(s.records(s.work*share/s.sized(c.lastSets(), c.nearLast()), float64(records), manyLastRecord))
	}
}

// sized is how many sets take as many tokens as all of some, of which some give questions the nearest examples.
func (s roundBudget) sized(sets, near int64) float64 {
	return float64(sets-near) + float64(near)*(1+s.near/s.question)
}

// sets is how many the first and a later round propose.
func (s roundBudget) sets(rounds int64) (first, next int) {
	answers := s.answers()
	first, next = firstSets, int(math.Max(nextSets, math.Min(manyNext, nextSets*math.Sqrt(answers/nextAnswers))))
	if answers < fewAnswers && rounds > 1 {
		first = fewFirst
	}
	if rounds == 1 && s.Rounds == 0 && s.Records == 0 {
		// Few sets that enough records judge are better than many that few do.
		first = int(math.Max(minSets, math.Min(firstSets, answers/fewRecords-1)))
	}
	return cmp.Or(s.First, first), cmp.Or(s.Next, next)
}

// records is how many can judge a prompt with so many tokens.
func (s roundBudget) records(tokens, lower, upper float64) int64 {
	return min(s.units, int64(math.Max(lower, math.Min(upper, (tokens-s.prompt)/s.question))))
}

func (s roundBudget) draw(records int64) scheme.Scheme {
	if s.adjacency == privacy.ReplaceOne {
		return scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerToken, Take: records, Of: s.units}
	}
	return scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerToken, Rate: float64(records) / float64(s.units)}
}

// roundSets is how many sets of examples all rounds but the last propose together, at most.
func (c *Choose) roundSets() int64 {
	heats := min(c.ExplorationRounds, c.Rounds)
	first := max(c.First, len(c.Wordings())) // each instruction also comes without examples
	if len(c.Given) > 0 {
		first = c.First + len(c.Wordings())
	}
	return heats*int64(first+1) + (c.Rounds-heats)*int64(c.Next) + heats*c.Nearest.sets()
}

// lastSets is that of the last round: with no examples, also with the winner's instruction.
func (c *Choose) lastSets() int64 {
	if c.Last == nil {
		return 0
	}
	return int64(c.Last.Finalists+1+min(1, len(c.Wordings()))) + c.Nearest.sets()
}

// Sets is how many sets of examples all rounds together propose, at most.
func (c *Choose) Sets() int64 { return c.roundSets() + c.lastSets() }

// Answers is how many the records of n units take to choose, on average.
func (c *Choose) Answers(n int64) float64 {
	all := float64(c.roundSets()) * c.Draw.Expected(n)
	if c.Last != nil {
		all += float64(c.lastSets()) * c.Last.Draw.Expected(n)
	}
	return all
}

// calibrateChoice finds the largest range at which the plan costs its ε, where the last round has so many
// times the weight of another.
func (p *Plan) calibrateChoice(last float64, by accountant.Accountant) error {
	n := p.Units()
	if last <= 0 {
		last = lastWeight
	}
	at := func(x float64) privacy.Event {
		q, c := *p, *p.Choose
		c.ranged(x, last, n)
		q.Choose = &c
		return q.Event()
	}
	x, err := solve("choosing", accountant.Target{Epsilon: p.Epsilon, Delta: p.Delta, Adjacency: p.Adjacency, Accountant: by}, at)
	p.Choose.ranged(x, last, n)
	return err
}

// ranged sets the range of rounds, and with it that of the last one.
func (c *Choose) ranged(x, weight float64, n int64) {
	c.Range = x
	if c.Last == nil {
		return
	}
	last := *c.Last
	last.Range = x * weight * c.Draw.Expected(n) / last.Draw.Expected(n)
	c.Last = &last
}

// tells is the standard deviation of the difference of two prompts' accuracies, as so many records see it.
func tells(records, scale float64) float64 {
	const apart = 0.06 // what records say of a prompt and not of others, as above
	weight := scale * records
	return math.Sqrt(2*apart/records + math.Pi*math.Pi/3/(weight*weight))
}
