package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/demo"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/internal/sys/pgtest"
	"github.com/sotto-dp/sotto/lm/lmtest"
)

// block is a piece of a document that shows commands.
type block struct {
	// line where it begins, from 1.
	line  int
	text  string
	apart bool
}

// shown reports whether a block has what its commands print, after lines that begin with a $.
func (b block) shown() bool {
	return strings.HasPrefix(b.text, "$ ") || strings.Contains(b.text, "\n$ ")
}

// commandBlocks returns the blocks of a document that are commands.
func commandBlocks(document string) (found []block) {
	var at *block
	n := 0
	for line := range strings.Lines(document) {
		n++
		switch fence := strings.HasPrefix(line, "```"); {
		case fence && at != nil:
			found, at = append(found, *at), nil
		case fence && isCommands(line):
			at = &block{line: n}
		case at != nil:
			at.text += line
		}
	}
	return found
}

// isCommands reports whether a fence begins a block of commands.
func isCommands(fence string) bool {
	return slices.Contains([]string{"console", "sh", "bash", "shell"}, strings.TrimSpace(strings.TrimPrefix(fence, "```")))
}

// documents are README.md and all pages of docs/, by their path in the repository.
func documents(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	add := func(path string) error {
		text, err := os.ReadFile(path)
		all[strings.TrimPrefix(filepath.ToSlash(path), "../../")] = string(text)
		return err
	}
	err := filepath.WalkDir("../../docs", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(path) == ".md" {
			err = add(path)
		}
		return err
	})
	if err == nil {
		err = add("../../README.md")
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// apart are blocks that no test here runs, by how they begin, and why.
var apart = map[string]string{
	"make build":                         "builds the program that these tests run",
	"sotto init --data messages.csv":     "asks on the terminal; TestInit carries out what it writes",
	"sotto-lab ":                         "is the laboratory's, whose tests run it",
	"sotto model pull hf:":               "fetches from Hugging Face; TestModels pulls from a hub of its own",
	"sotto audit --command './published": "TestAuditCommand builds and runs those programs",
	"sotto mcp --service":                "speaks with an agent on its standard input; TestAgent does",
	"openssl ":                           "signs, tags or checks a release; make test-release does",
	"git checkout v":                     "builds a published version; make test-release builds this one twice",
	"make wheel":                         "builds and installs the wheel; make test-python does",
	"$ sotto plan --task agnews":         "shows a part of what is printed; TestPlanForecast has the numbers",
}

// reason returns why a block is not run, and the entry of apart that says so.
func reason(b block) (entry, why string) {
	for start, why := range apart {
		if strings.HasPrefix(b.text, start) {
			return start, why
		}
	}
	return "", ""
}

// before is what has to be there for a block, by how it begins.
var before = map[string]string{
	"sotto serve account set":        "sotto ledger init tickets --epsilon 2 --delta 1e-6",
	"sotto serve route set tickets":  "sotto synth --method clipped --set batch=16 --task tickets.toml --data tickets.jsonl --size 400 --epsilon 4 --out demos",
	"sotto serve route set messages": "sotto synth --method clipped --set batch=16 --task task.toml --data messages.jsonl --size 2000 --epsilon 4 --out demos",
	"sotto table items":              "sotto table profile --schema loans.toml --data loans.csv --size 20000 --epsilon 1 --groups 4 --out demos",
}

// inTurn reports whether the blocks of a page build on each other. Those of other pages begin with the files that
// the page began with.
func inTurn(name string) bool {
	return strings.HasPrefix(name, "docs/howto/") || name == "docs/operations.md"
}

// TestPages: every block of commands in README.md and docs/ ends with exit code 0, and what it shows after a $ is what
// is printed, or it says in apart why it is not run. A page has one home. Run it with -args -rewrite after a change of
// what is printed, and read what changed.
func TestPages(t *testing.T) { pages(t, false) }

// TestLongPages: those for which the default model answers many times.
func TestLongPages(t *testing.T) { pages(t, true) }

func pages(t *testing.T, long bool) {
	if testing.Short() {
		t.Skip("it runs the program many times")
	}
	all := documents(t)
	used := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		blocks := commandBlocks(all[name])
		shown := false
		for i, b := range blocks {
			entry, why := reason(b)
			used[entry] = true
			blocks[i].apart = why != ""
			shown = shown || b.shown() && why == ""
		}
		if len(blocks) == 0 || long != (name == "docs/eval.md" || name == "docs/answer.md") {
			continue
		}
		path, err := filepath.Abs(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			if inTurn(name) {
				followed(t, name, path, all[name])
				return
			}
			if shown {
				t.Run("shown", func(t *testing.T) { rerunPage(t, name, path, all[name], long) })
			}
			var place *place
			for _, b := range blocks {
				if b.apart || b.shown() {
					continue
				}
				if place == nil {
					place = newPlace(t, 500)
				}
				t.Run(fmt.Sprint(b.line), func(t *testing.T) {
					defer place.restore(t)
					for start, commands := range before {
						if strings.HasPrefix(b.text, start) {
							place.shell(t, commands)
						}
					}
					place.shell(t, b.text)
				})
			}
		})
	}
	for entry := range apart {
		if !used[entry] {
			t.Errorf("no block begins with %q: remove it from apart", entry)
		}
	}
}

