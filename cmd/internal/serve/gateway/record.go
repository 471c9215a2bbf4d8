package gateway

import (
	"context"
	"net/http"
	"time"

	"github.com/sotto-dp/sotto/internal/sys/fault"
)

// Record is what is known of a request when it has ended. It holds nothing of its content, nor
// of the answer's.
type Record struct {
	At     time.Time
	Method string
	// Path is one of those that there are, or "" for any other.
	Path string
	// Client is whose key it came with, Route and Version what it used; "" and 0 if it did not
	// get that far.
	Client, Route string
	Version       int64
	Status        int
	// Bytes of the answer, and how long it took.
	Bytes   int64
	Elapsed time.Duration
	// Charge of the ledger that paid for a private answer; "" if another request had the same
	// answer before. Spent and Left are of its budget.
	Charge string
	Spent  float64
	Left   *float64
	// Fault is the place in the program where it failed, if that is its own fault.
	Fault string
}

type recordKey struct{}

// recordOf is the record of a request under way.
func recordOf(ctx context.Context) *Record {
	if r, is := ctx.Value(recordKey{}).(*Record); is {
		return r
	}
	return &Record{} // nobody is told of it
}

// meteredWriter notes what is written.
type meteredWriter struct {
	http.ResponseWriter
	record *Record
}

func (c *meteredWriter) WriteHeader(status int) {
	if c.record.Status == 0 {
		c.record.Status = status
	}
	c.ResponseWriter.WriteHeader(status)
}

func (c *meteredWriter) Write(data []byte) (int, error) {
	if c.record.Status == 0 {
		c.record.Status = http.StatusOK
	}
	n, err := c.ResponseWriter.Write(data)
	c.record.Bytes += int64(n)
	return n, err
}

// Unwrap is for [http.ResponseController].
func (c *meteredWriter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// ServeHTTP serves a request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	record := &Record{At: time.Now(), Method: r.Method}
	if r.Method != http.MethodGet && r.Method != http.MethodPost {
		record.Method = "other" // a client can call it anything
	}
	defer func() {
		failed := recover()
		if failed != nil && failed != http.ErrAbortHandler { // its value may be content
			record.Fault, record.Status = fault.Where(), http.StatusInternalServerError
		}
		record.Elapsed = time.Since(record.At)
		if h.Done != nil {
			h.Done(*record)
		}
		if failed != nil {
			panic(http.ErrAbortHandler) // the connection ends, and nothing is printed
		}
	}()
	h.mux.ServeHTTP(&meteredWriter{w, record}, r.WithContext(context.WithValue(r.Context(), recordKey{}, record)))
}
