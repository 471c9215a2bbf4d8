package sotto_test

import (
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/sotto-dp/sotto"
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

// place has a ledger that the client may make, or one that must be there.
func (w *world) place(create bool) {
	if !create {
		w.Ledger = w.at("typo.db")
	}
}

// doors are all ways into the library that charge a ledger: each has one that it may make or
// not, with a private folder that may have a key already.
var doors = map[string]func(t *testing.T, create, used bool, observe func(sotto.Progress)) (world, error){
	"synthesize": func(t *testing.T, create, used bool, observe func(sotto.Progress)) (world, error) {
		o := options(t)
		o.place(create)
		o.Observe = observe
		if used {
			enrol(t, o.world, o.Source)
		}
		_, err := synthesize(t.Context(), o)
		return o.world, err
	},
	"answer": func(t *testing.T, create, used bool, observe func(sotto.Progress)) (world, error) {
		o := answerOptions(t)
		o.place(create)
		o.Observe = observe
		if used {
			enrol(t, o.world, o.Source)
		}
		_, err := answerOne(t.Context(), o, "who?")
		return o.world, err
	},
	"profile": func(t *testing.T, create, used bool, observe func(sotto.Progress)) (world, error) {
		o := tableDoor(t, create, used, observe)
		_, err := profile(t.Context(), o, sotto.ProfileRequest{Schema: loans(), Size: 400, Epsilon: 1})
		return o.world, err
	},
	"perturb": func(t *testing.T, create, used bool, observe func(sotto.Progress)) (world, error) {
		o := tableDoor(t, create, used, observe)
		_, err := perturb(t.Context(), o, sotto.PerturbRequest{Schema: loans(), Epsilon: 8})
		return o.world, err
	},
}

func tableDoor(t *testing.T, create, used bool, observe func(sotto.Progress)) tableCall {
	t.Helper()
	o := bank(t)
	o.place(create)
	o.Observe = observe
	if used {
		fingerprint(t, o, loans())
	}
	return o
}

func enrol(t *testing.T, w world, s sotto.Source) {
	t.Helper()
	if err := w.client().BuildIndex(t.Context(), s, task()); err != nil {
		// What counts is the key, which is made first.
		if has, _ := folder.HasKey(w.at("private")); !has {
			t.Fatal(err)
		}
	}
}

// TestLedgerIsNotMadeByAccident: a ledger that is not there is an error that says the
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
				w, err := door(t, c.create, c.used, nil)
				if !errors.Is(err, ledger.ErrMissing) {
					t.Fatalf("%+v: %v", c, err)
				}
				for _, want := range c.wants {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%+v: %v does not say %q", c, err, want)
					}
				}
				if _, err := os.Stat(w.client().Ledger()); err == nil {
					t.Errorf("%+v: a ledger was made", c)
				}
			}
			var said []string
			w, err := door(t, true, false, func(p sotto.Progress) { said = append(said, p.Message) })
			if err != nil {
				t.Fatal(err)
			}
			if all := strings.Join(said, "\n"); !strings.Contains(all, "NEW") || !strings.Contains(all, w.client().Ledger()) {
				t.Errorf("it was not said that the ledger is new: %s", all)
			}
		})
	}
}

// TestConcurrentFirstUse: runs that are the first at a place, at once, make one ledger and
// one key, and all go through it: no budget is spent twice.
func TestConcurrentFirstUse(t *testing.T) {
	o := bank(t)
	if _, _, err := certificate.OpenSigner(o.client().Keys()); err != nil {
		t.Fatal(err)
	}
	const runs = 6
	errs := make([]error, runs)
	var wait sync.WaitGroup
	for i := range runs {
		wait.Go(func() {
			o := o
			o.Out += string(rune('a' + i))
			_, errs[i] = profile(t.Context(), o, sotto.ProfileRequest{Schema: loans(), Size: 400, Epsilon: 1})
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
