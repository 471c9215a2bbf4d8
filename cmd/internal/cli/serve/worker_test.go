package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/cmd/internal/serve/jobs"
	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/demo"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/sys/expect"
	"github.com/sotto-dp/sotto/sys/pgtest"
)

// office is a home with a table and chats, budgets for them in a ledger, and a store.
func office(t *testing.T, storeAt, ledgerAt string) {
	t.Helper()
	clitest.Asking(t)
	data, err := clitest.Loans(500)
	if err != nil {
		t.Fatal(err)
	}
	clitest.Write(t, "loans.csv", data)
	clitest.Write(t, "loans.toml", demo.LoansFile())
	clitest.Write(t, "questions.txt", []byte("One?\nTwo?\nThree?\nFour?\nFive?\nSix?\n"))
	t.Setenv("SOTTO_STORE", storeAt)
	t.Setenv("SOTTO_LEDGER", ledgerAt)
	clitest.Done(t, "ledger", "init", "loans", "--data", "loans.csv", "--schema", "loans.toml", "--epsilon", "1000", "--delta", "1e-6", "--composition", "sums", "--adjacency", "replace-one")
	clitest.Done(t, "ledger", "init", "chats", "--data", "chats.jsonl", "--task", "chat.toml", "--epsilon", "10000", "--delta", "1e-2", "--composition", "sums")
}

// kinds of jobs, with what the ledger should hold of each: charges of one run, or answers.
var jobKinds = []struct {
	args    []string
	charges int
	answers int64
	state   store.JobState
}{
	{[]string{"table", "profile", "--schema", "loans.toml", "--data", "loans.csv", "--size", "500", "--epsilon", "0.5", "--set", "adjacency=replace-one"}, 1, 0, store.Done},
	{[]string{"table", "perturb", "--schema", "loans.toml", "--data", "loans.csv", "--epsilon", "2"}, 1, 0, store.Done},
	{[]string{"answer", "--task", "chat.toml", "--data", "chats.jsonl", "--size", "300", "--epsilon", "2", "--set", "batch=16", "--method", "clipped", "--model", "tiny.gguf", "--inputs", "questions.txt", "--set", "parallel=2"}, 0, 6, store.Done},
	{[]string{"synth", "--method", "clipped", "--task", "chat.toml", "--data", "chats.jsonl", "--size", "300", "--epsilon", "2", "--inputs", "questions.txt", "--shots", "3", "--set", "batch=16", "--model", "tiny.gguf"}, 1, 0, store.Done},
	{[]string{"table", "profile", "--schema", "loans.toml", "--data", "loans.csv", "--size", "500", "--epsilon", "5000", "--set", "adjacency=replace-one"}, 0, 0, store.Failed},
}

// addJob adds one of the kinds, and returns its name.
func addJob(t *testing.T, kind int, flags ...string) string {
	t.Helper()
	args := slices.Concat([]string{"job", "add", "--json"}, flags, jobKinds[kind].args)
	code, out, errs := clitest.Run(t, args...)
	var r jobsResult
	expect.Equal(t, "exit code with "+errs, code, 0)
	expect.NoError(t, json.Unmarshal([]byte(out), &r))
	expect.Len(t, "r.Jobs", r.Jobs, 1)
	return r.Jobs[0].ID
}

// shownJob is what the program says of a job.
func shownJob(t *testing.T, id string) jobResult {
	t.Helper()
	code, out, errs := clitest.Run(t, "job", "show", id, "--json")
	var r jobResult
	if code != 0 || json.Unmarshal([]byte(out), &r) != nil {
		t.Fatalf("job show: exit code %d, %s, %s", code, out, errs)
	}
	return r
}

// workers are processes that carry out jobs.
type workers struct {
	t       *testing.T
	program string
	all     []*exec.Cmd
}

func newWorkers(t *testing.T) *workers {
	w := &workers{t: t, program: filepath.Join(clitest.Built(t), "sotto")}
	t.Cleanup(func() {
		for len(w.all) > 0 {
			w.end(0, syscall.SIGKILL)
		}
	})
	return w
}

// start begins a worker, and returns what it says.
func (w *workers) start(flags ...string) *clitest.SyncBuffer {
	w.t.Helper()
	cmd := exec.Command(w.program, append([]string{"worker", "--lease", "2s", "--beat", "1s"}, flags...)...)
	said := &clitest.SyncBuffer{}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.all = append(w.all, cmd)
	return said
}

// end sends one of them a signal, and waits for its end.
func (w *workers) end(i int, s syscall.Signal) {
	w.t.Helper()
	cmd := w.all[i]
	w.all = slices.Delete(w.all, i, i+1)
	if err := cmd.Process.Signal(s); err != nil {
		w.t.Error(err)
	}
	_ = cmd.Wait() // killed
}

