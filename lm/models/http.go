package models

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// web fetches a file from a server, from any offset on.
type web struct {
	label   string
	address string
	client  *http.Client
	stall   time.Duration
	token   string // for the hub, and for no other server
}

// newClient returns a client that waits long for data that arrives, but not for a silent
// server.
func newClient() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	t.TLSHandshakeTimeout = 15 * time.Second
	t.ResponseHeaderTimeout = 30 * time.Second
	return &http.Client{Transport: t, CheckRedirect: keepToken}
}

// keepToken removes the token from a request that leaves its server. The standard library
// leaves it on for other ports and for subdomains, and the servers that hold the hub's
// files are neither the hub nor to be trusted with it.
func keepToken(next *http.Request, before []*http.Request) error {
	if len(before) >= 10 {
		return errors.New("stopped after 10 redirects")
	}
	for _, r := range append(before[1:len(before):len(before)], next) {
		if !sameOrigin(r.URL, before[0].URL) {
			next.Header.Del("Authorization")
		}
	}
	return nil
}

func (w *web) String() string { return w.label }

func (w *web) room(f File, offset int64) int64 { return f.Bytes - offset }

// open asks for the file from an offset on.
func (w *web) open(ctx context.Context, f File, offset int64) (*stream, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	request, err := newRequest(ctx, http.MethodGet, w.address, w.token)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	if offset > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
	}
	response, err := w.client.Do(request)
	if err != nil {
		cancel(nil)
		return nil, classify(err)
	}
	s, err := answer(response, f, offset)
	if err != nil {
		response.Body.Close()
		cancel(nil)
		return nil, err
	}
	s.ReadCloser = newStallReader(response.Body, w.stall, ctx, cancel)
	return s, nil
}

// newRequest makes a request, with the token only if it goes to the hub itself.
func newRequest(ctx context.Context, method, address, token string) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, method, address, nil)
	if err != nil {
		return nil, permanentError{errors.New("the address is not one")}
	}
	request.Header.Set("User-Agent", "sotto")
	// A transport that unpacks would make offsets meaningless.
	request.Header.Set("Accept-Encoding", "identity")
	if token != "" && maySend(request.URL) {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	return request, nil
}

func answer(r *http.Response, f File, offset int64) (*stream, error) {
	s := &stream{}
	length := r.ContentLength
	switch r.StatusCode {
	case http.StatusOK:
		s.total = length
	case http.StatusPartialContent:
		from, total, err := contentRange(r.Header.Get("Content-Range"))
		if err != nil || from != offset {
			return nil, permanentError{errors.New("the server answered with another range than it was asked for")}
		}
		s.start, s.total = from, total
	case http.StatusRequestedRangeNotSatisfiable:
		return nil, errBeyond
	default:
		return nil, statusError(r)
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind == "text/html" {
		return nil, permanentError{errors.New("the server sent a web page instead of the file: does the network want a login, or the address a download link?")}
	}
	if f.Bytes > 0 && s.total >= 0 && s.total != f.Bytes {
		return nil, permanentError{fmt.Errorf("the server has another file: %d bytes instead of %d", s.total, f.Bytes)}
	}
	return s, nil
}

// errBeyond: the part is longer than what the server has.
var errBeyond = errors.New("the server has less than what was fetched before")

// contentRange reads "bytes 5-9/10"; the total is -1 where it is "*".
func contentRange(header string) (from, total int64, err error) {
	bytes, ok := strings.CutPrefix(header, "bytes ")
	span, size, ok2 := strings.Cut(bytes, "/")
	first, _, ok3 := strings.Cut(span, "-")
	if !ok || !ok2 || !ok3 {
		return 0, 0, errors.New("no range")
	}
	if from, err = strconv.ParseInt(first, 10, 64); err != nil {
		return 0, 0, err
	}
	if size == "*" {
		return from, -1, nil
	}
	total, err = strconv.ParseInt(size, 10, 64)
	return from, total, err
}

// busyError is an answer that asks to come back later.
type busyError struct {
	error
	after time.Duration
}

func (e busyError) Unwrap() error { return e.error }

// maxWait bounds what a server may ask for.
const maxWait = 30 * time.Second

func statusError(r *http.Response) error {
	err := fmt.Errorf("the server answered %s", r.Status)
	switch {
	case r.StatusCode == http.StatusTooManyRequests, r.StatusCode == http.StatusRequestTimeout, r.StatusCode >= 500:
		seconds, _ := strconv.Atoi(r.Header.Get("Retry-After"))
		return busyError{err, min(time.Duration(max(seconds, 0))*time.Second, maxWait)}
	}
	return permanentError{err}
}

// classify separates temporary errors from permanent ones.
func classify(err error) error {
	// The address is in the label already, and may have credentials.
	if addressing, ok := errors.AsType[*url.Error](err); ok {
		err = addressing.Err
	}
	if name, ok := errors.AsType[*net.DNSError](err); ok && name.IsNotFound {
		return permanentError{fmt.Errorf("the name %s cannot be found (is there a network?)", name.Name)}
	}
	dial, ok := errors.AsType[*net.OpError](err)
	if ok && dial.Op == "dial" && dial.Timeout() || is[*tls.CertificateVerificationError](err) {
		return permanentError{err}
	}
	return err
}

// stallReader is a body that fails when nothing comes for a while.
type stallReader struct {
	body   io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	stall  time.Duration
}

func newStallReader(body io.ReadCloser, stall time.Duration, ctx context.Context, cancel context.CancelCauseFunc) *stallReader {
	timer := time.AfterFunc(stall, func() { cancel(fmt.Errorf("nothing came for %v", stall)) })
	return &stallReader{body, ctx, cancel, timer, stall}
}

func (w *stallReader) Read(p []byte) (int, error) {
	n, err := w.body.Read(p)
	if n > 0 {
		w.timer.Reset(w.stall)
	}
	if err != nil && err != io.EOF && w.ctx.Err() != nil {
		err = context.Cause(w.ctx)
	}
	return n, err
}

func (w *stallReader) Close() error {
	w.timer.Stop()
	w.cancel(nil)
	return w.body.Close()
}
