package search

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// TestForms: where prompts are turns, each proposal of each round has one of the forms and is in the
// space, none is calibrated, and the task without examples is asked in the usual form.
func TestForms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := spaces().Draw(t, "space")
		s.Forms = rapid.SampledFrom([][]prompt.Form{{prompt.ChatForm}, {prompt.ChatForm, prompt.MessageForm}, {prompt.MessageForm, prompt.ChatForm}}).Draw(t, "forms")
		at := Schedule{Rounds: 5, ExplorationRounds: rapid.Int64Range(1, 3).Draw(t, "heats"), First: 4, Next: 4}
		r := noise.KeyFromSeed(rapid.Uint64().Draw(t, "seed")).Stream("search")
		var winners []Point
		for round := range at.Rounds {
			list, err := s.Propose(at, winners, r)
			if err != nil || len(list) == 0 {
				t.Fatalf("round %d: %d proposals, %v", round, len(list), err)
			}
			for _, p := range list {
				about := expect.At(t, "round %d proposes %+v", round, p)
				expect.True(about, "s.Valid(p)", s.Valid(p), p)
				expect.True(about, "not p.Calibrated", !p.Calibrated)
				expect.True(about, "p.Form in s.Forms", slices.Contains(s.Forms, p.Form), p.Form, s.Forms)
				expect.Equal(about, "s.Prompt(p).Form", s.Prompt(p).Form, p.Form)
			}
			if !at.Varies(round) && !slices.ContainsFunc(list, Point{Form: s.Forms[0]}.equal) {
				t.Fatalf("round %d does not propose the task without examples: %+v", round, list)
			}
			winners = append(winners, rapid.SampledFrom(list).Draw(t, "winner"))
		}
	})
}

// TestFormsAreTried: where there are two forms, both are proposed, the usual one more often, and
// variations change from one to the other.
func TestFormsAreTried(t *testing.T) {
	s := Space{Labels: []string{"a", "b"}, Shots: 2, MaxShots: 4, Forms: []prompt.Form{prompt.ChatForm, prompt.MessageForm}}
	for _, l := range []string{"a", "b", "a", "b", "a", "b", "a", "b"} {
		s.Pool = append(s.Pool, prompt.Example{Input: "text", Output: l})
	}
	r := noise.KeyFromSeed(1).Stream("search")
	list, err := s.First(200, r)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[prompt.Form]int{}
	for _, p := range list {
		counts[p.Form]++
	}
	if counts[prompt.MessageForm] < 10 || counts[prompt.ChatForm] < 2*counts[prompt.MessageForm] {
		t.Errorf("%v", counts)
	}
	changed := 0
	for range 50 {
		for _, p := range s.Next(Point{Set: []int{0, 1}, Form: prompt.MessageForm}, 8, r) {
			if p.Form == prompt.ChatForm {
				changed++
			}
		}
	}
	if changed < 3 || changed > 100 {
		t.Errorf("%d of 400 variations have the other form", changed)
	}
}

// TestValidForms: a point of a journal has a form of the space, and turns are not calibrated.
func TestValidForms(t *testing.T) {
	text := Space{Labels: []string{"a", "b"}}
	turns := text
	turns.Forms = []prompt.Form{prompt.ChatForm, prompt.MessageForm}
	one := text
	one.Forms = turns.Forms[:1]
	for _, c := range []struct {
		name  string
		space Space
		point Point
		want  bool
	}{
		{"a text", text, Point{}, true},
		{"a calibrated text", text, Point{Calibrated: true}, true},
		{"turns among texts", text, Point{Form: prompt.ChatForm}, false},
		{"turns", turns, Point{Form: prompt.ChatForm}, true},
		{"a message", turns, Point{Form: prompt.MessageForm}, true},
		{"a message among turns alone", one, Point{Form: prompt.MessageForm}, false},
		{"a text among turns", turns, Point{}, false},
		{"a named text among turns", turns, Point{Form: prompt.TextForm}, false},
		{"calibrated turns", turns, Point{Form: prompt.ChatForm, Calibrated: true}, false},
		{"a form that is none", turns, Point{Form: "x"}, false},
	} {
		if got := c.space.Valid(c.point); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
