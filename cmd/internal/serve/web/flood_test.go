package web

import (
	"bytes"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// TestFormsAreBounded: what strangers send in a form, or behind the question mark of an address,
// is bounded in bytes and fields, and what comes with a request for a page is not read.
func TestFormsAreBounded(t *testing.T) {
	s := newSite(t, nil)
	b := s.browser(t)
	token := b.token("/sign-in?link=x")
	send := func(body string) int {
		return b.post("/sign-in", url.Values{"token": {token}, "filler": {body}}).status
	}
	if got := send(strings.Repeat("x", 6000)); got != http.StatusUnauthorized {
		t.Errorf("a form of 6000 bytes: %d, want 401", got)
	}
	if got := send(strings.Repeat("x", maxFormOfStrangers)); got != http.StatusBadRequest {
		t.Errorf("a longer one: %d, want 400", got)
	}
	many := httptest.NewRequest(http.MethodPost, "/sign-in", strings.NewReader("token="+token+strings.Repeat("&", 1000)))
	many.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for _, r := range []*http.Request{many, httptest.NewRequest(http.MethodGet, "/sign-in?"+strings.Repeat("a&", 1000), nil)} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != http.StatusBadRequest {
			t.Errorf("%s with a thousand fields: %d, want 400", r.Method, w.Code)
		}
	}
	// A file with a request for a page would be kept on disk.
	var form bytes.Buffer
	parts := multipart.NewWriter(&form)
	file, err := parts.CreateFormFile("file", "a")
	must(t, err)
	_, err = file.Write(make([]byte, 1<<20))
	must(t, err)
	must(t, parts.Close())
	for _, path := range []string{"/sign-in", "/sign-in/oidc", "/"} {
		body := &readCounter{Reader: bytes.NewReader(form.Bytes())}
		r := httptest.NewRequest(http.MethodGet, path, body)
		r.Header.Set("Content-Type", parts.FormDataContentType())
		s.ServeHTTP(httptest.NewRecorder(), r)
		if body.read > 0 {
			t.Errorf("%d bytes are read of what comes with GET %s", body.read, path)
		}
	}
}

// readCounter counts what is read of it.
type readCounter struct {
	io.Reader
	read int
}

func (t *readCounter) Read(to []byte) (int, error) {
	n, err := t.Reader.Read(to)
	t.read += n
	return n, err
}

// TestFormsHeld: what forms hold at a time is bounded for a network, and given back.
func TestFormsHeld(t *testing.T) {
	s := newSite(t, nil)
	s.forms.Each = 10_000
	in, out := io.Pipe()
	var slow sync.WaitGroup
	send := func(from string, body io.Reader) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/sign-in", body)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.RemoteAddr = from
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w
	}
	slow.Go(func() { send("192.0.2.1:1", in) })
	_, err := io.WriteString(out, "token="+strings.Repeat("x", 8000)) // the next read finds it held
	must(t, err)
	_, err = io.WriteString(out, "x")
	must(t, err)
	if w := send("192.0.2.1:2", strings.NewReader(strings.Repeat("x", 5000))); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "1" {
		t.Errorf("another form of the network: %d, again after %q", w.Code, w.Header().Get("Retry-After"))
	}
	if w := send("192.0.2.2:1", strings.NewReader(strings.Repeat("x", 5000))); w.Code != http.StatusForbidden {
		t.Errorf("one of another network: %d, want 403", w.Code)
	}
	must(t, out.Close())
	slow.Wait()
	if _, held := s.forms.InUse(""); held != 0 {
		t.Errorf("%d bytes stay held", held)
	}
}

// TestIssuerIsBounded: what an issuer answers is read to a bound.
func TestIssuerIsBounded(t *testing.T) {
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := w.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	}))
	defer endless.Close()
	r, err := client.Get(endless.URL)
	must(t, err)
	defer r.Body.Close()
	n, err := io.Copy(io.Discard, r.Body)
	var large *http.MaxBytesError
	if !errors.As(err, &large) || n > maxStatement {
		t.Errorf("%d bytes of an endless answer are read: %v", n, err)
	}
}
