package store

import (
	"errors"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/sys/expect"
)

// TestUploadDecisions: owners decide for data sets that they own, until the upload is assigned; what former
// owners said does not count; it is assigned by the decisions that there are at that moment, and
// the log says who decided, not what.
func TestUploadDecisions(t *testing.T) {
	each(t, func(t *testing.T, s *Store, _ func() *Store) {
		ctx := t.Context()
		people(t, s, map[string]Role{"operator-one": Operator, "owner-one": Owner, "owner-two": Owner})
		must(t, s.SetOwner(ctx, "root", "owner-two", "data", true))
		must(t, s.SetOwner(ctx, "root", "owner-two", "other", false))
		u, err := s.AddUpload(ctx, "account operator-one", Upload{ID: "up", Name: "letters.csv", File: "/place/up.csv.age", Size: 1})
		must(t, err)
		at, err := s.UploadAt(ctx, u.File)
		expect.NoError(t, err)
		expect.Equal(t, "at.ID", at.ID, "up")
		expect.Equal(t, "at.State", at.State, UploadWaiting)
		claim := func(dataset string) []UploadDecision {
			return []UploadDecision{{Dataset: dataset, Claimed: true, Reason: "secret thoughts"}}
		}
		first := &FirstBudget{Name: "new", Epsilon: 1, Delta: 1e-6}
		for name, err := range map[string]error{
			"an operator":        s.DecideUpload(ctx, "operator-one", "up", nil, first),
			"nobody":             s.DecideUpload(ctx, "nobody", "up", nil, first),
			"for others":         s.DecideUpload(ctx, "owner-one", "up", claim("other"), nil),
			"no reason":          s.DecideUpload(ctx, "owner-one", "up", []UploadDecision{{Dataset: "data", Claimed: true}}, nil),
			"no reason, shared":  s.DecideUpload(ctx, "owner-one", "up", []UploadDecision{{Dataset: "data", Shared: true}}, nil),
			"lines of reasons":   s.DecideUpload(ctx, "owner-one", "up", []UploadDecision{{Dataset: "data", Claimed: true, Reason: "a\nb"}}, nil),
			"a negative budget":  s.DecideUpload(ctx, "owner-one", "up", nil, &FirstBudget{Name: "new", Epsilon: -1, Delta: 1e-6}),
			"a nameless budget":  s.DecideUpload(ctx, "owner-one", "up", nil, &FirstBudget{Epsilon: 1, Delta: 1e-6}),
			"no such upload":     s.DecideUpload(ctx, "owner-one", "none", claim("data"), nil),
			"assigned by nobody": s.BeginAssigning(ctx, "root", u, claim("data")),
		} {
			if err == nil || errors.Is(err, ErrStore) {
				t.Errorf("%s: %v", name, err)
			}
		}
		must(t, s.DecideUpload(ctx, "owner-one", "up", claim("data"), nil))
		must(t, s.DecideUpload(ctx, "owner-two", "up", []UploadDecision{{Dataset: "other"}}, first))
		old, err := s.UploadDecisions(ctx, "up")
		expect.NoError(t, err)
		expect.Len(t, "old", old, 2)
		expect.Equal(t, "old[0].Account", old[0].Account, "owner-one")
		expect.True(t, "old[0].Claimed", old[0].Claimed)
		expect.True(t, "not old[1].Claimed", !old[1].Claimed)
		must(t, s.SetOwner(ctx, "root", "owner-one", "data", true))
		now, err := s.UploadDecisions(ctx, "up")
		if err != nil || len(now) != 1 {
			t.Errorf("%+v, %v", now, err)
		}
		u, err = s.Upload(ctx, "up")
		expect.NoError(t, err)
		if u.First == nil {
			t.Fatal("u.First: got nil")
		}
		expect.Equal(t, "u.First.Account", u.First.Account, "owner-two")
		if err := s.BeginAssigning(ctx, "root", u, old); !errors.Is(err, ErrDecided) {
			t.Errorf("assigned by what a former owner said: %v", err)
		}
		must(t, s.BeginAssigning(ctx, "root", u, now))
		for name, err := range map[string]error{
			"decided": s.DecideUpload(ctx, "owner-two", "up", claim("other"), nil),
			"twice":   s.BeginAssigning(ctx, "root", u, now),
			"removed": s.RemoveUpload(ctx, Account{Name: "operator-one", Role: Operator}, "up"),
		} {
			if err == nil || errors.Is(err, ErrStore) {
				t.Errorf("%s while it is assigned: %v", name, err)
			}
		}
		must(t, s.EndAssigning(ctx, "root", "up", ""))
		must(t, s.BeginAssigning(ctx, "root", u, now))
		must(t, s.EndAssigning(ctx, "root", "up", "other"))
		must(t, s.EndAssigning(ctx, "root", "up", ""))
		u, err = s.Upload(ctx, "up")
		expect.NoError(t, err)
		expect.Equal(t, "u.State", u.State, UploadAssigned)
		expect.Equal(t, "u.Dataset", u.Dataset, "other")
		log, err := s.Audit(ctx, 100)
		must(t, err)
		for _, e := range log {
			if strings.Contains(e.Action+e.Subject, "secret") {
				t.Errorf("%+v", e)
			}
		}
		for who, want := range map[string][2]bool{"operator-one": {true, true}, "operator-two": {false, false}, "owner-one": {false, false}, "owner-two": {true, true}} {
			a := Account{Name: who, Role: Operator}
			if strings.HasPrefix(who, "owner") {
				a.Role = Owner
			}
			if who == "owner-two" {
				a.Owns = []string{"other"}
			}
			u, err := s.Upload(ctx, "up")
			at := expect.At(t, "%s", who)
			expect.NoError(at, err)
			expect.Equal(at, "u.SeenBy(a)", u.SeenBy(a), want[0])
			expect.Equal(at, "u.UsableBy(a)", u.UsableBy(a), want[1])
		}
	})
}
