package sums

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// TestAPersonCountsOnce: of people with many records of several labels in a file each is one unit, with all
// parts together, and adds one at most, whether one of their records is asked or several.
func TestAPersonCountsOnce(t *testing.T) {
	const people, width = 30, 4
	var b bytes.Buffer
	w := json.NewEncoder(&b)
	for p := range people {
		for r := range 1 + p%7 {
			if err := w.Encode(map[string]any{"text": "x", "label": labels(3)[(p+r)%3], "user": fmt.Sprint("user ", p)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	path := filepath.Join(t.TempDir(), "records.jsonl")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, together := range []bool{false, true} {
		d, err := record.Open(t.Context(), path, record.Options{Text: "text", Condition: "label", Unit: "user", Labels: labels(4), Together: together, Private: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		for _, each := range []int{1, 4} {
			s := settings(1, 1)
			s.Each = each
			encoder := &toy{width: width, known: map[string][]float32{"x": axis(width, 0, 1)}}
			of := summer(t, Options{Encoder: trust(t, encoder), Task: task(4), Pool: d, Parts: d.Parts(), Key: noise.KeyFromSeed(1), Sums: s})
			units, err := of.encode(t.Context(), of.Key)
			if err != nil {
				t.Fatal(err)
			}
			expect.Equal(expect.At(t, "together %v", together), "units", units.units, people)
			for i := range people {
				u := units.last.unit(i, each, width, nil)
				sum := added(t, of, []unit{u}, of.empty().Vectors)
				at := expect.At(t, "together %v", together)
				expect.Len(at, "u", u, each)
				expect.Max(at, "length(sum).Cmp(whole(1))", length(sum).Cmp(whole(1)), 0)
				expect.True(at, "length(sum).Sign() is not 0", length(sum).Sign() != 0, length(sum).Sign())
			}
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}
