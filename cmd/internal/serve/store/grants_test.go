package store

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// TestGrants: owners of the data set decide, as many different ones as it says, and nobody else.
func TestGrants(t *testing.T) {
	each(t, func(t *testing.T, s *Store, _ func() *Store) {
		ctx := t.Context()
		people(t, s, map[string]Role{"viewer-one": Viewer, "operator-one": Operator, "owner-one": Owner, "owner-two": Owner, "owner-three": Owner})
		must(t, s.SetOwner(ctx, "root", "owner-three", "data", true))
		must(t, s.SetOwner(ctx, "root", "owner-three", "other", false))
		ask := func(by string, role Role) Grant {
			t.Helper()
			g, err := s.AskGrant(ctx, Account{Name: by, Role: role}, Grant{Dataset: "data", Name: "tickets", Budget: "global", Epsilon: 0.5, Delta: 1e-7, Reason: "one more round"})
			must(t, err)
			return g
		}
		state := func(id string) GrantState {
			t.Helper()
			g, err := s.Grant(ctx, id)
			must(t, err)
			return g.State
		}
		if _, err := s.AskGrant(ctx, Account{Name: "viewer-one", Role: Viewer}, Grant{Dataset: "data", Budget: "global", Epsilon: 1, Reason: "r"}); !errors.Is(err, ErrDenied) {
			t.Errorf("a viewer asks: %v", err)
		}
		for _, g := range []Grant{{}, {Dataset: "data", Budget: "global", Reason: "r"}, {Dataset: "data", Budget: "global", Epsilon: -1, Reason: "r"}, {Dataset: "data", Budget: "global", Epsilon: 1}, {Dataset: "data", Budget: "global", Epsilon: 1, Reason: "a\nb"}} {
			if _, err := s.AskGrant(ctx, Account{Name: "operator-one", Role: Operator}, g); err == nil {
				t.Errorf("%+v is taken", g)
			}
		}
		one := ask("operator-one", Operator)
		for _, nobody := range []string{"viewer-one", "operator-one", "owner-three", "nobody"} {
			if _, err := s.Decide(ctx, nobody, one.ID, true); err == nil || state(one.ID) != GrantOpen {
				t.Errorf("%s decides: %v", nobody, err)
			}
		}
		g, err := s.Decide(ctx, "owner-one", one.ID, true)
		expect.NoError(t, err)
		expect.Equal(t, "g.State", g.State, GrantApproved)
		expect.Equal(t, "g.Why", g.Why(), "one more round (asked for by operator-one, approved by owner-one)")
		if _, err := s.Decide(ctx, "owner-two", one.ID, false); err == nil {
			t.Error("a decision after the end counts")
		}
		must(t, s.EndGrant(ctx, "root", one.ID, ""))
		must(t, s.EndGrant(ctx, "root", one.ID, "again"))
		if state(one.ID) != GrantDone {
			t.Error(state(one.ID))
		}

		if err := s.SetApprovals(ctx, "root", "data", 3); err == nil {
			t.Error("three approvals")
		}
		must(t, s.SetApprovals(ctx, "root", "data", 2))
		two := ask("owner-one", Owner) // of two owners, who both have to
		if g, err := s.Decide(ctx, "owner-one", two.ID, true); err != nil || g.State != GrantOpen {
			t.Errorf("who asked approves alone: %+v, %v", g, err)
		}
		if _, err := s.Decide(ctx, "owner-one", two.ID, true); err == nil || state(two.ID) != GrantOpen {
			t.Error("one owner approves twice")
		}
		// An approval counts as long as anyone who gave it owns the data set.
		must(t, s.SetOwner(ctx, "root", "owner-one", "data", true))
		if g, err := s.Decide(ctx, "owner-two", two.ID, true); err != nil || g.State != GrantOpen {
			t.Errorf("one owner is left: %+v, %v", g, err)
		}
		must(t, s.SetOwner(ctx, "root", "owner-one", "data", false))
		g, err = s.Decide(ctx, "owner-one", two.ID, true)
		expect.NoError(t, err)
		expect.Equal(t, "g.State", g.State, GrantApproved)
		expect.Len(t, "g.Decisions", g.Decisions, 2)
		three := ask("operator-one", Operator)
		_, err = s.Decide(ctx, "owner-one", three.ID, true)
		must(t, err)
		if g, err := s.Decide(ctx, "owner-two", three.ID, false); err != nil || g.State != GrantDenied {
			t.Errorf("%+v, %v", g, err)
		}
		must(t, s.EndGrant(ctx, "root", three.ID, ""))
		if state(three.ID) != GrantDenied {
			t.Error("a request that was denied is carried out")
		}
		all, err := s.Grants(ctx, "data", 2)
		expect.NoError(t, err)
		expect.Len(t, "all", all, 2)
		expect.Equal(t, "all[0].Needed", all[0].Needed, 2)
		if all, err := s.Grants(ctx, "", 10); err != nil || len(all) != 3 {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

// TestConcurrentApprovals: of approvals at the same time one is the last.
func TestConcurrentApprovals(t *testing.T) {
	each(t, func(t *testing.T, s *Store, open func() *Store) {
		ctx := t.Context()
		owners := []string{"owner-one", "owner-two", "owner-three", "owner-four"}
		for _, name := range owners {
			must(t, s.AddAccount(ctx, "root", Account{Name: name, Role: Owner, Owns: []string{"data"}}))
		}
		must(t, s.SetApprovals(ctx, "root", "data", 2))
		g, err := s.AskGrant(ctx, Account{Name: "owner-one", Role: Owner}, Grant{Dataset: "data", Budget: "global", Epsilon: 1, Reason: "r"})
		must(t, err)
		var all sync.WaitGroup
		last := make(chan string, len(owners))
		for _, name := range owners {
			handle := open()
			all.Go(func() {
				if g, err := handle.Decide(ctx, name, g.ID, true); err == nil && g.State == GrantApproved {
					last <- name
				}
			})
		}
		all.Wait()
		if len(last) != 1 {
			t.Errorf("%d approvals were the last", len(last))
		}
	})
}

// TestOwnRequests: anyone who asked approves only where too few others own the data set, whatever was
// so before, and the ledger's reason says so.
func TestOwnRequests(t *testing.T) {
	each(t, func(t *testing.T, s *Store, _ func() *Store) {
		ctx := t.Context()
		for _, name := range []string{"one", "two", "three"} {
			must(t, s.AddAccount(ctx, "root", Account{Name: name, Role: Owner}))
		}
		ask := func(needed int, owners ...string) Grant {
			t.Helper()
			for _, name := range []string{"one", "two", "three"} {
				must(t, s.SetOwner(ctx, "root", name, "data", true))
			}
			for _, name := range owners {
				must(t, s.SetOwner(ctx, "root", name, "data", false))
			}
			must(t, s.SetApprovals(ctx, "root", "data", needed))
			g, err := s.AskGrant(ctx, Account{Name: "one", Role: Owner}, Grant{Dataset: "data", Budget: "global", Epsilon: 1, Reason: "r"})
			must(t, err)
			return g
		}
		for _, c := range []struct {
			what    string
			needed  int
			owners  []string
			refused bool
			state   GrantState // after "one", who asked, approves
		}{
			{"the only owner", 1, []string{"one"}, false, GrantApproved},
			{"one of two", 1, []string{"one", "two"}, true, GrantOpen},
			{"one of two who both have to", 2, []string{"one", "two"}, false, GrantOpen},
			{"one of three of whom two have to", 2, []string{"one", "two", "three"}, true, GrantOpen},
			{"the only one of two", 2, []string{"one"}, false, GrantOpen},
		} {
			g := ask(c.needed, c.owners...)
			_, err := s.Decide(ctx, "one", g.ID, true)
			if (err != nil) != c.refused {
				t.Errorf("%s: %v", c.what, err)
			}
			now, err := s.Grant(ctx, g.ID)
			must(t, err)
			if now.State != c.state {
				t.Errorf("%s: %s", c.what, now.State)
			}
			if noted := strings.Contains(now.Why(), "who asked approved too"); noted == c.refused {
				t.Errorf("%s: %s", c.what, now.Why())
			}
		}
		// Anyone who asked approved as one of two. A third owner then takes their place.
		g := ask(2, "one", "two")
		_, err := s.Decide(ctx, "one", g.ID, true)
		must(t, err)
		must(t, s.SetOwner(ctx, "root", "three", "data", false))
		if g, err := s.Decide(ctx, "two", g.ID, true); err != nil || g.State != GrantOpen {
			t.Errorf("%s, %v", g.State, err)
		}
		if g, err := s.Decide(ctx, "three", g.ID, true); err != nil || g.State != GrantApproved {
			t.Errorf("%s, %v", g.State, err)
		}
		// Anyone who asked can take it back, and an owner who is disabled is none.
		g = ask(1, "one", "two")
		if g, err := s.Decide(ctx, "one", g.ID, false); err != nil || g.State != GrantDenied {
			t.Errorf("%s, %v", g.State, err)
		}
		g = ask(1, "one", "two")
		must(t, s.DisableAccount(ctx, "root", "two", false))
		if g, err := s.Decide(ctx, "one", g.ID, true); err != nil || g.State != GrantApproved {
			t.Errorf("%s, %v", g.State, err)
		}
	})
}
