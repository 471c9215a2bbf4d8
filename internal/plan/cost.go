package plan

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// Shape is how long the pieces of a task's prompts are, in tokens. It is public: the
// length of a record is the most that the task takes of one, not that of any.
type Shape struct {
	// Instruction that all prompts begin with.
	Instruction int `json:"instruction"`
	// Head is the end of a prompt, which names the condition: the average.
	Head float64 `json:"head"`
	// Record is a demonstration of a record at its limit.
	Record float64 `json:"record"`
}

// ShapeOf measures a task's prompts with a tokeniser. conditions are those that texts are
// written for; without any, a word stands for them.
func ShapeOf(ctx context.Context, tokenizer lm.Tokenizer, t prompt.Task, conditions []string) (Shape, error) {
	t = t.WithDefaults()
	l := lengths{ctx: ctx, tokenizer: tokenizer, of: "the prompts for texts"}
	s := Shape{Instruction: l.opening(t.GenerationPrefix())}
	if len(conditions) == 0 {
		conditions = t.Labels
	}
	if len(conditions) == 0 {
		conditions = []string{"word"}
	}
	limit := float64(t.Limits.RecordTokens)
	for _, c := range conditions {
		head, own, demo := l.count(t.GenerationHead(c)), l.count(strings.TrimSpace(c)), l.count(t.GenerationDemo(c, ""))
		s.Head += head / float64(len(conditions))
		// A record's condition is about as long as those that texts are written for; an
		// input of a generation task may be as long as its limit.
		condition := math.Min(own, limit)
		if t.Kind == prompt.Generate {
			condition = float64(t.Limits.InputTokens)
		}
		s.Record += (demo - own + condition + limit) / float64(len(conditions))
	}
	return s, l.err
}

// lengths counts tokens of pieces of prompts, and keeps the first error.
type lengths struct {
	ctx       context.Context
	tokenizer lm.Tokenizer
	of        string
	err       error
}

func (l *lengths) count(text string) float64 {
	if text == "" || l.err != nil {
		return 0
	}
	tokens, err := l.tokenizer.Encode(l.ctx, text)
	if err != nil {
		l.err = fmt.Errorf("measure %s: %w", l.of, err)
	}
	return float64(len(tokens))
}

// opening is the length of an instruction, with what comes before it.
func (l *lengths) opening(instruction string) int {
	n := int(l.count(instruction))
	if _, ok := l.tokenizer.Beginning(); ok {
		n++
	}
	return n
}

// Work is what a schedule asks of the model: tokens that go through it, and how long
// that takes.
type Work struct {
	Tokens  float64 `json:"tokens"`
	Seconds float64 `json:"seconds,omitempty"`
}

// Cost of all texts of a plan, when each is as long as it may be and records are at
// their limit.
type Cost struct {
	// Cached is what internal/private/decode does: the instruction once, and sequences kept for
	// as long as their records are drawn.
	Cached Work `json:"cached"`
	// Uncached computes every prompt of every token in full, the empty ones too, as
	// programs without caches do.
	Uncached Work `json:"uncached"`
	// Sequences is how many take part in a step, the public one among them.
	Sequences float64 `json:"sequences"`
}

// Speed of a model on a machine; see [Measure]. The zero value leaves times out.
type Speed struct {
	// Prefill is the number of tokens per second when many are read at once.
	Prefill float64 `json:"prefill_tokens_per_s"`
	// Step is the time of a step in which one sequence gets a token, Each what every
	// further sequence adds; in seconds.
	Step float64 `json:"step_seconds"`
	Each float64 `json:"sequence_seconds"`
	// Served: it is on a server, which reads prompts with records anew each time: one by one
	// where texts are written from records, and all prompts of a record at once where records
	// judge.
	Served bool `json:"served,omitempty"`
	// Encode is how long an encoder takes for a text, in seconds.
	Encode float64 `json:"encode_seconds,omitempty"`
	// Texts is how many are written at once where no record is read for them; 0 is 1.
	Texts int `json:"texts_at_once,omitempty"`
}

// read is the time that tokens take when many come at once.
func (v Speed) read(tokens float64) float64 {
	if v.Prefill <= 0 {
		return 0
	}
	return tokens / v.Prefill
}

// alone is the time of steps of a text for which no record is read, several of which are written at once.
func (v Speed) alone(steps float64) float64 {
	n := float64(max(1, v.Texts))
	return v.decode(steps, n) / n
}

// decode is the time of steps in which n sequences get a token each.
func (v Speed) decode(steps, n float64) float64 {
	return steps * (v.Step + v.Each*(n-1))
}

