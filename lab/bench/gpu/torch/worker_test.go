package torch

import (
	"os"
	"os/exec"
	"testing"
)

// TestWorker runs the worker's own tests: kernels against PyTorch, without a GPU.
func TestWorker(t *testing.T) {
	python := os.Getenv("SOTTO_TORCH")
	if python == "" {
		t.Skip("set SOTTO_TORCH to a Python that has PyTorch to run this test")
	}
	command := exec.Command(python, "worker_test.py")
	command.Env = append(os.Environ(), "TRITON_INTERPRET=1", "PYTHONDONTWRITEBYTECODE=1")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
