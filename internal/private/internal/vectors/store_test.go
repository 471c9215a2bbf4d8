package vectors

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/internal/private/internal/keys"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
)

// toy is an encoder that counts the texts that it sees.
type toy struct {
	mu    sync.Mutex
	print string
	seen  int
	turn  float64 // of all vectors
	err   error
	fewer bool
}

func (e *toy) Embed(_ context.Context, texts []string) ([][]float32, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seen += len(texts)
	var out [][]float32
	for _, t := range texts {
		angle := e.turn
		for i, b := range []byte(t) {
			angle += float64(b) * float64(i+1) / 7
		}
		out = append(out, []float32{float32(math.Cos(angle)), float32(math.Sin(angle)), 0})
	}
	if e.fewer {
		out = out[1:]
	}
	return out, e.err
}

func (*toy) Dimension() int        { return 3 }
func (*toy) Name() string          { return "toy" }
func (*toy) Close() error          { return nil }
func (e *toy) Fingerprint() string { return e.print }

// home is a private folder.
type home struct {
	private       string
	source, state string
}

func newHome(t *testing.T) home {
	return home{filepath.Join(t.TempDir(), "private"), "a source", "a state"}
}

func (p home) open(t *testing.T, e *toy) *Store {
	t.Helper()
	key, err := keys.FolderKey(p.private)
	if err != nil {
		t.Fatal(err)
	}
	trusted, err := lm.TrustEmbedder(e, lm.InProcess)
	if err != nil {
		t.Fatal(err)
	}
	s := Open(Options{Dir: filepath.Join(p.private, "vectors"), Key: key, Source: p.source, State: p.state, Encoder: trusted})
	t.Cleanup(func() { s.Close() })
	return s
}

// ask wants the encoder's vectors, of which so many are computed.
func (p home) ask(t *testing.T, what string, e *toy, texts []string, computed int) {
	t.Helper()
	s := p.open(t, e)
	defer s.Close()
	want, err := (&toy{turn: e.turn}).Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	e.seen = 0
	got, err := s.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(got, want, slices.Equal[[]float32]) {
		t.Errorf("%s: other vectors than the encoder's", what)
	}
	if e.seen != computed {
		t.Errorf("%s: %d of %d texts were encoded, want %d", what, e.seen, len(texts), computed)
	}
}

func (p home) files(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(p.private, "vectors", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func texts(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("CANARY text %d", i))
	}
	return out
}

// TestKept: a text is encoded once, whatever it is asked with, and files are for their owner alone and hold no text.
func TestKept(t *testing.T) {
	p, e := newHome(t), &toy{print: "one"}
	all := texts(20)
	p.ask(t, "first", e, all[:15], 15)
	p.ask(t, "again", e, all[:15], 0)
	p.ask(t, "in another order, with more", e, []string{all[16], all[3], all[17], all[0], all[3]}, 2)
	p.ask(t, "all", e, all, 3)
	p.ask(t, "all again", e, all, 0)
	for _, path := range append(p.files(t), filepath.Join(p.private, "vectors")) {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o077 != 0 && !keys.ForeignModes {
			t.Errorf("mode %v", info.Mode())
		}
		if data, _ := os.ReadFile(path); strings.Contains(string(data), "CANARY") || strings.Contains(path, "CANARY") {
			t.Error("a file holds a text")
		}
	}
}

// TestNothingStale: a text that is another by one letter, another encoder, another key and another state of the data
// have nothing kept; what is of another state is removed.
func TestNothingStale(t *testing.T) {
	all := texts(9)
	for name, change := range map[string]func(t *testing.T, p *home, e *toy, all []string) int{
		"a changed text": func(_ *testing.T, _ *home, _ *toy, all []string) int { all[4] += "."; return 1 },
		"texts exchanged": func(_ *testing.T, _ *home, _ *toy, all []string) int {
			all[0], all[1] = all[1], all[0]
			return 0
		},
		"another encoder":    func(_ *testing.T, _ *home, e *toy, all []string) int { e.print, e.turn = "other", 1; return len(all) },
		"another state":      func(_ *testing.T, p *home, _ *toy, all []string) int { p.state = "b"; return len(all) },
		"the same elsewhere": func(_ *testing.T, p *home, _ *toy, _ []string) int { p.source = "b"; return 0 },
		"no fingerprint":     func(_ *testing.T, _ *home, e *toy, all []string) int { e.print = ""; return len(all) },
		"another folder's key": func(t *testing.T, p *home, _ *toy, all []string) int {
			other := newHome(t)
			if _, err := keys.FolderKey(other.private); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(filepath.Join(other.private, keys.KeyFile))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(p.private, keys.KeyFile), data, 0o600); err != nil {
				t.Fatal(err)
			}
			return len(all)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, e, own := newHome(t), &toy{print: "one"}, slices.Clone(all)
			p.ask(t, "first", e, own, len(own))
			before := p.files(t)
			n := change(t, &p, e, own)
			p.ask(t, name, e, own, n)
			if name == "another state" || name == "another encoder" {
				if after := p.files(t); len(after) != 1 || after[0] == before[0] {
					t.Errorf("files of before stay: %d", len(after))
				}
			}
		})
	}
}

