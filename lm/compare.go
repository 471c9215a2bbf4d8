package lm

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"

	"github.com/sotto-dp/sotto/internal/sys/fault"
)

// Comparison reports how often scores of the same prompt differed.
type Comparison struct {
	// Scores counts the compared scores, Different those that differ in at least one bit,
	// and MaxDifference is the largest difference.
	Scores, Different int
	MaxDifference     float64
}

// publicText is the made-up text of the prompts of [Compare].
const publicText = `The committee met on Tuesday to discuss the new budget for the harbour. Nobody could agree on what the ferries should cost in winter, and so the question was put off once more. "We have until March," said the chair, who had been there since 1998, "and not a day longer."

Label the message. Message: the parcel came late and one of the two cups was broken; I would like a new one, or 12.50 back. Label: complaint. Message: can I change the address of order 40417 before it is sent? Label: question. Message: thank you, all is well now. Label: praise. Message: the lamp hums, gets warm after an hour, and then goes out by itself until the next morning. Label:`

// compareLengths are the lengths of the prompts in tokens: short ones, the sizes around
// which back-ends change blocks, and one longer than many records.
var compareLengths = []int{1, 16, 33, 100}

// Compare scores made-up prompts in many ways that must not affect the scores: alone and
// again, in another order, in one step with others, at once and grown token by token from a
// shared prefix, after prompts with the same prefix and another end, and from several
// sessions at the same time. It reports how often a score differed from the first one. No
// private text is involved.
func Compare(ctx context.Context, model Scorer) (Comparison, error) {
	c := &comparer{model: model}
	for _, round := range []func(context.Context) error{c.prepare, c.again, c.together, c.grown, c.atOnce} {
		if err := round(ctx); err != nil {
			return c.Comparison, err
		}
	}
	return c.Comparison, nil
}

type comparer struct {
	model   Scorer
	prompts [][]Token
	asks    []Ask
	first   []Scores

	mu sync.Mutex // guards what follows
	Comparison
}

// prepare makes the prompts and scores each alone, as the reference for all other ways.
func (c *comparer) prepare(ctx context.Context) error {
	text, err := c.model.Tokenizer().Encode(ctx, publicText)
	if err != nil {
		return err
	}
	if begin, ok := c.model.Tokenizer().Beginning(); ok {
		text = append([]Token{begin}, text...)
	}
	longest := len(text)
	if room := c.model.Info().Context; room > 0 {
		longest = min(longest, room/2)
	}
	if longest < 4 {
		return errors.New("the model's context, or its tokeniser's vocabulary, is too small to try it out")
	}
	for _, n := range compareLengths {
		n = min(n, longest)
		c.prompts = append(c.prompts, text[:n])
		if n > 1 { // the same prefix and another end, which a prefix cache might mix up
			other := slices.Clone(text[:n])
			other[n-1] = text[(n+1)%len(text)]
			c.prompts = append(c.prompts, other)
		}
	}
	for _, prompt := range c.prompts {
		ask, err := c.ask(ctx, prompt)
		if err != nil {
			return err
		}
		scores, err := c.score(ctx, prompt, ask)
		if err != nil {
			return err
		}
		c.asks, c.first = append(c.asks, ask), append(c.first, scores)
	}
	return nil
}

// compared is the number of candidates for each prompt.
const compared = 64

// ask asks for candidates, as private prompts do: the best tokens where the model lists
// them, because unlikely ones cost some servers long answers.
func (c *comparer) ask(ctx context.Context, prompt []Token) (Ask, error) {
	info := c.model.Info()
	n := min(compared, info.Vocabulary)
	if info.Top > 0 {
		n = min(n, info.Top)
	}
	if info.Can.Top {
		best, err := c.score(ctx, prompt, Ask{Top: n})
		return Ask{Candidates: best.Tokens}, err
	}
	return Ask{Candidates: spread(n, info.Vocabulary)}, nil
}

