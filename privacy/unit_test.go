package privacy_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	. "github.com/sotto-dp/sotto/privacy"
)

// TestUnits: a unit is what people write, and the same spelling means the same unit.
func TestUnits(t *testing.T) {
	for text, want := range map[string]struct {
		unit   Unit
		column string
	}{
		"": {Record, ""}, "record": {Record, ""}, "author": {"user:author", "author"}, "user:author": {"user:author", "author"},
		"user:record": {"user:record", "record"}, "user:user:a": {"user:user:a", "user:a"}, "RECORD": {"user:RECORD", "RECORD"},
	} {
		t.Run(text, func(t *testing.T) {
			got, err := ParseUnit(text)
			expect.NoError(t, err)
			expect.Equal(t, "got", got, want.unit)
			expect.Equal(t, "got.Column", got.Column(), want.column)
		})
	}
	if got, err := ParseUnit("user:"); err == nil {
		t.Errorf("a unit without a column is read as %q", got)
	}
	expect.True(t, "Unit(\"user:\").Column() != Record.Column()", Unit("user:").Column() != Record.Column())
	expect.Equal(t, "Unit(\"\").Column", Unit("").Column(), Record.Column())
	expect.Equal(t, "Unit(\"author\").Column", Unit("author").Column(), "author")
}

// TestUnitsOfAnyColumn: whatever a column is called, it can be a unit.
func TestUnitsOfAnyColumn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		column := rapid.StringN(1, 20, -1).Draw(t, "column")
		got, err := ParseUnit("user:" + column)
		if err != nil || got.Column() != column {
			t.Fatalf("%q, %v", got, err)
		}
		if again, err := ParseUnit(string(got)); err != nil || again != got {
			t.Fatalf("%q is read as %q: %v", got, again, err)
		}
	})
}
