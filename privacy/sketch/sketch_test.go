package sketch_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"sotto/privacy/sketch"
)

const key = "0123456789abcdef"

// of makes a sketch of rows.
func of(rows ...[]uint64) sketch.Sketch {
	b := sketch.NewBuilder(sketch.Size)
	for _, part := range rows {
		for _, h := range part {
			b.Add(h)
		}
	}
	s, sum := sketch.New(key), uint64(0)
	s.Rows = b.List()
	for _, h := range s.Rows.Hashes {
		sum += h
	}
	s.Sum = fmt.Sprintf("%016x", sum)
	return s
}

// hashes draws rows.
func hashes(r *rand.Rand, n int) []uint64 {
	out := make([]uint64, n)
	for i := range out {
		out[i] = r.Uint64()
	}
	return out
}

// TestJSON: a sketch comes back as it was, and is small.
func TestJSON(t *testing.T) {
	s := of(hashes(rand.New(rand.NewPCG(1, 2)), 5000))
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back sketch.Sketch
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(s, back) || back.Validate() != nil {
		t.Error("the sketch changed")
	}
	if len(text) > 12<<10 {
		t.Errorf("a list takes %d bytes", len(text))
	}
}
