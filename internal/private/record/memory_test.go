package record

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// writeMany writes n records of n/10 users, some 40 bytes each.
func writeMany(t testing.TB, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "many.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	for i := range n {
		fmt.Fprintf(w, `{"text":"text %d","label":"%d","user":%d}`+"\n", i, i%4, i*7919%(n/10))
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// peakHeap runs something and returns the largest heap that it was seen with, above
// that before.
func peakHeap(do func()) uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	before, peak := m.HeapAlloc, uint64(0)
	done := make(chan struct{})
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		for {
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
				runtime.ReadMemStats(&m)
				peak = max(peak, m.HeapAlloc)
			}
		}
	}()
	do()
	close(done)
	<-finished
	return max(peak, before) - before
}

// TestLongMemoryIsFlat enrols a million records in the memory that ten thousand need, but
// for a bound that does not depend on their number: buffers, and garbage that is not
// yet collected. The tuples that are sorted alone would take eight times the bound, and
// twice with the race detector, which is too slow for so many. The same with a draw.
func TestLongMemoryIsFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("millions of records are read")
	}
	const bound = 12 << 20
	many := 1_000_000
	if raceDetector {
		many /= 4
	}
	measure := func(n int) uint64 {
		path := writeMany(t, n)
		o := Options{Condition: "label", Labels: []string{"0", "1", "2", "3"}, Unit: "user", memory: 4096}
		return peakHeap(func() {
			d := open(t, path, o)
			s := noise.KeyFromSeed(1).Stream("draw")
			var refs []seal.Ref
			for u := range 100 {
				ref, err := d.Choose(u%4, u, s)
				if err != nil {
					t.Fatal(err)
				}
				refs = append(refs, ref)
			}
			if _, err := d.Fetch(context.Background(), refs); err != nil {
				t.Fatal(err)
			}
		})
	}
	small, large := measure(10_000), measure(many)
	t.Logf("10,000 records: %d KiB; %d records: %d KiB", small>>10, many, large>>10)
	if large > small+bound {
		t.Errorf("%d records take %d KiB, 10,000 take %d KiB", many, large>>10, small>>10)
	}
}

// BenchmarkEnrol reads and indexes records by user and label.
func BenchmarkEnrol(b *testing.B) {
	const n = 100_000
	path := writeMany(b, n)
	for b.Loop() {
		d, err := Open(context.Background(), path, Options{Text: "text", Condition: "label", Unit: "user", Labels: []string{"0", "1", "2", "3"}, Private: b.TempDir()})
		if err != nil {
			b.Fatal(err)
		}
		d.Close()
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkDraw chooses and fetches 32 records, of few and of many.
func BenchmarkDraw(b *testing.B) {
	for _, n := range []int{1000, 1_000_000} {
		b.Run(fmt.Sprintf("of=%d", n), func(b *testing.B) {
			d := open(b, writeMany(b, n), Options{Condition: "label"})
			s := noise.KeyFromSeed(1).Stream("draw")
			for b.Loop() {
				var refs []seal.Ref
				for range 32 {
					ref, err := d.Choose(0, int(s.Uint64n(uint64(n))), s)
					if err != nil {
						b.Fatal(err)
					}
					refs = append(refs, ref)
				}
				if _, err := d.Fetch(context.Background(), refs); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
