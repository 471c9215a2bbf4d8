package evidence

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/sotto-dp/sotto/internal/evidence/rows"
	"github.com/sotto-dp/sotto/internal/sys/bounded"
	"github.com/sotto-dp/sotto/internal/sys/document"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/schema"
)

// File is the name of evidence in a release.
const File = "evidence.json"

// maxBytes bounds a file: a thousand labels have about 5 MB.
const maxBytes = 64 << 20

// Evidence are vectors for labels, released with noise. It is public.
type Evidence struct {
	// Encoder is the name of the encoder of texts, with its fingerprint.
	Encoder string `json:"encoder"`
	// Schema is that of the table whose rows, in words, it is about, if it is: the encoder is theirs (package
	// internal/evidence/rows), and needs nothing else.
	Schema *schema.Schema `json:"schema,omitempty"`
	// Labels of the task, in its order.
	Labels []string `json:"labels"`
	// Sums is how many noisy sums it was made from, Sigma the noise of each as a multiple of what one
	// unit may add.
	Sums  int     `json:"sums"`
	Sigma float64 `json:"sigma"`
	// Vectors of the labels. Their inner products with the vector of a text are logarithms of odds.
	Vectors [][]float64 `json:"vectors"`
}

// Check finds what is wrong with evidence that was read from a file.
func (e *Evidence) Check() error {
	switch {
	case e.Encoder == "":
		return errors.New("the evidence does not name its encoder")
	case len(e.Labels) < 2 || len(e.Vectors) != len(e.Labels):
		return fmt.Errorf("the evidence has %d vectors for %d labels: there must be one for each, and two or more", len(e.Vectors), len(e.Labels))
	case len(e.Labels) > maxLabels:
		return fmt.Errorf("the evidence has %d labels, which are more than %d", len(e.Labels), maxLabels)
	case len(e.Vectors[0]) == 0:
		return errors.New("the vectors of the evidence are empty")
	case e.Sums < 0 || !(e.Sigma >= 0) || math.IsInf(e.Sigma, 1):
		return errors.New("the evidence has a negative number of sums, or noise of no scale")
	}
	if err := rows.Named(e.Schema, e.Encoder); err != nil {
		return fmt.Errorf("the evidence cannot be read: %w", err)
	}
	for i, v := range e.Vectors {
		if len(v) != len(e.Vectors[0]) {
			return errors.New("the vectors of the evidence differ in length")
		}
		if slices.Contains(e.Labels[:i], e.Labels[i]) {
			return fmt.Errorf("the evidence has the label %q twice", e.Labels[i])
		}
		for _, x := range v {
			if math.IsNaN(x) || math.Abs(x) > maxOdds {
				return errors.New("a vector of the evidence has a number that is too large or none")
			}
		}
	}
	return nil
}

// maxLabels is how many a task may have.
const maxLabels = 1000

// maxOdds bounds each number of a vector, so that products stay finite.
const maxOdds = 1e6

// Logs are the log-probabilities of labels for a text with this vector.
func (e *Evidence) Logs(vector []float32) ([]float64, error) {
	if len(vector) != len(e.Vectors[0]) {
		return nil, fmt.Errorf("the encoder's vectors have %d numbers, and those of the evidence %d", len(vector), len(e.Vectors[0]))
	}
	logs := make([]float64, len(e.Vectors))
	for l, v := range e.Vectors {
		var sum float64
		for i, x := range v {
			if e.Schema != nil && i == rows.Unsaid {
				continue // what a row does not say is no evidence
			}
			sum += float64(x * float64(vector[i])) // the conversion keeps the product from being fused
		}
		if math.IsNaN(sum) || math.IsInf(sum, 0) {
			return nil, errors.New("a vector of the encoder has a number that is too large or none: this is a fault of the encoder")
		}
		logs[l] = sum
	}
	return lm.LogSoftmax(logs), nil
}

// Encode writes evidence as a file.
func (e *Evidence) Encode() ([]byte, error) {
	if err := e.Check(); err != nil {
		return nil, err
	}
	data, err := json.Marshal(e)
	return append(data, '\n'), err
}

