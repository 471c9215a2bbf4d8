package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// GrantState is where a request for budget stands.
type GrantState string

// The states of a request. An approved one is carried out in the ledger, which makes it granted or
// refused; the last three are final.
const (
	GrantOpen     GrantState = "open"
	GrantApproved GrantState = "approved"
	GrantDone     GrantState = "granted"
	GrantDenied   GrantState = "denied"
	GrantRefused  GrantState = "refused"
)

// Grant is a request to raise a budget.
type Grant struct {
	ID string
	// Dataset is its fingerprint, and Name what people call it.
	Dataset, Name string
	Budget        string
	// By how much.
	Epsilon, Delta float64
	Reason         string
	// Account that asks.
	Account string
	Created time.Time
	State   GrantState
	Ended   *time.Time
	// Note is why the ledger refused it.
	Note string
	// Decisions of owners, the oldest first, and how many have to approve.
	Decisions []Decision
	Needed    int
}

// Decision of an owner about a request.
type Decision struct {
	Account  string
	Approved bool
	At       time.Time
}

// Of returns the decision of an account, if it made one.
func (g Grant) Of(account string) *Decision {
	if i := slices.IndexFunc(g.Decisions, func(d Decision) bool { return d.Account == account }); i >= 0 {
		return &g.Decisions[i]
	}
	return nil
}

// Why is the reason that the ledger keeps: it names who asked and who approved, and says so if
// that is the same person.
func (g Grant) Why() string {
	var approved []string
	for _, d := range g.Decisions {
		if d.Approved {
			approved = append(approved, d.Account)
		}
	}
	also := ""
	if slices.Contains(approved, g.Account) {
		also = "; who asked approved too, as too few others own the data set"
	}
	return fmt.Sprintf("%s (asked for by %s, approved by %s%s)", g.Reason, g.Account, strings.Join(approved, " and "), also)
}

// OthersDecide reports whether anyone who asked may not approve the request, among these owners of
// the data set: as many others as have to approve own it. Otherwise nobody could decide, so that
// their own approval counts: of an only owner by itself, and of one of two where two have to
// approve with that of the other.
func (g Grant) OthersDecide(owners []string) bool {
	others := 0
	for _, name := range owners {
		if name != g.Account {
			others++
		}
	}
	return others >= g.Needed
}

// Key names a request in the ledger, which carries it out once however often it is asked.
func (g Grant) Key() string { return "service-grant-" + g.ID }

// SetApprovals says how many owners have to approve grants of a data set: 1, as without this, or 2.
func (s *Store) SetApprovals(ctx context.Context, by Actor, dataset string, needed int) error {
	if needed != 1 && needed != 2 {
		return errors.New("one owner has to approve a grant, or two: there is nothing else")
	}
	return s.write(ctx, by, fmt.Sprintf("have %d approve", needed), dataset, func(tx *sql.Tx) error {
		return exec(ctx, tx, "INSERT INTO service_approvals (dataset, needed) VALUES ($1, $2) ON CONFLICT (dataset) DO UPDATE SET needed = excluded.needed", dataset, needed)
	})
}

// Approvals returns how many owners have to approve grants of a data set.
func (s *Store) Approvals(ctx context.Context, dataset string) (int, error) {
	return approvals(ctx, s.db, dataset)
}

func approvals(ctx context.Context, from querier, dataset string) (int, error) {
	found, err := list(ctx, from, func(rows *sql.Rows, n *int) error { return rows.Scan(n) }, "SELECT needed FROM service_approvals WHERE dataset = $1", dataset)
	if err != nil || len(found) == 0 {
		return 1, err
	}
	return found[0], nil
}

// maxOpen bounds the requests of a data set that wait for its owners.
const maxOpen = 50

