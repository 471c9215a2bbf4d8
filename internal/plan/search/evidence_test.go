package search

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/prompt"
)

// withEvidence has a space use evidence in some of the ways.
func withEvidence(t *rapid.T, s Space) Space {
	s.Uses = Uses{
		Weights: []float64{0.5, 1}[:rapid.IntRange(0, 2).Draw(t, "weights")],
		Hints:   rapid.IntRange(0, prompt.Hints()).Draw(t, "hints"),
		Alone:   rapid.Bool().Draw(t, "alone"),
	}
	return s
}

// taskOf is one whose prompts a space has.
func taskOf(s Space) prompt.Task {
	kind := prompt.Classify
	if len(s.Labels) == 0 {
		kind = prompt.Extract
	}
	return prompt.Task{Name: "test", Kind: kind, Labels: s.Labels}.WithDefaults()
}

// TestEvidenceIsProposed: in each round every proposal is a prompt of the space that the task takes, each
// once, and each text is read with evidence of each weight; evidence alone plays in all rounds but those
// that vary, and the last winner in those after the first.
func TestEvidenceIsProposed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := withEvidence(t, spaces().Draw(t, "space"))
		s.Forms = rapid.SampledFrom([][]prompt.Form{nil, nil, {prompt.ChatForm}, {prompt.ChatForm, prompt.MessageForm}}).Draw(t, "forms")
		if len(s.Forms) > 0 {
			s.Reading = ""
		}
		at := Schedule{Rounds: rapid.Int64Range(1, 6).Draw(t, "rounds"), ExplorationRounds: rapid.Int64Range(0, 2).Draw(t, "heats"), First: 5, Next: 4, Finalists: rapid.IntRange(0, 3).Draw(t, "finalists")}
		rounds := at.Rounds + int64(min(1, at.Finalists))
		var winners []Point
		for round := range rounds {
			list, err := s.Propose(at, winners, key.Stream("search", uint64(round)))
			if err != nil {
				t.Fatal(err)
			}
			for i, p := range list {
				if !s.Valid(p) {
					t.Fatalf("round %d: %+v is not of the space", round, p)
				}
				if slices.ContainsFunc(list[:i], p.equal) {
					t.Fatalf("round %d: %+v is proposed twice", round, p)
				}
				if err := s.Prompt(p).Check(taskOf(s)); err != nil {
					t.Fatalf("round %d: %+v: %v", round, p, err)
				}
				if s.Prompt(p).Evidence != p.Evidence {
					t.Fatalf("round %d: %+v is spelt out with other evidence", round, p)
				}
				if missing := s.unpaired(list, p); missing != nil {
					t.Fatalf("round %d proposes %+v, and not %+v", round, p, *missing)
				}
			}
			plays := slices.ContainsFunc(list, s.alone().equal)
			if want := s.Uses.Alone && len(s.Labels) > 0; !at.Varies(round) && plays != want {
				t.Fatalf("round %d: evidence alone plays: %v, want %v", round, plays, want)
			}
			if round >= max(1, at.ExplorationRounds) && !slices.ContainsFunc(list, winners[round-1].equal) {
				t.Fatalf("round %d leaves the winner %+v out", round, winners[round-1])
			}
			again, err := s.Propose(at, slices.Clone(winners), key.Stream("search", uint64(round)))
			if err != nil || !reflect.DeepEqual(again, list) {
				t.Fatalf("round %d is another one when it is asked for again: %v", round, err)
			}
			winners = append(winners, rapid.SampledFrom(list).Draw(t, "winner"))
		}
	})
}

// unpaired is a reading of a point that a list lacks.
func (s Space) unpaired(list []Point, p Point) *Point {
	if len(s.Labels) == 0 || len(s.Forms) > 0 || p.Evidence == alone {
		return nil
	}
	uses := []prompt.Use{p.Evidence}
	if p.Evidence.How != prompt.Hinted {
		uses = []prompt.Use{{}}
		for _, w := range s.Uses.Weights {
			uses = append(uses, prompt.Use{How: prompt.Combined, Weight: w})
		}
	}
	for _, use := range uses {
		for _, calibrated := range []bool{false, true} {
			if calibrated && s.Reading == Raw || !calibrated && s.Reading == Calibrated {
				continue
			}
			other := p
			other.Evidence, other.Calibrated = use, calibrated
			if !slices.ContainsFunc(list, other.equal) {
				return &other
			}
		}
	}
	return nil
}

// small is a space with evidence, of texts with labels.
func small() Space {
	s := Space{Labels: []string{"a", "b"}, Shots: 2, MaxShots: 4, Uses: Uses{Weights: []float64{0.5, 1}, Hints: 2, Alone: true}}
	for i := range 12 {
		s.Pool = append(s.Pool, prompt.Example{Input: fmt.Sprint("text ", i), Output: s.Labels[i%2]})
	}
	return s
}

