package gateway

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/internal/sys/machine"
)

// Server is an upstream that is reached over the network.
type Server struct {
	base *url.URL
	key  string
	http *http.Transport
}

// NewServer returns the server at an address, which is asked with a key unless that is "". In
// clear it is asked on this machine only, unless plaintext says that the network is one's own.
func NewServer(address, key string, plaintext bool) (*Server, error) {
	base, err := url.Parse(strings.TrimSuffix(strings.TrimRight(address, "/"), "/v1"))
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("the address of an upstream should begin with http:// or https:// and name a server")
	}
	if base.User != nil || base.RawQuery != "" || base.Fragment != "" {
		return nil, fmt.Errorf("the address of an upstream should have no user, no ? and no #: its key has a place of its own")
	}
	if base.Scheme == "http" && !plaintext && !machine.Loopback(base.Hostname()) {
		return nil, fmt.Errorf("questions and the key would travel in clear to %s: use https://, or set allow_plaintext = true if the network is yours alone", base.Host)
	}
	dial := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &Server{base: base, key: key, http: &http.Transport{
		DialContext: dial.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConns: 512, MaxIdleConnsPerHost: 512, IdleConnTimeout: 90 * time.Second,
		ResponseHeaderTimeout: 10 * time.Minute, DisableCompression: true,
	}}, nil
}

// RoundTrip sends a request, of which only the path counts, to the server.
func (s *Server) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host, r.Host = s.base.Scheme, s.base.Host, ""
	r.URL.Path = s.base.Path + r.URL.Path
	if s.key != "" {
		r.Header.Set("Authorization", "Bearer "+s.key)
	}
	return s.http.RoundTrip(r)
}

// Close ends connections that nobody uses.
func (s *Server) Close() { s.http.CloseIdleConnections() }

// idleBody is the body of an answer whose server must not be silent for too long.
type idleBody struct {
	io.ReadCloser
	limit time.Duration
	timer *time.Timer
}

func newWatched(body io.ReadCloser, limit time.Duration, end func()) *idleBody {
	return &idleBody{body, limit, time.AfterFunc(limit, end)}
}

func (w *idleBody) Read(to []byte) (int, error) {
	w.timer.Reset(w.limit) // a slow client is no fault of the server
	return w.ReadCloser.Read(to)
}

// Close ends the watch too.
func (w *idleBody) Close() error {
	w.timer.Stop()
	return w.ReadCloser.Close()
}
