package bounded_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/bounded"
)

// TestDepth: what is nested too deep is refused, and what is not is accepted.
func TestDepth(t *testing.T) {
	for n, ok := range map[int]bool{bounded.Depth: true, bounded.Depth + 1: false} {
		text := strings.Repeat(`{"[{\"":[`, n/2) + strings.Repeat("[", n%2) + strings.Repeat("]", n%2) + strings.Repeat("]}", n/2)
		if err := bounded.JSON([]byte(text), bounded.Small); (err == nil) != ok || !json.Valid([]byte(text)) {
			t.Errorf("%d levels of JSON: %v", n, err)
		}
	}
}

// TestSize: what is too large is refused, and a file is not read to find out.
func TestSize(t *testing.T) {
	if err := bounded.JSON(make([]byte, 11), 10); err == nil || err.Error() != "it is larger than 10 bytes" {
		t.Error(err)
	}
	if err := bounded.JSON(make([]byte, 10), 10); err != nil {
		t.Error(err)
	}
	if data, err := bounded.Read(endless{}, 10); len(data) != 0 || err == nil {
		t.Error(data, err)
	}
	path := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(path, make([]byte, 11), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := bounded.ReadFile(path, 10); err == nil || !strings.Contains(err.Error(), path) {
		t.Error(data, err)
	}
	if data, err := bounded.ReadFile(path, 11); err != nil || len(data) != 11 {
		t.Error(data, err)
	}
	if _, err := bounded.ReadFile(filepath.Dir(path), 11); err == nil || !strings.Contains(err.Error(), "not a file") {
		t.Error(err)
	}
	var v int
	if err := bounded.UnmarshalJSON([]byte(strings.Repeat("[", 100)), 1000, &v); err == nil || !strings.Contains(err.Error(), "nested") {
		t.Error(err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// FuzzJSON: text that is accepted is nested no deeper than it may be.
func FuzzJSON(f *testing.F) {
	for _, text := range []string{`{"a":[1,{"b":"\"]}"}]}`, strings.Repeat("[", 40) + strings.Repeat("]", 40), `"\\"[`, `{"a":"\u005d"}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var v any
		if json.Unmarshal([]byte(text), &v) != nil {
			return
		}
		got := nested(v)
		if err := bounded.JSON([]byte(text), bounded.Small); (err == nil) != (got <= bounded.Depth) && int64(len(text)) <= bounded.Small {
			// Objects with a key twice keep one of its values.
			if err == nil {
				t.Errorf("depth %d: %v", got, err)
			}
		}
	})
}

func nested(v any) int {
	deepest := 0
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			deepest = max(deepest, nested(e))
		}
		deepest++
	case []any:
		for _, e := range v {
			deepest = max(deepest, nested(e))
		}
		deepest++
	}
	return deepest
}