// AskGrant asks the owners of a data set to raise a budget of it.
func (s *Store) AskGrant(ctx context.Context, by Account, g Grant) (Grant, error) {
	g.Reason = strings.TrimSpace(g.Reason)
	amount := func(v float64) bool { return v >= 0 && !math.IsInf(v, 0) && !math.IsNaN(v) }
	switch {
	case !by.Role.May(Operator):
		return Grant{}, ErrDenied
	case g.Dataset == "" || g.Budget == "":
		return Grant{}, errors.New("a grant is for a budget of a data set")
	case !amount(g.Epsilon) || !amount(g.Delta) || g.Delta >= 1 || g.Epsilon == 0 && g.Delta == 0:
		return Grant{}, errors.New("give ε of 0 or more and δ from 0 to below 1, and one of them above 0")
	case g.Reason == "" || !oneLine(g.Reason, 1000):
		return Grant{}, errors.New("a grant needs a reason, of at most 1000 letters in one line: it stays in the ledger")
	}
	g.ID, g.Account, g.State = strings.ToLower(rand.Text()[:12]), by.Name, GrantOpen
	g.Created = s.now().UTC().Truncate(time.Millisecond)
	err := s.write(ctx, by.Actor(), "ask for grant", g.ID, func(tx *sql.Tx) error {
		var open int
		if err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM service_grants WHERE dataset = $1 AND state = 'open'", g.Dataset).Scan(&open); err != nil {
			return failed(err)
		}
		if open >= maxOpen {
			return errors.New("too many requests for this data set are open: its owners have to decide first")
		}
		return exec(ctx, tx, `INSERT INTO service_grants (id, dataset, name, budget, epsilon, delta, reason, account, created, state, ended, note)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, '')`,
			g.ID, g.Dataset, g.Name, g.Budget, g.Epsilon, g.Delta, g.Reason, g.Account, g.Created.UnixMilli(), string(g.State))
	})
	return g, err
}

// Decide notes the decision of an owner. One that denies ends the request, also of the one who asked;
// the approval that makes enough of them makes it approved, and approvals of those who no longer
// own the data set, or who asked where [Grant.OthersDecide], do not count. Changes come one after the other, so that exactly one decision is the last.
func (s *Store) Decide(ctx context.Context, account, id string, approve bool) (decided Grant, err error) {
	action := "deny grant"
	if approve {
		action = "approve grant"
	}
	err = s.write(ctx, Account{Name: account}.Actor(), action, id, func(tx *sql.Tx) error {
		g, err := s.grant(ctx, tx, id)
		if err != nil {
			return err
		}
		a, err := s.account(ctx, tx, "name = $1", account)
		switch {
		case err != nil:
			return err
		case a.Disabled != nil || !a.OwnerOf(g.Dataset):
			return ErrDenied
		case g.State != GrantOpen:
			return fmt.Errorf("the request is %s already", g.State)
		}
		owners, err := s.owners(ctx, tx, g.Dataset)
		if err != nil {
			return err
		}
		if approve && account == g.Account && g.OthersDecide(owners) {
			return Refuse("you asked for this yourself: other owners of the data set have to approve it")
		}
		now := s.now().UTC().Truncate(time.Millisecond)
		again := g.Of(account) != nil
		if err := exec(ctx, tx, `INSERT INTO service_decisions (asked, account, approved, at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (asked, account) DO UPDATE SET approved = excluded.approved, at = excluded.at`, id, account, bit(approve), now.UnixMilli()); err != nil {
			return err
		}
		g.Decisions = append(slices.DeleteFunc(g.Decisions, func(d Decision) bool { return d.Account == account }), Decision{Account: account, Approved: approve, At: now})
		n := g.counting(owners)
		switch {
		case !approve:
			g.State, g.Ended = GrantDenied, &now
		case n >= g.Needed:
			g.State = GrantApproved
		case again:
			return errors.New("you approved this request already: it needs another owner")
		}
		decided = g
		return exec(ctx, tx, "UPDATE service_grants SET state = $1, ended = $2 WHERE id = $3", string(g.State), millis(g.Ended), id)
	})
	return decided, err
}