// TestForeignFile: a file under the right name that was made with another key, or for another encoder, gives nothing.
func TestForeignFile(t *testing.T) {
	all := texts(9)
	for _, other := range []*toy{{print: "one", turn: 1}, {print: "two", turn: 1}} {
		p, elsewhere := newHome(t), newHome(t)
		p.ask(t, "here", &toy{print: "one"}, all, 9)
		elsewhere.ask(t, "elsewhere", other, all, 9)
		data, err := os.ReadFile(elsewhere.files(t)[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p.files(t)[0], data, 0o600); err != nil {
			t.Fatal(err)
		}
		p.ask(t, "with the other's file", &toy{print: "one"}, all, 9)
		p.ask(t, "again", &toy{print: "one"}, all, 0)
	}
}

// TestDamaged: whatever happened to a file, vectors are the encoder's, and the next time all is kept again.
func TestDamaged(t *testing.T) {
	all, e := texts(5), &toy{print: "one"}
	const entry = 2*hashSize + 12
	for at := range 5 * entry {
		p := newHome(t)
		p.ask(t, "first", e, all, 5)
		path := p.files(t)[0]
		data, err := os.ReadFile(path)
		if err != nil || len(data) != 5*entry {
			t.Fatal(len(data), err)
		}
		data[at] ^= 0x20
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		s := p.open(t, e)
		got, err := s.Embed(t.Context(), all)
		want, _ := e.Embed(t.Context(), all)
		if err != nil || !slices.EqualFunc(got, want, slices.Equal[[]float32]) {
			t.Errorf("a bit of byte %d: other vectors, %v", at, err)
		}
		s.Close()
		p.ask(t, "again", e, all, 0)
	}
	for name, harm := range map[string]func([]byte) []byte{
		"truncated":     func(b []byte) []byte { return b[:3*entry+7] },
		"one byte off":  func(b []byte) []byte { return b[1:] },
		"empty":         func([]byte) []byte { return nil },
		"entries moved": func(b []byte) []byte { return slices.Concat(b[:hashSize], b[entry+hashSize:2*entry], b[entry:]) },
		"zeros":         func(b []byte) []byte { clear(b); return b },
	} {
		p := newHome(t)
		p.ask(t, "first", e, all, 5)
		path := p.files(t)[0]
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, harm(data), 0o600); err != nil {
			t.Fatal(err)
		}
		s := p.open(t, e)
		got, err := s.Embed(t.Context(), all)
		want, _ := e.Embed(t.Context(), all)
		if err != nil || !slices.EqualFunc(got, want, slices.Equal[[]float32]) {
			t.Errorf("%s: other vectors, %v", name, err)
		}
		s.Close()
		p.ask(t, name, e, all, 0)
	}
}

// fullDisk is a file on a disk that is full after so many bytes.
type fullDisk struct {
	file
	left int
}

// Close is refused too, as on a disk elsewhere.
func (c *fullDisk) Close() error {
	return errors.Join(c.file.Close(), errors.New("disk quota exceeded"))
}

func (c *fullDisk) Write(p []byte) (int, error) {
	n := min(len(p), c.left)
	c.left -= n
	if _, err := c.file.Write(p[:n]); err != nil {
		return 0, err
	}
	if n < len(p) {
		return n, errors.New("no space left on device")
	}
	return n, nil
}

