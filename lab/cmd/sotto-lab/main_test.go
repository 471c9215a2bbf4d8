package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/lm/lmtest"
)

func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"sotto-lab": main}) }

const ticketTask = `kind = "classify"
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

// tickets are n records for each queue. Each has a word that nothing printed may have.
func tickets(n int) string {
	var b strings.Builder
	for i := range n {
		for _, queue := range []string{"billing", "repairs"} {
			fmt.Fprintf(&b, "{\"text\": \"zanzibar %s %d\", \"queue\": %q, \"who\": \"c%d\"}\n", queue, i, queue, i/2)
		}
	}
	return b.String()
}

// TestScripts runs the program as its users do.
func TestScripts(t *testing.T) {
	if testing.Short() {
		t.Skip("the model answers many times")
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata", RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits,
			"json":  hasJSON,
			"tiny":  func(ts *testscript.TestScript, _ bool, args []string) { lmtest.TinyModel(t, ts.MkAbs(args[0])) },
			"records": func(ts *testscript.TestScript, _ bool, args []string) {
				n, err := strconv.Atoi(args[1])
				ts.Check(err)
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(tickets(n)), 0o600))
				ts.Check(os.WriteFile(ts.MkAbs("task.toml"), []byte(ticketTask), 0o600))
			},
		},
	})
}

// exits runs a program and checks its exit code: exits CODE PROGRAM ARG…
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// hasJSON checks that a file is one JSON object with all these members, or with none of them after !:
// json FILE NAME[=VALUE]…
func hasJSON(ts *testscript.TestScript, neg bool, args []string) {
	object, err := oneObject([]byte(ts.ReadFile(args[0])))
	ts.Check(err)
	for _, arg := range args[1:] {
		name, want, compare := strings.Cut(arg, "=")
		value, found := object[name]
		if compare && found {
			text, err := json.Marshal(value)
			ts.Check(err)
			found = string(text) == want
		}
		if found == neg {
			ts.Fatalf("%s: present is %v, want %v", arg, found, !neg)
		}
	}
}

// oneObject reads exactly one JSON object and nothing else.
func oneObject(data []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	var object map[string]any
	if err := d.Decode(&object); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the JSON object")
	}
	return object, nil
}

func object(t *testing.T, out string) map[string]any {
	t.Helper()
	o, err := oneObject([]byte(out))
	if err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	return o
}

func newProgram(stdout, stderr io.Writer) *program {
	return &program{Terminal: ui.Terminal{Stdin: strings.NewReader(""), Stdout: stdout, Stderr: stderr}}
}

// run runs the program in this process.
func run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = newProgram(&out, &errs).main(t.Context(), args)
	return code, out.String(), errs.String()
}

// home is an empty home and working directory for a test.
func home(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	t.Setenv("HOME", filepath.Join(t.TempDir(), "home"))
	for _, v := range []string{"XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "SOTTO_CONFIG", "SOTTO_MODEL"} {
		t.Setenv(v, "")
		os.Unsetenv(v)
	}
}

func write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
