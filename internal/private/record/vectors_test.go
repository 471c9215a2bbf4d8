package record

import (
	"context"
	"slices"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
)

// letters is an encoder.
type letters struct{}

func (letters) Embed(_ context.Context, texts []string) ([][]float32, error) {
	return slices.Repeat([][]float32{{1, 0}}, len(texts)), nil
}
func (letters) Dimension() int      { return 2 }
func (letters) Name() string        { return "letters" }
func (letters) Fingerprint() string { return "sha256:letters" }
func (letters) Close() error        { return nil }

func sentenceEncoder(t *testing.T) lm.TrustedEmbedder {
	t.Helper()
	e, err := lm.TrustEmbedder(letters{}, lm.InProcess)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestVectorsOfDrawsAreOpenedOnce: every round asks for the vectors that are kept, and only the first one after they
// changed reads them.
func TestVectorsOfDrawsAreOpenedOnce(t *testing.T) {
	d := open(t, writeMany(t, 100), Options{Condition: "label"})
	encoder := sentenceEncoder(t)
	first := d.Vectors(encoder, false)
	first.Close() // as every round does
	expect.True(t, "a second round has the store of the first", d.Vectors(encoder, false) == first)
	all := d.Vectors(encoder, true)
	if _, err := all.Embed(t.Context(), []string{"a text"}); err != nil {
		t.Fatal(err)
	}
	all.Close()
	later := d.Vectors(encoder, false)
	expect.True(t, "a round after others were kept has another store", later != first)
	expect.True(t, "of several rounds the store is one", d.Vectors(encoder, false) == later)
}
