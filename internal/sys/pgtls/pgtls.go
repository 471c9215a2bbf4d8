// Package pgtls keeps what goes to and from a PostgreSQL server from travelling in clear
// beyond this machine.
package pgtls

import (
	"errors"
	"net"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// ErrPlaintext says that no way to the server is encrypted.
var ErrPlaintext = errors.New("the connection to PostgreSQL would not be encrypted, and anyone who is on the way could read the rows: let the server use TLS, or write sslmode=disable into the address itself if the network is yours alone")

// Require leaves out the ways to a server that are not encrypted, which by default are
// tried where TLS fails. An address that has an sslmode of its own is taken at its word;
// a variable such as PGSSLMODE is not. Sockets and addresses of this machine need no TLS.
func Require(config *pgx.ConnConfig, address string) error {
	if strings.Contains(strings.ToLower(address), "sslmode") {
		return nil
	}
	ways := append([]*pgconn.FallbackConfig{{Host: config.Host, Port: config.Port, TLSConfig: config.TLSConfig}}, config.Fallbacks...)
	var kept []*pgconn.FallbackConfig
	for _, w := range ways {
		if w.TLSConfig != nil || here(w.Host) {
			kept = append(kept, w)
		}
	}
	if len(kept) == 0 {
		return ErrPlaintext
	}
	config.Host, config.Port, config.TLSConfig = kept[0].Host, kept[0].Port, kept[0].TLSConfig
	config.Fallbacks = kept[1:]
	return nil
}

// here tells hosts that are this machine: sockets, and addresses that go round.
func here(host string) bool {
	if filepath.IsAbs(host) || strings.HasPrefix(host, "@") || host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
