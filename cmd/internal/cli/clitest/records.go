package clitest

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sotto-dp/sotto/internal/demo"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/lmtest"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/privacy/certificate"
)

// ChatTask answers with a text that is written.
const ChatTask = `kind = "generate"
input = "chat"
output = "summary"

[generate]
instruction = "Sum up the chat."
condition = "Chat"
text = "Summary"

[limits]
max_tokens = 5
record_tokens = 30
input_tokens = 60
shots = 2
`

// Chats are n records, each with what is planted.
func Chats(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{\"chat\": \"Ann: %s %d? Ben: Fine.\", \"summary\": \"Ann and Ben, %s.\"}\n", Planted, i, Planted)
	}
	return b.String()
}

// writeChats writes chats and their task for a script: chats FILE N.
func writeChats(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: chats FILE N")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(ofFile(args[0], Chats(n))), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("chat.toml"), []byte(ChatTask), 0o600))
}

// hasLines checks that each line of a file is one JSON object with a member:
// lines FILE N NAME…
func hasLines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: lines FILE N NAME…")
	}
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	n := 0
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		object, err := oneObject([]byte(line))
		ts.Check(err)
		for _, name := range args[2:] {
			if _, ok := object[name]; !ok {
				ts.Fatalf("line %d has no %s: %s", n+1, name, line)
			}
		}
		n++
	}
	if n != want {
		ts.Fatalf("%d lines, want %d", n, want)
	}
}

// Asking is a home with a tiny model, chats and a command that asks.
func Asking(t *testing.T, more ...string) []string {
	t.Helper()
	Home(t)
	lmtest.TinyModel(t, "tiny.gguf")
	if err := errors.Join(os.WriteFile("chat.toml", []byte(ChatTask), 0o600), os.WriteFile("chats.jsonl", []byte(Chats(300)), 0o600)); err != nil {
		t.Fatal(err)
	}
	return append([]string{"answer", "--task", "chat.toml", "--data", "chats.jsonl", "--size", "300", "--epsilon", "2", "--set", "batch=16", "--method", "clipped", "--model", "tiny.gguf"}, more...)
}

// poolHost is a server that writes what it is asked for, and keeps what it was told.
type poolHost struct {
	*httptest.Server
	mu   sync.Mutex
	told []string
	Keys []string
}

// NewPoolHost runs a server that writes texts for pools, and notes what it is asked.
func NewPoolHost(t *testing.T) *poolHost {
	h := &poolHost{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // what is cut off is no JSON
		h.mu.Lock()
		h.told, h.Keys = append(h.told, string(body)), append(h.Keys, r.Header.Get("Authorization"))
		h.mu.Unlock()
		if r.URL.Path == "/v1/models" {
			fmt.Fprint(w, `{"object":"list","data":[{"id":"large","object":"model"}]}`)
			return
		}
		if r.URL.Path != "/v1/chat/completions" {
			http.NotFound(w, r)
			return
		}
		var asked struct {
			Model    string
			Messages []struct{ Content string }
		}
		if err := json.Unmarshal(body, &asked); err != nil || asked.Model != "large" {
			http.Error(w, "{}", http.StatusNotFound)
			return
		}
		var b strings.Builder
		for i := range 8 {
			fmt.Fprintf(&b, "{\"input\": \"text %d %x\"}\n", i, len(asked.Messages[0].Content))
		}
		_, label, _ := strings.Cut(asked.Messages[0].Content, `whose output is "`)
		text, _ := json.Marshal(strings.ReplaceAll(b.String(), "text", label[:min(4, len(label))])) // a string
		fmt.Fprintf(w, `{"choices":[{"index":0,"message":{"content":%s},"finish_reason":"stop"}]}`, text)
	}))
	t.Cleanup(h.Close)
	return h
}

// All is what it was told.
func (h *poolHost) All() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.told, "\n")
}

