package rows

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/schema"
)

// The first features of a vector.
const (
	// constant is the same for all rows.
	constant = iota
	// Unsaid is what a row does not say, of all that it could: all of a text that is no row. Nothing is
	// learnt from it.
	Unsaid
	first
)

const (
	// knots of a scale. With 4 or 16 small tables were about as good, large ones worse or no better.
	knots = 8
	// maxValues of a column have features of their own, further ones share them.
	maxValues = 256
	// maxFeatures bounds the size of vectors.
	maxFeatures = 1 << 12
	// curve of the second scale: the share of the way to the upper bound is log(1+curve·x)/log(1+curve).
	curve = 100
)

// Encoder turns rows in words into vectors. It is safe for concurrent use.
type Encoder struct {
	words  *schema.Wording
	inputs []input
	width  int
	name   string
}

var _ lm.Embedder = (*Encoder)(nil)

// input is a column that rows are known by.
type input struct {
	column schema.Column
	place  int // in the schema
	offset int // of its first feature
	values int // that have features; 0 for scales of numbers
}

// New returns the encoder of a schema's rows.
func New(s schema.Schema) (*Encoder, error) {
	s = s.WithDefaults()
	if _, err := s.Task(); err != nil { // it checks the schema
		return nil, err
	}
	e := &Encoder{words: s.Wording(), width: first, name: name(s)}
	said, ok := e.words.Row(e.words.Text(s.Example()))
	if !ok {
		return nil, errors.New("rows of this schema cannot be read from their words: put something between the columns of its template")
	}
	for i, c := range s.Columns {
		if said[i] == schema.Unsaid {
			continue // it is the label, or not in the template
		}
		in := input{column: c, place: i, offset: e.width}
		if c.Kind == schema.Categorical {
			in.values = min(len(c.Values), maxValues)
			e.width += in.values
		} else {
			e.width += 2 * knots
		}
		e.inputs = append(e.inputs, in)
	}
	if len(e.inputs) == 0 {
		return nil, errors.New("the template of the schema has no column to know rows by: name some in it")
	}
	if e.width > maxFeatures {
		return nil, fmt.Errorf("the columns of the schema have %d features, and evidence is for %d at most: leave columns out of the template, or leave evidence out", e.width, maxFeatures)
	}
	return e, nil
}

// version of what vectors are made of. It is part of the name.
const version = "rows of a schema 1"

// prefix of names: those of encoders of sentences have another.
const prefix = "rows@"

// name of the encoder of a schema, with all in it that vectors depend on.
func name(s schema.Schema) string {
	s.Name, s.Title, s.Groups = "", "", nil
	hash := sha256.Sum256(append([]byte(version+"\n"), s.Canonical()...))
	return fmt.Sprintf("%s%x", prefix, hash[:8])
}

// Trusted is the encoder of a schema's rows, for records: it computes in this process.
func Trusted(s schema.Schema) (lm.TrustedEmbedder, error) {
	e, err := New(s)
	if err != nil {
		return lm.TrustedEmbedder{}, err
	}
	return lm.TrustEmbedder(e, lm.InProcess)
}

// Named checks that a schema is the one that an encoder is named after. Without a schema the encoder is one of
// sentences.
func Named(s *schema.Schema, encoder string) error {
	if s == nil {
		if strings.HasPrefix(encoder, prefix) {
			return fmt.Errorf("the encoder %s reads rows of a table, and their schema is missing", encoder)
		}
		return nil
	}
	e, err := New(*s)
	if err != nil {
		return err
	}
	if e.name != encoder {
		return fmt.Errorf("the encoder is %s, and that of the schema is %s: use the schema and the version of the program that it was made with", encoder, e.name)
	}
	return nil
}

// Name identifies the encoder by its schema.
func (e *Encoder) Name() string { return e.name }

// Fingerprint is the name: the schema is all that vectors depend on.
func (e *Encoder) Fingerprint() string { return e.name }

// Dimension is the length of the vectors.
func (e *Encoder) Dimension() int { return e.width }

// Close does nothing.
func (e *Encoder) Close() error { return nil }

// Reads reports whether a text is a row of the schema in words.
func (e *Encoder) Reads(text string) bool {
	_, ok := e.words.Row(text)
	return ok
}

// Embed returns a vector of length one for each text.
func (e *Encoder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		if i%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		out[i] = e.vector(text)
	}
	return out, nil
}

// vector of a text. The squares of its numbers add up to one: the constant and all columns have equal parts, and a
// column's part is shared by its features. Sums of squares are of shares, so that rounding is all that can make
// it longer.
func (e *Encoder) vector(text string) []float32 {
	v := make([]float32, e.width)
	row, ok := e.words.Row(text)
	if !ok {
		v[Unsaid] = 1
		return v
	}
	part := 1 / float64(len(e.inputs)+1)
	v[constant] = root(part)
	unsaid := 0
	for _, in := range e.inputs {
		if row[in.place] == schema.Unsaid {
			unsaid++
			continue
		}
		in.fill(v[in.offset:], row[in.place], part)
	}
	v[Unsaid] = root(float64(unsaid) * part)
	return v
}

func root(x float64) float32 { return float32(math.Sqrt(x)) }

// fill gives the part of a column to the features of a value.
func (in input) fill(v []float32, value schema.Value, part float64) {
	if in.values > 0 {
		v[value.Code%in.values] = root(part)
		return
	}
	// Along the bounds, and once more with most knots near the lower one: amounts and counts are small as a rule.
	x := in.share(value)
	for i, x := range []float64{x, math.Log1p(curve*x) / math.Log1p(curve)} {
		x = max(0, min(1, x)) * (knots - 1)
		left := min(int(x), knots-2)
		between := x - float64(left)
		v[i*knots+left], v[i*knots+left+1] = root((1-between)*part/2), root(between*part/2)
	}
}

// share of the way from the lower bound of a number to the upper. A bin is its middle.
func (in input) share(v schema.Value) float64 {
	c, x := in.column, v.Number
	if v.Discrete {
		ends := append(append([]float64{c.Low}, c.Edges...), c.High)
		x = ends[v.Code] + (ends[v.Code+1]-ends[v.Code])/2
	}
	return (x - c.Low) / (c.High - c.Low)
}
