package serve

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/cmd/internal/serve/jobs"
	"github.com/sotto-dp/sotto/cmd/internal/serve/request"
	"github.com/sotto-dp/sotto/cmd/internal/serve/runs"
	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/cmd/internal/serve/web"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/flags"
	"github.com/sotto-dp/sotto/lm/lmtest"
	"github.com/sotto-dp/sotto/sys/expect"
)

// maker makes runs in a home with a source in the configuration and a tiny model.
func maker(t *testing.T) (*runs.Maker, *store.Store) {
	t.Helper()
	clitest.Home(t)
	lmtest.TinyModel(t, "tiny.gguf")
	clitest.Write(t, "task.toml", []byte("kind = \"classify\"\ntext = \"text\"\nlabel = \"label\"\nlabels = [\"up\", \"down\"]\n[generate]\ninstruction = \"Write.\"\n[answer]\ninstruction = \"Up or down?\"\n"))
	clitest.Write(t, "records.jsonl", []byte(strings.Repeat("{\"text\": \"a\", \"label\": \"up\"}\n", 300)))
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	clitest.Write(t, "own.toml", []byte("[source.letters]\ndata = \"records.jsonl\"\ntask = \"task.toml\"\nsize = 300\n"))
	t.Setenv("SOTTO_CONFIG", filepath.Join(here, "own.toml"))
	s, err := store.Open(t.Context(), "service.db", true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	p := clitest.NewProgram(io.Discard, io.Discard)
	environment, err := environment(p, flags.Model{Name: "tiny.gguf"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := runMaker(t.Context(), p, environment, s, "jobs")
	if err != nil {
		t.Fatal(err)
	}
	return r, s
}

// TestRunsOfTheDashboard: a form names records by what people call them, never by a path; what it
// says cannot become a flag; operators do not begin a data set's budget; and planning writes
// nothing.
func TestRunsOfTheDashboard(t *testing.T) {
	r, s := maker(t)
	ctx := context.Background()
	known := web.RunRequest{Source: "source:letters", Size: 300, Epsilon: 0.5, Name: "--seed=1"}
	planned, err := r.Plan(ctx, known)
	expect.NoError(t, err)
	expect.Equal(t, "planned.Problem", planned.Problem, "")
	expect.True(t, "planned.Time that is not empty", planned.Time != "")
	expect.Contains(t, "planned.Guarantee", planned.Guarantee, "ε ≤ 0.")
	if _, err := r.Job(ctx, known); err != web.ErrUnapproved {
		t.Errorf("a run whose plan nobody saw: %v", err)
	}
	known.Approved = planned.ID
	other := known
	other.Epsilon = 0.75
	if _, err := r.Job(ctx, other); err != web.ErrUnapproved {
		t.Errorf("a run with another plan than the one that was seen: %v", err)
	}
	j, err := r.Job(ctx, known)
	if err != nil {
		t.Fatal(err)
	}
	w := readWork(t, j)
	for name, want := range map[string]string{"known": `true`, "on-error": `"skip"`, "epsilon": `0.5`, "name": `"letters"`} {
		t.Run(name, func(t *testing.T) {
			if got := string(w.Request[name]); got != want {
				t.Errorf("%s is %s, want %s", name, got, want)
			}
		})
	}
	if w.Approval == nil || !bytes.Equal(w.Approval.Plan, planned.Approval.Plan) {
		t.Errorf("the job has not the plan that was shown: %+v", w.Approval)
	}
	// A worker comes to the same plan, and then finds that nobody gave the data a budget.
	code, out := clitest.CarryOut(t, j.Work, filepath.Join(t.TempDir(), "place"))
	expect.Equal(t, "exit code", code, ui.Wrong)
	expect.True(t, "no approved in out", !strings.Contains(out, "approved"), out)
	expect.Contains(t, "out", out, "ledger")
	known.By.Role = store.Owner
	if j, err := r.Job(ctx, known); err != nil || readWork(t, j).Request["known"] != nil {
		t.Errorf("%s, %v", j.Work, err)
	}
	for name, q := range map[string]web.RunRequest{
		"a path":           {Source: "records.jsonl", Size: 300, Epsilon: 1},
		"a path as name":   {Source: "source:../records.jsonl", Size: 300, Epsilon: 1},
		"no size":          {Source: "source:letters", Epsilon: 1},
		"no such upload":   {Source: "upload:x", Size: 300, Epsilon: 1},
		"no such method":   {Source: "source:letters", Size: 300, Epsilon: 1, Method: "nonprivate"},
		"a flag as method": {Source: "source:letters", Size: 300, Epsilon: 1, Method: "--seed"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := r.Job(ctx, q)
			if _, plain := err.(*web.Refusal); !plain {
				t.Errorf("%v", err)
			}
		})
	}
	u, err := r.Upload(ctx, "account operator", "letters.JSONL", strings.NewReader("{\"text\": \"a\", \"label\": \"up\"}\n"))
	if err != nil {
		t.Fatal(err)
	}
	own := web.RunRequest{Source: web.UploadID(u), Task: web.OwnTask, Labels: []string{`up"] seed = 1`, "down"}, Size: 300, Epsilon: 0.5, TextColumn: `text" x = 1`, Unit: "--seed", By: store.Account{Name: "another", Role: store.Operator}}
	for _, use := range []func() error{func() error { _, err := r.Plan(ctx, own); return err }, func() error { _, err := r.Job(ctx, own); return err }} {
		if _, plain := use().(*web.Refusal); !plain {
			t.Error("an operator uses what somebody else uploaded")
		}
	}
	own.By.Name = "operator"
	before, err := filepath.Glob(filepath.Join(r.Dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	if planned, err = r.Plan(ctx, own); err != nil || planned.Problem != "" {
		t.Errorf("%+v, %v", planned, err)
	}
	own.Approved = planned.ID
	if after, err := filepath.Glob(filepath.Join(r.Dir, "*")); err != nil || !slices.Equal(before, after) {
		t.Errorf("planning wrote %q: %v", after, err)
	}
	if _, err := r.Job(ctx, own); err != runs.ErrUnassigned {
		t.Errorf("an upload that nobody has assigned is used: %v", err)
	}
	assign(t, s, u, "hmac-sha256:"+strings.Repeat("ab", 32))
	for who, want := range map[string]bool{"operator": true, "another": false} {
		t.Run(who, func(t *testing.T) {
			own.By.Name = who
			if _, err := r.Job(ctx, own); (err == nil) != want {
				t.Errorf("%s uses an upload that is assigned: %v", who, err)
			}
		})
	}
	own.By = store.Account{Name: "another", Role: store.Owner, Owns: []string{"hmac-sha256:" + strings.Repeat("cd", 32)}}
	if _, err := r.Job(ctx, own); err == nil {
		t.Error("the owner of another data set uses an upload")
	}
	own.By.Owns[0] = "hmac-sha256:" + strings.Repeat("ab", 32)
	j, err = r.Job(ctx, own)
	if err != nil {
		t.Fatal(err)
	}
	call, err := request.Read((&cli.Program{Root: clitest.TestRoot}).FindVerb, readWork(t, j))
	if err != nil {
		t.Fatal(err)
	}
	flag := func(name string) string { return call.Command.Flags().Lookup(name).Value.String() }
	if seed, unit := flag("seed"), flag("unit"); seed != "" || unit != "user:--seed" {
		t.Errorf("the job has the seed %q and the unit %q", seed, unit)
	}
	task, err := cli.FindTask(flag("task"))
	expect.NoError(t, err)
	expect.True(t, "task.Labels equal to own.Labels", slices.Equal(task.Labels, own.Labels), task.Labels, own.Labels)
	expect.Equal(t, "task.Text", task.Text, own.TextColumn)
}

// readWork is what a job asks for.
func readWork(t *testing.T, j store.Job) jobs.Work {
	t.Helper()
	w, err := jobs.ReadWork(j.Work)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// assign has an upload be a data set, as if all owners had decided.
func assign(t *testing.T, s *store.Store, u store.Upload, dataset string) {
	t.Helper()
	if err := s.BeginAssigning(t.Context(), "root", u, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.EndAssigning(t.Context(), "root", u.ID, dataset); err != nil {
		t.Fatal(err)
	}
}

// TestUploadsOfTheDashboard: what was uploaded is kept encrypted while a run needs it, and what an
// upload that was cut off left is swept away.
func TestUploadsOfTheDashboard(t *testing.T) {
	r, s := maker(t)
	ctx := context.Background()
	for name, content := range map[string]string{"letters.txt": "x", "letters.csv": "", "letters.db": "x", ".csv.age": "x"} {
		t.Run(name, func(t *testing.T) {
			if _, err := r.Upload(ctx, "account operator", name, strings.NewReader(content)); err == nil {
				t.Errorf("%s of %d bytes is taken", name, len(content))
			}
		})
	}
	if left, err := filepath.Glob(filepath.Join(r.Dir, "*")); err != nil || len(left) > 0 {
		t.Errorf("left: %q, %v", left, err)
	}
	u, err := r.Upload(ctx, "account operator", "letters.csv", strings.NewReader("text,label\n"+clitest.Planted+",up\n"))
	if err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(u.File); err != nil || strings.Contains(string(data), clitest.Planted) {
		t.Errorf("it is not encrypted: %v", err)
	}
	j, err := s.AddJob(ctx, "account operator", store.Job{Work: asWork(t, "synth", "--data="+u.File)})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.RemoveUpload(ctx, store.Account{Name: "operator", Role: store.Operator}, u.ID); err == nil {
		t.Error("a run needs it, and it was removed")
	}
	if err := s.CancelJob(ctx, "account operator", j.ID); err != nil {
		t.Fatal(err)
	}
	if err := r.RemoveUpload(ctx, store.Account{Name: "another", Role: store.Operator}, u.ID); err == nil {
		t.Error("an operator removed what another sent")
	} else if _, err := os.Stat(u.File); err != nil {
		t.Errorf("its file is gone: %v", err)
	}
	cut := filepath.Join(r.Dir, "cut.csv.age")
	clitest.Write(t, cut, []byte("x"))
	old := time.Now().Add(-48 * time.Hour)
	for _, path := range []string{cut, u.File} {
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := runs.New(ctx, r.Options); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(cut); err == nil {
		t.Error("what was cut off is there")
	}
	if _, err := os.Stat(u.File); err != nil {
		t.Errorf("an upload was swept away: %v", err)
	}
	if err := r.RemoveUpload(ctx, store.Account{Name: "operator", Role: store.Operator}, u.ID); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(u.File); err == nil {
		t.Error("the file is there")
	}
}
