package postgres_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// proxy stands between a client and the server, and can cut the connection at
// any message of the client.
type proxy struct {
	t               *testing.T
	listener        net.Listener
	network, server string

	mu sync.Mutex
	// seen counts the client's messages since the proxy was armed.
	seen int
	// cut is the number of the message at which to cut, 0 for none; late means
	// after the server has got and answered it, and not before it is sent.
	cut  int
	late bool
	// down refuses connections from the cut on.
	down, isDown bool
}

func newProxy(t *testing.T, address string) *proxy {
	t.Helper()
	config, err := pgx.ParseConfig(address)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, network: "tcp", server: net.JoinHostPort(config.Host, fmt.Sprint(config.Port))}
	if filepath.IsAbs(config.Host) {
		p.network, p.server = "unix", filepath.Join(config.Host, fmt.Sprintf(".s.PGSQL.%d", config.Port))
	}
	if p.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.listener.Close() })
	go p.serve()
	return p
}

// through returns an address that leads through the proxy.
func (p *proxy) through(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		p.t.Fatal(err)
	}
	q := u.Query()
	q.Del("host")
	q.Set("sslmode", "disable")
	u.RawQuery = q.Encode()
	u.Host = p.listener.Addr().String()
	return u.String()
}

func (p *proxy) arm(cut int, late, down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen, p.cut, p.late, p.down, p.isDown = 0, cut, late, down, false
}

// done disarms the proxy and reports whether it cut.
func (p *proxy) done() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	cut := p.cut > 0 && p.seen >= p.cut
	p.cut, p.isDown = 0, false
	return cut
}

func (p *proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		down := p.isDown
		p.mu.Unlock()
		server, err := net.Dial(p.network, p.server)
		if err != nil || down {
			client.Close()
			if err == nil {
				server.Close()
			}
			continue
		}
		go p.forward(client, server)
	}
}

// message reports whether to cut at the message that comes now.
func (p *proxy) message() (cut, late bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen++
	cut = p.seen == p.cut
	p.isDown = p.isDown || cut && p.down
	return cut, p.late
}

func (p *proxy) forward(client, server net.Conn) {
	var mute sync.Mutex
	muted := false
	answered := make(chan struct{}, 1)
	go func() {
		buffer := make([]byte, 1<<16)
		for {
			n, err := server.Read(buffer)
			mute.Lock()
			if muted {
				select {
				case answered <- struct{}{}:
				default:
				}
			} else if n > 0 {
				_, _ = client.Write(buffer[:n])
			}
			mute.Unlock()
			if err != nil {
				client.Close()
				return
			}
		}
	}()
	defer server.Close()
	defer client.Close()
	for first := true; ; first = false {
		m, err := readMessage(client, first)
		if err != nil {
			return
		}
		cut, late := p.message()
		if cut && !late {
			return
		}
		if cut {
			mute.Lock()
			muted = true
			mute.Unlock()
		}
		if _, err := server.Write(m); err != nil {
			return
		}
		if cut {
			select { // a message within a batch is not answered
			case <-answered:
			case <-time.After(30 * time.Millisecond):
			}
			return
		}
	}
}

// readMessage reads one message of a client; the first one has no type.
func readMessage(r io.Reader, first bool) ([]byte, error) {
	head := make([]byte, 5)
	if first {
		head = head[:4]
	}
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[len(head)-4:])
	if n < 4 || n > 1<<20 {
		return nil, errors.New("not a message")
	}
	m := append(head, make([]byte, n-4)...)
	_, err := io.ReadFull(r, m[len(head):])
	return m, err
}
