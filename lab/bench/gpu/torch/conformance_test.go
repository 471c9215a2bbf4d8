package torch

import (
	"os"
	"testing"

	"github.com/sotto-dp/sotto/lm/lmtest"
	"github.com/sotto-dp/sotto/lm/models"
)

// openDefault starts workers with the default model where SOTTO_TORCH names a Python
// that has PyTorch; elsewhere the test is skipped.
func openDefault(t *testing.T, o Options) *Model {
	t.Helper()
	python := os.Getenv("SOTTO_TORCH")
	if python == "" {
		t.Skip("set SOTTO_TORCH to a Python that has PyTorch to run this test")
	}
	path, _, err := models.Find(models.Default)
	if err != nil {
		t.Fatalf("%v\nrun: go run ./cmd/sotto model pull", err)
	}
	o.Python, o.Log = python, os.Stderr
	m, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

func TestConformance(t *testing.T) {
	m := openDefault(t, Options{Verbose: true})
	lmtest.Run(t, m)
	if n := m.worker.books.used(); n != 0 {
		t.Errorf("%d pages are in use though all sessions are closed", n)
	}
}
