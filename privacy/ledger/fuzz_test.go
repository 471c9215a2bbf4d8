package ledger

import (
	"errors"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/ledger/internal/chain"
)

// someState returns a ledger with a data set, two budgets and two charges.
func someState(t testing.TB) *state {
	t.Helper()
	const subject = "hmac-sha256:0000000000000000000000000000000000000000000000000000000000000001"
	s := newState()
	for _, e := range []chain.Entry{
		{Kind: kindLedger, Body: `{"format":3}`},
		{Kind: kindDataset, Subject: subject, Body: `{"name":"records","budget":{"name":"global","epsilon":10,"delta":0.000001,"adjacency":"add-remove","unit":"record","composition":"adaptive","orders":[8]}}`},
		{Kind: kindBudget, Subject: subject, Body: `{"budget":{"name":"team","epsilon":1,"delta":0.000001,"adjacency":"add-remove","unit":"record","composition":"adaptive","orders":[8],"scope":{"team":"x"},"until":"2040-01-01T00:00:00Z"}}`},
		{Kind: kindReserve, Subject: subject, Body: `{"event":"repeat(4, pure(1))","adjacency":"add-remove","unit":"record","run":"r","key":"a"}`},
		{Kind: kindReserve, Subject: subject, Body: `{"event":"pure(0.5)","adjacency":"add-remove","unit":"record","labels":{"team":"x"},"run":"r","key":"b"}`},
		{Kind: kindForfeit, Subject: subject, Body: ""},
	} {
		if e.Kind == kindForfeit { // of the last charge
			e.Body = `{"charge":"` + string(s.keys["b"].charge.ID) + `","reason":"died"}`
		}
		if err := s.apply(chain.Seal(s.rows.Head(), e)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// FuzzRow gives the ledger rows that are sealed well and hold anything. It must
// refuse or understand them: never panic, never half apply one, and never accept
// content in two forms.
func FuzzRow(f *testing.F) {
	const subject = "hmac-sha256:0000000000000000000000000000000000000000000000000000000000000001"
	f.Add(kindDataset, "hmac-sha256:0000000000000000000000000000000000000000000000000000000000000002", `{"name":"","budget":{"name":"global","epsilon":1,"delta":0,"adjacency":"replace-one","unit":"record","composition":"sums"}}`)
	f.Add(kindBudget, subject, `{"budget":{"name":"b","epsilon":1,"delta":0.1,"adjacency":"add-remove","unit":"record","composition":"sums","from":"2020-01-01T00:00:00Z"}}`)
	f.Add(kindGrant, subject, `{"budget":"global","epsilon":0.5,"delta":0,"reason":"r"}`)
	f.Add(kindRevoke, subject, `{"budget":"team","epsilon":1,"delta":0,"reason":"r","key":"k"}`)
	f.Add(kindReserve, subject, `{"event":"poisson(1/3, gaussian(2))","adjacency":"add-remove","unit":"record","labels":{"a":"b"},"run":"r","key":"c"}`)
	f.Add(kindReserve, subject, `{"event":"repeat(9007199254740992, pure(1))","adjacency":"add-remove","unit":"record","run":"r","key":"c"}`)
	f.Add(kindCommit, subject, `{"charge":"0","spent":"pure(1)"}`)
	f.Add(kindForfeit, subject, `{"charge":"0","reason":"r"}`)
	f.Add(kindLedger, "", `{"format":3}`)
	f.Add("", "", "")
	f.Fuzz(func(t *testing.T, kind, subject, body string) {
		r, err := decode(kind, body, parseEvent)
		if err == nil {
			if again, err := encode(r); err != nil || again != body {
				t.Errorf("%q is read and written as %q, %v", body, again, err)
			}
		}
		s := someState(t)
		head, charges, keys := s.rows.Head(), len(s.charges), len(s.keys)
		err = s.apply(chain.Seal(head, chain.Entry{Kind: kind, Subject: subject, Body: body}))
		if err == nil {
			if s.rows.Head().Count != head.Count+1 {
				t.Errorf("an accepted row does not count")
			}
			return
		}
		var tampered *TamperedError
		if !errors.As(err, &tampered) || tampered.Seq != head.Count+1 {
			t.Errorf("refused with %v", err)
		}
		expect.Equal(t, "s.rows.Head", s.rows.Head(), head)
		expect.Equal(t, "charges", len(s.charges), charges)
		expect.Equal(t, "keys", len(s.keys), keys)
	})
}

// TestOtherFormat: a ledger that another version made is not called damaged.
func TestOtherFormat(t *testing.T) {
	first := chain.Seal(chain.Head{}, chain.Entry{Kind: kindLedger, Body: `{"format":2}`})
	if err := newState().apply(first); !errors.As(err, new(*FormatError)) {
		t.Errorf("a ledger of format 2: %v", err)
	}
	s := someState(t)
	if err := s.apply(chain.Seal(s.rows.Head(), chain.Entry{Kind: kindLedger, Body: `{"format":2}`})); !errors.As(err, new(*TamperedError)) {
		t.Errorf("a second beginning: %v", err)
	}
}

// TestSumsStayCountable: counts of equal events cannot overflow.
func TestSumsStayCountable(t *testing.T) {
	a := newAccount(Budget{Name: Global})
	huge, err := newChargedEvent(privacy.Repeat{N: 1 << 53, Event: privacy.Pure{Epsilon: 1}})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for ; a.room(huge) == nil; n++ {
		a.add(huge, Cost{})
	}
	if n != maxRuns/(1<<53) || a.runs != maxRuns {
		t.Errorf("%d charges fit, %d runs", n, a.runs)
	}
	var parts []privacy.Event
	for i := range 200 {
		parts = append(parts, privacy.Repeat{N: 1 << 53, Event: privacy.Pure{Epsilon: float64(i)}})
	}
	if _, err := newChargedEvent(privacy.Compose{Events: parts}); err == nil {
		t.Error("an event with too many runs was accepted")
	}
}
