package answer

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// TestSeriesOfAnotherUnit: answers that were paid for together for persons are not spent on
// answers that protect single records, nor under another scope, though their events are equal.
func TestSeriesOfAnotherUnit(t *testing.T) {
	p := newPlace(t)
	people, err := record.Open(context.Background(), p.data, record.Options{
		Text: "summary", Condition: "chat", Unit: "chat", OneLine: true, Private: filepath.Join(filepath.Dir(p.data), "private"),
	})
	must(t, err)
	t.Cleanup(func() { _ = people.Close() })
	p.budget(t, ledger.Budget{Epsilon: 4, Delta: 1e-3, Unit: "user:chat"})

	of := planFor(clipped())
	of.Answers, of.Unit = 4, "user:chat"
	o := p.options(t, of, newToy())
	o.Data = people
	_, err = p.session(t, o).Answer(t.Context(), "who?", nil)
	must(t, err)

	t.Run("records", func(t *testing.T) {
		of.Unit = privacy.Record
		_, err := p.session(t, p.options(t, of, newToy())).Answer(t.Context(), "who?", nil)
		if !errors.As(err, new(*ledger.MismatchError)) {
			t.Errorf("answered for single records: %v", err)
		}
	})
	t.Run("scope", func(t *testing.T) {
		o := o
		o.Env.Labels = map[string]string{"team": "other"}
		_, err := p.session(t, o).Answer(t.Context(), "who?", nil)
		if !errors.Is(err, ledger.ErrBudget) {
			t.Errorf("answered for another team: %v", err)
		}
	})
	if p.uses(t) != 1 {
		t.Errorf("%d answers were paid for, want 1", p.uses(t))
	}
	_, err = p.session(t, o).Answer(t.Context(), "who?", nil)
	must(t, err)
	if charges := p.charges(t); len(charges) != 1 || charges[0].Drawn != 2 {
		t.Errorf("the series has %+v", charges)
	}
}
