package ledgertest

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/privacy/ledger/internal/chain"
)

// testTamper changes the database past the ledger, everywhere and in every way,
// and expects Check to name the row.
func testTamper(t *testing.T, b backend) {
	f := furnished(t, b)
	rows := f.rows()
	for _, unlock := range b.Unlock {
		b.SQL(t, f.address, unlock)
	}
	t.Run("columns", func(t *testing.T) {
		for _, r := range rows {
			for column, values := range columns(r) {
				f.tamper(t, fmt.Sprintf("row %d, %s", r.Seq, column), r.Seq,
					fmt.Sprintf("UPDATE sotto_ledger_row SET %s = %s WHERE seq = %d", column, values.forged, r.Seq),
					fmt.Sprintf("UPDATE sotto_ledger_row SET %s = %s WHERE seq = %d", column, values.right, r.Seq))
			}
		}
	})
	t.Run("rows", func(t *testing.T) { f.tamperRows(t, rows) })
	t.Run("head", func(t *testing.T) { f.tamperHead(t, rows) })
	t.Run("sealed forgeries", func(t *testing.T) { testForgeries(t, b) })
}

// furnished makes a ledger with rows of every kind.
func furnished(t testing.TB, b backend) *fixture {
	f := newFixture(t, b, ledger.Budget{Epsilon: 10, Delta: 1e-6, Composition: ledger.Adaptive})
	a, c := f.reserve("a", 3), f.reserve("b", 3)
	for _, err := range []error{
		second(f.AddBudget(f.ctx, ledger.BudgetRequest{Dataset: "records", Budget: ledger.Budget{Name: "team", Epsilon: 2, Delta: 1e-6, Scope: map[string]string{"team": "x"}, Until: epoch.AddDate(9, 0, 0)}})),
		second(f.Grant(f.ctx, ledger.GrantRequest{Dataset: "records", Epsilon: 2, Reason: "it's more"})),
		second(f.Revoke(f.ctx, ledger.GrantRequest{Dataset: "records", Epsilon: 1, Reason: "less"})),
		second(f.Commit(f.ctx, ledger.CommitRequest{Charge: a.ID, Spent: units(2), Filtered: true})),
		second(f.Forfeit(f.ctx, ledger.ForfeitRequest{Charge: c.ID, Reason: "died"})),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	f.spent(5)
	return f
}

func (f *fixture) rows() []chain.Row {
	f.Helper()
	s, err := f.backend.Open(f.ctx, f.address, options{})
	if err != nil {
		f.Fatal(err)
	}
	defer s.Close()
	return rowsOf(f, s)
}

// rowsOf reads all rows of a log.
func rowsOf(t testing.TB, s chain.Store) []chain.Row {
	t.Helper()
	var rows []chain.Row
	err := s.View(t.Context(), func(r chain.Reader) error {
		for row, err := range r.Rows(0) {
			if err != nil {
				return err
			}
			rows = append(rows, row)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

type forgery struct{ right, forged string }

// columns gives for each column of a row what is in it and something else, as
// SQL.
func columns(r chain.Row) map[string]forgery {
	text := func(s string) forgery {
		forged := s + " "
		if i := strings.IndexAny(s, "123456789"); i >= 0 {
			forged = s[:i] + string(s[i]^1) + s[i+1:] // one digit, still well formed
		}
		return forgery{literal(s), literal(forged)}
	}
	number := func(n int64) forgery { return forgery{fmt.Sprint(n), fmt.Sprint(n + 1)} }
	return map[string]forgery{
		"at":      number(r.At),
		"kind":    text(r.Kind),
		"subject": text(r.Subject),
		"body":    text(r.Body),
		"nonce":   text(r.Nonce),
		"hash":    text(r.Hash.String()),
	}
}

func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// tamper runs a statement and checks that an open ledger and a fresh one both
// find it at the row; then it runs the statements that set it right again.
func (f *fixture) tamper(t *testing.T, name string, seq int64, forge string, restore ...string) {
	t.Helper()
	f.backend.SQL(t, f.address, forge)
	_, err := f.Check(f.ctx, ledger.CheckOptions{})
	var tampered *ledger.TamperedError
	if !errors.As(err, &tampered) {
		t.Errorf("%s: Check finds %v", name, err)
	} else if tampered.Seq != seq {
		t.Errorf("%s: Check names row %d, want %d (%v)", name, tampered.Seq, seq, err)
	}
	fresh, err := openLedger(f.ctx, f.backend, f.address, options{}, &f.clock)
	if err == nil {
		// What a fresh ledger cannot know it must find when it looks.
		_, err = fresh.Check(f.ctx, ledger.CheckOptions{})
		fresh.Close()
	}
	if !errors.As(err, &tampered) {
		t.Errorf("%s: a fresh ledger finds %v", name, err)
	}
	for _, r := range restore {
		f.backend.SQL(t, f.address, r)
	}
	if _, err := f.Check(f.ctx, ledger.CheckOptions{}); err != nil {
		t.Fatalf("%s: not set right again: %v", name, err)
	}
}

const allColumns = "seq, at, kind, subject, body, nonce, hash"

func insert(r chain.Row) string {
	return fmt.Sprintf("INSERT INTO sotto_ledger_row (%s) VALUES (%d, %d, %s, %s, %s, %s, %s)", allColumns,
		r.Seq, r.At, literal(r.Kind), literal(r.Subject), literal(r.Body), literal(r.Nonce), literal(r.Hash.String()))
}

func (f *fixture) tamperRows(t *testing.T, rows []chain.Row) {
	last := int64(len(rows))
	move := func(from, to int64) string {
		return fmt.Sprintf("UPDATE sotto_ledger_row SET seq = %d WHERE seq = %d", to, from)
	}
	for _, r := range rows {
		remove := fmt.Sprintf("DELETE FROM sotto_ledger_row WHERE seq = %d", r.Seq)
		f.tamper(t, fmt.Sprintf("row %d removed", r.Seq), r.Seq, remove, insert(r))
		f.tamper(t, fmt.Sprintf("row %d moved to the end", r.Seq), r.Seq, move(r.Seq, last+1), move(last+1, r.Seq))
		copied := r
		copied.Seq = last + 1
		f.tamper(t, fmt.Sprintf("row %d copied to the end", r.Seq), last+1, insert(copied),
			fmt.Sprintf("DELETE FROM sotto_ledger_row WHERE seq = %d", last+1))
		if r.Seq < last {
			n := r.Seq
			for _, s := range []string{move(n, 99), move(n+1, n)} {
				f.backend.SQL(t, f.address, s)
			}
			f.tamper(t, fmt.Sprintf("rows %d and %d swapped", n, n+1), n, move(99, n+1), move(n, 99), move(n+1, n), move(99, n+1))
		}
	}
	added := chain.Seal(chain.Head{Count: last, Hash: rows[last-1].Hash}, chain.Entry{Kind: "commit", At: rows[last-1].At})
	f.tamper(t, "a sealed row added behind the head", last+1, insert(added), fmt.Sprintf("DELETE FROM sotto_ledger_row WHERE seq = %d", last+1))
}

func (f *fixture) tamperHead(t *testing.T, rows []chain.Row) {
	last := rows[len(rows)-1]
	set := func(column, value string) string {
		return fmt.Sprintf("UPDATE sotto_ledger_head SET %s = %s", column, value)
	}
	count := set("count", fmt.Sprint(last.Seq))
	hash := set("hash", literal(last.Hash.String()))
	head := fmt.Sprintf("INSERT INTO sotto_ledger_head (id, count, hash) VALUES (1, %d, %s)", last.Seq, literal(last.Hash.String()))
	f.tamper(t, "head count up", last.Seq+1, set("count", fmt.Sprint(last.Seq+1)), count)
	f.tamper(t, "head count down", last.Seq-1, set("count", fmt.Sprint(last.Seq-1)), count)
	f.tamper(t, "head hash", last.Seq, set("hash", literal(rows[0].Hash.String())), hash)
	f.tamper(t, "head id", 0, set("id", "2"), set("id", "1"))
	f.tamper(t, "two heads", 0, "INSERT INTO sotto_ledger_head (id, count, hash) VALUES (2, 0, '')", "DELETE FROM sotto_ledger_head WHERE id = 2")
	f.tamper(t, "head unreadable", 0, set("hash", "'?'"), hash)
	f.tamper(t, "head removed", 0, "DELETE FROM sotto_ledger_head", head)

	// Cutting off the end and moving the head leaves a ledger that is in order in
	// itself: those who saw more of it know, others need a checkpoint.
	checkpoint, err := f.Checkpoint(f.ctx)
	if err != nil {
		t.Fatal(err)
	}
	before := rows[len(rows)-2]
	f.backend.SQL(t, f.address, fmt.Sprintf("DELETE FROM sotto_ledger_row WHERE seq = %d", last.Seq))
	f.backend.SQL(t, f.address, fmt.Sprintf("UPDATE sotto_ledger_head SET count = %d, hash = %s", before.Seq, literal(before.Hash.String())))
	if _, err := f.Check(f.ctx, ledger.CheckOptions{}); !isA[*ledger.TamperedError](err) {
		t.Errorf("a ledger that saw the last row does not miss it: %v", err)
	}
	if _, err := f.Reserve(f.ctx, request("more", 1)); !isA[*ledger.TamperedError](err) {
		t.Errorf("a ledger that saw the last row writes on without it: %v", err)
	}
	fresh := f.handle(false)
	if _, err := fresh.Check(f.ctx, ledger.CheckOptions{}); err != nil {
		t.Errorf("an end that was cut off cleanly is said to be found, and the documentation says that it is not: %v", err)
	}
	_, err = fresh.Check(f.ctx, ledger.CheckOptions{Checkpoints: []ledger.Checkpoint{checkpoint}})
	if e := wants[*ledger.TamperedError](t, err); e.Seq != last.Seq {
		t.Errorf("the checkpoint finds row %d, want %d", e.Seq, last.Seq)
	}
}

// testForgeries appends rows that are sealed well and say what cannot be.
func testForgeries(t *testing.T, b backend) {
	f := furnished(t, b)
	subject := string(fingerprint(1))
	reserve := func(event string) chain.Entry {
		return chain.Entry{Kind: "reserve", Subject: subject, Body: fmt.Sprintf(
			`{"event":%q,"adjacency":"add-remove","unit":"record","run":"r","key":"forged"}`, event)}
	}
	for _, unlock := range b.Unlock {
		b.SQL(t, f.address, unlock)
	}
	committed := f.reserve("a", 3) // exists, and is committed
	f.reserve("c", 3)
	commit := fmt.Sprintf(`{"charge":%q}`, string(committed.ID))
	forged := map[string]chain.Entry{
		"a charge committed twice":   {Kind: "commit", Subject: subject, Body: commit},
		"a kind that is not known":   {Kind: "refund", Subject: subject, Body: commit},
		"a commit without a charge":  {Kind: "commit", Subject: subject, Body: `{"charge":"none"}`},
		"more in a body":             {Kind: "commit", Subject: subject, Body: commit + " "},
		"an unknown field":           {Kind: "commit", Subject: subject, Body: `{"charge":"none","note":"x"}`},
		"another data set":           {Kind: "grant", Subject: string(fingerprint(7)), Body: `{"budget":"global","epsilon":1,"delta":0,"reason":"r"}`},
		"a second beginning":         {Kind: "ledger", Body: `{"format":3}`},
		"an event without guarantee": reserve("nonprivate()"),
		"an event not in its form":   reserve("repeat(1, pure(1))"),
		"a key used again": {Kind: "reserve", Subject: subject, Body: strings.Replace(
			reserve("pure(1)").Body, "forged", "a", 1)},
	}
	for name, e := range forged {
		f.forge(t, e)
		_, err := f.Check(f.ctx, ledger.CheckOptions{})
		if tampered := wants[*ledger.TamperedError](t, err); tampered.Seq != 11 {
			t.Errorf("%s: Check names row %d", name, tampered.Seq)
		}
		f.unforge(t)
	}
	// Grown to 12 and lowered to 11, the budget never allowed 13.
	f.forge(t, reserve(units(13-8).String()))
	_, err := f.handle(false).Check(f.ctx, ledger.CheckOptions{})
	e := wants[*ledger.OverspentError](t, err)
	expect.Equal(t, "e.Budget", e.Budget, ledger.Global)
	expect.Equal(t, "e.Spent", e.Spent, 13)
	expect.Equal(t, "e.Limit", e.Limit, 12)
}

// forge appends a row as the ledger would, without asking it.
func (f *fixture) forge(t *testing.T, e chain.Entry) {
	t.Helper()
	s, err := f.backend.Open(f.ctx, f.address, options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	e.At = cmp.Or(e.At, 1<<60)
	appendRow(t, s, e)
}

// unforge removes the last row.
func (f *fixture) unforge(t *testing.T) {
	t.Helper()
	rows := f.rows()
	before := rows[len(rows)-2]
	f.backend.SQL(t, f.address, fmt.Sprintf("DELETE FROM sotto_ledger_row WHERE seq > %d", before.Seq))
	f.backend.SQL(t, f.address, fmt.Sprintf("UPDATE sotto_ledger_head SET count = %d, hash = %s", before.Seq, literal(before.Hash.String())))
}
