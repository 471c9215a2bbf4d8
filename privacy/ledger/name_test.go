package ledger

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestNames: a name is what this regular expression matches.
func TestNames(t *testing.T) {
	pattern := regexp.MustCompile(`^[\pL\pN][\pL\pN ._/@+-]{0,127}$`)
	for s, want := range map[string]bool{
		"": false, "a": true, " a": false, "-a": false, "Ä/2 ½+@._-": true, "a:b": false, "a\n": false, "a\xff": false, "\xff": false,
		strings.Repeat("é", 128): true, strings.Repeat("é", 129): false,
	} {
		if got := named(s); got != want || want != (pattern.MatchString(s) && !strings.Contains(s, "\xff")) {
			t.Errorf("%q: %v, want %v", s, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringMatching(`[\pL\pN ._/@+:-]{0,130}`)).Draw(t, "name")
		if got, want := named(s), pattern.MatchString(s); got != want {
			t.Errorf("%q: %v, want %v", s, got, want)
		}
	})
}
