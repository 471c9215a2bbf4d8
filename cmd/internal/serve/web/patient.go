package web

import (
	"io"
	"net/http"
	"time"
)

// uploadTime is how long an upload may take to bring the next bytes. The server's limit is for a
// whole request, and a large file over a slow line takes longer.
const uploadTime = 2 * time.Minute

// patient reads a request for as long as bytes come.
type uploadBody struct {
	io.ReadCloser
	out     *http.ResponseController
	timeout time.Duration
}

func (p *uploadBody) Read(b []byte) (int, error) {
	// A server that has no deadlines has none to put off.
	_ = p.out.SetReadDeadline(time.Now().Add(p.timeout))
	return p.ReadCloser.Read(b)
}
