package search_test

import (
	"slices"
	"testing"

	"github.com/sotto-dp/sotto/internal/plan/search"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// TestGiven: ready-made sets are proposed as they are, beside no examples, each way.
func TestGiven(t *testing.T) {
	s := search.Space{
		Pool: []prompt.Example{{Input: "a", Output: "x"}, {Input: "b", Output: "y"}}, Labels: []string{"x", "y"}, Shots: 1, MaxShots: 2,
		Given: [][]int{{1, 0}, {0}},
	}
	points, err := s.First(9, noise.KeyFromSeed(1).Stream("search"))
	if err != nil {
		t.Fatal(err)
	}
	expect.Len(t, "points", points, 6)
	expect.Len(t, "points[0].Set", points[0].Set, 0)
	expect.Equal(t, "points[2].Set[0]", points[2].Set[0], 1)
	expect.Len(t, "points[4].Set", points[4].Set, 1)
	expect.True(t, "not points[2].Calibrated", !points[2].Calibrated)
	expect.True(t, "points[3].Calibrated", points[3].Calibrated)
}

// TestVaries: the rounds that vary a winner are those whose proposals hold it and others that
// are none of the winners.
func TestVaries(t *testing.T) {
	for _, c := range []struct {
		rounds, heats int64
		finalists     int
		want          []int64
	}{
		{1, 1, 0, nil},
		{2, 1, 0, []int64{1}},
		{3, 1, 0, []int64{1}},
		{5, 1, 0, []int64{1, 2, 3}},
		{6, 3, 0, []int64{4}},
		{2, 1, 6, []int64{1}},
		{5, 1, 6, []int64{1, 2, 3, 4}},
		{6, 3, 2, []int64{4, 5}},
	} {
		at := search.Schedule{Rounds: c.rounds, ExplorationRounds: c.heats, First: 3, Next: 2, Finalists: c.finalists}
		var got []int64
		for round := range c.rounds + int64(min(1, c.finalists)) {
			if at.Varies(round) {
				got = append(got, round)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%d rounds, %d heats: %v", c.rounds, c.heats, got)
		}
	}
}
