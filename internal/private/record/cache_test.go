package record

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/internal/rows/origin"

	"github.com/sotto-dp/sotto/internal/private/internal/keys"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// countingFile counts the bytes that are read from a file.
type countingFile struct {
	origin.File
	n *atomic.Int64
}

func (c countingFile) ReadAt(p []byte, at int64) (int, error) {
	n, err := c.File.ReadAt(p, at)
	c.n.Add(int64(n))
	return n, err
}

func counting(n *atomic.Int64) func(string) (origin.File, error) {
	return func(path string) (origin.File, error) {
		f, err := os.Open(path)
		return countingFile{f, n}, err
	}
}

// TestSecondOpenReadsASample: of a file that can be read from any place about the records
// that are checked again, of others never more than one pass (of Parquet files one more,
// for the check of their pages); and a draw of one record reads about
// that record.
func TestSecondOpenReadsASample(t *testing.T) {
	records := tickets(5000)
	for _, f := range fileFormats {
		if f.name == "sqlite" {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			location, _ := f.put(t, t.TempDir(), records)
			var read atomic.Int64
			o := Options{Condition: "label", Unit: "user", Private: t.TempDir(), open: counting(&read)}
			first := open(t, location, o)
			info, err := os.Stat(location)
			if err != nil {
				t.Fatal(err)
			}
			if read.Load() < info.Size() {
				t.Errorf("enrolment read %d of %d bytes", read.Load(), info.Size())
			}
			read.Store(0)
			again := open(t, location, o)
			if again.Fingerprint() != first.Fingerprint() || again.Size(0) != first.Size(0) {
				t.Error("the second open differs")
			}
			limit := info.Size() + bufferSize // the header of a CSV file, and then a sample
			switch f.name {
			case "jsonl":
				limit = rechecked * 5 << 10
			case "parquet":
				limit += info.Size() // pages are checked before they are decoded
			}
			if n := read.Load(); n == 0 || n > limit {
				t.Errorf("the second open read %d of %d bytes", n, info.Size())
			}
			if !slices.Equal(draw(t, again), draw(t, first)) {
				t.Error("the draws differ")
			}
			if f.name != "jsonl" {
				return
			}
			read.Store(0)
			ref, err := again.Choose(0, 5, noise.KeyFromSeed(1).Stream("one"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := again.Fetch(context.Background(), []seal.Ref{ref}); err != nil {
				t.Fatal(err)
			}
			if n := read.Load(); n > 20<<10 {
				t.Errorf("fetching one record read %d of %d bytes", n, info.Size())
			}
		})
	}
}

// TestIndexBelongsToStateAndOptions: anything that changes what a draw would mean makes
// another index; the indexes of earlier states are removed.
func TestIndexBelongsToStateAndOptions(t *testing.T) {
	path := write(t, "a.jsonl", encodeJSONL(t, few))
	private := filepath.Join(t.TempDir(), "deep", "private")
	o := Options{Condition: "label", Private: private}
	indexes := func() []string {
		found, err := filepath.Glob(filepath.Join(private, "index", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	first := open(t, path, o).Fingerprint()
	before := indexes()
	for _, change := range []func(*Options){
		func(o *Options) { o.OneLine = true },
		func(o *Options) { o.Unit = "user" },
		func(o *Options) { o.Text = "label" },
		func(o *Options) { o.Labels = []string{"World", "Sports", "Business"} },
		func(o *Options) { o.Labels = []string{"Sports", "World", "Business"} },
		func(o *Options) { o.Labels, o.OnError = []string{"Sports", "World"}, Skip },
		func(o *Options) { o.Aliases = map[string]string{"World": "w"} },
	} {
		other := o
		change(&other)
		n := len(indexes())
		if open(t, path, other).Fingerprint() != first {
			t.Error("the fingerprint depends on options")
		}
		if len(indexes()) != n+1 {
			t.Errorf("%+v has no index of its own", other)
		}
	}
	later := time.Now().Add(time.Minute)
	if err := os.Chtimes(path, later, later); err != nil {
		t.Fatal(err)
	}
	n := len(indexes())
	if open(t, path, o).Fingerprint() != first {
		t.Error("the fingerprint depends on the time")
	}
	after := indexes()
	if len(after) != n || slices.Contains(after, before[0]) {
		t.Errorf("%d indexes, want %d without the first", len(after), n)
	}
}

// TestFingerprint: it is of the content, whatever the compression, and needs the key.
func TestFingerprint(t *testing.T) {
	private := t.TempDir()
	data := encodeJSONL(t, few)
	print := func(name string, data []byte, private string) [32]byte {
		return open(t, write(t, name, data), Options{Private: private}).Fingerprint()
	}
	first := print("a.jsonl", data, private)
	if print("b.jsonl.gz", gzipBytes(t, data), private) != first || print("c.jsonl.zst", zstdBytes(t, data), private) != first {
		t.Error("compression changes the fingerprint")
	}
	if print("a.jsonl", append(data, "\n"...), private) == first {
		t.Error("a byte more does not change the fingerprint")
	}
	if print("a.jsonl", data, t.TempDir()) == first {
		t.Error("another key gives the same fingerprint")
	}
}

// TestCachedProblems: skipping once does not make a source good.
func TestCachedProblems(t *testing.T) {
	path := write(t, "a.jsonl", append(encodeJSONL(t, few), "oops\n"...))
	o := Options{Private: t.TempDir(), OnError: Skip}
	want := origin.Problem{Ordinal: int64(len(few) + 1), Reason: origin.NotAnObject}
	for range 2 {
		if p := open(t, path, o).Problems(); p.Count != 1 || p.First[0] != want {
			t.Errorf("got %v", p)
		}
	}
	o.OnError = Fail
	if _, err := tryOpen(t, path, o); codeOf(err) != origin.Malformed {
		t.Errorf("got %v", err)
	}
}

// TestDamagedIndex: an index that cannot be trusted is made again.
func TestDamagedIndex(t *testing.T) {
	path := write(t, "a.jsonl", encodeJSONL(t, few))
	private := t.TempDir()
	o := Options{Private: private, Unit: "user"}
	first := draw(t, open(t, path, o))
	for _, harm := range []func([]byte) []byte{
		func(b []byte) []byte { return b[:len(b)-1] },
		func(b []byte) []byte { return b[1:] },
		func(b []byte) []byte { return nil },
		func(b []byte) []byte { b[len(b)-trailerSize-3] ^= 1; return b },
		func(b []byte) []byte { b[len(b)-trailerSize] ^= 0x80; return b },
	} {
		found, err := filepath.Glob(filepath.Join(private, "index", "*.index"))
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		data, err := os.ReadFile(found[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(found[0], harm(data), 0o600); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(draw(t, open(t, path, o)), first) {
			t.Error("the draw differs")
		}
	}
}

// TestPrivateFolder: its modes, its key, and what else a key can be.
func TestPrivateFolder(t *testing.T) {
	path := write(t, "a.jsonl", encodeJSONL(t, few))
	private := filepath.Join(t.TempDir(), "private")
	open(t, path, Options{Private: private, Unit: "user"})
	err := filepath.WalkDir(private, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 && !keys.ForeignModes {
			t.Errorf("%s has mode %v", filepath.Base(path), info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(private, keys.KeyFile)
	if !keys.ForeignModes {
		if err := os.Chmod(key, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := tryOpen(t, path, Options{Private: private}); codeOf(err) != origin.Unusable {
			t.Errorf("a key that others can read: %v", err)
		}
	}
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(key, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := tryOpen(t, path, Options{Private: private}); codeOf(err) != origin.Unusable {
		t.Errorf("a damaged key: %v", err)
	}
}

// TestConcurrentFirstOpens agree on one key, and leave one index.
func TestConcurrentFirstOpens(t *testing.T) {
	path := write(t, "a.jsonl", encodeJSONL(t, few))
	private := t.TempDir()
	prints := make(chan [32]byte)
	const n = 8
	for range n {
		go func() {
			d, err := Open(context.Background(), path, Options{Text: "text", Private: private})
			if err != nil {
				t.Error(err)
				prints <- [32]byte{}
				return
			}
			defer d.Close()
			prints <- d.Fingerprint()
		}()
	}
	first := <-prints
	for range n - 1 {
		if <-prints != first {
			t.Error("two keys were made")
		}
	}
	if found, _ := filepath.Glob(filepath.Join(private, "index", "*")); len(found) != 1 {
		t.Errorf("%d files in the index folder", len(found))
	}
}
