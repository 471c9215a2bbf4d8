package record

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/private/folder"
	"github.com/sotto-dp/sotto/lm"
)

// encrypted writes a file that is encrypted for a private folder.
func encrypted(t *testing.T, private, path string, content []byte) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := folder.Seal(private, f)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// letters is an encoder.
type letters struct{}

func (letters) Embed(_ context.Context, texts []string) ([][]float32, error) {
	return slices.Repeat([][]float32{{1, 0}}, len(texts)), nil
}
func (letters) Dimension() int      { return 2 }
func (letters) Name() string        { return "letters" }
func (letters) Fingerprint() string { return "sha256:letters" }
func (letters) Close() error        { return nil }

func sentenceEncoder(t *testing.T) lm.TrustedEmbedder {
	t.Helper()
	e, err := lm.TrustEmbedder(letters{}, lm.InProcess)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestSealed: an encrypted file is the same data as the file itself, to the ledger too; with
// another key, cut off or changed it is refused, and no byte of it is on disk as it was.
func TestSealed(t *testing.T) {
	const canary = "zebra4711"
	dir := t.TempDir()
	private := filepath.Join(dir, "private")
	// More than one part of what is decrypted at a time.
	var lines, table strings.Builder
	table.WriteString("text,label\n")
	for i := range 4000 {
		fmt.Fprintf(&lines, "{\"text\": \"%s says %d %s\", \"label\": \"a\"}\n", canary, i, strings.Repeat("x", i%50))
		fmt.Fprintf(&table, "%s says %d,a\n", canary, i)
	}
	for name, content := range map[string]string{"data.jsonl": lines.String(), "data.csv": table.String()} {
		plain := filepath.Join(dir, name)
		if err := os.WriteFile(plain, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		closed := plain + folder.SealedExt
		encrypted(t, private, closed, []byte(content))
		opened := func(path, private string) (*Data, error) {
			return Open(context.Background(), path, Options{Text: "text", Condition: "label", Private: private})
		}
		one, err := opened(plain, private)
		if err != nil {
			t.Fatal(err)
		}
		two, err := opened(closed, private)
		if err != nil {
			t.Fatal(err)
		}
		if one.Fingerprint() != two.Fingerprint() {
			t.Errorf("%s: another fingerprint", name)
		}
		first, err := one.Sketch()
		if err != nil {
			t.Fatal(err)
		}
		if second, err := two.Sketch(); err != nil || fmt.Sprint(first) != fmt.Sprint(second) {
			t.Errorf("%s: another sketch, %v", name, err)
		}
		if encoder := sentenceEncoder(t); one.Vectors(encoder, true) == nil || two.Vectors(encoder, true) != nil {
			t.Errorf("%s: vectors have to be kept of the file as it is, and not of an encrypted one", name)
		}
		_, _ = one.Close(), two.Close() // they were read
		if err := os.Remove(plain); err != nil {
			t.Fatal(err)
		}
		other := filepath.Join(dir, "other")
		if _, err := opened(closed, other); err == nil || strings.Contains(err.Error(), canary) {
			t.Errorf("without a key: %v", err)
		}
		encrypted(t, other, filepath.Join(dir, "not.jsonl.age"), []byte("x"))
		if _, err := opened(closed, other); err == nil {
			t.Error("another key opens it")
		}
		data, err := os.ReadFile(closed)
		if err != nil {
			t.Fatal(err)
		}
		changed := bytes.Clone(data)
		changed[len(changed)/2] ^= 1
		for what, content := range map[string][]byte{"changed": changed, "cut": data[:len(data)-100], "plain": []byte(content)} {
			path := filepath.Join(dir, what+"-"+name+folder.SealedExt)
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := opened(path, private); err == nil || strings.Contains(err.Error(), canary) {
				t.Errorf("%s, %s: %v", name, what, err)
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(canary)) {
			t.Errorf("%s holds a record", filepath.Base(path))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(private, "uploads.key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key: %v", err)
	}
}
