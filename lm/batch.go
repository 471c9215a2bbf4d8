package lm

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
)

// Batch generates several texts at once with a session. Texts are added while others are being
// written, and end by themselves: a text does not wait for those beside it, and with a back-end
// that is batch-invariant it does not depend on them. It is for one goroutine at a time.
type Batch struct {
	scorer  Scorer
	session Session
	active  []*BatchText
}

// NewBatch generates with a session of a model. The session stays open.
func NewBatch(s Scorer, session Session) *Batch { return &Batch{scorer: s, session: session} }

// Len returns how many texts are being written.
func (b *Batch) Len() int { return len(b.active) }

// BatchText is a text of a [Batch].
type BatchText struct {
	// Err is what went wrong with this text alone: nobody waits for it any more.
	Err error

	index     int
	sequence  Sequence
	next      []Token // to extend the sequence with
	tokenizer Tokenizer
	options   GenerateOptions
	ends      []Token
	random    *rand.Rand

	written []Token
	text    string // all so far, cut at a stop string
	sent    int    // bytes of text passed to OnText
	finish  Finish
}

// Text returns what is written so far.
func (w *BatchText) Text() Text {
	return Text{Text: w.text, Finish: w.finish, Tokens: len(w.written)}
}

// Add begins a text after tokens, of which there must be one at least; they follow a sequence of
// the session, which stays as it is. 0 is for none. It is the text that [GenerateBySteps] writes
// for one prompt of all these tokens.
func (b *Batch) Add(from Sequence, tokens []Token, o GenerateOptions) (*BatchText, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	if len(tokens) == 0 {
		return nil, errors.New("a text is written after one token at least")
	}
	have := 0
	if from != 0 {
		var err error
		if have, err = b.session.Len(from); err != nil {
			return nil, err
		}
	}
	if limit := b.scorer.Info().Context; have+len(tokens)+o.MaxTokens > limit {
		return nil, &ContextError{Have: have + len(tokens), Adding: o.MaxTokens, Limit: limit}
	}
	return b.add(from, tokens, o, 0)
}

// add begins the text of one of several prompts.
func (b *Batch) add(from Sequence, tokens []Token, o GenerateOptions, index int) (_ *BatchText, err error) {
	tokenizer := b.scorer.Tokenizer()
	w := &BatchText{index: index, next: tokens, tokenizer: tokenizer, options: o, ends: tokenizer.Ends()}
	if from == 0 {
		w.sequence, err = b.session.New()
	} else {
		w.sequence, err = b.session.Fork(from)
	}
	if err != nil {
		return nil, err
	}
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], o.Seed)
	binary.LittleEndian.PutUint64(seed[8:], uint64(index))
	w.random = rand.New(rand.NewChaCha8(seed))
	b.active = append(b.active, w)
	return w, nil
}

// Step extends all texts by a token, and returns those that have ended. After an error, all texts
// are as they were before.
func (b *Batch) Step(ctx context.Context) (ended []*BatchText, err error) {
	steps := make([]Step, len(b.active))
	for i, w := range b.active {
		steps[i] = Step{Sequence: w.sequence, Tokens: w.next, Ask: w.options.ask()}
	}
	scores, err := b.session.Step(ctx, steps)
	if err != nil {
		return nil, err
	}
	var left []*BatchText
	for i, w := range b.active {
		w.Err = w.take(ctx, scores[i])
		if w.finish == "" && w.Err == nil {
			left = append(left, w)
			continue
		}
		ended = append(ended, w)
		err = errors.Join(err, b.session.Drop(w.sequence))
	}
	b.active = left
	return ended, err
}

// Drop gives a text up.
func (b *Batch) Drop(w *BatchText) error {
	i := slices.Index(b.active, w)
	if i < 0 {
		return nil
	}
	b.active = slices.Delete(b.active, i, i+1)
	return b.session.Drop(w.sequence)
}

// take samples a token from the scores and appends it.
func (w *BatchText) take(ctx context.Context, s Scores) error {
	token := w.options.pick(s, w.random)
	w.written = append(w.written, token)
	w.next = []Token{token}
	if slices.Contains(w.ends, token) {
		w.finish = FinishEnd
	} else {
		text, err := w.tokenizer.Decode(ctx, w.written)
		if err != nil {
			return err
		}
		w.text = text
		if at := firstOf(text, w.options.Stop); at >= 0 {
			w.text, w.finish = text[:at], FinishStop
		} else if len(w.written) == w.options.MaxTokens {
			w.finish = FinishLength
		}
	}
	return w.send()
}

// send passes on the text that no stop string can take back.
func (w *BatchText) send() error {
	if w.options.OnText == nil {
		return nil
	}
	safe := len(w.text)
	if w.finish == "" {
		safe = settled(w.text, w.options.Stop)
	}
	if safe <= w.sent {
		return nil
	}
	piece := w.text[w.sent:safe]
	w.sent = safe
	return w.options.OnText(w.index, piece)
}
