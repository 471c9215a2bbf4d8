package search

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/prompt"
)

// TestNearestIsProposed: prompts with the nearest examples of the whole pool play in all rounds but those that vary, with
// each number that there is room for; a winner among them plays again, with one more at most; and each is a prompt that
// the task takes, of the pool as it was, however it grows.
func TestNearestIsProposed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := spaces().Draw(t, "space")
		s.Near = Near{Examples: rapid.SampledFrom([][]int{nil, {1}, {2, 4}, {20}}).Draw(t, "near"), Encoder: "toy"}
		s.Forms = rapid.SampledFrom([][]prompt.Form{nil, {prompt.ChatForm, prompt.MessageForm}}).Draw(t, "forms")
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
			sizes, near := map[int]bool{}, 0
			for i, p := range list {
				if !s.Valid(p) || slices.ContainsFunc(list[:i], p.equal) {
					t.Fatalf("round %d: %+v is not of the space, or is there twice", round, p)
				}
				made := s.Prompt(p)
				if err := made.Check(taskOf(s)); err != nil {
					t.Fatalf("round %d: %+v: %v", round, p, err)
				}
				if (p.Nearest > 0) != made.Nearest.Used() || p.Nearest > 0 && (made.Nearest != prompt.Nearest{Examples: p.Nearest, Encoder: "toy"} || !slices.Equal(made.Examples, s.Pool[:p.Of])) {
					t.Fatalf("round %d: %+v is spelt out as %+v", round, p, made)
				}
				if p.Nearest > 0 {
					near++
					sizes[p.Nearest] = true
				}
			}
			want := 0
			for _, n := range s.Near.Examples {
				if n < len(s.Pool) && len(s.Labels) == 0 {
					want++
				}
			}
			switch {
			case !at.Varies(round) && len(sizes) != want:
				t.Fatalf("round %d has the nearest %v of %d, want %d sizes", round, sizes, len(s.Pool), want)
			case at.Varies(round) && near > 2:
				t.Fatalf("round %d has %d prompts with the nearest examples", round, near)
			case want == 0 && near > 0:
				t.Fatalf("round %d has prompts with the nearest examples, and there is no room for them", round)
			}
			if round >= max(1, at.ExplorationRounds) && !slices.ContainsFunc(list, winners[round-1].equal) {
				t.Fatalf("round %d leaves the winner %+v out", round, winners[round-1])
			}
			winner := rapid.SampledFrom(list).Draw(t, "winner")
			if at := slices.IndexFunc(list, func(p Point) bool { return p.Nearest > 0 }); at >= 0 && rapid.Bool().Draw(t, "nearest wins") {
				winner = list[at]
			}
			data, err := json.Marshal(winner)
			var read Point
			expect.NoError(t, err)
			expect.NoError(t, json.Unmarshal(data, &read))
			expect.True(t, "read equal to winner", reflect.DeepEqual(read, winner), read, winner)
			winners = append(winners, winner)
			s.Pool = append(slices.Clone(s.Pool), prompt.Example{Input: "more", Output: s.outputs()})
		}
	})
}

// outputs is an output that examples of the space may have.
func (s Space) outputs() string {
	if len(s.Labels) > 0 {
		return s.Labels[0]
	}
	return "more"
}

// TestNearestOfTheSpace: points that no round proposed are refused.
func TestNearestOfTheSpace(t *testing.T) {
	s := Space{Pool: make([]prompt.Example, 5), Shots: 1, MaxShots: 2, Near: Near{Examples: []int{2, 4}, Encoder: "toy"}}
	for _, p := range []Point{{Nearest: 2, Of: 5}, {Nearest: 4, Of: 5}, {Nearest: 2, Of: 3}, {}} {
		if !s.Valid(p) {
			t.Errorf("%+v is refused", p)
		}
	}
	for _, p := range []Point{{Nearest: 3, Of: 5}, {Nearest: -2, Of: 5}, {Nearest: 2, Of: 6}, {Nearest: 2, Of: 2}, {Nearest: 2}, {Of: 3}, {Nearest: 2, Of: 5, Set: []int{1}}} {
		if s.Valid(p) {
			t.Errorf("%+v is taken", p)
		}
	}
	labels := s
	labels.Labels = []string{"a", "b"}
	if labels.Valid(Point{Nearest: 2, Of: 5}) || len(labels.nearest(Point{})) > 0 {
		t.Error("a closed list has the nearest examples")
	}
}
