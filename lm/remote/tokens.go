package remote

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sotto-dp/sotto/lm"
)

// encoder is a server's tokeniser.
type encoder interface {
	// encode turns text into tokens. With marks, spellings of control tokens are read as
	// such; without, the server may do so nevertheless (see apart).
	encode(ctx context.Context, c *Client, text string, marks bool) ([]lm.Token, error)
	// decode returns the text of tokens, spellings of control tokens included.
	decode(ctx context.Context, c *Client, tokens []lm.Token) (string, error)
	// render lays out messages as text, with the spellings of control tokens.
	render(ctx context.Context, c *Client, messages []lm.Message) (string, error)
	// leavesOut reports whether render leaves out the token of the beginning.
	leavesOut() bool
}

// vocabulary describes a server's tokens.
type vocabulary struct {
	size int
	// marks are the control tokens and how they are spelled.
	marks map[lm.Token]string
	// begin is what texts start with, if the model needs it.
	begin []lm.Token
	ends  []lm.Token
	// pieces, if known, are the bytes of every token, none for control tokens.
	pieces [][]byte
	// apart: the server reads marks in any text, so they must be taken apart.
	apart bool
}

// beginsWith takes the first token of a text that was encoded with marks for the one that
// texts begin with, if it is a mark.
func (v *vocabulary) beginsWith(tokens []lm.Token) {
	if _, ok := v.marks[tokens[0]]; ok {
		v.begin = tokens[:1]
	}
}

// serverTokenizer is a tokeniser by requests. Where the bytes of tokens are not
// known, Decode has U+FFFD in place of a character that is cut in two.
type serverTokenizer struct {
	client  *Client
	encoder encoder
	vocabulary
}

var _ lm.Tokenizer = (*serverTokenizer)(nil)

func (t *serverTokenizer) Size() int { return t.size }

func (t *serverTokenizer) Control(token lm.Token) bool {
	_, ok := t.marks[token]
	return ok
}

func (t *serverTokenizer) Beginning() (lm.Token, bool) {
	if len(t.begin) == 0 {
		return 0, false
	}
	return t.begin[0], true
}

func (t *serverTokenizer) Ends() []lm.Token { return slices.Clone(t.ends) }

func (t *serverTokenizer) Encode(ctx context.Context, text string) ([]lm.Token, error) {
	if !utf8.ValidString(text) {
		return nil, errors.New("the text is not UTF-8, which is all that a server's tokeniser takes: clean the text")
	}
	parts := []string{text}
	if t.apart {
		parts = apart(text, t.marks)
	}
	var tokens []lm.Token
	for _, part := range parts {
		if part == "" {
			continue
		}
		more, err := t.encoder.encode(ctx, t.client, part, false)
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, more...)
	}
	for _, token := range tokens {
		if token < 0 || int(token) >= t.size {
			return nil, &ReplyError{Backend: t.client.info.Backend, Path: "a text to encode", Why: "a token is outside the vocabulary"}
		}
		if t.Control(token) {
			return nil, &ReplyError{Backend: t.client.info.Backend, Path: "a text to encode", Why: "text was read as a control token"}
		}
	}
	return tokens, nil
}

// apart cuts a text after the first character of each mark in it, so that no part
// has one.
func apart(text string, marks map[lm.Token]string) []string {
	var parts []string
	for {
		first := -1
		for _, mark := range marks {
			if mark == "" {
				continue
			}
			if at := strings.Index(text, mark); at >= 0 && (first < 0 || at < first) {
				first = at
			}
		}
		if first < 0 {
			return append(parts, text)
		}
		_, size := utf8.DecodeRuneInString(text[first:])
		parts, text = append(parts, text[:first+size]), text[first+size:]
	}
}

func (t *serverTokenizer) Decode(ctx context.Context, tokens []lm.Token) (string, error) {
	var text []lm.Token
	for _, token := range tokens {
		if token < 0 || int(token) >= t.size {
			return "", errors.New("a token to decode is outside the vocabulary: was it made by another model's tokeniser?")
		}
		if !t.Control(token) {
			text = append(text, token)
		}
	}
	if len(text) == 0 {
		return "", nil
	}
	if t.pieces == nil {
		return t.encoder.decode(ctx, t.client, text)
	}
	var b strings.Builder
	for _, token := range text {
		b.Write(t.pieces[token])
	}
	return b.String(), nil
}

// endMarks are spellings of tokens that end a text or a turn.
var endMarks = []string{
	"<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|end|>",
	"</s>", "<end_of_turn>", "<eos>", "<|return|>", "<｜end▁of▁sentence｜>",
}

// findEnds lists the control tokens that end a text: known ones, the one that the server
// names (eos), and the one that the chat template puts after an answer.
func findEnds(ctx context.Context, c *Client, e encoder, marks map[lm.Token]string, eos string) []lm.Token {
	known := append([]string{eos}, endMarks...)
	if c.info.Can.Chat {
		asked := []lm.Message{{Role: lm.User, Content: "one"}, {Role: lm.Assistant, Content: "two"}, {Role: lm.User, Content: "three"}}
		// A template that refuses this leaves the others.
		if text, err := e.render(ctx, c, asked); err == nil {
			if _, after, ok := strings.Cut(text, "two"); ok {
				after = strings.TrimSpace(after)
				for _, mark := range marks {
					if mark != "" && strings.HasPrefix(after, mark) {
						known = append(known, mark)
					}
				}
			}
		}
	}
	var ends []lm.Token
	for token, mark := range marks {
		if mark != "" && slices.Contains(known, mark) {
			ends = append(ends, token)
		}
	}
	slices.Sort(ends)
	return ends
}
