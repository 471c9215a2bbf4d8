package sums

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// instant has the same vector for each text, and sees how much memory lives after garbage was collected.
type instant struct {
	width, texts int
	peak         uint64
}

func (e *instant) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i := range texts {
		out[i] = axis(e.width, (e.texts+i)%e.width, 1)
	}
	const often = 100_000
	if before := e.texts; before/often != (before+len(texts))/often {
		e.look()
	}
	e.texts += len(texts)
	return out, nil
}

func (e *instant) look() {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	e.peak = max(e.peak, m.HeapAlloc)
}
func (e *instant) Dimension() int { return e.width }
func (*instant) Name() string     { return toyName }
func (*instant) Close() error     { return nil }

// writeRecords writes so many records of the labels of [task].
func writeRecords(t *testing.T, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "records.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	for i := range n {
		fmt.Fprintf(w, `{"text":"text %d","label":%q}`+"\n", i, labels(4)[i%4])
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// addedAtScale adds n records of a file up, and returns their encoder.
func addedAtScale(t *testing.T, n int) *instant {
	t.Helper()
	d, err := record.Open(t.Context(), writeRecords(t, n), record.Options{Text: "text", Condition: "label", Labels: labels(4), Together: true, Private: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	e := &instant{width: 384}
	s := settings(2, 1)
	s.Size = int64(n)
	e.look()
	before := e.peak
	released(t, Options{Encoder: trust(t, e), Task: task(4), Pool: d, Key: noise.KeyFromSeed(1), Sums: s})
	e.peak -= before
	expect.Equal(t, "texts that were encoded", e.texts, n)
	return e
}

// TestSumsEncodeEachRecordOnce: whatever the number of sums, a record is read and encoded once.
func TestSumsEncodeEachRecordOnce(t *testing.T) {
	for _, n := range []int{1, 1000, 20_000} {
		addedAtScale(t, n)
	}
}

// TestLongSumsAreInBoundedMemory: half a million records, whose vectors are 370 MiB, take the memory that pages may
// take, and what is read at once.
func TestLongSumsAreInBoundedMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("half a million records are added up")
	}
	const atOnce = 64 << 20 // records, references and rows of a batch
	e := addedAtScale(t, 500_000)
	t.Logf("%d MiB", e.peak>>20)
	expect.Max(t, "bytes in memory", e.peak, heldBytes+atOnce)
}