// owners are the accounts that decide about a data set now.
func (s *Store) owners(ctx context.Context, from querier, dataset string) ([]string, error) {
	all, err := list(ctx, from, func(rows *sql.Rows, a *Account) error { return rows.Scan(&a.Name, &a.Role) },
		"SELECT a.name, a.role FROM service_owners o JOIN service_accounts a ON a.name = o.account WHERE o.dataset = $1 AND a.disabled = 0", dataset)
	var names []string
	for _, a := range all {
		if a.Role.May(Owner) {
			names = append(names, a.Name)
		}
	}
	return names, err
}

// counting is how many approvals are by accounts that may approve now.
func (g Grant) counting(owners []string) (n int) {
	for _, d := range g.Decisions {
		if d.Approved && slices.Contains(owners, d.Account) && (d.Account != g.Account || !g.OthersDecide(owners)) {
			n++
		}
	}
	return n
}

// EndGrant notes what the ledger made of an approved request; note is why it was refused, and ""
// if it was not. Ending it again changes nothing.
func (s *Store) EndGrant(ctx context.Context, by Actor, id, note string) error {
	state := GrantDone
	if note != "" {
		state = GrantRefused
	}
	var ended bool
	err := s.write(ctx, by, "grant "+string(state), id, func(tx *sql.Tx) error {
		n, err := changed(ctx, tx, "UPDATE service_grants SET state = $1, note = $2, ended = $3 WHERE id = $4 AND state = 'approved'", string(state), note, s.now().UnixMilli(), id)
		ended = err == nil && n == 0
		return someRow(n, err, errors.New("it has ended"))
	})
	if ended {
		return nil
	}
	return err
}

const grantColumns = `SELECT g.id, g.dataset, g.name, g.budget, g.epsilon, g.delta, g.reason, g.account, g.created, g.state, g.ended, g.note, COALESCE(n.needed, 1)
	FROM service_grants g LEFT JOIN service_approvals n ON n.dataset = g.dataset`

func scanGrant(rows *sql.Rows, g *Grant) error {
	return rows.Scan(&g.ID, &g.Dataset, &g.Name, &g.Budget, &g.Epsilon, &g.Delta, &g.Reason, &g.Account, instant(&g.Created), &g.State, optional(&g.Ended), &g.Note, &g.Needed)
}

// Grants returns the latest requests, at most so many, the newest first; those of one data set
// if it is named.
func (s *Store) Grants(ctx context.Context, dataset string, limit int) ([]Grant, error) {
	return s.grants(ctx, s.db, " WHERE ($1 = '' OR g.dataset = $1) ORDER BY g.created DESC, g.id LIMIT $2", dataset, limit)
}

func (s *Store) grant(ctx context.Context, from querier, id string) (Grant, error) {
	found, err := s.grants(ctx, from, " WHERE g.id = $1", id)
	if err == nil && len(found) == 0 {
		err = errors.New("there is no such request")
	}
	if err != nil {
		return Grant{}, err
	}
	return found[0], nil
}

// Grant returns one request.
func (s *Store) Grant(ctx context.Context, id string) (Grant, error) { return s.grant(ctx, s.db, id) }

func (s *Store) grants(ctx context.Context, from querier, where string, args ...any) ([]Grant, error) {
	all, err := list(ctx, from, scanGrant, grantColumns+where, args...)
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i].Decisions, err = list(ctx, from, func(rows *sql.Rows, d *Decision) error { return rows.Scan(&d.Account, &d.Approved, instant(&d.At)) },
			"SELECT account, approved, at FROM service_decisions WHERE asked = $1", all[i].ID)
		if err != nil {
			return nil, err
		}
		slices.SortFunc(all[i].Decisions, func(a, b Decision) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Account, b.Account)) })
	}
	return all, nil
}
