package main

import "testing"

func TestNumberFlag(t *testing.T) {
	for s, want := range map[string]float64{"1e-6": 1e-6, "1/30000": 1.0 / 30000, " 3 / 4 ": 0.75, "0": 0} {
		var n number
		if err := n.Set(s); err != nil || n.value != want || !n.set {
			t.Errorf("%q: %v, %v, want %v", s, n.value, err, want)
		}
	}
	for _, s := range []string{"", "x", "1/0", "1/", "/2", "1e-6e", "1/2/3", "1,5"} {
		var n number
		if err := n.Set(s); err == nil || n.set {
			t.Errorf("%q is taken as %v", s, n.value)
		}
	}
}
