package models

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	firstCommit  = "1111111111111111111111111111111111111111"
	secondCommit = "2222222222222222222222222222222222222222"
	secret       = "hf_secretSECRETsecret"
)

// fakeHub speaks Hugging Face's protocol as far as a pull needs it: what it publishes of a
// file is in the head of a redirect to another server, which has the bytes and an ETag of
// its own.
type fakeHub struct {
	*httptest.Server
	cdn *site

	mu sync.Mutex
	// files of someone/tiny-GGUF, by revision.
	files map[string]map[string][]byte
	// claimed is what is published as the SHA-256 instead of the right one.
	claimed string
	// headless: sizes and hashes are in the list of files alone.
	headless bool
	// private: a token is needed.
	private bool
	// moved is a name that the repository had before.
	moved string
	// swapped are files that are sent instead of those that are listed.
	swapped map[string]string
	// fail answers before anything else, once for each.
	fail []func(w http.ResponseWriter, r *http.Request)

	asked  []string // method and path
	tokens []string // what came as Authorization, here
	leaked []string // and at the other server
}

func newFakeHub(t *testing.T, data []byte, faults ...misdeed) *fakeHub {
	t.Helper()
	h := &fakeHub{files: map[string]map[string][]byte{firstCommit: {"tiny-q4.gguf": data, "sub/other.gguf": data[:100], "tiny-00001-of-00002.gguf": data[:10], "README.md": []byte("hello")}}}
	h.cdn = &site{data: data, faults: faults}
	h.cdn.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		if a := r.Header.Get("Authorization"); a != "" {
			h.leaked = append(h.leaked, a)
		}
		h.mu.Unlock()
		w.Header().Set("ETag", `"`+hashOf([]byte("another hash"))+`"`)
		h.cdn.ServeHTTP(w, r)
	}))
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.cdn.Close)
	t.Cleanup(h.Close)
	t.Setenv("HF_ENDPOINT", h.URL)
	t.Setenv("HF_TOKEN", "")
	t.Setenv("SOTTO_MODELS_LOCK", filepath.Join(t.TempDir(), "conf", "models.lock"))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	return h
}

// set changes the file on the main branch, with a new commit.
func (h *fakeHub) set(data []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.files[secondCommit] = map[string][]byte{"tiny-q4.gguf": data}
	h.cdn.data = data
}

func (h *fakeHub) head() string {
	if _, ok := h.files[secondCommit]; ok {
		return secondCommit
	}
	return firstCommit
}

func (h *fakeHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = append(h.asked, r.Method+" "+r.URL.Path)
	if a := r.Header.Get("Authorization"); a != "" {
		h.tokens = append(h.tokens, a)
	}
	if len(h.fail) > 0 {
		f := h.fail[0]
		h.fail = h.fail[1:]
		f(w, r)
		return
	}
	refused := func(code int, word string) {
		w.Header().Set("X-Error-Code", word)
		w.Header().Set("X-Error-Message", "words of a server, which messages do not repeat")
		w.WriteHeader(code)
	}
	if h.moved != "" && strings.HasPrefix(r.URL.Path, "/"+h.moved+"/") {
		http.Redirect(w, r, strings.Replace(r.URL.Path, h.moved, "someone/tiny-GGUF", 1), http.StatusTemporaryRedirect)
		return
	}
	if h.private && r.Header.Get("Authorization") != "Bearer "+secret || !strings.Contains(r.URL.Path, "someone/tiny-GGUF") {
		refused(http.StatusUnauthorized, "RepoNotFound")
		return
	}
	parts := strings.Split(strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/api/models"), "/"), "/")
	kind, revision, name := parts[2], parts[3], strings.Join(parts[4:], "/")
	if revision == "main" {
		revision = h.head()
	}
	files, ok := h.files[revision]
	if !ok {
		refused(http.StatusNotFound, "RevisionNotFound")
		return
	}
	if kind == "tree" {
		h.tree(w, r, files, name)
		return
	}
	data, ok := files[name]
	if !ok {
		refused(http.StatusNotFound, "EntryNotFound")
		return
	}
	w.Header().Set("X-Repo-Commit", revision)
	if !large(name) {
		if other, ok := h.swapped[name]; ok {
			data = []byte(other)
		}
		w.Header().Set("ETag", `"`+firstCommit+`"`)
		fmt.Fprint(w, string(data))
		return
	}
	if !h.headless {
		sum := h.claimed
		if sum == "" {
			sum = hashOf(data)
		}
		w.Header().Set("X-Linked-Etag", `"`+sum+`"`)
		w.Header().Set("X-Linked-Size", fmt.Sprint(len(data)))
		http.Redirect(w, r, h.cdn.URL+"/bridge/"+name+"?Signature=x", http.StatusFound)
		return
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

// large reports whether the hub keeps a file apart, with a SHA-256.
func large(name string) bool { return path.Ext(name) == ".gguf" || path.Ext(name) == ".safetensors" }

func (h *fakeHub) tree(w http.ResponseWriter, r *http.Request, files map[string][]byte, folder string) {
	if folder == "" {
		folder = "."
	}
	type line map[string]any
	list := []line{}
	for name, data := range files {
		if path.Dir(name) != folder && r.URL.Query().Get("recursive") == "" {
			continue
		}
		oid := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(data), data))
		l := line{"type": "file", "path": name, "size": len(data), "oid": hex.EncodeToString(oid[:])}
		if large(name) {
			l["lfs"] = line{"oid": hashOf(data), "size": len(data), "pointerSize": 135}
		}
		list = append(list, l)
	}
	_ = json.NewEncoder(w).Encode(list)
}
