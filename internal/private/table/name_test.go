package table

import (
	"slices"
	"testing"

	"github.com/sotto-dp/sotto/internal/private/internal/databases"
)

// TestSplitName and what cannot be the name of a table.
func TestSplitName(t *testing.T) {
	for name, want := range map[string][]string{
		"people": {"people"}, "main.people": {"main", "people"}, `"a.b"."c""d"`: {"a.b", `c"d`}, "a b": {"a b"},
		"": nil, ".": nil, "a.": nil, `"a`: nil, `"a"b`: nil, "a.b.c.d": nil, "a\x00b": nil,
	} {
		got, err := splitName(name)
		if !slices.Equal(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%q is %q, want %q: %v", name, got, want, err)
		}
	}
	if got := databases.QuoteAll([]string{`a"; DROP TABLE b; --`, "c"}); got != `"a""; DROP TABLE b; --"."c"` {
		t.Errorf("got %s", got)
	}
}