// score scores a prompt in a session of its own.
func (c *comparer) score(ctx context.Context, prompt []Token, ask Ask) (Scores, error) {
	session, err := c.model.Open(ctx)
	if err != nil {
		return Scores{}, err
	}
	defer session.Close()
	q, err := session.New()
	if err != nil {
		return Scores{}, err
	}
	scores, err := session.Step(ctx, []Step{{Sequence: q, Tokens: prompt, Ask: ask}})
	if err != nil {
		return Scores{}, err
	}
	return scores[0], CheckScores(c.model.Info(), ask, scores[0])
}

// hold compares scores of a prompt with its first ones.
func (c *comparer) hold(i int, got Scores) {
	c.mu.Lock()
	defer c.mu.Unlock()
	want := c.first[i]
	for j, w := range want.LogProbs {
		c.Scores++
		if j >= len(got.LogProbs) || math.Float64bits(got.LogProbs[j]) != math.Float64bits(w) {
			c.Different++
			if j < len(got.LogProbs) {
				c.MaxDifference = math.Max(c.MaxDifference, math.Abs(got.LogProbs[j]-w))
			}
		}
	}
}

// again scores each prompt by itself, the last one first.
func (c *comparer) again(ctx context.Context) error {
	for i := range slices.Backward(c.prompts) {
		got, err := c.score(ctx, c.prompts[i], c.asks[i])
		if err != nil {
			return err
		}
		c.hold(i, got)
	}
	return nil
}

// together scores all prompts in one step, like the records of a draw.
func (c *comparer) together(ctx context.Context) error {
	session, err := c.model.Open(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	steps := make([]Step, len(c.prompts))
	for i, prompt := range c.prompts {
		q, err := session.New()
		if err != nil {
			return err
		}
		steps[i] = Step{Sequence: q, Tokens: prompt, Ask: c.asks[i]}
	}
	return c.step(ctx, session, steps, func(at int) int { return at })
}

// step takes as many steps at once as the model allows.
func (c *comparer) step(ctx context.Context, session Session, steps []Step, prompt func(at int) int) error {
	size := len(steps)
	if limit := c.model.Info().Sequences; limit > 0 {
		size = min(size, limit)
	}
	for from := 0; from < len(steps); from += size {
		some := steps[from:min(from+size, len(steps))]
		scores, err := session.Step(ctx, some)
		if err != nil {
			return err
		}
		for i, s := range some {
			if !s.Ask.IsZero() {
				c.hold(prompt(from+i), scores[i])
			}
		}
	}
	return nil
}

// grown builds the prompts from a shared prefix, with their last tokens one by one, like
// texts being generated.
func (c *comparer) grown(ctx context.Context) error {
	session, err := c.model.Open(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	shared, err := session.New()
	if err != nil {
		return err
	}
	if _, err := session.Step(ctx, []Step{{Sequence: shared, Tokens: c.prompts[0]}}); err != nil {
		return err
	}
	var last []Step
	var which []int
	for i, prompt := range c.prompts {
		if len(prompt) < 3 {
			continue
		}
		q, err := session.Fork(shared)
		if err != nil {
			return err
		}
		n := len(prompt)
		// The score in between is not compared, but asked for, as in a run.
		for _, part := range []Step{{Sequence: q, Tokens: prompt[1 : n-2]}, {Sequence: q, Tokens: prompt[n-2 : n-1], Ask: c.asks[i]}} {
			if _, err := session.Step(ctx, []Step{part}); err != nil {
				return err
			}
		}
		last, which = append(last, Step{Sequence: q, Tokens: prompt[n-1:], Ask: c.asks[i]}), append(which, i)
	}
	return c.step(ctx, session, last, func(at int) int { return which[at] })
}

// atOnce scores prompts from several sessions at the same time.
func (c *comparer) atOnce(ctx context.Context) error {
	errs := make([]error, len(c.prompts))
	var wait sync.WaitGroup
	for i := range c.prompts {
		wait.Go(func() {
			defer fault.Watch()
			got, err := c.score(ctx, c.prompts[i], c.asks[i])
			if errs[i] = err; err == nil {
				c.hold(i, got)
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}
