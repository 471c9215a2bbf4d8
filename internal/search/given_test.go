package search_test

import (
	"testing"

	"sotto/internal/search"
	"sotto/privacy/noise"
	"sotto/prompt"
)

// TestGiven: ready-made sets are proposed as they are, beside no examples, each way.
func TestGiven(t *testing.T) {
	s := search.Space{
		Pool: []prompt.Example{{Input: "a", Output: "x"}, {Input: "b", Output: "y"}}, Labels: []string{"x", "y"}, Shots: 1, Most: 2,
		Given: [][]int{{1, 0}, {0}},
	}
	points, err := s.First(9, noise.KeyFromSeed(1).Stream("search"))
	if err != nil {
		t.Fatal(err)
	}
	if len(points) != 6 || len(points[0].Set) != 0 || points[2].Set[0] != 1 || len(points[4].Set) != 1 || points[2].Calibrated || !points[3].Calibrated {
		t.Errorf("proposed are %v", points)
	}
}
