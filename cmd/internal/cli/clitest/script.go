package clitest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sotto-dp/sotto/lm/lmtest"
)

// writeDamaged writes files of every kind that begin as they should and do not continue so:
// damage DIR
func writeDamaged(ts *testscript.TestScript, _ bool, args []string) {
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o700))
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	for i := range 1000 {
		fmt.Fprintf(w, "{\"text\": \"%d\", \"label\": \"World\"}\n", i*i)
	}
	ts.Check(w.Close())
	for name, data := range map[string]string{
		"a.gguf":        "GGUF\x03\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff",
		"a.safetensors": "\x08\x00\x00\x00\x00\x00\x00\x00{{{{{{{{",
		"a.parquet":     "PAR1" + strings.Repeat("\xff", 100) + "\x20\x00\x00\x00PAR1",
		"a.db":          "SQLite format 3\x00" + strings.Repeat("\xff", 4080),
		"a.jsonl.zst":   "\x28\xb5\x2f\xfd" + strings.Repeat("\xff", 100),
		"a.jsonl.gz":    zipped.String()[:zipped.Len()/2],
	} {
		ts.Check(os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600))
	}
}

// Scripts are those of the scripts in a folder.
func Scripts(t *testing.T, dir string) testscript.Params {
	t.Helper()
	models := ModelsDir(t)
	return testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			checked(t, filepath.Join(e.WorkDir, "home"))
			e.Setenv("SOTTO_MODELS", models)
			// The folder of sotto, which testscript puts first, and nothing else.
			e.Setenv("PROGRAM", filepath.SplitList(e.Getenv("PATH"))[0])
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits,
			"json":  hasJSON,
			"issue": issue,
			"serve": ServeChat,
			"tiny": func(ts *testscript.TestScript, _ bool, args []string) {
				lmtest.TinyModel(t, ts.MkAbs(args[0]))
			},
			"records": writeRecords,
			"damage":  writeDamaged,
			"chats":   writeChats,
			"loans":   writeLoans,
			"lines":   hasLines,
		},
	}
}

// exits runs a program and checks its exit code: exits CODE PROGRAM ARG…
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG…")
	}
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

// hasJSON checks that a file is exactly one JSON object with all these members:
// json FILE NAME[=VALUE]… where VALUE is compared with the member's JSON text,
// and NAME may go down into objects as in a.b. ! json checks that none is there.
func hasJSON(ts *testscript.TestScript, neg bool, args []string) {
	object, err := oneObject([]byte(ts.ReadFile(args[0])))
	ts.Check(err)
	for _, arg := range args[1:] {
		name, want, compare := strings.Cut(arg, "=")
		var value any = object
		found := true
		for part := range strings.SplitSeq(name, ".") {
			members, ok := value.(map[string]any)
			if value, found = members[part]; !ok || !found {
				found = false
				break
			}
		}
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

// issue makes the certificate of a directory with the active key of a ring, as
// the verbs that release data do: issue DIR RING EXPR
func issue(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: issue DIR RING EXPR")
	}
	ts.Check(Certify(ts.MkAbs(args[0]), ts.MkAbs(args[1]), args[2]))
}