// TestFirstWithEvidence: evidence takes no place of a random set, every fourth of which has a hint, in all
// wordings, and no examples have a hint of each.
func TestFirstWithEvidence(t *testing.T) {
	s := small()
	list, err := s.First(16, key.Stream("first"))
	if err != nil {
		t.Fatal(err)
	}
	sets, hinted, bare := map[string]bool{}, map[int]int{}, map[int]bool{}
	for _, p := range list {
		if p.Evidence.How == prompt.Hinted && len(p.Set) == 0 {
			bare[p.Evidence.Wording] = true
		}
		if len(p.Set) == 0 || sets[fmt.Sprint(p.Set, p.Evidence.How == prompt.Hinted)] {
			continue
		}
		sets[fmt.Sprint(p.Set, p.Evidence.How == prompt.Hinted)] = true
		if p.Evidence.How == prompt.Hinted {
			hinted[p.Evidence.Wording]++
		}
	}
	if len(sets) != 16 {
		t.Errorf("%d random sets, want 16", len(sets))
	}
	if hinted[0] != 2 || hinted[1] != 2 {
		t.Errorf("%v of them have hints, want 2 of each wording", hinted)
	}
	if len(bare) != 2 {
		t.Errorf("no examples have hints of %d wordings, want 2", len(bare))
	}
}

// TestNextAfterAlone: there is nothing to vary, so random sets are proposed beside it.
func TestNextAfterAlone(t *testing.T) {
	s := small()
	list := s.Next(s.alone(), 6, key.Stream("next"))
	if !slices.ContainsFunc(list, s.alone().equal) {
		t.Error("the winner is not proposed")
	}
	sets := map[string]bool{}
	for _, p := range list {
		if len(p.Set) > 0 {
			sets[fmt.Sprint(p.Set)] = true
		}
	}
	if len(sets) != 5 {
		t.Errorf("%d sets are proposed beside it, want 5", len(sets))
	}
	s.Pool = nil
	if list := s.Next(s.alone(), 6, key.Stream("next")); !slices.ContainsFunc(list, s.none().equal) {
		t.Errorf("without a pool %+v are proposed", list)
	}
}

// TestHintsAreToggled: about 8 in 100 variations get or lose a hint, and all others keep it. Fewer than 80
// or more than 240 of 2000 come once in 10^9 times or less.
func TestHintsAreToggled(t *testing.T) {
	s := small()
	for _, winner := range []Point{{Set: []int{0, 1}}, {Set: []int{0, 1}, Evidence: hint(1)}} {
		toggled := 0
		wordings := map[int]bool{}
		r := key.Stream("toggle")
		for range 2000 {
			p := s.vary(winner, r)
			if p.Evidence.How == winner.Evidence.How {
				if p.Evidence != winner.Evidence {
					t.Fatalf("%+v changes its wording to %+v", winner, p)
				}
				continue
			}
			toggled++
			wordings[p.Evidence.Wording] = true
			if !slices.Equal(p.Set, winner.Set) {
				t.Fatalf("%+v changes two things: %+v", winner, p)
			}
		}
		if toggled < 80 || toggled > 240 {
			t.Errorf("%d of 2000 variations of %+v change the hint", toggled, winner)
		}
		if winner.Evidence.Used() != (len(wordings) == 1) {
			t.Errorf("%+v gets %d wordings", winner, len(wordings))
		}
	}
}

// TestFinalKeepsHints: a hint is part of what won, and how labels are read off is not.
func TestFinalKeepsHints(t *testing.T) {
	s := small()
	for _, winner := range []Point{{Set: []int{0}, Evidence: hint(0)}, {Set: []int{0}, Evidence: combined(1)}, s.alone()} {
		for what, list := range map[string][]Point{"the last round": s.final([]Point{winner}, 3), "a varying round": s.Next(winner, 3, key.Stream("next"))} {
			t.Run(what, func(t *testing.T) {
				if !slices.ContainsFunc(list, winner.equal) {
					t.Errorf("%s leaves %+v out", what, winner)
				}
				plain := winner
				plain.Evidence = prompt.Use{}
				if got, want := slices.ContainsFunc(list, plain.equal), winner.Evidence.How == prompt.Combined; len(plain.Set) > 0 && what == "the last round" && got != want {
					t.Errorf("%s has %+v without evidence: %v, want %v", what, winner, got, want)
				}
			})
		}
	}
}

