package decode

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/lm"
)

// loop advances several texts together: one step of the model serves all.
type loop struct {
	*Writer
	session lm.Session
	// prefix holds the instruction, which all prompts begin with.
	prefix lm.Sequence
	// opening are the tokens of prefix.
	opening []lm.Token
}

// text is one in the making.
type text struct {
	Job
	// method is the job's, as the writer alone holds it.
	method   Method
	sampling scheme.Scheme
	records  [][][]seal.Record // by draw and prompt
	empty    []int             // by draw
	head     []lm.Token
	// phrase are the tokens of the condition, where the text has to contain it, and after
	// is how many come before.
	phrase []lm.Token
	after  int
	tokens []lm.Token
	// public and private are sequences, with what each has to be extended by.
	public  sequence
	private []sequence
}

type sequence struct {
	id   lm.Sequence
	next []lm.Token
}

func (w *Writer) begin(ctx context.Context) (*loop, error) {
	session, err := w.Model.Open(ctx)
	if err != nil {
		return nil, err
	}
	l := &loop{Writer: w, session: session}
	if err := l.instruct(ctx); err != nil {
		session.Close() // the error that matters is err
		return nil, err
	}
	return l, nil
}

// instruct computes the instruction once for all prompts.
func (l *loop) instruct(ctx context.Context) (err error) {
	if l.opening, err = l.layout().Opening(ctx); err != nil {
		return err
	}
	if len(l.opening) == 0 || l.Published {
		return nil
	}
	if l.prefix, err = l.session.New(); err != nil {
		return err
	}
	_, err = l.session.Step(ctx, []lm.Step{{Sequence: l.prefix, Tokens: l.opening}})
	return err
}

// run keeps Parallel texts in the making until all are done.
func (l *loop) run(ctx context.Context, jobs []Job, methods []Method, done func(Job, seal.Output) error) error {
	var active []*text
	for len(jobs) > 0 || len(active) > 0 {
		for len(jobs) > 0 && len(active) < l.Parallel {
			t, err := l.start(ctx, jobs[0], methods[0])
			if err != nil {
				return err
			}
			jobs, methods = jobs[1:], methods[1:]
			if _, real := t.method.(*Real); !real {
				active = append(active, t)
				continue
			}
			released, err := l.copyOne(ctx, t)
			if err != nil {
				return err
			}
			if err := done(t.Job, released); err != nil {
				return err
			}
		}
		if len(active) == 0 {
			continue
		}
		views, candidates, err := l.look(ctx, active)
		if err != nil {
			return err
		}
		still := active[:0]
		for i, t := range active {
			at, err := l.pick(t, views[i])
			if err != nil {
				return fmt.Errorf("%s: %w", t.method.Name(), err)
			}
			ended, err := l.take(ctx, t, candidates[i][at].token)
			if err != nil {
				return err
			}
			if err := l.stream(ctx, t); err != nil {
				return err
			}
			if !ended {
				still = append(still, t)
				continue
			}
			released, err := l.finish(ctx, t)
			if err != nil {
				return err
			}
			if err := done(t.Job, released); err != nil {
				return err
			}
		}
		active = still
	}
	return nil
}

// pick has the method choose the next token of a text.
func (l *loop) pick(t *text, v View) (int, error) {
	start := time.Now()
	defer func() { l.picking += time.Since(start) }()
	return t.method.Select(v, l.Key.Stream("pick", t.Index, uint64(len(t.tokens))))
}

// look extends all sequences, chooses candidates from the public scores and asks the
// private ones for theirs.
func (l *loop) look(ctx context.Context, active []*text) ([]View, [][]candidate, error) {
	var steps []lm.Step
	for _, t := range active {
		if err := l.prompts(ctx, t); err != nil {
			return nil, nil, err
		}
		if l.Published {
			if err := l.idle(ctx, t); err != nil {
				return nil, nil, err
			}
		}
		steps = append(steps, lm.Step{Sequence: t.public.id, Tokens: t.public.next, Ask: l.ask(t.method.Shortlist())})
		for _, q := range t.private {
			steps = append(steps, lm.Step{Sequence: q.id, Tokens: q.next})
		}
	}
	public, err := l.step(ctx, steps)
	if err != nil {
		return nil, nil, err
	}
	candidates := make([][]candidate, len(active))
	var asks []lm.Step
	at := 0
	for i, t := range active {
		candidates[i], err = l.candidates(ctx, public[at], t, t.method.Shortlist())
		if err != nil {
			return nil, nil, err
		}
		at += 1 + len(t.private)
		ask := lm.Ask{Candidates: tokensOf(candidates[i])}
		for _, q := range t.private {
			asks = append(asks, lm.Step{Sequence: q.id, Ask: ask})
		}
	}
	scores, err := l.step(ctx, asks)
	if err != nil {
		return nil, nil, err
	}
	views := make([]View, len(active))
	for i, t := range active {
		views[i] = t.view(candidates[i], scores[:len(t.private)])
		scores = scores[len(t.private):]
	}
	return views, candidates, nil
}

