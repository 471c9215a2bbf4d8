package tokenizer

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/lm"
)

// Tokenizer is a model's tokeniser. It is safe for concurrent use.
type Tokenizer struct {
	vocabulary *vocabulary
	encoder    encoder
	layout     *layout
	bos, eos   *lm.Token
	addBOS     bool
	strip      bool
	template   string
}

var _ lm.Tokenizer = (*Tokenizer)(nil)

// encoder appends the tokens of a text that holds no user-defined token.
type encoder interface {
	encode(tokens []lm.Token, text string) []lm.Token
}

// New makes a tokeniser.
func New(c Config) (*Tokenizer, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	v := newVocabulary(&c)
	t := &Tokenizer{
		vocabulary: v,
		layout:     layoutOf(c.ChatTemplate),
		bos:        c.BOS,
		eos:        c.EOS,
		addBOS:     c.AddBOS,
		strip:      c.StripAfterMarks,
		template:   c.ChatTemplate,
	}
	var err error
	if c.Model == "llama" {
		t.encoder, err = newSentencePiece(&c, v)
	} else {
		t.encoder, err = newBytePair(&c, v)
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// Encode returns the tokens of a text. The spelling of a mark is encoded as the
// characters it is made of. Bytes need not be UTF-8.
func (t *Tokenizer) Encode(ctx context.Context, text string) ([]lm.Token, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return t.appendText(nil, text)
}

func (t *Tokenizer) appendText(tokens []lm.Token, text string) ([]lm.Token, error) {
	if len(text) > math.MaxInt32/4 {
		return nil, fmt.Errorf("a text of %d bytes is too long to encode at once: cut it", len(text))
	}
	if text == "" {
		return tokens, nil
	}
	tokens = slices.Grow(tokens, len(text)/4+1)
	for _, f := range t.vocabulary.fragments(text) {
		if f.text == "" {
			tokens = append(tokens, f.id)
		} else {
			tokens = t.encoder.encode(tokens, f.text)
		}
	}
	return tokens, nil
}

// fragments cuts a text at user-defined tokens: all occurrences of the longest first,
// from the left, then of the next in what remains. A fragment is a text, or else a
// token.
func (v *vocabulary) fragments(text string) []userToken {
	list := []userToken{{text: text}}
	for _, d := range v.userDefined {
		if !strings.Contains(text, d.text) {
			continue
		}
		var next []userToken
		for _, f := range list {
			if f.text == "" {
				next = append(next, f)
				continue
			}
			before, after, found := strings.Cut(f.text, d.text)
			for ; found; before, after, found = strings.Cut(after, d.text) {
				if before != "" {
					next = append(next, userToken{text: before})
				}
				next = append(next, userToken{id: d.id})
			}
			if before != "" {
				next = append(next, userToken{text: before})
			}
		}
		list = next
	}
	return list
}

// Decode returns the text of tokens. Marks have none. A token may end within a
// character.
func (t *Tokenizer) Decode(ctx context.Context, tokens []lm.Token) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	var b strings.Builder
	for _, id := range tokens {
		if id < 0 || int(id) >= t.Size() {
			return "", fmt.Errorf("a token is outside the vocabulary of %d: was it made by another model's tokeniser?", t.Size())
		}
		b.WriteString(t.vocabulary.pieces[id])
	}
	return b.String(), nil
}

// Size returns the number of tokens.
func (t *Tokenizer) Size() int { return len(t.vocabulary.pieces) }

// Beginning returns the token that a text starts with, if the model wants one.
func (t *Tokenizer) Beginning() (lm.Token, bool) {
	if !t.addBOS {
		return 0, false
	}
	return *t.bos, true
}

// Control reports whether a token is a mark: it has no text, and Encode never returns
// it.
func (t *Tokenizer) Control(id lm.Token) bool {
	return id >= 0 && int(id) < t.Size() && t.vocabulary.marks[id]
}

// Ends returns the tokens after which the model stops: those that the file names (the end
// of text first), then others by their spelling.
func (t *Tokenizer) Ends() []lm.Token { return slices.Clone(t.vocabulary.ends) }
