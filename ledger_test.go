package sotto_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/folder"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// makeLedger makes an empty ledger, as its owner does.
func makeLedger(t *testing.T, address string) {
	t.Helper()
	l, err := ledger.Open(t.Context(), address, ledger.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// doors are all ways into the library that charge a ledger: each opens one at an address,
// which it may make or not, with a private folder that may have a key already.
var doors = map[string]func(t *testing.T, address string, create, used bool, tell func(string)) (private string, err error){
	"synthesize": func(t *testing.T, address string, create, used bool, tell func(string)) (string, error) {
		o := options(t)
		o.Ledger, o.NewLedger, o.Observe = address, create, func(e sotto.Progress) { tell(e.Message) }
		if used {
			enrol(t, o.Source)
		}
		_, err := sotto.Synthesize(t.Context(), o)
		return o.Source.Private, err
	},
	"answer": func(t *testing.T, address string, create, used bool, tell func(string)) (string, error) {
		o := answerOptions(t)
		o.Ledger, o.NewLedger, o.Observe = address, create, func(e sotto.Progress) { tell(e.Message) }
		if used {
			enrol(t, o.Source)
		}
		_, err := sotto.Answer(t.Context(), o, "who?")
		return o.Source.Private, err
	},
	"profile": func(t *testing.T, address string, create, used bool, tell func(string)) (string, error) {
		o := tableDoor(t, address, create, used, tell)
		_, err := sotto.Profile(t.Context(), sotto.ProfileOptions{Request: plan.ProfileRequest{Schema: loans(), Size: 400, Epsilon: 1}, TableOptions: o})
		return o.Source.Private, err
	},
	"perturb": func(t *testing.T, address string, create, used bool, tell func(string)) (string, error) {
		o := tableDoor(t, address, create, used, tell)
		_, err := sotto.Perturb(t.Context(), sotto.PerturbOptions{Request: plan.LocalRequest{Schema: loans(), Epsilon: 8}, TableOptions: o})
		return o.Source.Private, err
	},
}

func tableDoor(t *testing.T, address string, create, used bool, tell func(string)) sotto.TableOptions {
	t.Helper()
	o := bank(t)
	o.Ledger, o.NewLedger, o.Observe = address, create, func(e sotto.Progress) { tell(e.Message) }
	if used {
		if _, err := o.Source.Fingerprint(t.Context(), loans()); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

func enrol(t *testing.T, s sotto.Source) {
	t.Helper()
	if err := s.Enrol(t.Context(), task()); err != nil {
		// What counts is the key, which is made first.
		if has, _ := folder.HasKey(s.Private); !has {
			t.Fatal(err)
		}
	}
}

// TestLedgerIsNotMadeByAccident: a ledger that is not there is an error that tells the
// command, and no file. It is made only if that is allowed and the private folder has no
// key: a key without a ledger means that the ledger was lost.
func TestLedgerIsNotMadeByAccident(t *testing.T) {
	for name, door := range doors {
		t.Run(name, func(t *testing.T) {
			for _, c := range []struct {
				create, used bool
				wants        []string
			}{
				{false, false, []string{"sotto ledger init --ledger "}},
				{false, true, []string{"sotto ledger init --ledger "}},
				{true, true, []string{"lost or moved", folder.KeyPath("private"), "sotto ledger init"}},
			} {
				address := filepath.Join(t.TempDir(), "typo.db")
				_, err := door(t, address, c.create, c.used, func(string) {})
				if !errors.Is(err, ledger.ErrMissing) {
					t.Fatalf("%+v: %v", c, err)
				}
				for _, want := range c.wants {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%+v: %v does not say %q", c, err, want)
					}
				}
				if _, err := os.Stat(address); err == nil {
					t.Errorf("%+v: a ledger was made", c)
				}
			}
			var said []string
			address := filepath.Join(t.TempDir(), "new.db")
			if _, err := door(t, address, true, false, func(s string) { said = append(said, s) }); err != nil {
				t.Fatal(err)
			}
			if all := strings.Join(said, "\n"); !strings.Contains(all, "NEW") || !strings.Contains(all, address) {
				t.Errorf("it was not said that the ledger is new: %s", all)
			}
		})
	}
}

// TestConcurrentFirstUse: runs that are the first at a place, at once, make one ledger and
// one key, and all go through it: no budget is spent twice.
func TestConcurrentFirstUse(t *testing.T) {
	o := bank(t)
	if _, err := certificate.CreateRing(o.Keys); err != nil {
		t.Fatal(err)
	}
	const runs = 6
	errs := make([]error, runs)
	var wait sync.WaitGroup
	for i := range runs {
		wait.Go(func() {
			o := o
			o.Out += string(rune('a' + i))
			_, errs[i] = sotto.Profile(t.Context(), sotto.ProfileOptions{Request: plan.ProfileRequest{Schema: loans(), Size: 400, Epsilon: 1}, TableOptions: o})
		})
	}
	wait.Wait()
	done := 0
	for _, err := range errs {
		switch {
		case err == nil:
			done++
		case !errors.Is(err, ledger.ErrBudget):
			t.Errorf("%v", err)
		}
	}
	if done != 1 {
		t.Errorf("%d of %d runs were paid for, the budget is for one", done, runs)
	}
}
