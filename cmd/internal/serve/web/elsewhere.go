package web

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// chargedRun is a run that the ledger knows and that is no job: one of the command line, or of the library.
type chargedRun struct {
	ledger.Charge
	// Of is what people call its data set, and Set where its page is.
	Of, Set string
	// Bought is the release, if a route has it.
	Bought certifiedRelease
}

// elsewhere are the newest charges that no job of the service made, nor a question to a route. They say no more than
// the pages of data sets do.
func (d *Dashboard) elsewhere(ctx context.Context, jobs []store.Job) (all []chargedRun, err error) {
	l, err := d.Ledger(ctx)
	if errors.Is(err, ledger.ErrMissing) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	sets, err := l.List(ctx)
	if err != nil {
		return nil, err
	}
	bought, err := d.bought(ctx)
	if err != nil {
		return nil, err
	}
	journals := journals(jobs)
	for _, one := range sets {
		set, err := l.Show(ctx, string(one.Fingerprint))
		if err != nil {
			return nil, err
		}
		for _, c := range set.Charges {
			of, asked := bought[c.ID], c.Labels["route"] != ""
			if asked || of.Kind == "run" || slices.ContainsFunc(journals, func(j []byte) bool { return bytes.Contains(j, []byte(c.ID)) }) {
				continue
			}
			all = append(all, chargedRun{c, called(set), string(set.Fingerprint), of})
		}
	}
	slices.SortStableFunc(all, func(a, b chargedRun) int { return cmp.Or(b.Reserved.Compare(a.Reserved), cmp.Compare(b.Row, a.Row)) })
	return all[:min(len(all), shownRuns)], nil
}

// journals are what jobs say of their charges: results, and of those that are under way or have failed the
// beginning of what they write, which names the charge first.
func journals(jobs []store.Job) (all [][]byte) {
	for _, j := range jobs {
		all = append(all, j.Result, j.Progress)
		if j.Place == "" || j.State == store.Done {
			continue
		}
		for _, name := range []string{filepath.Join("out", "journal.jsonl"), "answers.jsonl"} {
			f, err := os.Open(filepath.Join(j.Place, name))
			if err != nil {
				continue // it has none
			}
			if data, err := io.ReadAll(io.LimitReader(f, 64<<10)); err == nil {
				all = append(all, data)
			}
			_ = f.Close() // it was read only
		}
	}
	return all
}
