package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/sotto-dp/sotto/internal/plan/forecast"
	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// TestTable: the program's table is what make forecast makes of the published results.
func TestTable(t *testing.T) {
	var folders []string
	for _, source := range forecast.Measured().Sources {
		folders = append(folders, filepath.Join("..", "results", source))
	}
	got, err := gather(folders)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "table.json")
	expect.NoError(t, write(path, got))
	made, err := os.ReadFile(path)
	expect.NoError(t, err)
	kept, err := os.ReadFile("../../internal/plan/forecast/table.json")
	expect.NoError(t, err)
	if !bytes.Equal(made, kept) {
		t.Error("internal/plan/forecast/table.json is not of these results: make forecast")
	}
}

// TestWeight: the rounds of choosing are told from the writing of a pool.
func TestWeight(t *testing.T) {
	for event, want := range map[string]float64{
		"repeat(9, poisson(0.034, boundedrange(2)))": 68,
		"compose(repeat(6, poisson(0.5, repeat(60, boundedrange(0.25)))), repeat(2, poisson(0.125, boundedrange(3))))": 375,
		"compose(boundedrange(0.125), laplace(200))":                                                       125,
		"compose(poisson(0.5, boundedrange(1)), repeat(5, poisson(0.125, boundedrange(3))), laplace(200))": 375,
	} {
		got, _, err := weightOf(event, 1000)
		if err != nil || got != want {
			t.Errorf("%s: %v, %v", event, got, err)
		}
	}
	if _, _, err := weightOf("gaussian(3)", 10); err == nil {
		t.Error("no rounds, and no error")
	}
}
