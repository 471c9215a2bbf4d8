package bert

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/sotto-dp/sotto/internal/engine/kernel"
)

// pooling says how the vectors of word pieces become one.
type pooling string

const (
	meanPooling  pooling = "mean"
	firstPooling pooling = "first" // the vector of [CLS]
)

// config is what there is to know about an encoder besides its weights and vocabulary.
type config struct {
	name                         string
	layers, width, heads, hidden int
	positions, vocabulary, kinds int
	eps                          float32
	pooling                      pooling
	lower, strip                 bool // letters become lower case, and lose accents
	limit                        int  // the maximal number of word pieces of a text, with the two that frame it
	prefix                       string
	short                        int // texts of fewer tokens are computed in float32
}

// miniLM is all-MiniLM-L6-v2, whose two files say none of this.
var miniLM = config{
	name:   model,
	layers: 6, width: 384, heads: 12, hidden: 1536,
	positions: 512, vocabulary: 30522, kinds: 2, eps: 1e-12,
	pooling: meanPooling, lower: true, strip: true, limit: maxPieces, short: short,
}

func (c *config) headWidth() int { return c.width / c.heads }

// scale multiplies the scores of attention.
func (c *config) scale() float32 { return float32(1 / math.Sqrt(float64(c.headWidth()))) }

// Bounds of what a file may claim: memory is made by it.
const (
	maxLayers, maxWidth, maxPositions, maxVocabulary = 256, 1 << 13, 1 << 16, 1 << 22
)

// check refuses what this package does not compute.
func (c *config) check() error {
	within := func(n, limit int) bool { return n > 0 && n <= limit }
	switch {
	case !within(c.layers, maxLayers) || !within(c.positions, maxPositions) || !within(c.vocabulary, maxVocabulary) || !within(c.kinds, 1<<10):
		return fmt.Errorf("it has %d layers, %d positions, %d word pieces and %d kinds of segments, which is no encoder of sentences", c.layers, c.positions, c.vocabulary, c.kinds)
	case !within(c.width, maxWidth) || c.width%kernel.ByteBlock != 0 || !within(c.hidden, 8*maxWidth) || c.hidden%kernel.ByteBlock != 0:
		return fmt.Errorf("its layers are %d wide, and %d inside: encoders run here whose widths are multiples of %d, such as bge, e5 and gte of 384, 768 and 1024", c.width, c.hidden, kernel.ByteBlock)
	case c.heads <= 0 || c.width%c.heads != 0 || c.headWidth()%kernel.Panel != 0:
		return fmt.Errorf("it has %d heads for a width of %d: encoders run here whose heads are a multiple of %d wide", c.heads, c.width, kernel.Panel)
	case !(c.eps > 0 && c.eps < 1):
		return fmt.Errorf("the epsilon of its norms is %g, and should be a small positive number", c.eps)
	case c.limit < 3 || c.limit > c.positions:
		return fmt.Errorf("a text has up to %d tokens, and the model's positions are %d", c.limit, c.positions)
	}
	return checkPrefix(c.prefix)
}

const maxPrefix = 1 << 10

// checkPrefix refuses what would run into the first word of a text.
func checkPrefix(prefix string) error {
	if prefix == "" {
		return nil
	}
	if len(prefix) > maxPrefix || !utf8.ValidString(prefix) {
		return fmt.Errorf("a prefix is text of up to %d bytes", maxPrefix)
	}
	if last, _ := utf8.DecodeLastRuneInString(prefix); !isGap(last) && !isPunctuation(last) {
		return errors.New(`a prefix ends with a space or a punctuation mark, such as "query: "`)
	}
	return nil
}

// fingerprint names all that vectors depend on.
func (c *config) fingerprint(weightsHash, vocabHash string) string {
	return fmt.Sprintf("sha256:%x", sha256.Sum256(fmt.Appendf(nil, "sentence encoder\n%s\n%s\n%s\n%d %d %d %d %d %d %d %g\n%s %t %t %d %d\n%q\n",
		mode, weightsHash, vocabHash,
		c.layers, c.width, c.heads, c.hidden, c.positions, c.vocabulary, c.kinds, c.eps,
		c.pooling, c.lower, c.strip, c.limit, c.short, c.prefix)))
}
