package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sotto-dp/sotto/lm"
)

// scorer is a client of a server that scores chosen tokens.
type scorer struct {
	*Client
	dialect   scoring
	info      lm.Info
	tokenizer lm.Tokenizer
	chat      func(context.Context, []lm.Message) ([]lm.Token, error)
	// solo, if set, has each query sent alone.
	solo *solo
}

var _ lm.Scorer = (*scorer)(nil)

// chatter is a tokeniser that lays out chats.
type chatter interface {
	Chat([]lm.Message) ([]lm.Token, error)
}

// Scorer returns the model's scorer, or an *lm.UnsupportedError that names what the server
// lacks. It shares the client's connections and ends with it.
//
// It learns the server's vocabulary, or compares it with that of the tokeniser in the
// options.
func (c *Client) Scorer(ctx context.Context) (lm.Scorer, error) {
	d, ok := c.dialect.(scoring)
	if !ok || !c.info.Can.Candidates {
		return nil, &lm.UnsupportedError{Backend: c.info.Backend, What: "score chosen tokens, which stage one needs", Missing: c.facts.missing}
	}
	s := &scorer{Client: c, dialect: d, info: c.info}
	if s.info.Context <= 0 {
		return nil, errors.New("the server does not say how long a sequence may be: give the context in the options")
	}
	if c.local != nil {
		if err := s.compare(ctx, c.local); err != nil {
			return nil, err
		}
		s.tokenizer = c.local
		if t, ok := c.local.(chatter); ok {
			s.chat = func(_ context.Context, m []lm.Message) ([]lm.Token, error) { return t.Chat(m) }
		}
	} else {
		v, err := d.vocabulary(ctx, c)
		if err != nil {
			return nil, err
		}
		s.tokenizer = &serverTokenizer{client: c, encoder: d, vocabulary: v}
	}
	if s.chat == nil && c.info.Can.Chat {
		s.chat = newLayouts(c, d, s.tokenizer).chat
	}
	s.info.Vocabulary = s.tokenizer.Size()
	s.info.Can.Chat = s.chat != nil
	return s, nil
}

// compareTexts show whether two tokenisers are the same: words, digits, spaces,
// line ends, punctuation, letters of several scripts.
var compareTexts = []string{
	"The quick brown fox jumps over the lazy dog.",
	" leading space, 12345 and 3.14159; don't",
	"line\n\n  two\ttabs\r\n",
	"naïve café, Ünïcødé, 数字, Привет, 🙂",
	"def f(x):\n    return x**2 != {'a': [1, 2]}",
}

// compare checks that a tokeniser and the server encode texts alike.
func (s *scorer) compare(ctx context.Context, local lm.Tokenizer) error {
	if local.Size() > s.info.Vocabulary {
		return fmt.Errorf("the tokeniser has %d tokens and the server's model %d: they do not belong together", local.Size(), s.info.Vocabulary)
	}
	differ := 0
	for _, text := range compareTexts {
		own, err := local.Encode(ctx, text)
		if err != nil {
			return err
		}
		theirs, err := s.dialect.encode(ctx, s.Client, text, false)
		if err != nil {
			return err
		}
		if !slices.Equal(own, theirs) {
			differ++
		}
	}
	if differ > 0 {
		return fmt.Errorf("the tokeniser and the server's read %d of %d texts differently: they do not belong to the same model", differ, len(compareTexts))
	}
	return nil
}

func (s *scorer) Info() lm.Info           { return s.info }
func (s *scorer) Tokenizer() lm.Tokenizer { return s.tokenizer }

func (s *scorer) Chat(ctx context.Context, messages []lm.Message) ([]lm.Token, error) {
	if s.chat == nil {
		return nil, &lm.UnsupportedError{Backend: s.info.Backend, What: "lay out messages", Missing: "the model has no chat template; give plain text"}
	}
	if len(messages) == 0 {
		return nil, errors.New("a chat needs at least one message")
	}
	return s.chat(ctx, messages)
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
	return s.Client.Generate(ctx, lists, o)
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
	if s.solo != nil {
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