// PetSchema has short words, for a model of few tokens.
const PetSchema = `
label    = "ill"
template = "{age} years, {pet}."
question = "Ill?"

[[column]]
name = "age"
kind = "numeric"
low = 0
high = 30

[[column]]
name = "pet"
kind = "categorical"
values = ["cat", "dog"]
phrases = { cat = "a cat" }

[[column]]
name = "ill"
kind = "categorical"
values = ["y", "n"]
phrases = { y = "Yes", n = "No" }
`

// ChoosingHome is a home with a model, a task, records, and examples of one's own.
func ChoosingHome(t *testing.T) {
	t.Helper()
	Home(t)
	lmtest.TinyModel(t, "tiny.gguf")
	for name, text := range map[string]string{
		"task.toml": TicketTask, "records.jsonl": Tickets(200),
		"own.jsonl":    `{"text": "my bill is wrong", "queue": "billing"}` + "\n" + `{"text": "it is down", "queue": "repairs"}` + "\n",
		"wrong.jsonl":  `{"text": "my bill is wrong", "queue": "nonsense"}` + "\n",
		"marked.jsonl": `{"text": "my bill is wrong", "queue": "billing", "not_private": true}` + "\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Choosing are the arguments of a short run in which records choose.
func Choosing(more ...string) []string {
	return append([]string{
		"synth", "--task", "task.toml", "--data", "records.jsonl", "--size", "400", "--epsilon", "4", "--model", "tiny.gguf",
		"--set", "generation-share=0", "--set", "pool=4", "--set", "tokens=3", "--set", "rounds=2", "--set", "records=8", "--out", "demos",
	}, more...)
}

// TicketHome is a home with records, their task and the tiny model.
func TicketHome(t *testing.T) {
	t.Helper()
	Home(t)
	lmtest.TinyModel(t, "tiny.gguf")
	if err := errors.Join(
		os.WriteFile("task.toml", []byte(TicketTask), 0o600), os.WriteFile("records.jsonl", []byte(Tickets(200)), 0o600),
	); err != nil {
		t.Fatal(err)
	}
}

// ChatServer speaks OpenAI's interface as far as a chat needs it. It answers with
// what it was told last.
func ChatServer() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"object":"list","data":[{"id":"parrot","object":"model","owned_by":"someone"}]}`)
	})
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Messages []lm.Message `json:"messages"`
			Stream   bool         `json:"stream"`
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || len(q.Messages) == 0 {
			http.Error(w, "wrong request", http.StatusBadRequest)
			return
		}
		last := fmt.Sprintf("%d: %s", len(q.Messages), q.Messages[len(q.Messages)-1].Content)
		text, _ := json.Marshal(last)
		if !q.Stream {
			fmt.Fprintf(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":%s},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`, text)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s},\"finish_reason\":null}]}\n\n", text)
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n")
	})
	return mux
}

// TicketTask is a task of one's own, as short as it gets.
const TicketTask = `kind = "classify"
text = "text"
label = "queue"
labels = ["billing", "repairs"]

[generate]
instruction = "Write a ticket for a queue."

[answer]
instruction = "Name the queue of a ticket."

[limits]
max_tokens = 5
shots = 3
record_tokens = 20
`

// Planted is in every record.
const Planted = "zanzibar"

// Tickets are n records for each queue.
func Tickets(n int) string {
	var b strings.Builder
	for i := range n {
		for _, queue := range []string{"billing", "repairs"} {
			fmt.Fprintf(&b, "{\"text\": \"%s %s %d\", \"queue\": %q, \"who\": \"c%d\"}\n", Planted, queue, i, queue, i/2)
		}
	}
	return b.String()
}

// ofFile makes the records of a file other people's than those of another one: the ledger
// would know them again.
func ofFile(name, text string) string {
	name, _, _ = strings.Cut(filepath.Base(name), ".")
	if name == "records" || name == "chats" {
		return text
	}
	return strings.NewReplacer(Planted, Planted+" "+name, `"who": "`, `"who": "`+name+"-").Replace(text)
}

