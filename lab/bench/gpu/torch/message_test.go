package torch

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
)

// TestShare lays out a reply as worker.py does and reads it back.
func TestShare(t *testing.T) {
	candidates := []lm.Token{7, 3}
	requests := []*request{
		{steps: []lm.Step{{Ask: lm.Ask{All: true}}, {Ask: lm.Ask{Candidates: candidates}}, {}, {Tokens: []lm.Token{0, 3, 2}, Ask: lm.Ask{Given: 2}}}},
		{steps: []lm.Step{{Ask: lm.Ask{Top: 3}}, {Ask: lm.Ask{Candidates: candidates[1:]}}}},
	}
	var reply []byte
	floats := func(list ...float32) {
		for _, f := range list {
			reply = binary.LittleEndian.AppendUint32(reply, math.Float32bits(f))
		}
	}
	floats(-1, -2, 0) // candidates of both requests
	for _, token := range []uint32{5, 9, 8} {
		reply = binary.LittleEndian.AppendUint32(reply, token)
	}
	floats(-1, -3, -3)     // of the best tokens, two of which are equal
	floats(-4, -5, -6, -7) // all of a vocabulary of four
	for i, best := range []uint32{3, 1} {
		reply = binary.LittleEndian.AppendUint32(reply, best)
		floats(float32(-8 - i)) // of a given token
	}
	if err := share(reply, requests, 4); err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		request, step int
		tokens        []lm.Token
		logs          []float64
		best          []lm.Token
	}{
		{0, 0, nil, []float64{-4, -5, -6, -7}, nil},
		{0, 1, candidates, []float64{-1, -2}, nil},
		{0, 2, nil, nil, nil},
		{0, 3, []lm.Token{3, 2}, []float64{-8, -9}, []lm.Token{3, 1}},
		{1, 0, []lm.Token{5, 8, 9}, []float64{-1, -3, -3}, nil},
		{1, 1, candidates[1:], []float64{0}, nil},
	} {
		r := requests[want.request]
		got, err := scores(r.steps[want.step], r.raw[want.step])
		at := expect.At(t, "request %d, step %d", want.request, want.step)
		expect.NoError(at, err)
		expect.True(at, "got.Tokens equal to want.tokens", slices.Equal(got.Tokens, want.tokens), got.Tokens, want.tokens)
		expect.True(at, "got.LogProbs equal to want.logs", slices.Equal(got.LogProbs, want.logs), got.LogProbs, want.logs)
		expect.True(at, "got.Best equal to want.best", slices.Equal(got.Best, want.best), got.Best, want.best)
	}
	for _, wrong := range [][]byte{reply[:len(reply)-4], append(slices.Clone(reply), 0, 0, 0, 0)} {
		if err := share(wrong, requests, 4); err == nil {
			t.Errorf("a reply of %d bytes was taken for one of %d", len(wrong), len(reply))
		}
	}
	nan := binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(math.NaN())))
	if _, err := scores(lm.Step{Ask: lm.Ask{Candidates: candidates[:1]}}, nan); err == nil {
		t.Error("a score that is not a number was accepted")
	}
}

// TestMessage checks the layout that worker.py reads.
func TestMessage(t *testing.T) {
	list := []lm.Token{4, 5, 6}
	r := &request{
		steps: []lm.Step{
			{Tokens: []lm.Token{11, 12}, Ask: lm.Ask{Candidates: list}},
			{Ask: lm.Ask{Candidates: list}},
			{Tokens: []lm.Token{13}, Ask: lm.Ask{Top: 9}},
			{Tokens: []lm.Token{14, 15, 16}, Ask: lm.Ask{Given: 2}},
		},
		grown: []*growth{
			{of: &sequence{length: 5}, pages: []int32{2, 3}, copies: true, copied: [2]int32{1, 3}, state: 0},
			{of: &sequence{length: 8}, pages: []int32{4}, state: 1},
			{of: &sequence{}, pages: []int32{6}, state: 2},
			{of: &sequence{}, pages: []int32{7}, state: 3},
		},
	}
	m := &message{lists: map[listKey]int32{}}
	m.add(r)
	want := []int32{
		1, 4, 6, 4, 1, 3, // numbers of what follows
		1, 3, // copies
		5, 8, 0, 0, 2, 0, 1, 3, 2, 0, 1, 1, // start, count, pages
		0, 1, 2, 3, 1, 1, 2, 4, 0, 0, 9, 2, // state, ask, argument
		11, 12, 13, 14, 15, 16, 2, 3, 6, 7, // tokens, pages: an ask alone needs none
		3, 4, 5, 6, // one list, sent once
	}
	data := m.bytes()
	if n := binary.LittleEndian.Uint64(data); n != uint64(4*len(want)) || len(data) != 8+4*len(want) {
		t.Fatalf("%d bytes that say to be %d", len(data)-8, n)
	}
	for i, w := range want {
		if got := int32(binary.LittleEndian.Uint32(data[8+4*i:])); got != w {
			t.Errorf("number %d is %d, not %d", i, got, w)
		}
	}
}
