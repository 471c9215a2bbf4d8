package remote

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/sotto-dp/sotto/internal/sys/machine"
)

// PlaintextError reports that private records would travel where others can read them.
type PlaintextError struct {
	// URL of the server or proxy.
	URL string
}

func (e *PlaintextError) Error() string {
	return fmt.Sprintf("private records would go to %s unencrypted, and anyone who is on the way could read them: use https://, or a tunnel that ends on this machine; if the network is yours alone, allow it (allow_plaintext = true beside trusted)", e.URL)
}

// checkProxy reports what is wrong with the proxy's URL, which may hold a password.
func (o Options) checkProxy() error {
	if o.Proxy == "" {
		return nil
	}
	u, err := url.Parse(o.Proxy)
	if err != nil || u.Host == "" {
		return errors.New("the proxy's URL cannot be read: give one such as http://proxy.internal:3128")
	}
	switch u.Scheme {
	case "http", "https", "socks5", "socks5h":
		return nil
	}
	return errors.New("the proxy's URL must begin with http://, https:// or socks5://")
}

func (o Options) proxy() func(*http.Request) (*url.URL, error) {
	switch {
	case o.Proxy != "":
		u, err := url.Parse(o.Proxy)
		return func(*http.Request) (*url.URL, error) { return u, err }
	case o.Private:
		return nil
	}
	return http.ProxyFromEnvironment
}

// plaintext returns the first machine beyond this one to which prompts go unencrypted, ""
// if none: the proxy, or else the server.
func (o Options) plaintext(server *url.URL) string {
	if server.Scheme == "https" {
		return "" // also within a proxy's tunnel
	}
	if u, err := url.Parse(o.Proxy); o.Proxy != "" && err == nil && u.Scheme != "https" && !machine.Loopback(u.Hostname()) {
		return u.Scheme + "://" + u.Host
	}
	if machine.Loopback(server.Hostname()) && o.Proxy == "" {
		return ""
	}
	return server.Scheme + "://" + server.Host
}

// Route describes how prompts reach the server: ", unencrypted" and ", through the proxy …"
// where that applies, otherwise nothing. It leaves out the proxy's password.
func (o Options) Route() (words string) {
	if server, err := url.Parse(o.URL); err == nil && o.plaintext(server) != "" {
		words = ", unencrypted"
	}
	if u, err := url.Parse(o.Proxy); o.Proxy != "" && err == nil {
		words += ", through the proxy " + u.Scheme + "://" + u.Host
	}
	return words
}
