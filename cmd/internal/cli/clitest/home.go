package clitest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/lm/models"
)

// Abs is a path in full.
func Abs(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Printed runs a verb that has to succeed, and returns what it prints.
func Printed(t *testing.T, args ...string) string {
	t.Helper()
	code, out, errs := Run(t, args...)
	if code != 0 {
		t.Fatalf("sotto %s: %d %s", strings.Join(args, " "), code, errs)
	}
	return out
}

// Canceller cancels a context when a text appears in what is written.
type Canceller struct {
	bytes.Buffer
	At     string
	Cancel context.CancelFunc
}

func (s *Canceller) Write(p []byte) (int, error) {
	n, err := s.Buffer.Write(p)
	if strings.Contains(s.String(), s.At) {
		s.Cancel()
	}
	return n, err
}

// Done runs a command that should succeed.
func Done(t *testing.T, args ...string) {
	t.Helper()
	if code, _, errs := Run(t, args...); code != ui.Done {
		t.Fatalf("%v: exit code %d: %s", args, code, errs)
	}
}

// OwnConfiguration writes the user's own configuration.
func OwnConfiguration(t *testing.T, text string) string {
	t.Helper()
	path := config.Own()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// CountingServer is a server that counts what it is asked, and gives no model.
func CountingServer(t *testing.T) (string, *atomic.Int64) {
	t.Helper()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		http.NotFound(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, &asked
}

// Write writes a file of the test.
func Write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// verified is where the program keeps which files of models are whole, of the one who runs the tests.
var verified = func() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, "sotto", "verified")
}()

// checked copies that to a test's home, where all models would be hashed again.
func checked(t testing.TB, home string) {
	t.Helper()
	cache := ".cache"
	if runtime.GOOS == "darwin" {
		cache = "Library/Caches"
	}
	to := filepath.Join(home, cache, "sotto", "verified")
	if err := os.MkdirAll(to, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(to, os.DirFS(verified)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
}

// ModelsDir is where the models of the one who runs the tests are.
func ModelsDir(t *testing.T) string {
	t.Helper()
	dir, err := models.Dir()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// oneObject reads exactly one JSON object and nothing else.
func oneObject(data []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	var object map[string]any
	if err := d.Decode(&object); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the JSON object")
	}
	return object, nil
}

// Object reads the one JSON object that a verb prints.
func Object(t *testing.T, out string) map[string]any {
	t.Helper()
	o, err := oneObject([]byte(out))
	if err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	return o
}

// Home is an empty home and working directory for a test. Models stay where they
// are: they are large.
func Home(t *testing.T) {
	t.Helper()
	t.Setenv("SOTTO_MODELS", ModelsDir(t))
	t.Chdir(t.TempDir())
	user := filepath.Join(t.TempDir(), "home")
	checked(t, user)
	keepEncoder()
	t.Setenv("HOME", user)
	for _, v := range []string{"XDG_DATA_HOME", "XDG_CONFIG_HOME", "SOTTO_LEDGER", "SOTTO_KEYS", "SOTTO_PRIVATE", "SOTTO_STORE", "SOTTO_CONFIG", "SOTTO_MODEL", "SOTTO_MODELS_LOCK", "HF_TOKEN"} {
		t.Setenv(v, "")
		os.Unsetenv(v)
	}
}

// keepEncoder has the runs of this process share one sentence encoder: each would read its 90 MB.
var keepEncoder = sync.OnceFunc(func() {
	_, _ = backend.Encoder("") // those that need it say that it is not there
})

// Split cuts a line into words as a shell does, as far as examples need it; a
// redirection ends it.
func Split(line string) []string {
	var words []string
	for i, part := range strings.Split(strings.TrimSpace(line), "'") {
		if i%2 == 1 {
			words = append(words, part)
			continue
		}
		part, _, _ = strings.Cut(part, ">")
		words = append(words, strings.Fields(part)...)
	}
	return words
}

// FullDisk is a disk that is full.
type FullDisk struct{}

func (FullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }
