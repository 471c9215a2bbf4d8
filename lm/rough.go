package lm

import (
	"context"
	"errors"
	"unicode/utf8"
)

// RoughTokenizer stands in for the tokeniser of a model whose server has none to ask. A token is
// up to four letters of ASCII, or one other character, so that a text has about as many as a
// model's would, and none is lost. It is for estimates and for cutting texts to a length, and for
// nothing else: its tokens are no model's.
type RoughTokenizer struct{}

const (
	// A token of n ASCII characters is n<<roughKind and seven bits for each of them;
	// roughRune is the kind of any other character, and roughByte that of a byte which is
	// not UTF-8.
	roughKind, roughBits           = 28, 7
	maxRough, roughRune, roughByte = 4, 5, 6
	roughSize                      = (roughByte + 1) << roughKind
)

// Encode returns about as many tokens as a model's tokeniser would.
func (RoughTokenizer) Encode(_ context.Context, text string) (tokens []Token, err error) {
	for text != "" {
		n, packed := 0, Token(0)
		for n < maxRough && n < len(text) && text[n] < utf8.RuneSelf {
			packed |= Token(text[n]) << (roughBits * n)
			n++
		}
		kind := Token(n)
		if n == 0 {
			var r rune
			r, n = utf8.DecodeRuneInString(text)
			kind, packed = roughRune, Token(r)
			if r == utf8.RuneError && n == 1 {
				kind, packed = roughByte, Token(text[0])
			}
		}
		tokens = append(tokens, kind<<roughKind|packed)
		text = text[n:]
	}
	return tokens, nil
}

// Decode returns the text again.
func (RoughTokenizer) Decode(_ context.Context, tokens []Token) (string, error) {
	var b []byte
	for _, t := range tokens {
		if t < 0 || t>>roughKind < 1 || int(t) >= roughSize {
			return "", errors.New("a token to decode is outside the vocabulary: was it made by another model's tokeniser?")
		}
		packed := t & (1<<roughKind - 1)
		switch kind := t >> roughKind; kind {
		case roughRune:
			b = utf8.AppendRune(b, rune(packed))
		case roughByte:
			b = append(b, byte(packed))
		default:
			for i := range kind {
				b = append(b, byte(packed>>(roughBits*i)&(1<<roughBits-1)))
			}
		}
	}
	return string(b), nil
}

// Size returns the number of tokens.
func (RoughTokenizer) Size() int { return roughSize }

// Beginning returns none.
func (RoughTokenizer) Beginning() (Token, bool) { return 0, false }

// Control returns false: a text has no control tokens.
func (RoughTokenizer) Control(Token) bool { return false }

// Ends returns none.
func (RoughTokenizer) Ends() []Token { return nil }
