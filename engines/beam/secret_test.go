package beam

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
	"google.golang.org/protobuf/proto"

	"github.com/sotto-dp/sotto/internal/demo"
	"github.com/sotto-dp/sotto/privacy/noise"
)

func TestMailbox(t *testing.T) {
	path := filepath.Join(t.TempDir(), "box")
	box, private, err := newMailbox(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := box.fetch(t.Context(), private); err == nil || !strings.Contains(err.Error(), "scratch") {
		t.Errorf("an empty box: %v", err)
	}
	// As a worker has it.
	var there mailbox
	data, err := json.Marshal(box)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &there); err != nil {
		t.Fatal(err)
	}
	letter := []byte("exact sums, exact sums")
	for range 2 {
		if err := there.post(t.Context(), letter); err != nil {
			t.Fatal(err)
		}
		if got, err := box.fetch(t.Context(), private); err != nil || !bytes.Equal(got, letter) {
			t.Errorf("%v", err)
		}
	}
	sealed, err := os.ReadFile(path)
	if err != nil || bytes.Contains(sealed, letter[:8]) {
		t.Errorf("the letter can be read: %v", err)
	}
	_, other, err := newMailbox(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := box.fetch(t.Context(), other); err == nil {
		t.Error("another key opens the box")
	}
	sealed[len(sealed)/2] ^= 1
	if err := os.WriteFile(path, sealed, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := box.fetch(t.Context(), private); err == nil {
		t.Error("a damaged letter is opened")
	}
}

// TestGraphHasNoSecrets: runners show job graphs and keep them. Neither key is in one, and
// nothing is left in the scratch folder when the job has ended.
func TestGraphHasNoSecrets(t *testing.T) {
	s := loans(t)
	scratch := t.TempDir()
	own, workers := newKey(t), newKey(t)
	var graphs [][]byte
	seen := 0
	look := func(ctx context.Context, p *sdk.Pipeline) error {
		graphs = append(graphs, graph(t, p))
		files, err := os.ReadDir(scratch)
		if err != nil {
			return err
		}
		for _, f := range files {
			info, err := f.Info()
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("a file of the job can be read by others: %v", info.Mode())
			}
			seen++
		}
		return onPrism(ctx, p)
	}
	source := input{Files: &fileSet{Paths: []string{save(t, "loans.csv", loansCSV(t, demo.Loans(100)))}}}
	job := Job{Run: look, Scratch: scratch}
	o := aboutLoans(s)
	o.RowsPerUnit, o.Rate = 1, 0.5
	if _, err := profile(t.Context(), o, profileJob{Source: source, Schema: s, Unit: "customer", Job: job, Workers: workers}, own); err != nil {
		t.Fatal(err)
	}
	if _, err := perturb(t.Context(), perturbJob{Source: source, Schema: s, Settings: planned(t, s, 3), Out: t.TempDir(), Job: job, Key: workers}); err != nil {
		t.Fatal(err)
	}
	if seen != 2 {
		t.Errorf("%d files with keys were seen, and each job has one", seen)
	}
	for _, g := range graphs {
		// The path is what workers need, so the test looks where keys would be.
		if !bytes.Contains(g, []byte(scratch)) {
			t.Error("what is encoded in the graph was not found")
		}
		for _, k := range []noise.Key{own, workers} {
			for _, form := range forms(t, k) {
				if bytes.Contains(g, form) {
					t.Error("the job graph holds a key")
				}
			}
		}
	}
	if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
		t.Errorf("%d files are left in the scratch folder: %v", len(left), err)
	}
}