// writeRecords writes tickets for a script: records FILE N, as CSV if the name says so.
func writeRecords(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: records FILE N")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	text := ofFile(args[0], Tickets(n))
	if filepath.Ext(args[0]) == ".csv" {
		var b strings.Builder
		b.WriteString("who,text,queue\n")
		for line := range strings.Lines(text) {
			var r struct{ Text, Queue, Who string }
			ts.Check(json.Unmarshal([]byte(line), &r))
			fmt.Fprintf(&b, "%s,\"%s\",%s\n", r.Who, r.Text, r.Queue)
		}
		text = b.String()
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("task.toml"), []byte(TicketTask), 0o600))
}

// Loans is a table of the demo as a file.
func Loans(n int) ([]byte, error) {
	var b bytes.Buffer
	err := demo.WriteLoans(&b, demo.Loans(n))
	return b.Bytes(), err
}

// writeLoans makes a table and its schema: loans FILE N
func writeLoans(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: loans FILE N")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	data, err := Loans(n)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), data, 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("loans.toml"), demo.LoansFile(), 0o600))
}

// fill makes a table of loans in a database. PostgreSQL and SQLite both take $1.
func fill(t *testing.T, rows []demo.Loan, execute func(statement string, args ...any) error) {
	t.Helper()
	all := []error{execute("create table loans (customer int, age int, income int, employment text, home text, purpose text, amount double precision, late int, repaid text)"), execute("begin")}
	for _, l := range rows {
		repaid := map[bool]string{true: "yes", false: "no"}[l.Repaid]
		all = append(all, execute("insert into loans values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
			l.Customer, l.Age, l.Income, l.Employment, l.Home, l.Purpose, l.Amount, l.Late, repaid))
	}
	if err := errors.Join(append(all, execute("commit"))...); err != nil {
		t.Fatal(err)
	}
}

// FillSQLite writes loans into a database file.
func FillSQLite(t *testing.T, path string, rows []demo.Loan) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // of one transaction
	fill(t, rows, func(statement string, args ...any) error {
		_, err := db.Exec(statement, args...)
		return err
	})
}

// FillPostgres writes loans into a database server.
func FillPostgres(t *testing.T, address string, rows []demo.Loan) {
	t.Helper()
	db, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(context.WithoutCancel(t.Context()))
	fill(t, rows, func(statement string, args ...any) error {
		_, err := db.Exec(t.Context(), statement, args...)
		return err
	})
}

// ProfileArgs are a profile that uses up a budget of 1.
func ProfileArgs(out string, more ...string) []string {
	return append([]string{"table", "profile", "--schema", "loans.toml", "--size", "500", "--epsilon", "1", "--out", out}, more...)
}

// BankFiles writes a table, and ways in which people save it anew.
func BankFiles(t *testing.T) (variants map[string]string) {
	t.Helper()
	data, err := Loans(500)
	if err != nil {
		t.Fatal(err)
	}
	Write(t, "loans.csv", data)
	Write(t, "loans.toml", demo.LoansFile())
	text := string(data)
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n")+"\n", "\n")
	lines = lines[:len(lines)-1]
	rows := slices.Clone(lines[1:])
	slices.Reverse(rows)
	more, err := Loans(501)
	if err != nil {
		t.Fatal(err)
	}
	variants = map[string]string{
		"mark.csv":   "\ufeff" + text,
		"crlf.csv":   strings.ReplaceAll(text, "\n", "\r\n"),
		"sorted.csv": lines[0] + strings.Join(rows, ""),
		"more.csv":   string(more),
		"less.csv":   strings.Join(lines[:450], ""),
	}
	for name, content := range variants {
		Write(t, name, []byte(content))
	}
	return variants
}

// Certify signs what is in a directory with the key of a folder, for an event.
func Certify(dir, keys, expr string) error {
	e, err := privacy.Parse(expr)
	if err != nil {
		return err
	}
	signer, _, err := certificate.OpenSigner(keys)
	if err != nil {
		return err
	}
	_, err = certificate.Issue(dir, certificate.Claim{
		Events: []privacy.Event{e}, Delta: 1e-6,
		Method: "gaussian", Proof: "a test", Standing: certificate.Proven, Randomness: certificate.OSRandom,
		Samplers: []certificate.Sampler{certificate.SampleAll}, Version: "test",
	}, accountant.Auto{}, signer)
	return err
}
