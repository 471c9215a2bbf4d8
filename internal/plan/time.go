package plan

import (
	"math"
	"time"

	"github.com/sotto-dp/sotto/internal/private/choose"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/reply"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/prompt"
)

// DefaultTime is about how long a run takes in which records choose: to write the pool, to choose, and to
// measure. What that is worth follows from the model's speed ([Measure]), which is public.
const DefaultTime = 5 * time.Minute

const (
	// poolShare is the most of the time that model-generated texts take. Fewer are written where it is
	// slow, but not fewer than minPool, nor than one for each label.
	poolShare = 0.2
	minPool   = 8
	// choosingShare of the time is for choosing in any case, however long texts take.
	choosingShare = 0.25
)

// Within is the request with what can be done in a time, 0 for [DefaultTime], by a model of this speed:
// how many texts are written, and how much work is left for choosing. What the request says itself
// stays. A shape without any lengths stands for prompts of usual ones.
func (r Request) Within(d time.Duration, s Shape, v Speed) (Request, error) {
	if r.Choosing == nil || r.Choosing.Work != 0 || v.Prefill <= 0 {
		return r, nil
	}
	if d <= 0 {
		d = DefaultTime
	}
	own := *r.Choosing
	r.Choosing = &own
	texts, err := r.poolTime(&own, d.Seconds(), s, v)
	if err != nil {
		return r, err
	}
	if own.Encoder != "" && r.Evident() > 0 {
		each := unitRecords
		if r.Unit == privacy.Record || r.Unit == "" {
			each = 1
		}
		texts += v.encode(r.declared(), each)
	}
	left := math.Max(d.Seconds()-texts, choosingShare*d.Seconds())
	own.Work = math.Max(1, v.work(left, asks(r.Task, own.Form, own.Utility), r.longPrompt(s, v)))
	return r, nil
}

// declared is how many units there are, as far as the request says.
func (r Request) declared() int64 {
	n := int64(0)
	for _, size := range r.Sizes {
		n += size
	}
	return max(n, r.Size, r.MinSize)
}

// longPrompt is about how many tokens of a prompt are read for each question: none where they are read
// once for all.
func (r Request) longPrompt(s Shape, v Speed) float64 {
	if !v.Served {
		return 0
	}
	l := r.Task.WithDefaults().Limits
	return float64(s.Instruction) + (float64(l.MaxTokens)+s.Head)*float64(l.Shots+maxShots)/2
}

// poolTime is how long writing takes, in seconds. It sets how many texts there are where the usual number
// would take too long.
func (r Request) poolTime(c *ChooseRequest, seconds float64, s Shape, v Speed) (float64, error) {
	filled := *c
	filled.Examples = nil
	filled.bare()
	if filled.NoGeneration || len(c.Sets) > 0 {
		return 0, nil
	}
	filled.Work = 1
	if err := r.fillChoosing(&filled); err != nil {
		return 0, err
	}
	p, err := r.pool(filled)
	if err != nil {
		return 0, err
	}
	took := p.Cost(s, v).Cached.Seconds
	if p.WritesFromRecords() {
		if c.Own >= 0 {
			one := Part{Method: decode.Settings{Method: &decode.Public{}}}.text(float64(p.Tokens), s, v)
			took += float64(max(c.Own, ownBeside)) * one.Cached.Seconds
		}
		return took, nil
	}
	if limit := poolShare * seconds; c.Pool == 0 && took > limit {
		c.Pool = max(minPool, len(r.Task.Labels), int(float64(p.Shots)*limit/took))
		c.Pool = min(c.Pool, p.Shots)
		took *= float64(c.Pool) / float64(p.Shots)
	}
	return took, nil
}

// questionLength is about how long a record's question is with its answer, in tokens. How long records are is
// private: it follows from the limits of the task.
type questionLength struct {
	// read at once, and written one after the other.
	read, written float64
}

func (a questionLength) tokens() float64 { return a.read + a.written }