// place is a folder with the files that documents speak of, a home, and a model that answers at once.
type place struct {
	// stands are words of documents, each before what stands for it here: addresses of servers.
	stands, env []string
	// files that the folder began with.
	files []string
}

// newPlace makes one with so many messages, and changes to it.
func newPlace(t *testing.T, messages int) *place {
	t.Helper()
	clitest.Home(t)
	lmtest.TinyModel(t, "tiny.gguf")
	model, err := filepath.Abs("tiny.gguf")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("SOTTO_MODEL", model)
	for name, data := range map[string][]byte{
		"task.toml": demo.Helpline().TaskFile(), "mine.toml": []byte(clitest.TicketTask), "tickets.toml": []byte(clitest.TicketTask),
		"messages.jsonl": lines(t, demo.Helpline().Tickets(messages)), "messages.csv": asCSV(t, demo.Helpline().Tickets(messages)), "tickets.jsonl": []byte(clitest.Tickets(400)), "public.jsonl": both([]byte(clitest.Tickets(200))),
		"held-out.jsonl": lines(t, demo.Helpline().HeldOut(25)),
		"chats.jsonl":    dialogues(400), "questions.txt": []byte("I lost my job.\nWho pays for the lift?\n"),
		"complaints.csv": complaints(400),
		"tickets.csv":    []byte(strings.NewReplacer("text,queue", "message,queue", "billing", "Billing", "repairs", "Delivery").Replace(string(complaints(400)))),
	} {
		clitest.Write(t, name, data)
	}
	bank(t)
	loans := demo.Loans(24000)
	fresh := others(loans[:20000])
	for i, name := range []string{"branch.csv", "branch-two.csv"} {
		var b bytes.Buffer
		if err := demo.WriteLoans(&b, fresh(loans[20000+2000*i:][:2000])); err != nil {
			t.Fatal(err)
		}
		clitest.Write(t, name, b.Bytes())
	}
	port := func() string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		return l.Addr().String()
	}
	clients := port()
	return &place{stands: []string{"127.0.0.1:8080", clients}, env: append(os.Environ(), "CLIENTS="+clients, "ADMIN="+port()), files: entries(t, ".")}
}

// restore removes what a block left: in the folder, and all state of the program.
func (p *place) restore(t *testing.T) {
	t.Helper()
	for _, name := range entries(t, ".") {
		if !slices.Contains(p.files, name) {
			expect.NoError(t, os.RemoveAll(name))
		}
	}
	for _, name := range entries(t, os.Getenv("HOME")) {
		expect.NoError(t, os.RemoveAll(filepath.Join(os.Getenv("HOME"), name)))
	}
}

