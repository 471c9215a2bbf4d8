package remote

import (
	"context"

	"github.com/sotto-dp/sotto/lm"
)

// writer is a client of a server that only writes, as a model that may judge prompts by what it
// writes. It has no sessions.
type writer struct {
	*Client
	info  lm.Info
	apart *exclusion
}

var _ lm.RecordScorer = (*writer)(nil)

// Writer returns the model as one that only writes: an [lm.Scorer] without sessions, whose
// tokeniser is an [lm.RoughTokenizer]. It shares the client's connections and ends with it.
//
// Messages go to the server as they are, which lays them out: spellings of control tokens in a
// text may be read as such there. (A [Client.Scorer] lays them out itself.)
func (c *Client) Writer(context.Context) (lm.Scorer, error) {
	if !c.info.Can.Chat && !c.info.Can.Generate {
		return nil, &lm.UnsupportedError{Backend: c.info.Backend, What: "write text", Missing: "it does not with this model; use a language model"}
	}
	w := &writer{Client: c, info: c.info}
	w.info.Can.Candidates, w.info.Can.Top, w.info.Can.All, w.info.Can.Given = false, false, false, false
	return w, nil
}

func (w *writer) Info() lm.Info { return w.info }

// Tokenizer is rough.
func (w *writer) Tokenizer() lm.Tokenizer { return lm.RoughTokenizer{} }

func (w *writer) Chat(context.Context, []lm.Message) ([]lm.Token, error) {
	return nil, &lm.UnsupportedError{Backend: w.info.Backend, What: "lay out messages as tokens", Missing: "it only writes; give it the messages themselves"}
}

func (w *writer) Open(context.Context) (lm.Session, error) {
	return nil, &lm.UnsupportedError{Backend: w.info.Backend, What: "open a session of scores", Missing: w.facts.missing}
}

// ByRecord implements [lm.RecordScorer].
func (w *writer) ByRecord(ctx context.Context) (lm.Scorer, lm.Isolation, error) {
	apart, err := w.byRecord(ctx)
	if err != nil {
		return nil, "", err
	}
	by := *w
	by.apart = apart
	return &by, apart.how, nil
}

func (w *writer) Generate(ctx context.Context, prompts []lm.Prompt, o lm.GenerateOptions) ([]lm.Text, error) {
	if w.apart == nil {
		return w.Client.Generate(ctx, prompts, o)
	}
	return w.together(ctx, w.apart, prompts, o)
}
