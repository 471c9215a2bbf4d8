package remote

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
)

// TestProxies: private records go through a proxy only if it is named, whatever the
// environment says; other prompts go as the environment says. The environment is read
// once in a process, so that each case has one of its own.
func TestProxies(t *testing.T) {
	if way := os.Getenv("SOTTO_TEST_WAY"); way != "" {
		dialThrough(t, way)
		return
	}
	var asked atomic.Int64
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusTeapot)
	}))
	defer proxy.Close()
	for way, through := range map[string]bool{"public": true, "private": false, "named": true} {
		before := asked.Load()
		child := exec.Command(os.Args[0], "-test.run", "^TestProxies$")
		child.Env = append(os.Environ(), "SOTTO_TEST_WAY="+way, "SOTTO_TEST_PROXY="+proxy.URL)
		for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
			if way != "named" {
				child.Env = append(child.Env, name+"="+proxy.URL)
			}
		}
		if out, err := child.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", way, err, out)
		}
		if got := asked.Load() > before; got != through {
			t.Errorf("%s: it went through the proxy: %v", way, got)
		}
	}
}

// dialThrough tries to reach a server that does not exist but for a proxy.
func dialThrough(t *testing.T, way string) {
	o := Options{URL: "http://gpu.invalid:8000", Private: way != "public", AllowPlaintext: true, Retries: -1}
	if way == "named" {
		o.Proxy = os.Getenv("SOTTO_TEST_PROXY")
	}
	if _, err := Dial(t.Context(), o); err == nil {
		t.Error("a server that does not exist answered")
	}
}

// TestPlaintext: records do not go unencrypted beyond this machine, neither to a server
// nor to a proxy, unless that is allowed; and what is allowed is said.
func TestPlaintext(t *testing.T) {
	for _, test := range []struct {
		url, proxy string
		plain      bool
		way        string
	}{
		{"http://127.0.0.1:8000", "", false, ""},
		{"http://localhost:8000", "", false, ""},
		{"http://[::1]:8000", "", false, ""},
		{"https://gpu.internal", "", false, ""},
		{"https://gpu.internal", "http://proxy.internal:3128", false, ", through the proxy http://proxy.internal:3128"},
		{"http://gpu.internal", "", true, ", unencrypted"},
		{"http://10.0.0.7:8000", "", true, ", unencrypted"},
		{"http://127.0.0.1.example.org", "", true, ", unencrypted"},
		{"http://127.0.0.1:8000", "http://proxy.internal:3128", true, ", unencrypted, through the proxy http://proxy.internal:3128"},
		{"http://gpu.internal", "https://me:secret@proxy.internal", true, ", unencrypted, through the proxy https://proxy.internal"},
	} {
		o := Options{URL: test.url, Proxy: test.proxy, Private: true}
		_, err := o.check()
		var plain *PlaintextError
		if errors.As(err, &plain) != test.plain || !test.plain && err != nil {
			t.Errorf("%s by %q: %v", test.url, test.proxy, err)
		}
		if test.plain && !strings.Contains(err.Error(), "allow_plaintext") {
			t.Errorf("the error does not say what to do: %v", err)
		}
		if got := o.Route(); got != test.way {
			t.Errorf("%s by %q goes %q, not %q", test.url, test.proxy, got, test.way)
		}
		for _, allowed := range []Options{{URL: test.url, Proxy: test.proxy, Private: true, AllowPlaintext: true}, {URL: test.url, Proxy: test.proxy}} {
			if _, err := allowed.check(); err != nil {
				t.Errorf("%s, allowed or without records: %v", test.url, err)
			}
		}
	}
	for _, proxy := range []string{"proxy.internal", "ftp://proxy.internal", "http://", "\x00"} {
		if _, err := (Options{URL: "https://gpu.internal", Proxy: proxy}).check(); err == nil {
			t.Errorf("the proxy %q is taken", proxy)
		}
	}
}

// TestPlaintextIsNotContacted: a server that records must not go to is not asked anything.
func TestPlaintextIsNotContacted(t *testing.T) {
	o := Options{URL: "http://gpu.invalid:8000", Private: true}
	var plain *PlaintextError
	if _, err := Dial(t.Context(), o); !errors.As(err, &plain) {
		t.Error(err)
	}
}
