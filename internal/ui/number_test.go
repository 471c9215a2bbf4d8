package ui

import (
	"encoding/json"
	"math"
	"strconv"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"pgregory.net/rapid"
)

func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		v                    float64
		up, down, near, full string
	}{
		{0, "0", "0", "0", "0"},
		{1, "1", "1", "1", "1"},
		{0.5, "0.5", "0.5", "0.5", "0.5"},
		{1.000001, "1.0001", "1", "1", "1.000001"},
		{0.9999999, "1", "0.9999", "1", "0.9999999"},
		{0.123454, "0.12346", "0.12345", "0.12", "0.123454"},
		{0.123456, "0.12346", "0.12345", "0.12", "0.123456"},
		{99999.5, "100000", "99990", "100000", "99999.5"},
		{1e-6, "1e-6", "1e-6", "1e-6", "1e-6"},
		{1.234567e-7, "1.2346e-7", "1.2345e-7", "1.2e-7", "1.234567e-7"},
		{0.00012345678, "0.00012346", "0.00012345", "0.00012", "0.00012345678"},
		{123456789, "123460000", "123450000", "120000000", "123456789"},
		{1234567890, "1.2346e9", "1.2345e9", "1.2e9", "1.23456789e9"},
		{1.0 / 30000, "3.3334e-5", "3.3333e-5", "3.3e-5", "1/30000"},
		{math.Inf(1), "∞", "∞", "∞", "∞"},
	} {
		if got := [4]string{AtMost(c.v), AtLeast(c.v), Nearest(c.v), Whole(c.v)}; got != [4]string{c.up, c.down, c.near, c.full} {
			t.Errorf("%v: %q, want %q", c.v, got, [4]string{c.up, c.down, c.near, c.full})
		}
	}
}

// TestShortenedBoundsHold: what is shown of an upper end is never below it, of a
// lower end never above, and both are close.
func TestShortenedBoundsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64Range(0, math.MaxFloat64/2).Draw(t, "v")
		if rapid.Bool().Draw(t, "small") {
			v = math.Exp(-rapid.Float64Range(0, 700).Draw(t, "e"))
		}
		up, err1 := strconv.ParseFloat(AtMost(v), 64)
		down, err2 := strconv.ParseFloat(AtLeast(v), 64)
		same, err3 := strconv.ParseFloat(Decimal(v), 64)
		expect.NoError(t, err1)
		expect.NoError(t, err2)
		expect.NoError(t, err3)
		if !(down <= v && v <= up) || same != v {
			t.Fatalf("%v is shown as %v to %v, in full %v", v, down, up, same)
		}
		// A subnormal number has too few bits for that.
		if v > 1e-300 && up-down > 3e-4*v {
			t.Fatalf("%v is shown as %v to %v", v, down, up)
		}
	})
}

func TestRealInJSON(t *testing.T) {
	text, err := json.Marshal([]Real{Real(math.Inf(1)), 0.1, 1e-300})
	if err != nil || string(text) != `["Infinity",0.1,1e-300]` {
		t.Errorf("%s, %v", text, err)
	}
}
