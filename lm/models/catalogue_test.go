package models

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// TestCatalogueIsConsistent: names lead to one model, parts add up to their file.
func TestCatalogueIsConsistent(t *testing.T) {
	names, files := map[string]bool{}, map[string]bool{}
	for _, e := range Catalogue() {
		for _, n := range append([]string{e.Name}, e.Aliases...) {
			if names[n] || n != strings.ToLower(n) {
				t.Errorf("%q is there twice or not in lower case", n)
			}
			names[n] = true
			if got, ok := Lookup(strings.ToUpper(n)); !ok || got.Name != e.Name {
				t.Errorf("%q leads to %q", n, got.Name)
			}
		}
		for what, text := range map[string]string{"title": e.Title, "licence": e.Licence, "about": e.About, "kind": string(e.Kind)} {
			expect.True(t, e.Name+" has a "+what, text != "")
		}
		var sum int64
		for _, f := range e.Files {
			expect.True(t, f.Name+" once", !files[f.Name])
			expect.True(t, f.Name+" has a hash", hexHash.MatchString(f.SHA256), f.SHA256)
			expect.True(t, f.Name+" has a repository", f.hub.repository != "")
			expect.True(t, f.Name+" has wheels", len(f.wheels) > 0)
			expect.Len(t, f.Name+": commands to fetch it by hand", f.byHand(), 2)
			files[f.Name] = true
			var parts int64
			for _, p := range f.wheels {
				parts += p.bytes
			}
			if parts != f.Bytes {
				t.Errorf("the parts of %s have %d bytes, not %d", f.Name, parts, f.Bytes)
			}
			sum += f.Bytes
		}
		if sum != e.Bytes() {
			t.Errorf("%s has %d bytes, not %d", e.Name, sum, e.Bytes())
		}
		if got, ok := Identify(e.Files[0].SHA256); !ok || got.Name != e.Name {
			t.Errorf("the hash of %s leads to %q", e.Name, got.Name)
		}
	}
	e, ok := Lookup("")
	expect.True(t, "there is a default", ok)
	expect.Equal(t, "the default", e.Name, Default)
	expect.Equal(t, "the catalogue's first", Catalogue()[0].Name, Default)
	if _, ok := Identify(strings.Repeat("0", 64)); ok {
		t.Error("an unknown hash has a model")
	}
}

func TestDir(t *testing.T) {
	t.Setenv("SOTTO_MODELS", "")
	t.Setenv("XDG_CACHE_HOME", "/cache")
	if dir, err := Dir(); err != nil || dir != filepath.Join("/cache", "sotto", "models") {
		t.Error(dir, err)
	}
	t.Setenv("SOTTO_MODELS", "here")
	dir, err := Dir()
	expect.NoError(t, err)
	expect.True(t, "an absolute path", filepath.IsAbs(dir), dir)
	expect.Equal(t, "folder", filepath.Base(dir), "here")
	t.Setenv("SOTTO_MODELS", "")
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "")
	if _, err := Dir(); err == nil || !strings.Contains(err.Error(), "SOTTO_MODELS") {
		t.Error(err)
	}
}

// sparse makes a file of a size without filling the disk.
func sparse(t *testing.T, path string, bytes int64) {
	t.Helper()
	write(t, path, nil)
	if err := os.Truncate(path, bytes); err != nil {
		t.Fatal(err)
	}
}

