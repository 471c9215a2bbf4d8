package models

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// TestInspect compares with what the publishers say of these models.
func TestInspect(t *testing.T) {
	for name, want := range map[string]Facts{
		"smollm2": {Bytes: 98_362_432, Architecture: "llama", Parameters: 134_515_008, Quantisation: "Q4_1", Layers: 30, Context: 8192, Vocabulary: 49152},
		"minilm":  {Bytes: 90_868_376, Architecture: "bert", Parameters: 22_713_216, Quantisation: "F32", Layers: 6, Vocabulary: 30522},
	} {
		t.Run(name, func(t *testing.T) {
			path, _, err := Find(name)
			if err != nil {
				t.Fatalf("%v (in this repository: go run ./cmd/sotto model pull %s)", err, name)
			}
			got, err := Inspect(path)
			if err != nil {
				t.Fatal(err)
			}
			got.Name, got.Licence, got.Types = "", "", nil
			at := expect.At(t, "%s", name)
			expect.Equal(at, "got.Bytes", got.Bytes, want.Bytes)
			expect.Equal(at, "got.Architecture", got.Architecture, want.Architecture)
			expect.Equal(at, "got.Parameters", got.Parameters, want.Parameters)
			expect.Equal(at, "got.Quantisation", got.Quantisation, want.Quantisation)
			expect.Equal(at, "got.Layers", got.Layers, want.Layers)
			expect.Equal(at, "got.Context", got.Context, want.Context)
			expect.Equal(at, "got.Vocabulary", got.Vocabulary, want.Vocabulary)
		})
	}
}

func TestInspectOther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.gguf")
	write(t, path, []byte("a web page"))
	if _, err := Inspect(path); err == nil || !strings.Contains(err.Error(), "not a GGUF file") {
		t.Error(err)
	}
	if _, err := Inspect(filepath.Dir(path)); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Error(err)
	}
	if _, err := Inspect(path + "absent"); err == nil {
		t.Error("a file that is not there")
	}
}
