package bounded

import (
	"errors"
	"io"
	"sync"
)

// Capacity bounds how many bytes a server holds for its clients at a time, all of them and each.
// Its methods may be called concurrently.
type Capacity struct {
	// All is of all clients together, and Each of one of them, so that none can use it up.
	// Required.
	All, Each int64

	mu   sync.Mutex
	held int64
	by   map[string]int64
}

// Why a client cannot be served now: it has too much under way itself, or all together have.
var (
	ErrClientFull = errors.New("requests of the same client that are under way hold too many bytes")
	ErrFull       = errors.New("requests that are under way hold too many bytes")
)

// Hold begins to hold bytes for a client. The caller releases it.
func (c *Capacity) Hold(client string) *Reservation { return &Reservation{of: c, client: client} }

// InUse returns how many bytes are held for a client, and for all.
func (c *Capacity) InUse(client string) (of, all int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.by[client], c.held
}

// Reservation is what is held for one request. It is for one goroutine at a time.
type Reservation struct {
	of     *Capacity
	client string
	bytes  int64
}

// Add holds more bytes. It does not wait: if there are too many it is [ErrClientFull] or
// [ErrFull], and holds what it did.
func (h *Reservation) Add(bytes int64) error {
	c := h.of
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.by[h.client]+bytes > c.Each:
		return ErrClientFull
	case c.held+bytes > c.All:
		return ErrFull
	}
	if c.by == nil {
		c.by = map[string]int64{}
	}
	c.held, c.by[h.client], h.bytes = c.held+bytes, c.by[h.client]+bytes, h.bytes+bytes
	return nil
}

// Release gives back all that is held; more can be held after it.
func (h *Reservation) Release() {
	if h.bytes == 0 {
		return
	}
	c := h.of
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held -= h.bytes
	if c.by[h.client] -= h.bytes; c.by[h.client] <= 0 {
		delete(c.by, h.client)
	}
	h.bytes = 0
}

// A buffer begins with a length that is announced only up to firstBuffer: what is announced need
// not come.
const (
	minBuffer   = 512
	firstBuffer = 64 << 10
)

// Read is [Read] of what somebody announced to be so long, -1 if they did not. What it reads is held
// before there is memory for it, and stays held.
func (h *Reservation) Read(r io.Reader, announced, largest int64) ([]byte, error) {
	if announced > largest {
		return nil, tooLarge(largest)
	}
	size := int64(minBuffer)
	if announced >= 0 {
		size = min(announced+1, firstBuffer) // one more finds the end
	}
	if err := h.Add(size); err != nil {
		return nil, err
	}
	data := make([]byte, 0, size)
	for {
		n, err := r.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case int64(len(data)) > largest:
			return nil, tooLarge(largest)
		case errors.Is(err, io.EOF):
			return data, nil
		case err != nil:
			return nil, err
		case len(data) < cap(data):
			continue
		}
		more := min(2*size, largest+1)
		if announced >= size {
			more = min(more, announced+1)
		}
		if err := h.Add(more - size); err != nil {
			return nil, err
		}
		grown := make([]byte, len(data), more)
		copy(grown, data)
		data, size = grown, more
	}
}
