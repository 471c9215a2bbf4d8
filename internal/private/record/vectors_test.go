package record

import (
	"testing"

	"github.com/sotto-dp/sotto/sys/expect"
)

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
