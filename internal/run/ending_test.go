package run

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/privacy"
)

// endingPlace has records that end alike, all but one, and a plan that finds out.
func endingPlace(t *testing.T, alike bool) *place {
	t.Helper()
	p := newPlace(t)
	var lines strings.Builder
	for i := range 40 {
		end := "stay sunny!"
		if !alike || i == 0 {
			end = fmt.Sprintf("%s %d", marker, i)
		}
		fmt.Fprintf(&lines, "{\"text\": \"%s %d %s\", \"label\": %q, \"who\": \"%d\"}\n", marker, i, end, []string{"red", "blue"}[i%2], i)
	}
	must(t, os.WriteFile(p.data, []byte(lines.String()), 0o600))
	made := planFor(tickets(), clipped())
	made.Ending = &plan.Ending{Epsilon: 10, Delta: 1e-12, Words: 2, MinUnits: 21}
	p.made = &made
	return p
}

// TestSharedEnding: what most records end with ends every text; where they do not, texts are
// as without. Nothing else of a record is released.
func TestSharedEnding(t *testing.T) {
	for alike, want := range map[bool]string{true: "stay sunny!", false: ""} {
		p := endingPlace(t, alike)
		o := p.options(t, *p.made, newHashModel())
		result, err := p.runner(o, osDisk{}).do(t.Context())
		must(t, err)
		if result.Ending != want {
			t.Errorf("the ending is %q", result.Ending)
		}
		for _, e := range result.Examples {
			if strings.HasSuffix(e.Input, "stay sunny!") != alike {
				t.Errorf("a text is %q", e.Input)
			}
		}
		if !strings.Contains(result.Event.String(), privacy.Approx{Epsilon: 10, Delta: 1e-12}.String()) {
			t.Errorf("the event is %s", result.Event)
		}
		p.keepsSecrets(t, o.Dir)
	}
}

// TestEndingKilledAtEveryPoint: as for texts, with the same ending, files and charge.
func TestEndingKilledAtEveryPoint(t *testing.T) {
	if testing.Short() {
		t.Skip("a run is repeated for each point at which it can end")
	}
	p := endingPlace(t, true)
	want, log := p.reference(t)
	for point := 1; point <= len(log); point++ {
		t.Run(fmt.Sprintf("%d %s", point, log[point-1]), func(t *testing.T) {
			if err := p.disturb(t, want, killAt(point), func(*attempt, Options) {}); !errors.Is(err, errKilled) {
				t.Errorf("the run ended with %v before it was killed", err)
			}
		})
	}
}

func TestWithEnding(t *testing.T) {
	for _, c := range [][3]string{
		{"It is on its way", "Stay sunny", "It is on its way. Stay sunny"},
		{"It is on its way! ", "Stay sunny", "It is on its way! Stay sunny"},
		{"It is. Stay sunny", "Stay sunny", "It is. Stay sunny"},
		{"it is. stay Sunny", "Stay sunny", "it is. stay Sunny"},
		{"as it is ", "", "as it is "},
		{"", "Stay sunny", ""},
	} {
		if got := withEnding(c[0], c[1]); got != c[2] {
			t.Errorf("%q and %q make %q", c[0], c[1], got)
		}
	}
}
