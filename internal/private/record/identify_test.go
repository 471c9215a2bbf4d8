package record

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// TestIdentify: a file is known before anybody has named a column, by the same fingerprint and
// sketch as for any task, and leaves no index; what cannot be read is refused.
func TestIdentify(t *testing.T) {
	for _, f := range fileFormats {
		private := t.TempDir()
		location, query := f.put(t, t.TempDir(), tickets(40))
		got, err := Identify(t.Context(), location, private)
		if query != "" {
			if err == nil {
				t.Errorf("%s: a database is identified", f.name)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", f.name, err)
		}
		if left, err := filepath.Glob(filepath.Join(private, "index", "*")); err != nil || len(left) > 0 {
			t.Errorf("%s: %d files are left, %v", f.name, len(left), err)
		}
		for name, o := range map[string]Options{
			"texts with labels":  {Text: "text", Condition: "label", Private: private},
			"labels as texts":    {Text: "label", Unit: "user", Private: private},
			"one label of three": {Text: "text", Condition: "label", Labels: []string{"Sports", "never"}, OnError: Skip, Private: private},
		} {
			d, err := Open(t.Context(), location, o)
			if err != nil {
				t.Fatalf("%s, %s: %v", f.name, name, err)
			}
			sketched, err := d.Sketch()
			at := expect.At(t, "%s, %s: the file is known otherwise", f.name, name)
			expect.NoError(at, err)
			expect.Equal(at, "d.Fingerprint", d.Fingerprint(), got.Fingerprint)
			expect.Equal(at, "fmt.Sprint(sketched)", fmt.Sprint(sketched), fmt.Sprint(got.Sketch))
			expect.Equal(at, "d.KeyID", d.KeyID(), got.KeyID)
			expect.Equal(at, "d.KeyPath", d.KeyPath(), got.KeyPath)
			_ = d.Close() // it was read
		}
	}
	dir := t.TempDir()
	for name, content := range map[string]string{"none.csv": "text,label\n", "nothing.jsonl": "", "what.txt": "x", "cut.parquet": "PAR1"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Identify(t.Context(), path, filepath.Join(dir, "private")); err == nil {
			t.Errorf("%s is identified", name)
		}
	}
}
