package spell_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/sys/spell"
)

func TestNear(t *testing.T) {
	known := []string{"clipped", "gaussian", "real", "radius"}
	for name, want := range map[string][]string{
		"cliped": {"clipped"}, "Gausian": {"gaussian"}, "rael": {"real"}, "nothing": nil, "": nil, "clipped": {"clipped"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := spell.Near(name, known); !slices.Equal(got, want) {
				t.Errorf("%v instead of %v", got, want)
			}
		})
	}
}

// TestTwoLetters: any two changes are forgiven.
func TestTwoLetters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-z]{3,12}`).Draw(t, "word")
		wrong := []byte(word)
		for range rapid.IntRange(0, 2).Draw(t, "changes") {
			at := rapid.IntRange(0, len(wrong)-1).Draw(t, "at")
			switch rapid.IntRange(0, 2).Draw(t, "change") {
			case 0:
				wrong[at] = 'x'
			case 1:
				wrong = slices.Insert(wrong, at, 'y')
			default:
				wrong = slices.Delete(wrong, at, at+1)
			}
		}
		if len(spell.Near(string(wrong), []string{word})) != 1 {
			t.Fatalf("%q is not near %q", wrong, word)
		}
	})
}