// Cost predicts the work of a plan. The numbers are averages over who is drawn.
func (p Plan) Cost(s Shape, v Speed) Cost {
	var c Cost
	if spec, _ := method.Lookup(p.Method()); spec.Copies {
		return c
	}
	if p.Learns() { // no language model takes part
		c.Cached.Seconds = v.encode(p.Units(), p.Evidence.Each)
		if p.Measure != nil {
			c.Cached.Seconds += v.Encode * p.Measure.Draw.Expected(p.Units())
		}
		c.Uncached = c.Cached
		return c
	}
	c.Cached = Work{Tokens: float64(s.Instruction), Seconds: v.read(float64(s.Instruction))}
	// Texts are spread evenly over the parts.
	texts := float64(p.Shots) / float64(len(p.Parts))
	for _, part := range p.Parts {
		one := part.text(float64(p.Tokens), s, v)
		c.Cached.add(one.Cached, texts)
		c.Uncached.add(one.Uncached, texts)
		c.Sequences += one.Sequences / float64(len(p.Parts))
	}
	if own := p.Texts() - p.Shots; own > 0 {
		alone := Part{Method: decode.Settings{Method: &p.Choose.Own.Method}}.text(float64(p.Tokens), s, v)
		c.Cached.add(alone.Cached, float64(own))
		c.Uncached.add(alone.Uncached, float64(own))
	}
	choosing := p.choosingWork(s, v)
	if p.Evidence != nil {
		choosing.Seconds += v.encode(p.Units(), p.Evidence.Each)
	}
	if p.Choose != nil {
		choosing.add(p.nearWork(s, v), 1)
	}
	c.Cached.add(choosing, 1)
	c.Uncached.add(choosing, 1)
	return c
}

func (w *Work) add(o Work, times float64) {
	w.Tokens += times * o.Tokens
	w.Seconds += times * o.Seconds
}

// text is the work for one text of a part.
func (p Part) text(steps float64, s Shape, v Speed) Cost {
	prompts, filled, records := p.occupancy()
	return textWork(p.Method.Scheme().Per, steps, prompts, filled, records, s, v)
}

// textWork is the work for a text of so many steps, from so many prompts and records.
func textWork(per scheme.Per, steps, prompts, filled, records float64, s Shape, v Speed) Cost {
	instruction := float64(s.Instruction)
	// What all prompts have at each step besides records, added up over the steps.
	tails := steps*s.Head + steps*(steps-1)/2
	c := Cost{Sequences: 1 + filled}
	c.Uncached.Tokens = (1+prompts)*(steps*instruction+tails) + steps*records*s.Record
	c.Uncached.Seconds = v.read(c.Uncached.Tokens)
	if v.Served && records > 0 {
		c.Cached.Tokens = (1+filled)*(steps*instruction+tails) + steps*records*s.Record
		c.Cached.Seconds = v.read(c.Cached.Tokens) + steps*(1+filled)*v.Step
		return c
	}
	if per == scheme.PerToken {
		fresh := steps*records*s.Record + filled*tails
		c.Cached.Tokens = s.Head + (steps - 1) + fresh
		c.Cached.Seconds = v.read(s.Head+fresh) + v.decode(steps, 1)
		return c
	}
	opening := s.Head + records*s.Record + filled*s.Head
	c.Cached.Tokens = opening + (steps-1)*(1+filled)
	c.Cached.Seconds = v.read(opening) + v.decode(steps-1, 1+filled)
	if records == 0 {
		c.Cached.Seconds = v.read(opening) + v.alone(steps-1)
	}
	return c
}

// occupancy is the number of prompts that a draw fills, how many of them hold records,
// and how many records they hold together, on average.
func (p Part) occupancy() (prompts, filled, records float64) {
	return occupancy(p.Method.Scheme(), p.Size)
}

// Prompts is the number of prompts that a text of the part reads records with, on average
// over who is drawn.
func (p Part) Prompts() float64 {
	prompts, _, _ := p.occupancy()
	return prompts
}

// AtMost returns a number that a draw of which so many are expected exceeds with
// probability below 1e-6.
func AtMost(expected float64) int { return int(math.Ceil(expected + 6*math.Sqrt(expected) + 6)) }

func occupancy(sampling scheme.Scheme, size int64) (prompts, filled, records float64) {
	if sampling.Kind == "" {
		return 0, 0, 0
	}
	if sampling.Prompts == 0 {
		n := sampling.Expected(size)
		return n, n, n
	}
	// Each of n units is in a given prompt with probability q: a binomial number X of
	// records, of which at most PerPrompt are used. E min(X, k) = Σ_{j≤k} P(X ≥ j).
	prompts = float64(sampling.Prompts)
	n, q := float64(size), sampling.Expected(size)/float64(size)/prompts
	if sampling.Kind == scheme.FixedSize {
		n, q = float64(sampling.Take), 1/prompts
	}
	if q >= 1 {
		return prompts, prompts, prompts * math.Min(n, float64(sampling.PerPrompt))
	}
	mass := math.Exp(n * math.Log1p(-q)) // of X = 0
	atLeast := 1 - mass
	filled = prompts * atLeast
	for j := range sampling.PerPrompt {
		records += prompts * atLeast
		k := float64(j + 1)
		mass *= math.Max(0, n-k+1) / k * q / (1 - q)
		atLeast = math.Max(0, atLeast-mass)
	}
	return prompts, filled, records
}
