package table_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"pgregory.net/rapid"
)

// TestCellsOfSteps: squares stay within ±Steps, and the cells of a grid are in order.
func TestCellsOfSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.Int32Range(-table.Steps, table.Steps).Draw(t, "a")
		b := rapid.Int32Range(a, table.Steps).Draw(t, "b")
		if s := table.Square(a); s < -table.Steps || s > table.Steps {
			t.Fatalf("the square of %d steps is %d", a, s)
		}
		n := rapid.IntRange(1, 1<<16).Draw(t, "cells")
		c, d := table.GridCell(a, n), table.GridCell(b, n)
		at := expect.At(t, "%d and %d steps", a, b)
		expect.Min(at, "c", c, 0)
		expect.True(at, "d < n", d < n, d)
		expect.Max(at, "c", c, d)
	})
}

// TestSquares: nothing, half, and all of the half width.
func TestSquares(t *testing.T) {
	for steps, want := range map[int32]int64{0: -table.Steps, table.Steps / 2: -table.Steps / 2, -table.Steps / 2: -table.Steps / 2, table.Steps: table.Steps, -table.Steps: table.Steps} {
		if got := table.Square(steps); got != want {
			t.Errorf("the square of %d steps is %d, want %d", steps, got, want)
		}
	}
}

// TestUnitsAreKeyed: the same units have the same hashes with the key of one private folder,
// and others with that of another, so that nobody can make up units that collide.
func TestUnitsAreKeyed(t *testing.T) {
	path := writeFile(t, "a.csv", []byte("days,ward,who\n1,Meadow,anna\n2,Meadow,ben\n3,Meadow,anna\n"))
	hashes := func(private string) (out []table.Unit) {
		d, err := table.Open(t.Context(), path, table.Options{Schema: visits, Unit: "who", Private: private})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		if err := d.Scan(t.Context(), nil, 1, func(_ int, b *table.Batch) error {
			out = append(out, b.Units...)
			return nil
		}); err != nil || len(out) != 3 {
			t.Fatal(out, err)
		}
		return out
	}
	ours, theirs := t.TempDir(), t.TempDir()
	a, b := hashes(ours), hashes(theirs)
	expect.Equal(t, "a[0]", a[0], a[2])
	expect.True(t, "a[0] is not a[1]", a[0] != a[1], a[0])
	expect.True(t, "a equal to hashes(ours)", slices.Equal(a, hashes(ours)), a, hashes(ours))
	// By chance with probability 2^-128.
	if a[0] == b[0] || a[1] == b[1] {
		t.Errorf("two keys have the same hashes, %x and %x", a, b)
	}
}

func TestLayouts(t *testing.T) {
	l := table.Layout{
		By:         []table.Partition{{Column: 4, Classes: 2, Class: []uint16{0, 1, 0}}, {Column: 1, Classes: 3, Cuts: []int32{-5, 5}}},
		Sums:       []int{0, 1},
		Squares:    []int{1},
		Histograms: []table.Histogram{{Column: 2, Cells: 7}, {Column: 0, Cells: 2, Edges: []int32{0}}},
	}
	if err := l.Check(); err != nil {
		t.Fatal(err)
	}
	if l.Groups() != 6 || l.Cells() != 13 {
		t.Errorf("%d groups of %d cells, want 6 of 13", l.Groups(), l.Cells())
	}
	got := l.Columns()
	at := expect.At(t, "columns")
	expect.Len(at, "got", got, 4)
	expect.Equal(at, "got[0]", got[0], 0)
	expect.Equal(at, "got[3]", got[3], 4)
	for name, c := range map[string]struct {
		l    table.Layout
		says string
	}{
		"no class":        {table.Layout{By: []table.Partition{{}}}, "groups"},
		"too many groups": {table.Layout{By: []table.Partition{{Classes: 1 << 13}, {Classes: 1 << 13}}}, "groups"},
		"another class":   {table.Layout{By: []table.Partition{{Classes: 2, Class: []uint16{0, 2}}}}, "class 2 of 2"},
		"cuts":            {table.Layout{By: []table.Partition{{Classes: 2, Cuts: []int32{1, 2}}}}, "cuts"},
		"cuts of classes": {table.Layout{By: []table.Partition{{Classes: 2, Class: []uint16{0, 1}, Cuts: []int32{1, 2}}}}, "cuts"},
		"order of cuts":   {table.Layout{By: []table.Partition{{Classes: 3, Cuts: []int32{2, 1}}}}, "increasing"},
		"no cells":        {table.Layout{Histograms: []table.Histogram{{}}}, "cells"},
		"edges":           {table.Layout{Histograms: []table.Histogram{{Cells: 3, Edges: []int32{1}}}}, "edges"},
		"edges of a grid": {table.Layout{Histograms: []table.Histogram{{Cells: 2, Grid: true, Edges: []int32{1}}}}, "edges"},
		"too many cells": {table.Layout{
			By: []table.Partition{{Classes: 1 << 10}}, Histograms: []table.Histogram{{Cells: 1 << 14}},
		}, "more than"},
	} {
		if err := c.l.Check(); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want one that says %q", name, err, c.says)
		}
	}
}
