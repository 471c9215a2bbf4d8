package answer

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// childVariable makes a test process one that answers a question and kills itself.
const childVariable = "SOTTO_ANSWER_TEST_CHILD"

// child is a process with a ledger on disk.
type child struct {
	Data, Ledger string
	// At is the event at which it kills itself, as kill -9 would.
	At env.Kind
}

func TestMain(m *testing.M) {
	if text := os.Getenv(childVariable); text != "" {
		var c child
		err := json.Unmarshal([]byte(text), &c)
		if err == nil {
			err = c.run(context.Background())
		}
		fmt.Fprintln(os.Stderr, "the child was not killed:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func (c *child) run(ctx context.Context) error {
	d, err := record.Open(ctx, c.Data, record.Options{Text: "summary", Condition: "chat", OneLine: true, Private: filepath.Join(filepath.Dir(c.Data), "private")})
	if err != nil {
		return err
	}
	l, err := ledger.Open(ctx, c.Ledger, ledger.Options{Create: true, Meter: countRuns})
	if err != nil {
		return err
	}
	s, err := Open(ctx, Options{
		Plan: planFor(clipped()), Data: d,
		Env: env.Environment{
			Model: newToy().trusted(), Ledger: l, Dataset: "chats",
			Observe: func(e env.Progress) {
				if e.Kind == c.At {
					self, _ := os.FindProcess(os.Getpid()) // never fails on Unix
					_ = self.Kill()
					select {}
				}
			},
		},
	})
	if err != nil {
		return err
	}
	_, err = s.Answer(ctx, "who?", nil)
	return err
}

// TestKilledProcess kills real processes at a reservation, in the midst of an answer, and
// after its end: the ledger on disk has the charge.
func TestKilledProcess(t *testing.T) {
	p := newPlace(t)
	p.open(t)
	for at, want := range map[env.Kind]ledger.State{env.Reserved: ledger.Reserved, env.Wrote: ledger.Reserved, env.Committed: ledger.Committed} {
		t.Run(string(at), func(t *testing.T) {
			c := child{Data: p.data, Ledger: filepath.Join(t.TempDir(), "ledger.db"), At: at}
			text, err := json.Marshal(c)
			must(t, err)
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), childVariable+"="+string(text))
			said, err := cmd.CombinedOutput()
			if err == nil || cmd.ProcessState.ExitCode() != -1 {
				t.Fatalf("the process ended with %v and said %s", err, said)
			}
			q := *p
			q.ledger, err = ledger.Open(t.Context(), c.Ledger, ledger.Options{Meter: countRuns})
			must(t, err)
			if got := q.charges(t); len(got) != 1 || got[0].State != want {
				t.Errorf("killed at %s, the ledger has %+v", at, got)
			}
			must(t, q.ledger.Close())
		})
	}
}