// TestValidEvidence: a point of a journal uses evidence in a way that the space has.
func TestValidEvidence(t *testing.T) {
	text := small()
	turns := text
	turns.Forms = []prompt.Form{prompt.ChatForm}
	none := text
	none.Uses = Uses{}
	open := text
	open.Labels = nil
	in := func(how prompt.How, weight float64, wording int) Point {
		return Point{Evidence: prompt.Use{How: how, Weight: weight, Wording: wording}}
	}
	chat := func(p Point) Point {
		p.Form = prompt.ChatForm
		return p
	}
	with := func(p Point) Point {
		p.Set = []int{0}
		return p
	}
	for _, c := range []struct {
		name  string
		space Space
		point Point
		want  bool
	}{
		{"combined", text, with(in(prompt.Combined, 0.5, 0)), true},
		{"combined in turns", turns, chat(in(prompt.Combined, 0.5, 0)), false},
		{"another weight", text, in(prompt.Combined, 0.7, 0), false},
		{"a weight and a wording", text, in(prompt.Combined, 0.5, 1), false},
		{"a hint", text, with(in(prompt.Hinted, 0, 1)), true},
		{"a hint in turns", turns, chat(in(prompt.Hinted, 0, 1)), true},
		{"no such wording", text, in(prompt.Hinted, 0, 2), false},
		{"a wording below", text, in(prompt.Hinted, 0, -1), false},
		{"a hint with a weight", text, in(prompt.Hinted, 1, 0), false},
		{"alone", text, in(prompt.Alone, 0, 0), true},
		{"alone in turns", turns, chat(in(prompt.Alone, 0, 0)), true},
		{"alone with examples", text, with(in(prompt.Alone, 0, 0)), false},
		{"alone with a weight", text, in(prompt.Alone, 1, 0), false},
		{"no way", text, in("x", 0, 0), false},
		{"a weight that is not used", text, in("", 1, 0), false},
		{"where there is none", none, in(prompt.Alone, 0, 0), false},
		{"combined where there is none", none, in(prompt.Combined, 0.5, 0), false},
		{"a hint where there is none", none, in(prompt.Hinted, 0, 0), false},
		{"where there are no labels", open, in(prompt.Hinted, 0, 0), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.space.Valid(c.point); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
			raw, err := json.Marshal(c.point)
			if err != nil {
				t.Fatal(err)
			}
			var back Point
			if err := json.Unmarshal(raw, &back); err != nil || !back.equal(c.point) {
				t.Errorf("it comes back from a journal as %+v: %v", back, err)
			}
		})
	}
}

// TestNoEvidence: a space without evidence, or without labels, proposes none, and the same as ever.
func TestNoEvidence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := spaces().Draw(t, "space")
		with := withEvidence(t, s)
		with.Labels, s.Labels = nil, nil
		with.Reading, s.Reading = "", ""
		winner, r := Point{}, stream(t)
		for _, at := range []Schedule{{Rounds: 1, First: 6, Next: 6}, {Rounds: 2, First: 6, Next: 6}} {
			var winners []Point
			if at.Rounds == 2 {
				winners = []Point{winner}
			}
			got, err := with.Propose(at, winners, r())
			if err != nil {
				t.Fatal(err)
			}
			want, err := s.Propose(at, winners, r())
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("without labels evidence changes what is proposed: %v", err)
			}
			if raw, err := json.Marshal(got); err != nil || bytes.Contains(raw, []byte("evidence")) {
				t.Fatalf("%s, %v", raw, err)
			}
		}
	})
}

// TestOnlyEvidence: where only prompts that use evidence compete, each round proposes some, and no other; without a
// way to use it, all compete.
func TestOnlyEvidence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := withEvidence(t, spaces().Draw(t, "space"))
		s.Forms = rapid.SampledFrom([][]prompt.Form{nil, {prompt.ChatForm}, {prompt.ChatForm, prompt.MessageForm}}).Draw(t, "forms")
		s.Uses.Only = true
		ways := s.Uses.Alone || s.Uses.Hints > 0 || len(s.Uses.Weights) > 0 && len(s.Forms) == 0
		at := Schedule{Rounds: 4, ExplorationRounds: 1, First: 5, Next: 4, Finalists: 2}
		var winners []Point
		for round := range at.Rounds + 1 {
			list, err := s.Propose(at, winners, key.Stream("only", uint64(round)))
			if err != nil {
				t.Fatal(err)
			}
			if len(list) == 0 {
				t.Fatalf("round %d: nothing is proposed", round)
			}
			for _, p := range list {
				if got, want := p.Evidence.Used(), ways && len(s.Labels) > 0; got != want {
					t.Fatalf("round %d: %+v uses evidence: %v, want %v", round, p, got, want)
				}
			}
			winners = append(winners, list[rapid.IntRange(0, len(list)-1).Draw(t, "winner")])
		}
	})
}
