package bounded_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"

	"github.com/sotto-dp/sotto/internal/bounded"
)

// deep are documents of a depth, in every way that TOML has to nest.
func deep(n int) map[string]string {
	return map[string]string{
		"dotted key":       strings.Repeat("a.", n-1) + "a = 1",
		"quoted keys":      strings.Repeat(`"a" . 'b'.`, n/2-1) + `"a"."b" = 1`,
		"header":           "[" + strings.Repeat("a.", n-2) + "a]\nb = 1",
		"list of tables":   "[[" + strings.Repeat("a.", n-2) + "a]]\nb = 1",
		"lists":            "a = " + strings.Repeat("[", n-1) + strings.Repeat("]", n-1),
		"lists of lines":   "a = " + strings.Repeat("[ # [\n", n-1) + strings.Repeat("]\n", n-1),
		"inline tables":    strings.Repeat("a = {", n-1) + "b = 1" + strings.Repeat("}", n-1),
		"all together":     "[a.b]\nc.d = [{ e.f = " + strings.Repeat("[", n-8) + strings.Repeat("]", n-8) + "}]",
		"after a string":   "s = \"\"\"\n[ ' \\\"\"\" [[ \"\"\"\"\"\nt = '''[ \" '''\nu = '\\'\n" + strings.Repeat("a.", n-1) + "a = 1",
		"after a comment":  "# \"\"\" '''\n" + strings.Repeat("a.", n-1) + "a = 1",
		"after lists":      "x = [[1.5], [2.5, 3.5]]\ny = 1.25\n" + strings.Repeat("a.", n-1) + "a = 1",
		"Windows' lines":   "x = 'a'\r\n[t] # '\r\n" + strings.Repeat("a.", n-2) + "a = 1\r\n",
		"key after header": "[" + strings.Repeat("a.", n/2-1) + "a]\n" + strings.Repeat("b.", n/2-1) + "b = 1",
	}
}

// TestDepth: what is nested too deep is refused, in every way there is to nest, and what
// is not is accepted.
func TestDepth(t *testing.T) {
	for name, text := range deep(bounded.Depth) {
		var v map[string]any
		if _, err := toml.Decode(text, &v); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := bounded.TOML([]byte(text), bounded.Small); err != nil {
			t.Errorf("%s of %d levels: %v", name, bounded.Depth, err)
		}
	}
	for name, text := range deep(4 * bounded.Depth) {
		var refused *bounded.Error
		if err := bounded.TOML([]byte(text), bounded.Small); !errors.As(err, &refused) || !strings.Contains(err.Error(), "nested more than") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for n, ok := range map[int]bool{bounded.Depth: true, bounded.Depth + 1: false} {
		text := strings.Repeat(`{"[{\"":[`, n/2) + strings.Repeat("[", n%2) + strings.Repeat("]", n%2) + strings.Repeat("]}", n/2)
		if err := bounded.JSON([]byte(text), bounded.Small); (err == nil) != ok || !json.Valid([]byte(text)) {
			t.Errorf("%d levels of JSON: %v", n, err)
		}
	}
}

// TestSize: what is too large is refused, and a file is not read to find out.
func TestSize(t *testing.T) {
	for _, check := range []func([]byte, int64) error{bounded.TOML, bounded.JSON} {
		if err := check(make([]byte, 11), 10); err == nil || err.Error() != "it is larger than 10 bytes" {
			t.Error(err)
		}
		if err := check(make([]byte, 10), 10); err != nil {
			t.Error(err)
		}
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

// FuzzTOML: text that is accepted decodes to nothing deep, and what decodes to something
// flat is accepted: the scan is not fooled about where strings, keys and comments end.
func FuzzTOML(f *testing.F) {
	for _, n := range []int{12, bounded.Depth, 2 * bounded.Depth} {
		for _, text := range deep(n) {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		err := bounded.TOML([]byte(text), bounded.Small)
		if err != nil && len(text) > 512 {
			return // decoding without a bound takes time: that is what the bound is for
		}
		var v map[string]any
		if _, wrong := toml.Decode(text, &v); wrong != nil {
			return
		}
		// A list of tables, [[a]], is one level of the text and two of the value; a
		// fraction's dot is a level of the text alone.
		got := depthOf(v)
		if err == nil && got > 2*bounded.Depth {
			t.Errorf("accepted at depth %d", got)
		}
		if err != nil && got < bounded.Depth-2 {
			t.Errorf("refused at depth %d: %v", got, err)
		}
	})
}

// depthOf is that of a decoded value.
func depthOf(v any) int {
	most := 0
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			most = max(most, 1+depthOf(e))
		}
	case []map[string]any:
		for _, e := range v {
			most = max(most, 1+depthOf(e))
		}
	case []any:
		most = 1
		for _, e := range v {
			most = max(most, 1+depthOf(e))
		}
	}
	return most
}

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
	most := 0
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			most = max(most, nested(e))
		}
		most++
	case []any:
		for _, e := range v {
			most = max(most, nested(e))
		}
		most++
	}
	return most
}
