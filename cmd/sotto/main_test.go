package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/lm/lmtest"
	"github.com/sotto-dp/sotto/lm/models"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/sys/fault"
	"github.com/sotto-dp/sotto/sys/pgtest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"sotto": main, "faulty": faulty})
}

// faulty is a program with a fault, in its main goroutine or in another.
func faulty() {
	p := &program{Terminal: ui.Terminal{Stdout: os.Stdout, Stderr: os.Stderr, JSON: len(os.Args) > 2}}
	p.WatchFaults("sotto", os.Exit)
	defer fault.Watch()
	records := []string{"content"}
	broken := func() (int, error) { panic(fmt.Sprintf("record %q", records[0])) }
	if os.Args[1] == "elsewhere" {
		_, _ = fault.Await(context.Background(), broken)
	}
	_, _ = broken()
}

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

// TestScripts runs the program as its users do.
func TestScripts(t *testing.T) {
	testscript.Run(t, params(t, "testdata"))
}

// TestConcurrentScripts is for the race detector: the whole program, in a verb that works
// on several goroutines.
func TestConcurrentScripts(t *testing.T) {
	p := params(t, "")
	p.Files = []string{filepath.Join("testdata", "plot.txtar")}
	testscript.Run(t, p)
}

// built is the folder of the program as [testscript.Main] makes it of these tests.
func built(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("sotto")
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(path)
}

// TestModels runs the scripts that load models or write texts.
func TestModels(t *testing.T) {
	if testing.Short() {
		t.Skip("the model answers many times")
	}
	testscript.Run(t, params(t, filepath.Join("testdata", "models")))
}

// TestPostgres runs the scripts that need a database server.
func TestPostgres(t *testing.T) {
	address := pgtest.Schema(t)
	p := params(t, filepath.Join("testdata", "postgres"))
	setup := p.Setup
	p.Setup = func(e *testscript.Env) error {
		e.Setenv("POSTGRES", address)
		return setup(e)
	}
	testscript.Run(t, p)
}

func params(t *testing.T, dir string) testscript.Params {
	t.Helper()
	models := modelsDir(t)
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
			"serve": serve,
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

// verified is where the program keeps which files of models are whole, of the one who runs the tests.
var verified = func() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, "sotto", "verified")
}()

// checked copies that to a test's home, where all models would be hashed again.
func checked(t testing.TB, home string) {
	t.Helper()
	cache := ".cache"
	if runtime.GOOS == "darwin" {
		cache = "Library/Caches"
	}
	to := filepath.Join(home, cache, "sotto", "verified")
	if err := os.MkdirAll(to, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(to, os.DirFS(verified)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
}

// modelsDir is where the models of the one who runs the tests are.
func modelsDir(t *testing.T) string {
	t.Helper()
	dir, err := models.Dir()
	if err != nil {
		t.Fatal(err)
	}
	return dir
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

// issue makes the certificate of a directory with the active key of a ring, as
// the verbs that release data do: issue DIR RING EXPR
func issue(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: issue DIR RING EXPR")
	}
	ts.Check(certify(ts.MkAbs(args[0]), ts.MkAbs(args[1]), args[2]))
}

func certify(dir, ring, expr string) error {
	e, err := privacy.Parse(expr)
	if err != nil {
		return err
	}
	keys, err := certificate.OpenRing(ring)
	if err != nil {
		return err
	}
	signer, err := keys.Signer()
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