func TestFindAndList(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("SOTTO_MODELS", dir)
	t.Chdir(t.TempDir())
	states := func() map[string]State {
		all, err := List()
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]State{}
		for _, s := range all {
			found[s.Name] = s.State
		}
		return found
	}
	var missing *MissingError
	for _, name := range []string{"", "smollm2", "MiniLM"} {
		_, e, err := Find(name)
		expect.As[*MissingError](t, err)
		expect.True(t, "a name for "+name, e.Name != "")
		expect.Contains(t, "error for "+name, err.Error(), "`sotto model pull "+e.Name+"`")
	}
	if got := states(); got["smollm2"] != Absent || len(got) != len(catalogue) {
		t.Error(got)
	}

	model := filepath.Join(dir, "SmolLM2-135M-Instruct.Q4_1.gguf")
	sparse(t, model, 98_362_431)
	if _, _, err := Find("smollm2"); !errors.As(err, &missing) {
		t.Error("one byte is missing:", err)
	}
	sparse(t, model, 98_362_432)
	sparse(t, filepath.Join(dir, "all-MiniLM-L6-v2.safetensors"), 90_868_376)
	sparse(t, partPath(dir, catalogue[1].Files[0]), 1000)
	if _, _, err := Find("minilm"); !errors.As(err, &missing) || !strings.HasSuffix(missing.Path, "vocab.txt") {
		t.Error("the vocabulary is missing:", err)
	}
	write(t, filepath.Join(dir, "other.gguf"), []byte("x"))
	write(t, "local.gguf", []byte("x"))
	got := states()
	for name, want := range map[string]State{"smollm2": Present, "minilm": Partial, "qwen2.5-coder": Partial, "other": Present} {
		expect.Equal(t, name, got[name], want)
	}
	if _, _, err := Find("smollm2"); !is[*HashError](err) {
		t.Error("another file of the same size:", err)
	}
	info, err := os.Stat(model)
	if err != nil {
		t.Fatal(err)
	}
	// From here on as if it was the right one.
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	if err := writeRecord(recordPath(model), record{stampOf(model, info), catalogue[0].Files[0].SHA256}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"":                                model,
		"SmolLM2-135M-Instruct":           model,
		model:                             model,
		"SmolLM2-135M-Instruct.Q4_1.gguf": model,
		"other":                           filepath.Join(dir, "other.gguf"),
		"other.gguf":                      filepath.Join(dir, "other.gguf"),
		"local.gguf":                      "local.gguf",
		"./local.gguf":                    "./local.gguf",
		filepath.Join(dir, "other.gguf"):  filepath.Join(dir, "other.gguf"),
	} {
		t.Run(name, func(t *testing.T) {
			got, e, err := Find(name)
			if err != nil || got != want {
				t.Errorf("%q: %q, %v", name, got, err)
			}
			if known := e.Name != ""; known != (want == model) {
				t.Errorf("%q has the entry %q", name, e.Name)
			}
		})
	}
	var unknown *UnknownError
	if _, _, err := Find("nonsense"); !errors.As(err, &unknown) || !strings.Contains(err.Error(), "qwen2.5-coder") {
		t.Error(err)
	}
	for _, path := range []string{"no/such.gguf", "absent.gguf", "./absent"} {
		if _, _, err := Find(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestVerify uses the real default model, and a file that only has its name.
func TestVerify(t *testing.T) {
	path, e, err := Find("smollm2")
	if err != nil {
		t.Fatalf("%v (in this repository: go run ./cmd/sotto model pull)", err)
	}
	if got, err := Verify(t.Context(), path); err != nil || got != e.Files[0].SHA256 {
		t.Errorf("%s, %v", got, err)
	}
	wrong := filepath.Join(t.TempDir(), e.Files[0].Name)
	write(t, wrong, []byte("x"))
	got, err := Verify(t.Context(), wrong)
	expect.As[*HashError](t, err)
	expect.Equal(t, "hash", got, hashOf([]byte("x")))
	expect.Contains(t, "error", err.Error(), "sotto model pull smollm2")
	mine := filepath.Join(t.TempDir(), "mine.gguf")
	write(t, mine, []byte("x"))
	if got, err := Verify(t.Context(), mine); err != nil || got != hashOf([]byte("x")) {
		t.Errorf("%s, %v", got, err)
	}
}

func TestSize(t *testing.T) {
	for bytes, want := range map[int64]string{
		0: "0 bytes", 999: "999 bytes", 1000: "1.0 kB", 98_362_432: "98.4 MB", 999_949: "999.9 kB", 999_950: "1.0 MB",
		999_999_999: "1.0 GB", 1_117_320_768: "1.1 GB", 1 << 62: "4.6 EB",
	} {
		if got := Size(bytes); got != want {
			t.Errorf("Size(%d) = %q, want %q", bytes, got, want)
		}
	}
}

// FuzzAnswer: whatever a server's head says, a stream that starts elsewhere than
// asked, or is longer than the file, is not taken.
func FuzzAnswer(f *testing.F) {
	f.Add(206, "bytes 5-9/10", int64(5), int64(5), "application/octet-stream")
	f.Add(206, "bytes 5-9/*", int64(5), int64(5), "")
	f.Add(206, "bytes -5-/99999999999999999999", int64(-1), int64(5), "text/html")
	f.Add(200, "", int64(10), int64(0), "a/b; c=\"")
	f.Add(416, "bytes */10", int64(0), int64(12), "")
	f.Fuzz(func(t *testing.T, code int, span string, length, offset int64, kind string) {
		file := File{Name: "x.gguf", Bytes: 10}
		s, err := answer(&http.Response{
			StatusCode: code, ContentLength: length,
			Header: http.Header{"Content-Range": {span}, "Content-Type": {kind}},
		}, file, offset)
		if err != nil {
			return
		}
		if s.start != 0 && s.start != offset {
			t.Errorf("starts at %d, asked for %d", s.start, offset)
		}
		if s.total >= 0 && s.total != file.Bytes {
			t.Errorf("%d bytes of a file of %d", s.total, file.Bytes)
		}
	})
}