// Decode reads evidence from a file's content.
func Decode(data []byte) (*Evidence, error) {
	var e Evidence
	if err := bounded.UnmarshalJSON(data, maxBytes, &e); err != nil {
		return nil, fmt.Errorf("this is no evidence: %w", err)
	}
	if err := e.Check(); err != nil {
		return nil, err
	}
	return &e, nil
}

// Read reads evidence from a file.
func Read(path string) (*Evidence, error) {
	data, err := bounded.ReadFile(path, maxBytes)
	if err != nil {
		return nil, err
	}
	e, err := Decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return e, nil
}

// Encodes is what turns texts into vectors: an [lm.Embedder], or an [lm.TrustedEmbedder] where texts are
// private.
type Encodes interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	Dimension() int
	Name() string
}

// Reader reads texts by evidence. It is for one goroutine at a time if its encoder is.
type Reader struct {
	*Evidence
	encoder Encodes
}

// Rows reports whether it is about rows of a table: then it brings its encoder along.
func (e *Evidence) Rows() bool { return e.Schema != nil }

// Open reads texts by evidence. The encoder must be the one that the evidence was made with; for rows of a
// table it may be nil.
func Open(e *Evidence, encoder Encodes) (*Reader, error) {
	if e != nil && e.Rows() && encoder == nil {
		own, err := rows.New(*e.Schema)
		if err != nil {
			return nil, err
		}
		encoder = own
	}
	if e == nil || encoder == nil {
		return nil, errors.New("there is no evidence, or no encoder")
	}
	if t, ok := encoder.(lm.TrustedEmbedder); ok && !t.Valid() {
		return nil, errors.New("there is no trusted encoder to read evidence with")
	}
	if err := e.Check(); err != nil {
		return nil, err
	}
	if encoder.Name() != e.Encoder || encoder.Dimension() != len(e.Vectors[0]) {
		return nil, fmt.Errorf("the evidence is of the encoder %s, and this one is %s: vectors of different encoders are not comparable; use the version of the program and of the encoder that made it", e.Encoder, encoder.Name())
	}
	return &Reader{e, encoder}, nil
}

// Reads finds a text that is not what the evidence is about: of a table it reads rows, in the words of their
// schema. Others would be answered without evidence.
func (r *Reader) Reads(texts []string) error {
	own, ok := r.encoder.(interface{ Reads(text string) bool })
	if !ok {
		return nil
	}
	for i, text := range texts {
		if !own.Reads(text) {
			return &NotRowError{Place: i, Of: len(texts), Template: r.Schema.WithDefaults().Template}
		}
	}
	return nil
}

// NotRowError reports a text that is no row of the table that evidence is about.
type NotRowError struct {
	Place, Of int
	Template  string
}

func (e *NotRowError) Error() string {
	which := "the question"
	if e.Of > 1 {
		which = fmt.Sprintf("question %d of %d", e.Place+1, e.Of)
	}
	return fmt.Sprintf("%s is not a row of the table that the evidence is about, in the words of its schema: %q; sotto table items writes rows so", which, document.Shorten(e.Template))
}

// Suits checks that the evidence is for a list of labels.
func (e *Evidence) Suits(labels []string) error {
	if !slices.Equal(e.Labels, labels) {
		return errors.New("the evidence is for other labels than the task has: use the task of the release")
	}
	return nil
}

// Texts are the log-probabilities of labels for each of the texts.
func (r *Reader) Texts(ctx context.Context, texts []string) ([][]float64, error) {
	vectors, err := r.encoder.Embed(ctx, texts)
	if err != nil {
		return nil, err
	}
	if len(vectors) != len(texts) {
		return nil, errors.New("the encoder does not have one vector for each text: this is a fault of the encoder")
	}
	out := make([][]float64, len(vectors))
	for i, v := range vectors {
		if out[i], err = r.Logs(v); err != nil {
			return nil, err
		}
	}
	return out, nil
}
