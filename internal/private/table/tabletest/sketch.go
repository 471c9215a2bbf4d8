package tabletest

import (
	"bytes"
	"context"
	"encoding/csv"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/privacy/sketch"
)

// hasASketch: a source has the sketch of a CSV file with the same rows in another order, so
// that the ledger knows the one by the other.
func (s Source) hasASketch(tb TB) {
	tb.Helper()
	t, of := people(300, 50)
	d, err := s.Put(t, table.Options{Schema: of})
	if err != nil {
		tb.Fatalf("%v", err)
	}
	defer d.Close()
	got, err := d.Sketch(context.Background())
	if err != nil {
		tb.Fatalf("%v", err)
	}
	if err := got.Validate(); err != nil || got.KeyID != d.KeyID() {
		tb.Errorf("key %s, not %s: %v", got.KeyID, d.KeyID(), err)
	}
	slices.Reverse(t.Rows)
	want, err := sketchOfCSV(t, table.Options{Schema: of, Private: d.Options().Private})
	if err != nil {
		tb.Fatalf("%v", err)
	}
	if !reflect.DeepEqual(got, want) {
		o, err := sketch.Compare(want, got)
		tb.Errorf("a CSV file of the rows has another sketch: %v, %v", o, err)
	}
}

func sketchOfCSV(t Table, o table.Options) (sketch.Sketch, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	line := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		line[i] = c.Name
	}
	if err := w.Write(line); err != nil {
		return sketch.Sketch{}, err
	}
	for _, row := range t.Rows {
		for i, v := range row {
			line[i] = Literal(v)
		}
		if err := w.Write(line); err != nil {
			return sketch.Sketch{}, err
		}
	}
	w.Flush()
	path := filepath.Join(o.Private, "sketched.csv")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		return sketch.Sketch{}, err
	}
	d, err := table.Open(context.Background(), path, o)
	if err != nil {
		return sketch.Sketch{}, err
	}
	defer d.Close()
	return d.Sketch(context.Background())
}
