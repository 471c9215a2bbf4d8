package clitest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// ServeChat starts a server and puts its address into a variable: serve chat VAR for a
// model that only chats, serve files DIR VAR for the files of a directory, serve hub DIR
// VAR for a hub whose one repository someone/tiny-GGUF has them.
func ServeChat(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: serve chat VAR, serve files DIR VAR or serve hub DIR VAR")
	}
	var handler http.Handler
	switch args[0] {
	case "chat":
		handler = ChatServer()
	case "files":
		handler = http.FileServer(http.Dir(ts.MkAbs(args[1])))
	case "hub":
		handler = HubServer(ts.MkAbs(args[1]))
	default:
		ts.Fatalf("there is no server %q", args[0])
	}
	s := httptest.NewServer(handler)
	ts.Defer(s.Close)
	ts.Setenv(args[len(args)-1], s.URL)
}

// HubServer speaks Hugging Face's protocol as far as a pull needs it. The commit is made
// of the file's hash, so that a file that changes is of another one.
func HubServer(dir string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/someone/tiny-GGUF/resolve/{revision}/{file}", func(w http.ResponseWriter, r *http.Request) {
		data, err := os.ReadFile(filepath.Join(dir, r.PathValue("file")))
		sum := sha256.Sum256(data)
		hash := hex.EncodeToString(sum[:])
		if revision := r.PathValue("revision"); err != nil || revision != "main" && revision != hash[:40] {
			w.Header().Set("X-Error-Code", "EntryNotFound")
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("X-Repo-Commit", hash[:40])
		w.Header().Set("X-Linked-Etag", `"`+hash+`"`)
		w.Header().Set("X-Linked-Size", fmt.Sprint(len(data)))
		http.Redirect(w, r, "/cdn/"+r.PathValue("file"), http.StatusFound)
	})
	mux.Handle("/cdn/", http.StripPrefix("/cdn/", http.FileServer(http.Dir(dir))))
	return mux
}

// Canary is in every record, and must be nowhere else.
const Canary = "zyzzyva-7319"

// Messages writes private messages of two teams, and their task.
func Messages(t *testing.T, n int) {
	t.Helper()
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"text":"message %d about %s","team":%q}`+"\n", i, Canary, []string{"billing", "login"}[i%2])
	}
	Write(t, "messages.jsonl", []byte(b.String()))
	Write(t, "teams.toml", []byte(`name = "teams"
kind = "classify"
text = "text"
label = "team"
labels = ["billing", "login"]

[generate]
instruction = "Write a message to a team."

[answer]
instruction = "Which team is the message for?"
input = "Message"
output = "Team"
`))
}

// Exchange sends a request with a key, and returns its status, headers and answer.
func Exchange(t *testing.T, method, address, key, body string) (int, http.Header, string) {
	t.Helper()
	q, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	if key != "" {
		q.Header.Set("Authorization", "Bearer "+key)
	}
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	data, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, r.Header, string(data)
}

// SyncBuffer is a buffer that is written to while it is read.
type SyncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *SyncBuffer) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(data)
}

func (s *SyncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// Server is the program as it serves.
type Server struct {
	Clients, Admin string // its addresses
	Stdout, Stderr SyncBuffer
	Stop           func() int // and return its exit code
}

// Serving runs "sotto serve" until the test ends.
func Serving(t *testing.T, flags ...string) *Server {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &Server{}
	ended := make(chan int, 1)
	go func() {
		ended <- execute(ctx, NewProgram(&r.Stdout, &r.Stderr), append([]string{"serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"}, flags...))
	}()
	r.Stop = sync.OnceValue(func() int { cancel(); return <-ended })
	t.Cleanup(func() { r.Stop() })
	for end := time.Now().Add(3 * time.Minute); r.Admin == ""; time.Sleep(5 * time.Millisecond) {
		if m := regexp.MustCompile(`(?s)serving (http://\S+)/v1.*administration at (http://\S+)`).FindStringSubmatch(r.Stderr.String()); m != nil {
			r.Clients, r.Admin = m[1], m[2]
		}
		if time.Now().After(end) {
			t.Fatal(r.Stderr.String())
		}
	}
	return r
}