// atWork is one that has a job, or any.
func (w *workers) atWork() int {
	w.t.Helper()
	code, out, errs := clitest.Run(w.t, "job", "list", "--json")
	var r jobsResult
	if code != 0 || json.Unmarshal([]byte(out), &r) != nil {
		w.t.Fatalf("job list: exit code %d, %s", code, errs)
	}
	for _, j := range r.Jobs {
		if i := slices.IndexFunc(w.all, func(c *exec.Cmd) bool { return strings.Contains(j.Owner, fmt.Sprintf(" %d ", c.Process.Pid)) }); j.State == store.Running && i >= 0 {
			return i
		}
	}
	return rand.IntN(len(w.all))
}

// ended waits until all jobs have.
func ended(t *testing.T, within time.Duration, ids ...string) map[string]jobResult {
	t.Helper()
	out := map[string]jobResult{}
	for end := time.Now().Add(within); len(out) < len(ids); time.Sleep(100 * time.Millisecond) {
		for _, id := range ids {
			if _, there := out[id]; there {
				continue
			}
			if r := shownJob(t, id); r.State.Ended() {
				out[id] = r
			}
		}
		if time.Now().After(end) {
			for _, id := range ids {
				if _, there := out[id]; !there {
					r := shownJob(t, id)
					t.Errorf("job %s is %s at %s after %d attempts, %d failures: %s %+v", id, r.State, r.Progress, r.Attempt, r.Failures, r.Error, r.Events)
				}
			}
			t.FailNow()
		}
	}
	return out
}

// addsUp holds jobs and ledger against each other: each job ended once and is in the ledger once.
func addsUp(t *testing.T, kinds map[string]int, all map[string]jobResult) {
	t.Helper()
	charges, answers := 0, int64(0)
	for id, r := range all {
		want := jobKinds[kinds[id]]
		charges, answers = charges+want.charges, answers+want.answers
		if r.State != want.state {
			t.Errorf("job %s (%s) is %s, want %s: %s", id, r.Name, r.State, want.state, r.Error)
		}
		ends := 0
		for _, e := range r.Events {
			if e.Event == "ended" {
				ends++
			}
		}
		if ends != 1 {
			t.Errorf("job %s ended %d times", id, ends)
		}
		if want.charges > 0 {
			if code, _, errs := clitest.Run(t, "verify", filepath.Join(r.Folder, "out")); code != 0 {
				t.Errorf("job %s (%s): %s", id, r.Name, errs)
			}
		}
		if want.answers > 0 {
			if lines, err := os.ReadFile(filepath.Join(r.Folder, "answers.jsonl")); err != nil || int64(bytes.Count(lines, []byte("\n"))) != want.answers {
				t.Errorf("job %s: %v, %s", id, err, lines)
			}
		}
	}
	clitest.Done(t, "ledger", "check")
	gotCharges, gotAnswers := 0, int64(0)
	for _, dataset := range []string{"loans", "chats"} {
		code, out, errs := clitest.Run(t, "ledger", "show", dataset, "--json")
		var r struct{ Rows []ledger.Charge }
		if code != 0 || json.Unmarshal([]byte(out), &r) != nil {
			t.Fatalf("%d: %s", code, errs)
		}
		for _, c := range r.Rows {
			switch {
			case c.Series:
				gotAnswers += c.Drawn
			case strings.Contains(c.Run, " answer "):
				gotAnswers++
			default:
				gotCharges++
			}
		}
	}
	if gotCharges != charges || gotAnswers != answers {
		t.Errorf("the ledger has %d runs and %d answers, and there were %d and %d", gotCharges, gotAnswers, charges, answers)
	}
}