// ask is the question to the public prompt: a server should not have to send its whole
// vocabulary where the best tokens do.
func (l *loop) ask(c Shortlist) lm.Ask {
	info := l.Model.Info()
	if c.Best == 0 || !info.Can.Top {
		return lm.Ask{All: true}
	}
	top := min(max(c.Best, width), l.tokenizer.Size())
	if info.Top > 0 {
		top = min(top, info.Top)
	}
	return lm.Ask{Top: top}
}

// step extends sequences, as many at once as the model takes.
func (l *loop) step(ctx context.Context, steps []lm.Step) ([]lm.Scores, error) {
	atOnce := len(steps)
	if limit := l.Model.Info().Sequences; limit > 0 {
		atOnce = min(atOnce, limit)
	}
	if l.Published {
		atOnce = 1
	}
	var all []lm.Scores
	for len(steps) > 0 {
		n := min(atOnce, len(steps))
		some, err := l.session.Step(ctx, steps[:n])
		if err != nil {
			return nil, err
		}
		all, steps = append(all, some...), steps[n:]
	}
	return all, nil
}

func tokensOf(candidates []candidate) []lm.Token {
	tokens := make([]lm.Token, len(candidates))
	for i, c := range candidates {
		tokens[i] = c.token
	}
	return tokens
}

func (t *text) view(candidates []candidate, scores []lm.Scores) View {
	v := View{Public: make([]float64, len(candidates)), Base: make([]float64, len(candidates))}
	for i, c := range candidates {
		v.Public[i], v.Base[i] = c.raw, c.base
	}
	v.Public, v.Base = lm.LogSoftmax(v.Public), lm.LogSoftmax(v.Base)
	for _, s := range scores {
		v.Prompts = append(v.Prompts, s.LogProbs)
	}
	v.Empty = t.empty[t.draw()]
	return v
}

// draw is the index of the draw that the next token is chosen from.
func (t *text) draw() int {
	if t.sampling.Per == scheme.PerToken {
		return len(t.tokens)
	}
	return 0
}

// take appends a chosen token to a text and reports whether that ended it.
func (l *loop) take(ctx context.Context, t *text, token lm.Token) (bool, error) {
	ends, err := l.ending(ctx, token)
	if err != nil {
		return false, err
	}
	t.tokens = append(t.tokens, token)
	stopped, err := l.stopped(ctx, t)
	if err != nil {
		return false, err
	}
	ends = ends || stopped || len(t.tokens) == l.Tokens
	next := []lm.Token{token}
	t.public.next = next
	if t.sampling.Per == scheme.PerToken {
		for _, q := range t.private {
			if err := l.session.Drop(q.id); err != nil {
				return false, err
			}
		}
		t.private = t.private[:0]
	}
	for i := range t.private {
		t.private[i].next = next
	}
	if l.Published && !ends {
		err = l.afresh(t)
	}
	if l.Observe != nil {
		l.Observe(Progress{Text: t.Index, Tokens: len(t.tokens), Ended: ends, Usage: l.usage.Plus(l.session.Usage())})
	}
	return ends, err
}

// stopped reports whether the text holds a stop string that several tokens make up, or a
// field of the prompt.
func (l *loop) stopped(ctx context.Context, t *text) (bool, error) {
	spelling, err := l.tokenizer.Decode(ctx, t.tokens)
	if err != nil {
		return false, fmt.Errorf("spell the text so far: %w", err)
	}
	for _, stop := range l.task.Stop {
		if strings.Contains(spelling, stop) {
			return true, nil
		}
	}
	_, named := l.fields.Cut(spelling)
	return named, nil
}

// stream shows what there is of a text.
func (l *loop) stream(ctx context.Context, t *text) error {
	show := l.Stream
	if show == nil {
		return nil
	}
	released, err := l.release(ctx, t, t.tokens)
	if err == nil {
		show(t.Job, released)
	}
	return err
}

// finish forgets a text's sequences and releases it.
func (l *loop) finish(ctx context.Context, t *text) (seal.Output, error) {
	for _, q := range append(t.private, t.public) {
		if err := l.session.Drop(q.id); err != nil {
			return seal.Output{}, err
		}
	}
	tokens, err := l.sentences(ctx, t)
	if err != nil {
		return seal.Output{}, err
	}
	return l.release(ctx, t, tokens)
}
