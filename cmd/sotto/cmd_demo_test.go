package main

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sotto/demo"
	"sotto/prompt"
)

// TestDemoSearch: a secret in any file of a release is found, whatever its case.
func TestDemoSearch(t *testing.T) {
	dir := t.TempDir()
	secrets := demo.Secrets(1000)
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := demoRun{program: &program{json: true}, secrets: secrets}
	d.result.Release = dir
	put("a.txt", "My landlord does not answer.")
	if err := d.search(t.Context()); err != nil || len(d.result.SecretsFound) > 0 {
		t.Errorf("found %q (%v)", d.result.SecretsFound, err)
	}
	put("journal.jsonl", `{"text": "I am `+strings.ToUpper(secrets[7])+`."}`)
	if err := d.search(t.Context()); err != nil || !slices.Contains(d.result.SecretsFound, secrets[7]) {
		t.Errorf("found %q (%v), want %q", d.result.SecretsFound, err, secrets[7])
	}
	d.result.Release = filepath.Join(dir, "none")
	if err := d.search(t.Context()); err == nil {
		t.Error("a folder that cannot be read was not searched")
	}
}

func TestDemoSets(t *testing.T) {
	labels := []string{"a", "b"}
	texts := []synthText{{"1", "a"}, {"2", "b"}, {"3", "b"}, {"4", "a"}, {"5", "a"}}
	want := [][]prompt.Example{{{Input: "1", Output: "a"}, {Input: "2", Output: "b"}}, {{Input: "3", Output: "b"}, {Input: "4", Output: "a"}}}
	if got := demoSets(texts, labels); !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
	if got := demoSets(nil, labels); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

func TestSpread(t *testing.T) {
	mean, deviation := spread([]demoPair{{RealDemos: 0.2}, {RealDemos: 0.4}, {RealDemos: 0.6}}, func(s demoPair) float64 { return s.RealDemos })
	if math.Abs(mean-0.4) > 1e-12 || math.Abs(deviation-0.2) > 1e-12 {
		t.Errorf("%v ± %v", mean, deviation)
	}
}
