package run

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// childVariable makes a test process a run that kills itself.
const childVariable = "SOTTO_RUN_TEST_CHILD"

// child is a process that carries out a run, with a ledger on disk.
type child struct {
	Dir, Data, Ledger, Ring string
	// Table is the kind of a run on a table; "" for texts.
	Table string
	// Choose has the records choose.
	Choose bool
	Key    []byte
	// Point at which it kills itself, as kill -9 would.
	Point int
}

func TestMain(m *testing.M) {
	if text := os.Getenv(childVariable); text != "" {
		var c child
		err := json.Unmarshal([]byte(text), &c)
		if err == nil {
			err = c.run(context.Background())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func (c *child) run(ctx context.Context) error {
	p := &place{dir: filepath.Dir(c.Dir), data: c.Data, key: c.Key}
	if c.Table != "" {
		return c.runTable(ctx, p)
	}
	o, closing, err := c.options(ctx)
	if err != nil {
		return err
	}
	defer closing()
	_, err = p.attempt(o, o.Env.Model.Public().(*hashModel), c.kill).run(ctx)
	return err
}

// kill ends the process at its point.
func (c *child) kill(n int, _ string) error {
	if n == c.Point {
		self, _ := os.FindProcess(os.Getpid()) // never fails on Unix
		_ = self.Kill()
		select {}
	}
	return nil
}

func (c *child) options(ctx context.Context) (o Options, closing func(), err error) {
	made := planFor(tickets(), clipped())
	if c.Choose {
		made = choosingPlan(tickets(), public())
	}
	data, err := record.Open(ctx, c.Data, record.Options{
		Text: "text", Condition: "label", Labels: made.Task.Labels, OneLine: true, Private: filepath.Join(filepath.Dir(c.Data), "private"), Together: c.Choose,
	})
	if err != nil {
		return o, nil, err
	}
	l, signer, err := c.open(ctx)
	return Options{
		Env: env.Environment{Model: newHashModel().trusted(), Ledger: l, Dataset: "tickets", Signer: signer, Version: "test"}, Dir: c.Dir, Plan: made, Data: data,
	}, func() { l.Close(); data.Close() }, err
}

// open opens the ledger and the keys.
func (c *child) open(ctx context.Context) (*ledger.Ledger, *certificate.Signer, error) {
	l, err := ledger.Open(ctx, c.Ledger, ledger.Options{Create: true, Meter: countRuns})
	if err != nil {
		return nil, nil, err
	}
	signer, _, err := certificate.OpenSigner(c.Ring)
	return l, signer, err
}

// slain runs the child, which has to kill itself.
func (c *child) slain(t *testing.T, what string) {
	t.Helper()
	text, err := json.Marshal(c)
	must(t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	said, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("point %d, %s: the process ended with %v and said %s", c.Point, what, err, said)
	}
}

// TestKilledProcess kills real processes around every sync and every call of a ledger on
// disk: before, which is after the operation that came before.
func TestKilledProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("a run is repeated for each point at which it can end")
	}
	newPlace(t).killProcesses(t)
}

// killProcesses kills a process at each of those points, and continues in this one.
func (p *place) killProcesses(t *testing.T) {
	t.Helper()
	want, log := p.reference(t)
	killed := 0
	for i, what := range log {
		if !strings.HasPrefix(what, "sync ") && !strings.Contains(what, " about ") && !strings.HasPrefix(what, "ask to ") {
			continue
		}
		killed++
		dir := t.TempDir()
		c := child{
			Dir: filepath.Join(dir, "out"), Data: p.data, Ledger: filepath.Join(dir, "ledger.db"), Ring: filepath.Join(p.dir, "ring"),
			Choose: p.made != nil, Key: p.key, Point: i + 1,
		}
		c.slain(t, what)
		o, closing, err := c.options(t.Context())
		must(t, err)
		again := p.attempt(o, o.Env.Model.Public().(*hashModel), nil)
		if len(charges(t, o)) > 0 {
			again.mustNotBeginAnew(t)
		}
		if _, err := again.run(t.Context()); err != nil {
			t.Errorf("point %d, %s: resuming: %v", i+1, what, err)
		}
		p.looksRight(t, o, want)
		closing()
	}
	if killed < 40 {
		t.Errorf("only %d processes were killed", killed)
	}
	t.Logf("%d processes were killed", killed)
}