// asked is how records are asked about prompts of the plan.
func (p Plan) asked() questionLength { return asks(p.Task, p.Choose.Form, p.Choose.Utility) }

// asks is what records are asked about prompts of a form. Questions are about as long as the texts of the
// task. The answer is written where the form has turns or labels are no closed list: a label in about two
// tokens, the end of the turn among them, and others in half of what they may have.
func asks(t prompt.Task, f prompt.Form, u choose.Utility) questionLength {
	const layout, turn = 12, 8
	t = t.WithDefaults()
	l := t.Limits
	var a questionLength
	switch {
	case t.Kind == prompt.Generate:
		a = questionLength{float64(l.InputTokens)/2 + layout, float64(l.AnswerTokens)}
	case !reply.Listed(t):
		a = questionLength{float64(min(l.InputTokens, l.MaxTokens)) + layout, float64(l.AnswerTokens) / 2}
	case f.Turns():
		a = questionLength{float64(min(l.InputTokens, l.MaxTokens)) + layout, 2}
	default: // labels are scored
		a = questionLength{read: float64(min(l.InputTokens, l.MaxTokens)) + layout}
	}
	if f.Turns() {
		a.read += turn
	} else if u == choose.Soft || u == choose.Written { // what a record says is scored
		a = questionLength{read: a.tokens()}
	}
	return a
}

// work turns a time into tokens: how many go through a model of this speed where records judge, if of each
// question some are read and some written, after so many of a prompt that are read each time. It is the one place
// that says how fast judging is; judge is its inverse, for prompts that are read once.
func (v Speed) work(seconds float64, a questionLength, prompt float64) float64 {
	if v.Prefill <= 0 || a.tokens() <= 0 {
		return 0
	}
	return seconds * a.tokens() / (prompt/v.Prefill + v.question(a))
}

// judge is how long so many tokens take where records judge.
func (v Speed) judge(tokens float64, a questionLength) float64 {
	if v.Prefill <= 0 {
		return 0
	}
	return tokens / a.tokens() * v.question(a)
}

// question is how long a question takes after a prompt that was read: its tokens, and the scores
// behind the last one that was read, which are most of it where a model is tiny.
func (v Speed) question(a questionLength) float64 {
	return a.read/v.Prefill + v.Each + a.written*v.writes()
}

// writes is how long a token of an answer takes where many are written at once: a step of many sequences
// costs about as much for each as reading does, or what was measured, if that is more.
func (v Speed) writes() float64 { return math.Max(v.Each, 1/v.Prefill) }

// choosingWork is what the rounds ask of the model, on average over who is drawn.
func (p Plan) choosingWork(s Shape, v Speed) Work {
	c := p.Choose
	if c == nil {
		return Work{}
	}
	prompts, answers := float64(c.Sets()), c.Answers(p.Units())
	if c.Measure != nil {
		prompts++
		answers += c.Measure.Draw.Expected(p.Units())
	}
	if v.Served { // each answer reads its prompt, and all about a record are one call
		records := c.Draw.Expected(p.Units()) * float64(c.Rounds)
		if c.Last != nil {
			records += c.Last.Draw.Expected(p.Units())
		}
		if c.Measure != nil {
			records += c.Measure.Draw.Expected(p.Units())
		}
		tokens := answers * (p.promptTokens(s) + p.asked().tokens())
		return Work{Tokens: tokens, Seconds: v.read(tokens) + records*v.Step}
	}
	read, asked := prompts*p.promptTokens(s), answers*p.asked().tokens()
	return Work{Tokens: read + asked, Seconds: v.read(read) + v.judge(asked, p.asked())}
}

// promptTokens is about how long the examples of a prompt are, at most.
func (p Plan) promptTokens(s Shape) float64 {
	example := float64(p.Tokens) + s.Head
	return float64(s.Instruction) + example*float64(p.Choose.Shots+p.Choose.MaxShots)/2
}
