package ledgertest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// crash is a process that works with the ledger until it is killed.
type crash struct {
	Address string
	// Dataset is what it charges; empty to create the ledger.
	Dataset string
	// Point is the number of the statement boundary at which it kills itself as
	// kill -9 would, 0 for none.
	Point int
	// Loop continues until killed from outside.
	Loop bool
}

// run prints on standard output each operation that has been confirmed, and at the end the
// number of statement boundaries.
func (c *crash) run(ctx context.Context, b backend) error {
	points := 0
	trace := func(when, statement string) {
		if c.Dataset == "" && when == "after" && statement != "COMMIT" {
			return // creation has many statements; after one is before the next
		}
		if points++; points == c.Point {
			self, _ := os.FindProcess(os.Getpid()) // never fails on Unix
			_ = self.Kill()
			select {}
		}
	}
	l, err := openLedger(ctx, b, c.Address, options{Create: c.Dataset == "", Trace: trace}, nil)
	if err != nil {
		return err
	}
	defer l.Close()
	say := func(what string) { fmt.Println(what) }
	switch {
	case c.Dataset == "":
		say("created")
	case c.Loop:
		for i := 0; ; i++ {
			if err := work(ctx, l, c.Dataset, fmt.Sprint(i), say); err != nil {
				return err
			}
		}
	default:
		if err := work(ctx, l, c.Dataset, "", say); err != nil {
			return err
		}
	}
	say(fmt.Sprint("points ", points))
	return nil
}

// work returns a run and the beginning of another: it reserves 4 units, hands one back when
// it commits, and reserves 4 again.
func work(ctx context.Context, l *ledger.Ledger, dataset, n string, done func(string)) error {
	reserve := func(key string) (ledger.Charge, error) {
		r := request(dataset+" "+key+n, 4)
		r.Dataset = dataset
		return l.Reserve(ctx, r)
	}
	a, err := reserve("a")
	if err != nil {
		return err
	}
	done("reserved a" + n)
	if _, err := l.Commit(ctx, ledger.CommitRequest{Charge: a.ID, Spent: units(3), Filtered: true}); err != nil {
		return err
	}
	done("committed a" + n)
	if _, err := reserve("b"); err != nil {
		return err
	}
	done("reserved b" + n)
	return nil
}

// testCrash kills processes with SIGKILL before and after every statement of
// creating, reserving and committing, and at random times.
func testCrash(t *testing.T, b backend) {
	t.Run("every statement", func(t *testing.T) {
		f := newFixture(t, b, ledger.Budget{Epsilon: 1})
		total := 1
		for point := 0; point <= total; point++ {
			name := fmt.Sprint("d", point)
			_, err := f.Init(f.ctx, ledger.InitRequest{
				Dataset: fingerprint(1000 + point), Name: name,
				Budget: ledger.Budget{Epsilon: 10, Delta: 1e-6, Composition: ledger.Adaptive},
			})
			if err != nil {
				t.Fatal(err)
			}
			said, killed := dies(t, crash{Address: f.address, Dataset: name, Point: point})
			if point == 0 {
				total = pointsOf(t, said)
				said = said[:len(said)-1]
			}
			if killed != (point > 0) {
				t.Fatalf("point %d of %d: killed is %v", point, total, killed)
			}
			f.afterCrash(t, point, name, said)
		}
		if total < 20 {
			t.Errorf("only %d statement boundaries were seen", total)
		}
		t.Logf("killed at each of %d statement boundaries", total)
	})
	t.Run("creation", func(t *testing.T) {
		total := 1
		for point := 0; point <= total; point++ {
			address := b.New(t)
			said, killed := dies(t, crash{Address: address, Point: point})
			if point == 0 {
				total = pointsOf(t, said)
			}
			if killed != (point > 0) {
				t.Fatalf("point %d of %d: killed is %v", point, total, killed)
			}
			l, err := openLedger(t.Context(), b, address, options{Create: true}, nil)
			if err != nil {
				t.Fatalf("killed at point %d of %d, opening: %v", point, total, err)
			}
			if r, err := l.Check(t.Context(), ledger.CheckOptions{}); err != nil || r.Rows != 1 {
				t.Errorf("killed at point %d of %d: %+v, %v", point, total, r, err)
			}
			l.Close()
		}
	})
	t.Run("random times", func(t *testing.T) { testKills(t, b) })
}

