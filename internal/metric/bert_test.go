package metric

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/engine/bert"
	"github.com/sotto-dp/sotto/lm/models"
)

func openEncoder(t testing.TB) *bert.Encoder {
	t.Helper()
	path, entry, err := models.Find("all-MiniLM-L6-v2")
	if err != nil {
		t.Fatalf("%v; run: go run ./cmd/sotto model pull all-MiniLM-L6-v2", err)
	}
	e, err := bert.Open(path, filepath.Join(filepath.Dir(path), entry.Files[1].Name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// TestMatchesOfNumPy compares with testdata/reference.py, which has its own
// implementation of the encoder, of its tokeniser and of the matching.
func TestMatchesOfNumPy(t *testing.T) {
	data, err := os.ReadFile("testdata/matches.json")
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		SHA256 string
		Items  []struct {
			Want, Got string
			Pieces    []string
			Plain     [3]float64
		}
	}
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	e := openEncoder(t)
	if e.TokensName() != "all-MiniLM-L6-v2@"+f.SHA256[:12] {
		t.Fatalf("the fixture is of other weights: %s", f.SHA256)
	}
	var pairs []Pair
	var got []string
	for _, item := range f.Items {
		pairs = append(pairs, Pair{item.Want, item.Got})
		got = append(got, item.Got)
	}
	ctx := context.Background()
	tokens, err := e.Tokens(ctx, got)
	if err != nil {
		t.Fatal(err)
	}
	for i, item := range f.Items {
		var pieces []string
		for _, token := range tokens[i] {
			pieces = append(pieces, token.Piece)
		}
		if !slices.Equal(pieces, item.Pieces) {
			t.Errorf("%q: pieces %q, want %q", item.Got, pieces, item.Pieces)
		}
	}
	matches, err := Matches(ctx, pairs, EncoderOf(e))
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range matches {
		want := f.Items[i].Plain
		for j, v := range [3]float64{m.Precision, m.Recall, m.F1} {
			if math.Abs(v-want[j]) > 1e-5 {
				t.Errorf("%v: %+v, want %v", pairs[i], m, want)
			}
		}
	}
}

// TestEncodersDiffer is why names have the encoder in them: of the same encoder, with
// and without context, one finds two sentences alike that the other does not.
func TestEncodersDiffer(t *testing.T) {
	e := openEncoder(t)
	pair := []Pair{{"He sat on the bank of the river.", "The river of the bank sat on him."}}
	var values [2]float64
	var names [2]string
	for i, encoder := range []Encoder{EncoderOf(e), wordEncoder{e}} {
		m, err := New("embedding_f1", Options{Encoder: encoder})
		if err != nil {
			t.Fatal(err)
		}
		if values[i], err = m.Value(context.Background(), pair); err != nil {
			t.Fatal(err)
		}
		names[i] = m.Name()
	}
	t.Logf("%s: %.3f; %s: %.3f", names[0], values[0], names[1], values[1])
	if math.Abs(values[0]-values[1]) < 0.01 {
		t.Errorf("%v", values)
	}
	if names[0] == names[1] || !strings.Contains(names[0], "all-MiniLM-L6-v2@") {
		t.Errorf("the encoders are called %q and %q", names[0], names[1])
	}
}
