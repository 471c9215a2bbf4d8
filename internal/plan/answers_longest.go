package plan

import (
	"context"
	"math"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/lm"
)

// DrawChance is the probability, over who is drawn for an answer, that its work exceeds what
// [Answers.Longest] allows for. It is of data with the declared size.
const DrawChance = 1e-9

// What Longest adds to the work of the model, of which machines do not take the same time twice:
// a part of it, and seconds for what is not the model's, such as reading records.
const (
	longestPart    = 1.5
	longestSeconds = 0.25
)

// Pacing is what [Answers.Longest] follows from: how long pieces of prompts are, and how fast what
// reads them is. Labels is the number of tokens of all labels of a task that has a list of them,
// and Sentence the seconds that it takes to encode an answer, where that is done.
type Pacing struct {
	Shape            Shape
	Speed            Speed
	Labels, Sentence float64
}

// MeasurePacing measures a model for a plan. encoder is not valid where it compares no sentences.
// No record is read.
func (a Answers) MeasurePacing(ctx context.Context, model lm.Scorer, encoder lm.TrustedEmbedder) (p Pacing, err error) {
	if p.Shape, err = AnswerShapeOf(ctx, model.Tokenizer(), a.Task); err != nil {
		return p, err
	}
	if a.Ensemble.Method != nil && !a.Ensemble.Work().Writes {
		l := lengths{ctx: ctx, tokenizer: model.Tokenizer(), of: "the labels"}
		for _, label := range a.Task.Labels {
			p.Labels += l.count(label)
		}
		if l.err != nil {
			return p, l.err
		}
	}
	// As long as a prompt may be.
	length := float64(p.Shape.Instruction) + p.Shape.Head + float64(max(1, a.Scheme().PerPrompt))*p.Shape.Record
	if p.Speed, err = MeasureSlowest(ctx, model, int(math.Ceil(length))); err != nil || !encoder.Valid() {
		return p, err
	}
	texts := make([]string, 16)
	for i := range texts {
		texts[i] = strings.Repeat("word ", a.Tokens)
	}
	for range 3 {
		began := time.Now()
		if _, err := encoder.Embed(ctx, texts); err != nil {
			return p, err
		}
		p.Sentence = max(p.Sentence, time.Since(began).Seconds()/float64(len(texts)))
	}
	return p, nil
}

// Longest bounds how long an answer takes from the first draw on: as many records as a draw has
// with probability 1 - [DrawChance], all of them and the question at the task's limits, an answer
// as long as it may be, and a machine that is slower than when it was measured.
func (a Answers) Longest(p Pacing) time.Duration {
	s, v, sampling := p.Shape, p.Speed, a.Scheme()
	chance := DrawChance
	if sampling.Per == scheme.PerToken {
		chance /= float64(max(2, a.Tokens)) // each has a draw of its own, or there are two looks
	}
	prompts, filled, records := largest(sampling, a.Size, chance)
	instruction := v.read(float64(s.Instruction))
	var seconds float64
	if a.Ensemble.Method == nil {
		seconds = instruction + textWork(sampling.Per, float64(a.Tokens), prompts, filled, records, s, v).Cached.Seconds
	} else {
		work := a.Ensemble.Work()
		seconds = a.ensembleWork(prompts, filled, records, s, v).Cached.Seconds
		seconds += v.read(p.Labels * float64(1+work.ContentFree) * (1 + float64(work.Looks)*filled))
		if work.Writes { // from what was chosen, by a public prompt that has it too
			seconds += instruction + v.read(2*s.Head) + v.decode(float64(a.Tokens), 1)
		}
		seconds += p.Sentence * (filled + float64(work.Public))
	}
	return time.Duration((longestPart*seconds + longestSeconds) * float64(time.Second))
}

// largest is [occupancy] of a draw that is exceeded with a probability of at most chance.
func largest(sampling scheme.Scheme, size int64, chance float64) (prompts, filled, records float64) {
	if sampling.Kind == "" {
		return 0, 0, 0
	}
	n := sampling.Expected(size)
	if sampling.Kind == scheme.Poisson {
		n = float64(binomialAtMost(size, sampling.Rate, chance))
	}
	if sampling.Prompts == 0 {
		return n, n, n
	}
	prompts = float64(sampling.Prompts)
	return prompts, math.Min(n, prompts), math.Min(n, prompts*float64(sampling.PerPrompt))
}

// binomialAtMost returns a number that a binomial of n trials exceeds with a probability of at
// most chance, by the bound of Chernoff and Hoeffding: P(X ≥ xn) ≤ exp(-n KL(x‖q)) for x ≥ q.
func binomialAtMost(n int64, q, chance float64) int64 {
	if q >= 1 {
		return n
	}
	exceeded := func(k int64) float64 { // P(X > k), at most
		x := float64(k+1) / float64(n)
		if x <= q {
			return 1
		}
		divergence := x * math.Log(x/q)
		if x < 1 {
			divergence += (1 - x) * math.Log((1-x)/(1-q))
		}
		return math.Exp(-float64(n) * divergence)
	}
	low, high := int64(math.Floor(q*float64(n)))-1, n // of high it is known: more than n is never
	for high-low > 1 {
		if middle := low + (high-low)/2; exceeded(middle) <= chance {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}