// dies runs a process to its end and returns its output, and whether it was killed.
func dies(t *testing.T, c crash) (said []string, killed bool) {
	t.Helper()
	cmd := process(t, role{Crash: &c})
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if err != nil && cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("%+v: %v\n%s", c, err, errs.Bytes())
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"), err != nil
}

func pointsOf(t *testing.T, said []string) int {
	t.Helper()
	var n int
	if _, err := fmt.Sscanf(said[len(said)-1], "points %d", &n); err != nil {
		t.Fatalf("the process said %q", said)
	}
	return n
}

// afterCrash checks what a killed process left behind, then does its work again.
func (f *fixture) afterCrash(t *testing.T, point int, name string, said []string) {
	t.Helper()
	d, err := f.Show(f.ctx, name)
	if err != nil {
		t.Fatalf("killed at point %d, reading: %v", point, err)
	}
	steps := 0
	for _, c := range d.Charges {
		if steps++; c.State == ledger.Committed {
			steps++
		}
	}
	acknowledged := len(said)
	if said[0] == "" {
		acknowledged = 0
	}
	if steps < acknowledged || steps > acknowledged+1 {
		t.Errorf("killed at point %d: the process knew of %q, the ledger has %d steps", point, said, steps)
	}
	spent := []ledger.Epsilon{0, 4, 3, 7}[steps]
	if d.Budgets[0].Spent != spent {
		t.Errorf("killed at point %d after %d steps: %v spent, want %v", point, steps, d.Budgets[0].Spent, spent)
	}
	// The run is started again, and is not charged again.
	if err := work(f.ctx, f.Ledger, name, "", func(string) {}); err != nil {
		t.Fatalf("killed at point %d, starting again: %v", point, err)
	}
	r := request(name+" c", 4)
	r.Dataset = name
	e := wants[*ledger.RefusedError](t, second(f.Reserve(f.ctx, r)))
	if e.Spent != 7 {
		t.Errorf("killed at point %d and started again: %v spent, want 7", point, e.Spent)
	}
	if _, err := f.Check(f.ctx, ledger.CheckOptions{}); err != nil {
		t.Errorf("killed at point %d: %v", point, err)
	}
}

// testKills kills working processes from outside, at random times, so that they
// die within statements too.
func testKills(t *testing.T, b backend) {
	f := newFixture(t, b, ledger.Budget{Epsilon: 1e6, Delta: 1e-6, Composition: ledger.Adaptive})
	random := rand.New(rand.NewPCG(1, 2))
	for i := range knob("SOTTO_LEDGER_KILLS", 6) {
		name := fmt.Sprint("d", i)
		_, err := f.Init(f.ctx, ledger.InitRequest{
			Dataset: fingerprint(1000 + i), Name: name,
			Budget: ledger.Budget{Epsilon: 1e6, Delta: 1e-6, Composition: ledger.Adaptive},
		})
		if err != nil {
			t.Fatal(err)
		}
		cmd := process(t, role{Crash: &crash{Address: f.address, Dataset: name, Loop: true}})
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		said := 0
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if said++; said == 1 {
				time.AfterFunc(time.Duration(random.Int64N(int64(40*time.Millisecond))), func() { _ = cmd.Process.Kill() })
			}
		}
		_ = cmd.Wait() // killed
		d, err := f.Show(f.ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		steps, spent := 0, ledger.Epsilon(0)
		for _, c := range d.Charges {
			steps++
			spent += 4
			if c.State == ledger.Committed {
				steps++
				spent--
			}
		}
		at := expect.At(t, "kill %d", i)
		expect.Within(at, "steps", steps, said, said+1)
		expect.Equal(at, "d.Budgets[0].Spent", d.Budgets[0].Spent, spent)
		expect.True(at, "said != 0", said != 0)
		f.spent(0) // of the data set "records", and the ledger is in order
	}
}
