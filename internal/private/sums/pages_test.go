package sums

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// diskPool is a pool with room on disk.
type diskPool struct {
	dir   string
	files []*os.File
	gone  int
	fails error
}

func (s *diskPool) Scratch() (*os.File, func() error, error) {
	if s.fails != nil {
		return nil, nil, s.fails
	}
	f, err := os.CreateTemp(s.dir, "spilled-*")
	s.files = append(s.files, f)
	return f, func() error { s.gone++; return errors.Join(f.Close(), os.Remove(f.Name())) }, err
}

// failer is a test, or a property of one.
type failer interface {
	Helper()
	Fatal(...any)
}

// added is what units add: as it is in memory, which has to be as it is from a file.
func added(t failer, s *Summer, units []unit, vectors [][]float64) []int64 {
	t.Helper()
	dir, err := os.MkdirTemp("", "sums-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	var sums [][]int64
	for _, room := range []int64{heldBytes, 0} {
		p := newPages(s.Sums.Each, s.Encoder.Dimension(), &diskPool{dir: dir})
		p.bytes, p.room = 1, room // a unit a page
		for _, u := range units {
			if err := p.add(u); err != nil {
				t.Fatal(err)
			}
		}
		sum, err := s.add(p, vectors)
		if err != nil {
			t.Fatal(err)
		}
		if spilled := len(p.counts); room == 0 && spilled != len(units) {
			t.Fatal("pages in the file:", spilled, "units:", len(units))
		}
		p.close()
		sums = append(sums, sum)
	}
	if !slices.Equal(sums[0], sums[1]) {
		t.Fatal("in memory the sum is ", sums[0], ", from a file ", sums[1])
	}
	return sums[0]
}

// manyUnits adds so many random ones of two records to pages.
func manyUnits(t testing.TB, p *pages, n int) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	for range n {
		var u unit
		for range p.each {
			u = append(u, single(t, random.IntN(3), normal(p.width, random))...)
		}
		if err := p.add(u); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPagesAreBounded: whatever the number of units, no more is held in memory than there is room for, and what is in
// the file does not show vectors.
func TestPagesAreBounded(t *testing.T) {
	const width, each = 16, 2
	pool := &diskPool{dir: t.TempDir()}
	p := newPages(each, width, pool)
	p.bytes, p.room = 1000, 5000
	manyUnits(t, p, 2000)
	var bytes int
	for _, of := range append(slices.Clone(p.held), p.last) {
		bytes += labelBytes*cap(of.labels) + 2*cap(of.vectors)
	}
	expect.Max(t, "bytes in memory", bytes, 5000+2*p.size()*(labelBytes+2*width))
	expect.Equal(t, "units", p.units, 2000)
	if got := len(p.counts); got < 100 {
		t.Fatalf("%d pages in the file, want 100 or more", got)
	}
	plain, err := p.page(len(p.held), &buffer{})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(pool.files[0].Name())
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for at := 0; at+4 <= len(data); at += 2 {
		x, y := int16(uint16(data[at])|uint16(data[at+1])<<8), int16(uint16(data[at+2])|uint16(data[at+3])<<8)
		if x == plain.vectors[0] && y == plain.vectors[1] {
			seen++
		}
	}
	expect.Max(t, "places in the file that look like the first vector", seen, 1)
	p.close()
	left, err := filepath.Glob(filepath.Join(pool.dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	expect.Len(t, "files that are left", left, 0)
}

// TestPagesThatChange: of a file that is not as it was written nothing is added up. Pages that change places are found,
// too.
func TestPagesThatChange(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, f *os.File, stride int64){
		"a byte": func(t *testing.T, f *os.File, stride int64) {
			b := make([]byte, 1)
			if _, err := f.ReadAt(b, stride+77); err != nil {
				t.Fatal(err)
			}
			b[0]++
			if _, err := f.WriteAt(b, stride+77); err != nil {
				t.Fatal(err)
			}
		},
		"another page": func(t *testing.T, f *os.File, stride int64) {
			b := make([]byte, stride)
			if _, err := f.ReadAt(b, 0); err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteAt(b, stride); err != nil {
				t.Fatal(err)
			}
		},
		"an end": func(t *testing.T, f *os.File, stride int64) {
			if err := f.Truncate(2 * stride); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			pool := &diskPool{dir: t.TempDir()}
			s := &Summer{Options{Sums: settings(8, 1)}}
			p := newPages(1, 16, pool)
			defer p.close()
			p.bytes, p.room = 1000, 0
			manyUnits(t, p, 200)
			vectors := [][]float64{make([]float64, 16), make([]float64, 16), make([]float64, 16)}
			if _, err := s.add(p, vectors); err != nil {
				t.Fatal(err)
			}
			change(t, pool.files[0], p.stride())
			if _, err := s.add(p, vectors); err == nil {
				t.Error("it was added up")
			}
		})
	}
}

// TestNoRoomForPages: a disk that is full is an error.
func TestNoRoomForPages(t *testing.T) {
	full := errors.New("no space left on device")
	p := newPages(1, 2, &diskPool{fails: full})
	p.bytes, p.room = 1, 0
	if err := p.add(single(t, 0, axis(2, 0, 1))); !errors.Is(err, full) {
		t.Errorf("got %v, want %v", err, full)
	}
}

// BenchmarkAdd adds up vectors of the default encoder's width.
func BenchmarkAdd(b *testing.B) {
	const n, width = 10_000, 384
	for _, spilled := range []bool{false, true} {
		b.Run(map[bool]string{false: "memory", true: "file"}[spilled], func(b *testing.B) {
			s := &Summer{Options{Sums: settings(8, 1), Key: noise.KeyFromSeed(1)}}
			p := newPages(1, width, &diskPool{dir: b.TempDir()})
			defer p.close()
			if spilled {
				p.room = 0
			}
			manyUnits(b, p, n)
			vectors := [][]float64{make([]float64, width), make([]float64, width), make([]float64, width), make([]float64, width)}
			for b.Loop() {
				if _, err := s.add(p, vectors); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
}