func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		expect.NoError(t, err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// others returns what leaves out loans that are like one before but for the customer. A few are by chance, and one of
// them, found by a sketch of few rows, is enough for the ledger to ask the owner whether the tables are of the same people.
func others(loans []demo.Loan) func([]demo.Loan) []demo.Loan {
	before := map[demo.Loan]bool{}
	left := func(loans []demo.Loan) (out []demo.Loan) {
		for _, l := range loans {
			like := l
			if like.Customer = 0; !before[like] {
				before[like], out = true, append(out, l)
			}
		}
		return out
	}
	left(loans)
	return left
}

// asCSV writes tickets as a CSV file has them.
func asCSV(t *testing.T, tickets []demo.Ticket) []byte {
	t.Helper()
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	rows := [][]string{{"text", "label"}}
	for _, one := range tickets {
		rows = append(rows, []string{one.Text, one.Label})
	}
	if err := w.WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// dialogues are records of the built-in task samsum.
func dialogues(n int) []byte {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"input": "Ann: Shall we meet at %d? Ben: Fine, by the gate.", "output": "Ann and Ben meet at %d by the gate."}`+"\n", i, i)
	}
	return []byte(b.String())
}

// complaints are labelled texts as a CSV file has them.
func complaints(n int) []byte {
	b := bytes.NewBufferString("text,queue,who\n")
	for i := range n {
		fmt.Fprintf(b, "I paid twice in week %d,billing,c%d\nThe door of lift %d is stuck,repairs,d%d\n", i, i/2, i, i/2)
	}
	return b.Bytes()
}

// both gives messages what records of samsum have.
func both(messages []byte) []byte {
	return bytes.ReplaceAll(messages, []byte("}\n"), []byte(`, "input": "Ann: Six? Ben: Fine.", "output": "Ann and Ben meet at six."}`+"\n"))
}

// shellStart stops at the first command that fails. A server starts in the background, at an address
// that is free, and ends with the block. Runs in which records choose, which take all the time they
// may, have a second in place of the minutes that are the default.
const shellStart = `set -euo pipefail
sotto() {
	case "$1 $*" in
	*" --method"* | *" --time"* | *" --help"*) ;;
	"synth "* | "choose "* | "rehearse "*) command sotto "$@" --time 1s; return ;;
	esac
	if [ "$1" != serve ] || { [ $# -gt 1 ] && [[ "$2" != --* ]]; }; then command sotto "$@"; return; fi
	command sotto "$@" --listen "$CLIENTS" --admin "$ADMIN" > served.txt 2>&1 &
	trap "kill -INT $!; wait $!" EXIT
	for _ in $(seq 100); do (exec 3<>"/dev/tcp/${CLIENTS%:*}/${CLIENTS#*:}") 2>/dev/null && return; sleep 0.1; done
	echo "the server did not answer" >&2
	return 1
}
`

// shell runs commands as a reader of the document would, which must not fail.
func (p *place) shell(t *testing.T, commands string) {
	t.Helper()
	if out, code := p.run(t, commands); code != 0 {
		t.Errorf("exit code %d:\n%s\n%s", code, commands, out)
	}
}

// run runs commands, and returns what they print, in the document's words, and their exit code.
func (p *place) run(t *testing.T, commands string) (string, int) {
	t.Helper()
	here := slices.Clone(p.stands)
	for i := 1; i < len(here); i += 2 {
		here[i] = strings.ReplaceAll(here[i], "&", `\&`) // documents have addresses outside quotes
	}
	cmd := exec.Command("bash", "-c", shellStart+strings.NewReplacer(here...).Replace(commands))
	cmd.Env = p.env
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	back := []string{os.Getenv("HOME"), "/home/you"}
	for pair := range slices.Chunk(p.stands, 2) {
		back = append(back, pair[1], pair[0], config.Redact(pair[1]), pair[0])
	}
	return strings.NewReplacer(back...).Replace(string(out)), cmd.ProcessState.ExitCode()
}

// tools are programs that documents use beside sotto.
var tools = []string{"sqlite3", "pg_dump", "curl"}

// followed runs the blocks of a page one after the other, and compares what is shown.
func followed(t *testing.T, name, path, text string) {
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil && regexp.MustCompile(`(?m)^`+tool+` `).MatchString(text) {
			t.Skipf("%s is not installed", tool)
		}
	}
	place := newPlace(t, 2000)
	if strings.Contains(text, team) {
		place.stands = append(place.stands, team, pgtest.Database(t))
	}
	if strings.Contains(text, host) {
		place.stands = append(place.stands, "large-model", "large", host, clitest.NewPoolHost(t).URL)
	}
	got := place.turn(t, text)
	if *rewrite {
		expect.NoError(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	compare(t, text, got)
}

// team is the address of a ledger in documents.
const team = "postgres://sotto@db.example.org/sotto"

// host is the address of a hosted model in documents.
const host = "https://api.example.com"

// turn runs all blocks of a document one after the other, and replaces what follows a $ by what is
// really printed. What a block exports counts for those after it.
func (p *place) turn(t *testing.T, document string) string {
	t.Helper()
	var b strings.Builder
	var exports, plain string
	fenced, commands, shown, code := false, false, false, 0
	for line := range strings.Lines(document) {
		command, prompt := strings.CutPrefix(line, "$ ")
		switch {
		case strings.HasPrefix(line, "```"):
			if commands && !shown {
				p.shell(t, exports+plain)
			}
			for line := range strings.Lines(plain) {
				if strings.HasPrefix(line, "export ") {
					exports += line
				}
			}
			fenced, shown, plain = !fenced, false, ""
			commands = fenced && isCommands(line)
			b.WriteString(line)
		case commands && prompt:
			if shown && !strings.HasSuffix(b.String(), "\n\n") {
				b.WriteString("\n")
			}
			shown = true
			b.WriteString(line)
			out := fmt.Sprintln(code)
			if strings.TrimSpace(command) != "echo $?" {
				out, code = p.run(t, exports+command)
			}
			b.WriteString(out)
		case commands && !shown:
			plain += line
			b.WriteString(line)
		case !commands:
			b.WriteString(line)
		}
	}
	return b.String()
}
