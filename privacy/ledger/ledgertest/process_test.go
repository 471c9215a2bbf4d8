package ledgertest

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// roleVariable tells a test binary to play another process, and what to do as
// that.
const roleVariable = "SOTTO_LEDGERTEST_ROLE"

// role is what another process does; one of its fields is set.
type role struct {
	Clients *clients
	Crash   *crash
}

func play(text string) error {
	var r role
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return err
	}
	ctx := context.Background()
	if r.Clients != nil {
		return r.Clients.run(ctx, backendAt(r.Clients.Address), func(l *ledger.Ledger) api { return l }, os.Stdout)
	}
	return r.Crash.run(ctx, backendAt(r.Crash.Address))
}

// process prepares another process.
func process(t testing.TB, r role) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	// A program under the race detector sleeps a second when it ends, by default not to.
	cmd.Env = append(os.Environ(), roleVariable+"="+string(text), "GORACE="+os.Getenv("GORACE")+" atexit_sleep_ms=0")
	return cmd
}

// startClients starts clients in another process; the result waits for their
// history.
func startClients(t *testing.T, c clients) func() []operation {
	t.Helper()
	cmd := process(t, role{Clients: &c})
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() []operation {
		t.Helper()
		if err := cmd.Wait(); err != nil {
			t.Fatalf("clients %d to %d: %v\n%s", c.First, c.First+c.Count-1, err, errs.Bytes())
		}
		return readHistory(t, &out)
	}
}

// unitsOf returns the n of units(n).
func unitsOf(e privacy.Event) int64 { return e.(privacy.Repeat).N }
