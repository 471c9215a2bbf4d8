package plan

import (
	"cmp"
	"math"

	"github.com/sotto-dp/sotto/internal/private/choose"
	"github.com/sotto-dp/sotto/internal/scheme"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/prompt"
)

// rounds decides how many there are, of how many records, and calibrates their range.
func (r Request) rounds(p *Plan, c Choosing, n int64) error {
	answers := c.Work / questionTokens(p.Task)
	wanted := cmp.Or(c.Rounds, roundsFor(answers, c))
	if c.Rounds == 0 && c.Records == 0 && wanted == 1 {
		// Few sets that enough records judge are better than many that few do.
		p.Choose.First = int(math.Max(leastSets, math.Min(float64(c.First), answers/fewRecords-1)))
	}
	for {
		ch := p.Choose
		ch.Rounds = wanted
		records := min(n, cmp.Or(c.Records, int64(math.Max(8, math.Min(manyRecords, answers/float64(ch.Sets()))))))
		ch.Draw = scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerToken, Rate: float64(records) / float64(n)}
		if p.Adjacency == privacy.ReplaceOne {
			ch.Draw = scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerToken, Take: records, Of: n}
		}
		roughly := accountant.Accountant(accountant.Auto{Tolerance: 0.05})
		if c.Rounds > 0 || wanted == 1 {
			roughly = nil
		}
		if err := p.calibrateChoice(roughly); err != nil {
			return err
		}
		if roughly == nil {
			return nil
		}
		if ch.Range*float64(records) >= enoughWeight {
			return p.calibrateChoice(nil)
		}
		wanted = max(1, wanted/2)
	}
}

// measuring plans the number in the end, for a share of ε.
func (p *Plan) measuring(share float64, n int64) error {
	sampler := scheme.Poisson
	if p.Adjacency == privacy.ReplaceOne {
		sampler = scheme.FixedSize
	}
	m, err := NewMeasurement(MeasurementRequest{
		Task: p.Task, Prompts: []NamedPrompt{{Name: "chosen"}}, Epsilon: share * p.Epsilon, Delta: p.Delta, Unit: p.Unit,
		Size: n, Records: min(n, measuredRecords), Sampler: sampler,
	})
	p.Choose.Measure = &m.Measure
	return err
}

// roundsFor is how many rounds a number of answers is enough for.
func roundsFor(answers float64, c Choosing) int64 {
	few, many := float64(fewRecords), float64(manyRecords)
	if c.Records > 0 {
		few, many = float64(c.Records), float64(c.Records)
	}
	usual := &Choose{First: c.First, Next: c.Next, Heats: c.Heats, Choice: choose.Choice{Rounds: usualRounds}}
	switch sets := float64(usual.Sets()); {
	case answers < few*sets:
		more := (answers/few - float64(c.First)) / float64(c.Next)
		return int64(math.Max(1, math.Min(usualRounds, 1+math.Floor(more))))
	case answers > many*sets:
		more := (answers/many - float64(c.First)) / float64(c.Next)
		return int64(math.Min(mostRounds, 1+math.Floor(more)))
	}
	return usualRounds
}

// Sets is how many sets of examples all rounds together propose, at most.
func (c *Choose) Sets() int64 {
	heats := min(c.Heats, c.Rounds)
	first := max(c.First, len(c.Wordings())) // each instruction also comes without examples
	if len(c.Given) > 0 {
		first = c.First + len(c.Wordings())
	}
	return heats*int64(first+1) + (c.Rounds-heats)*int64(c.Next)
}

// calibrateChoice finds the largest range at which the plan costs its ε.
func (p *Plan) calibrateChoice(by accountant.Accountant) error {
	at := func(x float64) privacy.Event {
		q, c := *p, *p.Choose
		c.Range = x
		q.Choose = &c
		return q.Event()
	}
	x, err := solve("choosing", accountant.Target{Epsilon: p.Epsilon, Delta: p.Delta, Adjacency: p.Adjacency, Accountant: by}, at)
	p.Choose.Range = x
	return err
}

// questionTokens is about how long a record's question is with its answer: about as long
// as the texts of the task. How long records are is private.
func questionTokens(t prompt.Task) float64 {
	const layout = 12
	l := t.WithDefaults().Limits
	if t.Kind == prompt.Generate {
		return float64(l.InputTokens)/2 + float64(l.AnswerTokens) + layout
	}
	return float64(min(l.InputTokens, l.MaxTokens)) + layout
}

// choosingWork is what the rounds ask of the model, on average over who is drawn.
func (p Plan) choosingWork(s Shape, v Speed) Work {
	c := p.Choose
	if c == nil {
		return Work{}
	}
	records, measured := c.Draw.Expected(p.Units()), 0.
	if c.Measure != nil {
		measured = c.Measure.Draw.Expected(p.Units())
	}
	answers := float64(c.Sets())*records + measured
	prompts := float64(c.Sets())
	if c.Measure != nil {
		prompts++
	}
	if v.Served { // each answer reads its prompt
		tokens := answers * (p.promptTokens(s) + questionTokens(p.Task))
		calls := float64(c.Rounds)*records + measured
		return Work{Tokens: tokens, Seconds: v.read(tokens) + calls*v.Step}
	}
	tokens := prompts*p.promptTokens(s) + answers*questionTokens(p.Task)
	return Work{Tokens: tokens, Seconds: v.read(tokens)}
}

// promptTokens is about how long the examples of a prompt are, at most.
func (p Plan) promptTokens(s Shape) float64 {
	example := float64(p.Tokens) + s.Head
	return float64(s.Instruction) + example*float64(p.Choose.Shots+p.Choose.Most)/2
}
