package record

import (
	"os"
	"slices"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"pgregory.net/rapid"
)

// TestSorter sorts any tuples with room for few, and leaves no file.
func TestSorter(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		s := newSorter(dir, rapid.IntRange(1, 20).Draw(rt, "limit"))
		var want []tuple
		for _, bytes := range rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 3, 3), 0, 100).Draw(rt, "tuples") {
			x := newTuple(digest{bytes[0] % 4}, digest{bytes[1] % 4}, slot{15: bytes[2]})
			want = append(want, x)
			if err := s.add(x); err != nil {
				rt.Fatal(err)
			}
		}
		slices.SortFunc(want, compareTuples)
		var got []tuple
		if err := s.each(func(x *tuple) error { got = append(got, *x); return nil }); err != nil {
			rt.Fatal(err)
		}
		if !slices.Equal(got, want) {
			rt.Error("not sorted")
		}
		if err := s.close(); err != nil {
			rt.Error(err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			rt.Errorf("%d files are left: %v", len(left), err)
		}
	})
}

func TestSlot(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want := spot{rapid.Int64Range(1, maxOrdinal).Draw(rt, "ordinal"), rapid.Int64Range(0, maxPlace).Draw(rt, "place")}
		check := [checkSize]byte(rapid.SliceOfN(rapid.Byte(), checkSize, checkSize).Draw(rt, "check"))
		s, err := newSlot(want.ordinal, want.place, check)
		expect.NoError(rt, err)
		expect.Equal(rt, "s.spot", s.spot(), want)
		expect.Equal(rt, "s.check", s.check(), check)
	})
	for _, s := range []spot{{maxOrdinal + 1, 0}, {1, maxPlace + 1}} {
		if _, err := newSlot(s.ordinal, s.place, [checkSize]byte{}); err == nil {
			t.Errorf("%v fits", s)
		}
	}
}