func newKey(t testing.TB) noise.Key {
	t.Helper()
	k, err := noise.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// graph is what a runner is given, with what is encoded in it decoded.
func graph(t testing.TB, p *sdk.Pipeline) []byte {
	t.Helper()
	edges, _, err := p.Build()
	if err != nil {
		t.Fatal(err)
	}
	env, err := graphx.CreateEnvironment(context.Background(), graphx.URNEnvExternal, func(context.Context) string { return "localhost:1" })
	if err != nil {
		t.Fatal(err)
	}
	model, err := graphx.Marshal(edges, &graphx.Options{Environment: env})
	if err != nil {
		t.Fatal(err)
	}
	data, err := proto.Marshal(model)
	if err != nil {
		t.Fatal(err)
	}
	return append(data, decoded(data)...)
}

// decoded is all that looks like base64 in data, decoded, again and again.
func decoded(data []byte) []byte {
	var out []byte
	alphabet := "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
	for _, run := range bytes.FieldsFunc(data, func(r rune) bool { return !strings.ContainsRune(alphabet, r) }) {
		if len(run) < 40 {
			continue
		}
		for skip := range 4 {
			part := bytes.TrimRight(run[skip:], "=")
			plain := make([]byte, base64.RawStdEncoding.DecodedLen(len(part)))
			if n, err := base64.RawStdEncoding.Decode(plain, part); err == nil {
				out = append(out, plain[:n]...)
				out = append(out, decoded(plain[:n])...)
			}
		}
	}
	return out
}

// forms are ways to write the secret of a key.
func forms(t testing.TB, k noise.Key) [][]byte {
	t.Helper()
	data, err := k.Export()
	if err != nil {
		t.Fatal(err)
	}
	secret := data[len(data)/2-8 : len(data)/2+8] // some of it
	return [][]byte{
		secret, []byte(hex.EncodeToString(secret)),
		[]byte(base64.StdEncoding.EncodeToString(secret[:15])), []byte(base64.StdEncoding.EncodeToString(secret[1:16])), []byte(base64.StdEncoding.EncodeToString(secret[2:14])),
	}
}

// TestNothingIsPrinted: no file of the package can log or print. What it returns as errors
// is looked at in TestRefusedFiles, and what comes out of a whole process in
// TestLogsHaveNoContent.
func TestNothingIsPrinted(t *testing.T) {
	forbidden := map[string]string{
		"log": "a log line may hold a row", "log/slog": "a log line may hold a row",
		"math/rand": "all private randomness comes from package noise", "math/rand/v2": "all private randomness comes from package noise",
		"github.com/apache/beam/sdks/v2/go/pkg/beam/log": "goes to the logs of the runner",
	}
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		looked++
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			if why := forbidden[strings.Trim(i.Path.Value, `"`)]; why != "" {
				t.Errorf("%s imports %s: %s", name, i.Path.Value, why)
			}
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range []string{"fmt.Print", "os.Stdout", "os.Stderr", "println(", "debug.Output", "panic("} {
			if bytes.Contains(text, []byte(call)) {
				t.Errorf("%s uses %s", name, call)
			}
		}
	}
	if looked < 8 {
		t.Errorf("only %d files were looked at", looked)
	}
}

const canary = "ZZCANARYZZ"

// TestLogsHaveNoContent runs jobs on a table with a value that must not be seen, in a
// process of their own: one that ends well, and one that fails for that value.
func TestLogsHaveNoContent(t *testing.T) {
	if os.Getenv("SOTTO_BEAM_CANARY") != "" {
		canaries(t)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestLogsHaveNoContent$", "-test.v")
	cmd.Env = append(os.Environ(), "SOTTO_BEAM_CANARY=1", "TMPDIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if !bytes.Contains(out, []byte("column \"home\"")) {
		t.Errorf("the jobs did not run as they should: %s", out)
	}
	if bytes.Contains(out, []byte(canary)) {
		t.Error("content of a row is in what the process printed")
	}
}

func canaries(t *testing.T) {
	s := loans(t)
	good := string(loansCSV(t, demo.Loans(50)))
	// "purpose" takes whatever is said, "home" does not.
	for _, c := range []struct {
		row  string
		fail bool
	}{
		{"9,30,50,employed,own," + canary + ",3,0,yes\n", false},
		{"9,30,50,employed," + canary + ",car,3,0,yes\n", true},
	} {
		source := input{Files: &fileSet{Paths: []string{save(t, "loans.csv", []byte(good+c.row))}}}
		for _, unit := range []string{"", "customer"} {
			o := aboutLoans(s)
			if unit != "" {
				o.RowsPerUnit = 1
			}
			_, err := profile(t.Context(), o, profileJob{Source: source, Schema: s, Unit: unit, Job: Job{Run: onPrism}})
			if (err != nil) != c.fail {
				t.Errorf("the error is %v", err)
			}
			t.Log(err)
		}
		_, err := perturb(t.Context(), perturbJob{Source: source, Schema: s, Settings: planned(t, s, 3), Out: t.TempDir(), Job: Job{Run: onPrism}})
		if (err != nil) != c.fail {
			t.Errorf("the error is %v", err)
		}
		t.Log(err)
	}
}
