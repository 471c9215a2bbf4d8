package run

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// paidFor walks a journal and makes sure that each text is begun under a charge of its
// own: the run's for the first attempt, another for each further one.
func paidFor(t *testing.T, dir string) (recharges int) {
	t.Helper()
	entries, _, err := readJournal(dir + "/" + journalFile)
	must(t, err)
	paid, begunAt := map[int]int{}, map[int]int{}
	reservedYet := false
	for _, e := range entries {
		switch e.State {
		case reserved:
			reservedYet = true
		case recharged:
			recharges++
			paid[e.Text] = e.Attempt
		case begun:
			last, again := begunAt[e.Text]
			if !reservedYet || again && (e.Attempt <= last || paid[e.Text] < e.Attempt) {
				t.Errorf("text %d, attempt %d, is begun without having been paid for", e.Text, e.Attempt)
			}
			begunAt[e.Text] = e.Attempt
		case released:
			if begunAt[e.Text] != e.Attempt {
				t.Errorf("text %d is released in attempt %d and was begun in %d", e.Text, e.Attempt, begunAt[e.Text])
			}
		}
	}
	return recharges
}

// TestRestlessModel kills runs of a model that does not repeat itself at every point. What
// was begun and lost is paid for again, before it is begun again, and nothing else is.
func TestRestlessModel(t *testing.T) {
	p := newPlace(t)
	made := planFor(tickets(), clipped())
	q := p.fresh(t)
	m := restless()
	a := q.attempt(q.options(t, made, m), m, nil)
	_, err := a.run(t.Context())
	must(t, err)
	some := 0
	for point := 1; point <= len(a.points.log); point += 2 {
		t.Run(fmt.Sprintf("%d %s", point, a.points.log[point-1]), func(t *testing.T) {
			q := p.fresh(t)
			m := restless()
			o := q.options(t, made, m)
			o.Parallel = 2
			if _, err := q.attempt(o, m, killAt(point)).run(t.Context()); err != nil && !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
			// Killed once more on the way, so that a text may be lost twice.
			if _, err := q.attempt(o, m, killAt(point)).run(t.Context()); err != nil && !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
			m.fail = nil
			result := q.finish(t, o)
			again := paidFor(t, o.Dir)
			some += again
			got := charges(t, o)
			if len(got) != 1+again || len(result.Recharges) != again {
				t.Errorf("%d charges for %d attempts that were lost", len(got), again)
			}
			for _, c := range got {
				if c.State != ledger.Committed {
					t.Errorf("%+v", c)
				}
			}
			report, err := certificate.VerifyDir(o.Dir, certificate.VerifyOptions{Trust: q.trust, Evaluator: unitEvaluator{}})
			must(t, err)
			expect.True(t, "report.OK", report.OK, report.Failures())
			expect.Len(t, "report.Predicate.Events", report.Predicate.Events, 1+again)
			expect.True(t, "not report.Predicate.Model.Deterministic", !report.Predicate.Model.Deterministic)
			q.keepsSecrets(t, o.Dir)
		})
	}
	if some == 0 {
		t.Error("no text was paid for again: nothing was tested")
	}
}

// TestRestlessAttemptsAreFresh: a second attempt has other randomness than the first.
func TestRestlessAttemptsAreFresh(t *testing.T) {
	p := newPlace(t)
	r := p.runner(p.options(t, planFor(tickets(), clipped()), restless()), osDisk{})
	r.exec.progress = &progress{conditions: []string{"red"}, texts: make([]text, 1)}
	methods := r.methods()
	seen := map[uint64]bool{}
	for attempt := range 4 {
		r.exec.progress.texts[0].attempt = attempt
		seen[r.job(0, methods).Index] = true
	}
	if len(seen) != 4 {
		t.Errorf("four attempts have %d streams", len(seen))
	}
}

// TestRestlessCannotPay: a text that was lost and that the budget does not allow again
// leaves a run that can resume after a grant.
func TestRestlessCannotPay(t *testing.T) {
	p := newPlace(t)
	m := restless()
	o := p.options(t, planFor(tickets(), clipped()), m)
	o.Plan.Epsilon = 2 // of the meter: exactly the run
	failing := errors.New("the server died")
	m.fail = func(step int) error {
		if step == 5 {
			return failing
		}
		return nil
	}
	if _, err := p.runner(o, osDisk{}).do(t.Context()); !errors.Is(err, failing) {
		t.Fatal(err)
	}
	m.fail = nil
	_, err := p.runner(o, osDisk{}).do(t.Context())
	at := expect.At(t, "resuming without budget")
	expect.As[*ledger.RefusedError](at, err)
	interrupted := expect.As[*InterruptedError](at, err)
	expect.True(at, "interrupted.Charge that is not empty", interrupted.Charge != "")
	_, err = p.ledger.Grant(t.Context(), ledger.GrantRequest{Dataset: "tickets", Epsilon: 1, Reason: "test"})
	must(t, err)
	if result := p.finish(t, o); len(result.Recharges) != 1 || len(result.Warnings) == 0 {
		t.Errorf("%+v", result)
	}
}

// TestNotIsolated: where a record's scores depend on what else is computed, a run that
// would be charged as proven does not begin: no folder, no charge, no certificate. One
// that claims nothing does.
func TestNotIsolated(t *testing.T) {
	p := newPlace(t)
	m := restless()
	m.leaks = new(atomic.Int64)
	o := p.options(t, planFor(tickets(), clipped()), m)
	var leaks *lm.NotIsolatedError
	if _, err := p.runner(o, osDisk{}).do(t.Context()); !errors.As(err, &leaks) {
		t.Fatalf("a model whose scores leak: %v", err)
	}
	if left, _ := os.ReadDir(o.Dir); len(left) != 0 {
		t.Errorf("the folder has %v", left)
	}
	if _, err := p.ledger.Show(t.Context(), "tickets"); err == nil {
		t.Error("the data set got a budget")
	}
	seed := uint64(1)
	o.Env.Seed = &seed
	result, err := p.runner(o, osDisk{}).do(t.Context())
	expect.NoError(t, err)
	expect.True(t, "not result.Private", !result.Private)
	expect.True(t, "not result.Certificate", !result.Certificate)
}

// TestIsolationIsRecorded: the certificate says on what the independence of scores rests.
func TestIsolationIsRecorded(t *testing.T) {
	p := newPlace(t)
	o := p.options(t, planFor(tickets(), clipped()), restless())
	p.finish(t, o)
	report, err := certificate.VerifyDir(o.Dir, certificate.VerifyOptions{Trust: p.trust, Evaluator: unitEvaluator{}})
	must(t, err)
	got := report.Predicate
	expect.True(t, "report.OK", report.OK, report.Failures())
	expect.Equal(t, "got.Model.Isolation", got.Model.Isolation, string(lm.Exclusive))
	expect.Contains(t, "got.Assumptions", strings.Join(got.Assumptions, "\n"), "by the word of who ran this")
	for _, how := range []lm.Isolation{lm.OneSequence, lm.Watched, lm.Exclusive, lm.RecordsOneSequence, lm.RecordsWatched, lm.RecordsExclusive} {
		if certificate.Isolations[string(how)] == "" {
			t.Errorf("certificates do not know of %q", how)
		}
	}
}
