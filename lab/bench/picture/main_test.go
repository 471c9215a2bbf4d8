package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestPicture: the picture in the README is drawn from the results that are here.
func TestPicture(t *testing.T) {
	const docs = "../../../docs"
	out := filepath.Join(t.TempDir(), "result.svg")
	if err := draw(out, []string{"../../results/choose-text", "../../results/choose-qwen"}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(docs + "/pictures/result.svg")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("docs/pictures/result.svg is stale: run make picture")
	}
}
