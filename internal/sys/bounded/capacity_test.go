package bounded_test

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/sotto-dp/sotto/internal/sys/bounded"
)

// TestCapacity: no client holds more than its part, all together no more than all, and what is
// released can be held again.
func TestCapacity(t *testing.T) {
	c := &bounded.Capacity{All: 100, Each: 40}
	hold := func(client string, bytes int64) (*bounded.Reservation, error) {
		h := c.Hold(client)
		return h, h.Add(bytes)
	}
	a, err := hold("a", 40)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hold("a", 1); !errors.Is(err, bounded.ErrClientFull) {
		t.Errorf("a client that holds its part gets more: %v", err)
	}
	if _, err := hold("b", 40); err != nil {
		t.Errorf("another client gets nothing: %v", err)
	}
	if _, err := hold("c", 21); !errors.Is(err, bounded.ErrFull) {
		t.Errorf("more is held than there is: %v", err)
	}
	a.Release()
	if _, err := hold("a", 40); err != nil {
		t.Errorf("what was released is not there: %v", err)
	}
}

// TestConcurrentCapacity: nothing is lost or counted twice when many hold and release at a time.
func TestConcurrentCapacity(t *testing.T) {
	c := &bounded.Capacity{All: 1000, Each: 500}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 500 {
				h := c.Hold(string(rune('a' + i%4)))
				_ = h.Add(100) // also if it does not get it
				h.Release()
			}
		})
	}
	all.Wait()
	for _, client := range []string{"a", "b", "c", "d"} {
		if of, all := c.InUse(client); of != 0 || all != 0 {
			t.Errorf("after all was released, %s holds %d bytes, and all hold %d", client, of, all)
		}
	}
}

// TestHeldRead: it reads what there is, however it comes and whatever was announced, and refuses
// what is too large.
func TestHeldRead(t *testing.T) {
	for _, size := range []int{0, 1, 511, 512, 513, 70_000, 200_000} {
		for _, announced := range []int64{-1, 0, 5, int64(size), 300_000} {
			c := &bounded.Capacity{All: 1 << 20, Each: 1 << 20}
			want := bytes.Repeat([]byte("x"), size)
			for name, r := range map[string]io.Reader{"at once": bytes.NewReader(want), "in halves": iotest.HalfReader(bytes.NewReader(want))} {
				t.Run(name, func(t *testing.T) {
					h := c.Hold("")
					got, err := h.Read(r, announced, 300_000)
					if err != nil || !bytes.Equal(got, want) {
						t.Errorf("%d bytes %s of which %d are announced: got %d, %v", size, name, announced, len(got), err)
					}
					h.Release()
				})
			}
			h := c.Hold("")
			if _, err := h.Read(bytes.NewReader(want), announced, int64(size)-1); size > 0 && err == nil {
				t.Errorf("%d bytes where one less may be are read", size)
			}
			h.Release()
			if err := c.Hold("").Add(1 << 20); err != nil {
				t.Errorf("after reading %d bytes: %v", size, err)
			}
		}
	}
	if _, err := (&bounded.Capacity{All: 1 << 20, Each: 1 << 20}).Hold("").Read(iotest.ErrReader(io.ErrUnexpectedEOF), -1, 10); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a broken off text: %v", err)
	}
}

// TestHeldReadIsHeldBefore: no more is read, and no more memory is taken, than can be held, also if
// much more is announced.
func TestHeldReadIsHeldBefore(t *testing.T) {
	c := &bounded.Capacity{All: 1 << 30, Each: 1 << 20}
	for _, announced := range []int64{-1, 1 << 29} {
		r := &byteCounter{}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		h := c.Hold("a")
		_, err := h.Read(r, announced, 1<<29)
		runtime.ReadMemStats(&after)
		h.Release()
		if !errors.Is(err, bounded.ErrClientFull) {
			t.Errorf("more is read than the client may hold: %v", err)
		}
		if r.n > 1<<20 {
			t.Errorf("%d bytes are read, where %d can be held", r.n, 1<<20)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 3<<20 {
			t.Errorf("reading takes %d bytes of memory, where %d can be held", took, 1<<20)
		}
	}
}

type byteCounter struct{ n int64 }

func (c *byteCounter) Read(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}