// TestConcurrentWorkers kills workers at random while jobs are added, on PostgreSQL with three of
// them, and stops some for longer than their lease: every job ends once, and the ledger adds
// up. SOTTO_TEST_WORKERS says for how long, such as 5m.
func TestConcurrentWorkers(t *testing.T) {
	if testing.Short() {
		t.Skip("workers are killed for a while")
	}
	long := 25 * time.Second
	if text := os.Getenv("SOTTO_TEST_WORKERS"); text != "" {
		var err error
		if long, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	office(t, pgtest.Schema(t), pgtest.Schema(t))
	w := newWorkers(t)
	for range 3 {
		w.start()
	}
	kinds := map[string]int{}
	killed, paused, added := 0, 0, time.Time{}
	for end := time.Now().Add(long); time.Now().Before(end); time.Sleep(time.Duration(rand.Int64N(int64(time.Second)))) {
		if time.Since(added) > time.Second {
			added = time.Now()
			kind := len(kinds) % len(jobKinds)
			kinds[addJob(t, kind, "--priority", fmt.Sprint(rand.IntN(3)))] = kind
		}
		i := w.atWork()
		switch rand.IntN(6) {
		case 0:
			// It wakes up when its lease is another's.
			paused++
			stopped := w.all[i].Process
			_ = stopped.Signal(syscall.SIGSTOP)
			time.Sleep(2500 * time.Millisecond)
			_ = stopped.Signal(syscall.SIGCONT)
		case 1:
			w.end(i, syscall.SIGTERM)
			w.start()
		default:
			killed++
			w.end(i, syscall.SIGKILL)
			w.start()
		}
	}
	ids := make([]string, 0, len(kinds))
	for id := range kinds {
		ids = append(ids, id)
	}
	all := ended(t, 4*time.Minute, ids...)
	addsUp(t, kinds, all)
	attempts := int64(0)
	for _, r := range all {
		attempts += r.Attempt
	}
	t.Logf("%d jobs in %d attempts; %d workers were killed, %d stopped for a while", len(all), attempts, killed, paused)
	if attempts == int64(len(all)) {
		t.Error("no job was begun twice: the test shows little")
	}
}

// TestEnvironmentOfJobs: a job gets what programs need, and the key of the model; not those of other
// servers, nor the store.
func TestEnvironmentOfJobs(t *testing.T) {
	clitest.Home(t)
	clitest.Write(t, "own.toml", []byte("[model]\nname = \"m\"\nurl = \"https://host.example\"\nkey_env = \"MODEL_KEY\"\n[upstream.far]\nurl = \"https://host.example\"\nkey_env = \"SOTTO_FAR\"\n"))
	for name, value := range map[string]string{"SOTTO_CONFIG": "own.toml", "SOTTO_STORE": "postgres://me:pw@host/db", "SOTTO_FAR": "a", "MODEL_KEY": "b", "OPENAI_API_KEY": "c", "PGPASSWORD": "d"} {
		t.Setenv(name, value)
	}
	env, err := jobs.Environment(&config.Places{Ledger: "here.db"})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"MODEL_KEY=b": true, "PGPASSWORD=d": true, "HOME=" + os.Getenv("HOME"): true, "SOTTO_FAR=a": false, "OPENAI_API_KEY=c": false, "SOTTO_STORE=postgres://me:pw@host/db": false} {
		t.Run(name, func(t *testing.T) {
			if slices.Contains(env, name) != want {
				t.Errorf("%v", !want)
			}
		})
	}
	if !slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, "SOTTO_LEDGER=/") && strings.HasSuffix(v, "here.db") }) {
		t.Errorf("the worker's own ledger is not named: %q", env)
	}
}

// TestPlacesOfJobs: a job has the worker's ledger, keys, private folder and configuration, however the
// worker was told, also from the directory of the one who added the job, where relative paths lead elsewhere.
func TestPlacesOfJobs(t *testing.T) {
	clitest.Home(t)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	clitest.Write(t, "own.toml", []byte("keys = \"ring\"\n"))
	t.Setenv("SOTTO_CONFIG", "own.toml")
	t.Setenv("SOTTO_LEDGER", "variable.db")
	env, err := jobs.Environment(&config.Places{Private: "flag"})
	if err != nil {
		t.Fatal(err)
	}
	added := t.TempDir()
	clitest.Write(t, filepath.Join(added, "own.toml"), []byte("ledger = \"another.db\"\nkeys = \"another\"\n"))
	t.Chdir(added)
	for _, v := range env {
		if name, value, _ := strings.Cut(v, "="); strings.HasPrefix(name, "SOTTO_") {
			t.Setenv(name, value) // as for a process, the last one counts
		}
	}
	at, err := (&config.Places{}).All()
	want := config.Places{Ledger: filepath.Join(here, "variable.db"), Keys: filepath.Join(here, "ring"), Private: filepath.Join(here, "flag")}
	if err != nil || at != want {
		t.Errorf("a job has %+v, and the worker %+v: %v", at, want, err)
	}
}

// TestServeCarriesOutJobs: one process serves and carries out a job, which shows its steps and its
// result; a job that is cancelled while it works ends, and can be continued with.
func TestServeCarriesOutJobs(t *testing.T) {
	clitest.Home(t)
	t.Setenv("PATH", clitest.Built(t)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	data, err := clitest.Loans(500)
	if err != nil {
		t.Fatal(err)
	}
	clitest.Write(t, "loans.csv", data)
	clitest.Write(t, "loans.toml", demo.LoansFile())
	clitest.Done(t, "serve", "route", "set", "plain", "--upstream", "embedded")
	id := addJob(t, 0)
	cmd := exec.Command("sotto", "serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--beat", "1s")
	var said clitest.SyncBuffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := ended(t, time.Minute, id)[id]
	expect.Equal(t, "r.State", r.State, store.Done)
	expect.Contains(t, "r.Result", string(r.Result), `"epsilon"`)
	expect.True(t, "no r.Folder in r.Result", !strings.Contains(string(r.Result), r.Folder), string(r.Result))
	clitest.Done(t, "verify", filepath.Join(r.Folder, "out"))
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, said.String())
	}
}
