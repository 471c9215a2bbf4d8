package remote

import (
	"fmt"
	"math"

	"github.com/sotto-dp/sotto/lm"
)

// What servers report about themselves is bounded before it is used: memory is allocated
// for a vocabulary, and messages show names.
const (
	// maxVocabulary is several times the largest vocabulary of any model.
	maxVocabulary = 1 << 21
	maxContext    = 1 << 24
	maxSlots      = 1 << 16
	maxDimension  = 1 << 16
	maxName       = 512
	maxWords      = 256
)

// bound checks what the server reported.
func (c *Client) bound() error {
	wrong := func(format string, args ...any) error {
		return c.wire.reply("what it says of itself", fmt.Sprintf(format, args...))
	}
	switch {
	case c.info.Vocabulary < 0 || c.info.Vocabulary > maxVocabulary:
		return wrong("a vocabulary has between 1 and %d tokens, not %d", maxVocabulary, c.info.Vocabulary)
	case c.info.Context < 0 || c.info.Top < 0:
		return wrong("the length of a sequence, or the number of best tokens, is negative")
	case len(c.info.Name) > maxName:
		return wrong("the model's name is longer than %d bytes", maxName)
	}
	c.info.Context = min(c.info.Context, maxContext)
	c.info.Top = min(c.info.Top, maxVocabulary)
	c.info.Version, c.info.Fingerprint = shorten(c.info.Version), shorten(c.info.Fingerprint)
	return nil
}

// shorten cuts a text that a server reports about itself.
func shorten(words string) string { return words[:min(len(words), maxWords)] }

// room returns how many tokens of a context are left beside the one that is always
// generated.
func room(context int) int { return max(min(context, maxContext)-1, 0) }

// sound returns an *[lm.UnsoundError] if a server's answer to one prompt cannot be part of
// a distribution.
func (c *Client) sound(a answer) error {
	sum := 0.0
	for _, s := range a {
		if math.IsNaN(s.logProb) || s.logProb > rounding {
			return &lm.UnsoundError{Backend: string(c.dialect.name()), Why: "a log-probability is positive or not a number"}
		}
		sum += math.Exp(s.logProb)
	}
	if sum > 1+rounding {
		return &lm.UnsoundError{Backend: string(c.dialect.name()), Why: fmt.Sprintf("the probabilities of %d tokens add up to %.6g, more than one: they are not normalised", len(a), sum)}
	}
	return nil
}