// TestFullDisk: a write that fails after any number of bytes, as by a crash, fails no run. What was whole is used, and the
// rest is kept the next time.
func TestFullDisk(t *testing.T) {
	all, e := texts(5), &toy{print: "one"}
	const entry = 2*hashSize + 12
	for left := range 5*entry + 1 {
		p := newHome(t)
		s := p.open(t, e)
		s.create = func(dir, pattern string) (file, error) {
			f, err := create(dir, pattern)
			return &fullDisk{f, left}, err
		}
		if _, err := s.Embed(t.Context(), all); err != nil {
			t.Fatal(err)
		}
		s.Close()
		p.ask(t, fmt.Sprintf("after %d bytes", left), e, all, 5-left/entry)
		p.ask(t, "in the end", e, all, 0)
	}
	p := newHome(t)
	s := p.open(t, e)
	s.create = func(string, string) (file, error) { return nil, errors.New("read-only file system") }
	if _, err := s.Embed(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	if files := p.files(t); len(files) != 0 {
		t.Errorf("%d files", len(files))
	}
}

// TestTwoAtOnce: two that begin together do not meet, and what both wrote is there once in the end.
func TestTwoAtOnce(t *testing.T) {
	p, e := newHome(t), &toy{print: "one"}
	all := texts(40)
	var wait sync.WaitGroup
	for _, s := range []*Store{p.open(t, e), p.open(t, e)} {
		wait.Go(func() {
			for i := range all {
				if _, err := s.Embed(context.Background(), all[i:i+1]); err != nil {
					t.Error(err)
				}
			}
			s.Close()
		})
	}
	wait.Wait()
	if n := len(p.files(t)); n != 2 {
		t.Errorf("%d files", n)
	}
	p.ask(t, "after both", e, all, 0)
	if n := len(p.files(t)); n != 1 {
		t.Errorf("%d files after that", n)
	}
}

// TestConcurrentEmbed: one store is used by several.
func TestConcurrentEmbed(t *testing.T) {
	p, e := newHome(t), &toy{print: "one"}
	s := p.open(t, e)
	all := texts(40)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for range 5 {
				if _, err := s.Embed(context.Background(), all); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	s.Close()
	p.ask(t, "after all", e, all, 0)
}

// TestBounded: no more is kept than there is room for, of a data set and of all; the oldest go.
func TestBounded(t *testing.T) {
	all, e := texts(5), &toy{print: "one"}
	p := newHome(t)
	s := p.open(t, e)
	s.maxSize = 3 * s.entrySize()
	if _, err := s.Embed(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	s.Close()
	p.ask(t, "bounded", e, all, 2)
	for i := range 6 { // files that have no blocks on disk
		path := filepath.Join(p.private, "vectors", fmt.Sprintf("%032d-%032d-0.vectors", i, i))
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, maxSize); err != nil {
			t.Skip("no room for sparse files")
		}
	}
	p.ask(t, "beside others", e, all, 0)
	sum := int64(0)
	for _, f := range kept(p) {
		sum += f.size
	}
	if sum > folder || sum < folder-2*maxSize {
		t.Errorf("%d bytes of vectors in the folder, at most %d", sum, int64(folder))
	}
}

func kept(p home) []vectorFile {
	return all(filepath.Join(p.private, "vectors"))
}

// TestUnused: what was not used for a month is removed, and what is used stays.
func TestUnused(t *testing.T) {
	all, e := texts(5), &toy{print: "one"}
	p := newHome(t)
	other := p
	other.source, other.state = "other", "other"
	p.ask(t, "first", e, all, 5)
	other.ask(t, "others", e, all, 5)
	for _, days := range []int{29, 31} {
		for _, f := range p.files(t) {
			long := time.Now().AddDate(0, 0, -days)
			if err := os.Chtimes(f, long, long); err != nil {
				t.Fatal(err)
			}
		}
		p.ask(t, "again", e, all, 0)
		if n := len(p.files(t)); n != 2-days/31 {
			t.Errorf("%d files after %d days", n, days)
		}
	}
}

// TestEncoderFails: an error of the encoder is passed on, and nothing comes or is kept with it.
func TestEncoderFails(t *testing.T) {
	for _, e := range []*toy{{print: "one", err: errors.New("broken")}, {print: "one", fewer: true}} {
		p := newHome(t)
		s := p.open(t, e)
		got, err := s.Embed(t.Context(), texts(3))
		expect.True(t, "an error", err != nil)
		expect.True(t, "got is nil", got == nil, got)
		expect.True(t, "no CANARY in the error", !strings.Contains(fmt.Sprint(err), "CANARY"), fmt.Sprint(err))
		if len(p.files(t)) != 0 {
			t.Error("something was kept")
		}
	}
}

// TestReadOnly: what is kept is found, and nothing more is kept.
func TestReadOnly(t *testing.T) {
	all, e := texts(5), &toy{print: "one"}
	p := newHome(t)
	p.ask(t, "first", e, all[:3], 3)
	s := p.open(t, e)
	only := s.o
	only.ReadOnly = true
	s.Close()
	for range 2 {
		s := Open(only)
		e.seen = 0
		if _, err := s.Embed(t.Context(), all); err != nil {
			t.Fatal(err)
		}
		s.Close()
		if e.seen != 2 {
			t.Errorf("%d of 5 texts were encoded, want 2", e.seen)
		}
	}
}
