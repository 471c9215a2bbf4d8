package gateway

import (
	"context"
	"errors"
	"slices"

	"github.com/sotto-dp/sotto/internal/sys/fault"
	"github.com/sotto-dp/sotto/lm"
)

// textRequest is a text that a request waits for.
type textRequest struct {
	ctx     context.Context
	prompt  lm.Prompt
	options lm.GenerateOptions
	opening promptPrefix
	// leave: it does not wait any more.
	leave func()
	// tokens of the prompt, once they are counted, and the text in the making.
	tokens  []lm.Token
	shared  int // of the tokens, which others begin with, too
	writing *lm.BatchText

	done   chan struct{} // closed when what follows is there
	text   lm.Text
	length int // of the prompt in tokens, where the model says
	err    error
	fault  string // the place in the program, if that is why there is no text
}

// So many texts are written at once, of so many tokens together beyond what their routes' have in
// common: it bounds memory. One alone may be as long as the model's context.
const (
	maxTogether       = 16
	maxTokensTogether = 8192
)

// own is how many tokens a text takes to itself, at most.
func (w *textRequest) own() int { return len(w.tokens) - w.shared + w.options.MaxTokens }

// await has a text written, and waits for it: as long as the client does, and then until nobody uses
// the request any more.
func (l *Local) await(w *textRequest, who string) (err error) {
	if w.leave, err = l.Turns.enter(who); err != nil {
		return err
	}
	defer w.leave()
	l.mu.Lock()
	l.queue = append(l.queue, w)
	if !l.writing {
		l.writing = true
		go func() {
			defer fault.Watch()
			l.serve()
		}()
	}
	l.mu.Unlock()
	select {
	case <-w.done:
		return w.err
	case <-w.ctx.Done():
	}
	l.mu.Lock()
	i := slices.Index(l.queue, w)
	if i >= 0 {
		l.queue = slices.Delete(l.queue, i, i+1)
	}
	l.mu.Unlock()
	if i < 0 {
		<-w.done // its end is seen at the next token
	}
	return w.ctx.Err()
}

// next takes the first text of the queue, if it may be written beside others; nil if there is none.
func (l *Local) next(may func(*textRequest) bool) *textRequest {
	for {
		l.mu.Lock()
		if len(l.queue) == 0 {
			l.mu.Unlock()
			return nil
		}
		w := l.queue[0]
		l.mu.Unlock()
		if !may(w) {
			return nil
		}
		l.mu.Lock()
		i := slices.Index(l.queue, w)
		if i >= 0 {
			l.queue = slices.Delete(l.queue, i, i+1)
		}
		l.mu.Unlock()
		if i >= 0 { // else its client left meanwhile
			w.leave()
			return w
		}
	}
}

// serve writes texts until nobody waits for one. It has the model's turn for some of them at a time,
// and anyone else who wants it, such as a private answer, gets it in between: beside private answers
// nothing is written.
func (l *Local) serve() {
	for {
		l.mu.Lock()
		if len(l.queue) == 0 {
			l.writing = false
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
		if _, err := l.Turns.take(context.Background(), nil); err != nil {
			continue // it has no end
		}
		l.together()
		l.Turns.Give()
	}
}

// together writes texts at once until all have ended, and takes others in while nobody else wants
// the model.
func (l *Local) together() {
	var active []*textRequest
	end := func(w *textRequest, err error) {
		active = slices.DeleteFunc(active, func(a *textRequest) bool { return a == w })
		w.err = err
		close(w.done)
	}
	all := func(err error, where string) {
		for _, w := range slices.Clone(active) {
			w.fault = where
			end(w, err)
		}
	}
	defer fault.Recover(func(where string) {
		all(errors.New("a fault of this program"), where)
		_ = l.reset() // what is computed may be half of it
	})
	ctx := context.Background()
	first := l.next(func(*textRequest) bool { return true })
	if first == nil {
		return
	}
	active = append(active, first)
	model, err := l.open(first.ctx)
	if err != nil {
		all(err, "")
		return
	}
	scorer, batches := steps(model)
	if !batches {
		end(first, first.alone(model))
		return
	}
	if l.session == nil {
		if l.session, err = scorer.Open(ctx); err != nil {
			all(err, "")
			return
		}
	}
	batch := lm.NewBatch(scorer, l.session)
	begin := func(w *textRequest) {
		err := w.ctx.Err()
		if err == nil {
			err = l.write(ctx, scorer, batch, w)
		}
		if err != nil {
			end(w, err)
		}
	}
	begin(first)
	for {
		for len(active) < maxTogether && (len(active) == 0 || !l.Turns.wanted()) {
			w := l.next(func(w *textRequest) bool { return l.fits(ctx, scorer, w, active) })
			if w == nil {
				break
			}
			active = append(active, w)
			begin(w)
		}
		for _, w := range slices.Clone(active) {
			if w.ctx.Err() != nil {
				end(w, errors.Join(w.ctx.Err(), batch.Drop(w.writing)))
			}
		}
		if len(active) == 0 {
			return
		}
		ended, err := batch.Step(ctx)
		if err != nil {
			all(err, "")
			_ = l.reset()
			return
		}
		for _, writing := range ended {
			w := active[slices.IndexFunc(active, func(w *textRequest) bool { return w.writing == writing })]
			w.text = writing.Text()
			end(w, writing.Err)
		}
	}
}

// steps returns a model with which texts are written at once, token by token, and do not depend on
// each other; false for any other.
func steps(m lm.Model) (lm.Scorer, bool) {
	scorer, is := m.(lm.Scorer)
	if !is {
		return nil, false
	}
	info := scorer.Info()
	return scorer, info.BatchInvariant && info.Can.SharedPrefix && info.Can.All && info.Can.Top
}

// alone has a model write the text by itself.
func (w *textRequest) alone(m lm.Model) error {
	texts, err := m.Generate(w.ctx, []lm.Prompt{w.prompt}, w.options)
	if err != nil {
		return err
	}
	w.text = texts[0]
	w.length, err = length(w.ctx, m, w.prompt)
	return err
}

// fits reports whether there is room for a text beside others. One that cannot be laid out has room:
// it fails when it begins.
func (l *Local) fits(ctx context.Context, m lm.Scorer, w *textRequest, beside []*textRequest) bool {
	if w.count(ctx, m) != nil || len(beside) == 0 {
		return true
	}
	if one := l.begun.use(w.opening); one.begins(w.tokens) {
		w.shared = len(one.tokens)
	}
	sum := w.own()
	for _, b := range beside {
		sum += b.own()
	}
	return sum <= maxTokensTogether
}

// count lays a prompt out in tokens, once.
func (w *textRequest) count(ctx context.Context, m lm.Scorer) (err error) {
	if w.tokens == nil {
		w.tokens, err = w.prompt.Encode(ctx, m)
		w.length = len(w.tokens)
	}
	return err
}

// write begins a text.
func (l *Local) write(ctx context.Context, m lm.Scorer, batch *lm.Batch, w *textRequest) error {
	if err := w.count(ctx, m); err != nil {
		return err
	}
	from, err := l.begin(ctx, m, w)
	if err != nil {
		return err
	}
	w.writing, err = batch.Add(from, w.tokens[w.shared:], w.options)
	return err
}
