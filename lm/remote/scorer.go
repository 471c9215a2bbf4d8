package remote

import (
	"context"
	"errors"
	"fmt"

	"github.com/sotto-dp/sotto/lm"
)

// scorer is a client of a server that scores chosen tokens.
type scorer struct {
	*Client
	dialect   scoringDialect
	info      lm.Info
	tokenizer lm.Tokenizer
	layouts   *layouts // nil where the model has no chat template
	// apart, if set, has each query sent alone, or those of one call together.
	apart *exclusion
}

var _ lm.Scorer = (*scorer)(nil)

// Scorer returns the model's scorer, or an *lm.UnsupportedError that names what the server
// lacks. It shares the client's connections and ends with it. It learns the server's
// vocabulary.
func (c *Client) Scorer(ctx context.Context) (lm.Scorer, error) {
	d, ok := c.dialect.(scoringDialect)
	if !ok || !c.info.Can.Candidates {
		return nil, &lm.UnsupportedError{Backend: c.info.Backend, What: "score chosen tokens", Missing: c.facts.missing + "; " + lm.WithoutScores}
	}
	if c.info.Context <= 0 {
		return nil, errors.New("the server does not say how long a sequence may be: give the context in the options")
	}
	v, err := d.vocabulary(ctx, c)
	if err != nil {
		return nil, err
	}
	s := &scorer{Client: c, dialect: d, info: c.info, tokenizer: &serverTokenizer{client: c, encoder: d, vocabulary: v}}
	if c.info.Can.Chat {
		s.layouts = newLayouts(c, d, s.tokenizer)
	}
	s.info.Vocabulary = v.size
	return s, nil
}

func (s *scorer) Info() lm.Info           { return s.info }
func (s *scorer) Tokenizer() lm.Tokenizer { return s.tokenizer }

func (s *scorer) Chat(ctx context.Context, messages []lm.Message) ([]lm.Token, error) {
	if s.layouts == nil {
		return nil, &lm.UnsupportedError{Backend: s.info.Backend, What: "lay out messages", Missing: "the model has no chat template; give plain text"}
	}
	if len(messages) == 0 {
		return nil, errors.New("a chat needs at least one message")
	}
	return s.layouts.chat(ctx, messages)
}

func (s *scorer) Open(ctx context.Context) (lm.Session, error) {
	if err := s.wire.over(ctx); err != nil {
		return nil, err
	}
	return &session{scorer: s, sequences: map[lm.Sequence]*segment{}}, nil
}

// Generate turns prompts into tokens first, so that control tokens in texts cannot forge
// turns, and prompts that do not fit are refused before any work is done.
func (s *scorer) Generate(ctx context.Context, prompts []lm.Prompt, o lm.GenerateOptions) ([]lm.Text, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	lists := make([]lm.Prompt, len(prompts))
	for i, p := range prompts {
		var err error
		switch {
		case p.Messages != nil && p.Text == "" && p.Tokens == nil:
			p.Tokens, err = s.Chat(ctx, p.Messages)
			p.Messages = nil
		case p.Text != "" && p.Messages == nil && p.Tokens == nil:
			p.Tokens, err = s.tokenizer.Encode(ctx, p.Text)
			if first, ok := s.tokenizer.Beginning(); ok {
				p.Tokens = append([]lm.Token{first}, p.Tokens...)
			}
			p.Text = ""
		}
		if err != nil {
			return nil, fmt.Errorf("prompt %d: %w", i, err)
		}
		lists[i] = p
	}
	switch {
	case s.apart == nil:
		return s.Client.Generate(ctx, lists, o)
	case s.apart.how.ByRecord():
		return s.together(ctx, s.apart, lists, o)
	}
	texts := make([]lm.Text, len(lists))
	for i := range lists {
		text, err := s.together(ctx, s.apart, lists[i:i+1], o)
		if err != nil {
			return nil, err
		}
		texts[i] = text[0]
	}
	return texts, nil
}

// answer assembles the answers of a step.
func (s *scorer) answer(ctx context.Context, steps []lm.Step, questions []scoreQuery) ([]lm.Scores, lm.Usage, error) {
	scores := make([]lm.Scores, len(steps))
	if len(questions) == 0 {
		return scores, lm.Usage{}, nil
	}
	ask := func(ctx context.Context, q []scoreQuery) ([]answer, lm.Usage, error) {
		return s.dialect.score(ctx, s.Client, q)
	}
	switch {
	case s.apart == nil:
	case s.apart.how.ByRecord():
		ask = s.answerTogether
	default:
		ask = s.answerAlone
	}
	answers, usage, err := ask(ctx, questions)
	if err != nil {
		return nil, usage, err
	}
	for i, q := range questions {
		if scores[q.step], err = q.scores(s.info.Backend, answers[i]); err != nil {
			return nil, usage, err
		}
	}
	return scores, usage, nil
}
