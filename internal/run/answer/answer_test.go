package answer

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// inputs are n different questions.
func inputs(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("Ann: where is %d?", i)
	}
	return out
}

// TestAnswer: one question, one charge, and an odometer.
func TestAnswer(t *testing.T) {
	p := newPlace(t)
	p.budget(t, ledger.Budget{Epsilon: 3, Delta: 1e-3})
	s := p.session(t, p.options(t, planFor(clipped()), newToy()))
	for i := 1; i <= 3; i++ {
		a, err := s.Answer(t.Context(), "Ann: when do we meet?", nil)
		must(t, err)
		c := p.charges(t)
		expect.Len(t, "charges", c, i)
		expect.Equal(t, "c[i-1].State", c[i-1].State, ledger.Committed)
		expect.Equal(t, "c[i-1].ID", c[i-1].ID, a.Charge)
		expect.Prefix(t, "c[i-1].Run", c[i-1].Run, "chats clipped answer ")
		expect.Equal(t, "a.Input", a.Input, "Ann: when do we meet?")
		expect.True(t, "a.Text that is not empty", a.Text != "")
		expect.Within(t, "a.Steps", a.Steps, 1, 6)
		expect.True(t, "a.Private", a.Private)
		expect.Equal(t, "a.Event", a.Event.String(), c[0].Event)
		at := expect.At(t, "after %d answers the odometer", i)
		expect.Equal(at, "a.Spent", a.Spent, float64(i))
		expect.Equal(at, "a.Left", a.Left, float64(3-i))
		expect.Equal(at, "a.Limit", a.Limit, 3)
		expect.Equal(at, "a.Delta", a.Delta, 1e-3)
		expect.Len(at, "a.Warnings", a.Warnings, 0)
	}
	_, err := s.Answer(t.Context(), "Ann: one more?", nil)
	var refused *ledger.RefusedError
	if !errors.As(err, &refused) || len(p.charges(t)) != 3 {
		t.Fatal(err)
	}
	for _, part := range []string{"ε = 0 and δ = 0.001 are left", "would be ε = 4", `sotto ledger grant "chats" --epsilon 1`} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in: %v", part, err)
		}
	}
	if s.Usage().Computed == 0 {
		t.Error("no model was used")
	}
}

// TestReserveFirst: a key is drawn, and with it everybody else, only after the ledger
// said yes; and a record is read only then. The data is spoilt after it was opened, so
// that reading a record shows.
func TestReserveFirst(t *testing.T) {
	p := newPlace(t)
	p.budget(t, ledger.Budget{Epsilon: 1, Delta: 1e-3})
	sure := *clipped().(*decode.Clipped)
	sure.Draw.Rate = 0.99
	o := p.options(t, planFor(&sure), newToy())
	must(t, os.WriteFile(p.data, []byte(strings.Repeat("{\"chat\": \"other\", \"summary\": \"text\"}\n", 100)), 0o600))
	s := p.session(t, o)
	s.drawKey = func() (noise.Key, error) {
		if len(p.charges(t)) == 0 {
			t.Error("a key is drawn before the charge")
		}
		return noise.NewKey()
	}
	for range 2 {
		if err := s.CheckBudget(t.Context(), 1); err != nil {
			t.Error(err)
		}
	}
	_, err := s.Answer(t.Context(), "who?", nil)
	var charged *ChargedError
	if !errors.As(err, &charged) || errors.As(err, new(*ledger.RefusedError)) {
		t.Fatalf("a record was not read after the charge: %v", err)
	}
	c := p.charges(t)
	expect.Len(t, "charges", c, 1)
	expect.True(t, "charged.Charges equal to []ledger.ChargeID{c[0].ID}", slices.Equal(charged.Charges, []ledger.ChargeID{c[0].ID}), charged.Charges, []ledger.ChargeID{c[0].ID})
	expect.Equal(t, "c[0].State", c[0].State, ledger.Forfeited)
	expect.Contains(t, "error", fmt.Sprint(err), string(c[0].ID))
	s.drawKey = func() (noise.Key, error) {
		t.Error("a key is drawn for a question that is refused")
		return noise.NewKey()
	}
	if _, err := s.Answer(t.Context(), "who?", nil); !errors.As(err, new(*ledger.RefusedError)) || errors.As(err, &charged) {
		t.Errorf("%v", err)
	}
	if err := s.All(t.Context(), inputs(3), nil); !errors.As(err, new(*ledger.RefusedError)) {
		t.Errorf("%v", err)
	}
	if len(p.charges(t)) != 1 {
		t.Errorf("charges %+v", p.charges(t))
	}
}

// TestAll: many questions, answered in groups, handed over in order, each paid for, by
// charges of its own and by a part of a series.
func TestAll(t *testing.T) {
	for parallel, composition := range map[int]ledger.Composition{0: ledger.Sums, 1: ledger.Adaptive, 3: ledger.Sums, 16: ledger.Adaptive} {
		p := newPlace(t)
		p.budget(t, ledger.Budget{Epsilon: 10, Delta: 1e-3, Composition: composition})
		o := p.options(t, planFor(clipped()), newToy())
		o.Parallel = parallel
		s := p.session(t, o)
		var got []*Answer
		must(t, s.All(t.Context(), inputs(10), func(i int, a *Answer) error {
			if i != len(got) || a.Input != inputs(10)[i] {
				t.Errorf("answer %d is to %q", i, a.Input)
			}
			got = append(got, a)
			return nil
		}))
		last := 0.
		seen := map[ledger.ChargeID]bool{}
		for _, a := range got {
			if a.Spent < last || a.Spent+a.Left != 10 {
				t.Errorf("the odometer goes from %v to %+v", last, a)
			}
			last = a.Spent
			seen[a.Charge] = true
		}
		charges := 10
		if composition == ledger.Sums {
			charges = 1
		}
		expect.Len(t, "got", got, 10)
		expect.Equal(t, "number of seen", len(seen), charges)
		expect.Equal(t, "last", last, 10)
		expect.Len(t, "charges", p.charges(t), charges)
		expect.Equal(t, "uses", p.uses(t), 10)
		if p.charges(t)[0].State != ledger.Committed {
			t.Errorf("the charge is left: %+v", p.charges(t)[0])
		}
		must(t, s.All(t.Context(), nil, nil))
	}
}

// TestAllOrNothing: what does not fit together is refused before anything is asked, unless
// as many as fit are wanted.
func TestAllOrNothing(t *testing.T) {
	p := newPlace(t)
	p.budget(t, ledger.Budget{Epsilon: 5, Delta: 1e-3})
	o := p.options(t, planFor(clipped()), newToy())
	o.Parallel = 3
	s := p.session(t, o)
	err := s.All(t.Context(), inputs(6), func(int, *Answer) error { t.Error("answered"); return nil })
	refused := expect.As[*ledger.RefusedError](t, err)
	expect.Equal(t, "refused.Needed", refused.Needed, 6)
	expect.Len(t, "charges", p.charges(t), 0)
	for n, fits := range map[int64]bool{5: true, 6: false} {
		if err := s.CheckBudget(t.Context(), n); (err == nil) != fits {
			t.Errorf("%d answers: %v", n, err)
		}
	}
	o.Partial = true
	s = p.session(t, o)
	n := 0
	err = s.All(t.Context(), inputs(6), func(i int, a *Answer) error { n++; return nil })
	expect.As[*ledger.RefusedError](t, err)
	expect.True(t, "no *ChargedError", !errors.As(err, new(*ChargedError)), err)
	expect.Equal(t, "n", n, 5)
	expect.Equal(t, "uses", p.uses(t), 5)
	for _, c := range p.charges(t) {
		if c.State != ledger.Committed {
			t.Errorf("%+v", c)
		}
	}
}

// TestDoneFails: nothing more is asked when the answers cannot be handed over.
func TestDoneFails(t *testing.T) {
	p := newPlace(t)
	p.budget(t, ledger.Budget{Epsilon: 9, Delta: 1e-3})
	o := p.options(t, planFor(clipped()), newToy())
	o.Parallel = 2
	full := errors.New("disk full")
	err := p.session(t, o).All(t.Context(), inputs(9), func(i int, a *Answer) error {
		if i == 2 {
			return full
		}
		return nil
	})
	if !errors.Is(err, full) || p.uses(t) != 4 {
		t.Errorf("%v, %d uses", err, p.uses(t))
	}
	// What is left of the series pays for the next questions.
	o.Parallel = 1
	must(t, p.session(t, o).All(t.Context(), inputs(5), func(int, *Answer) error { return nil }))
	if p.uses(t) != 9 || len(p.charges(t)) != 1 {
		t.Errorf("%d uses of %d charges", p.uses(t), len(p.charges(t)))
	}
}

// TestFirstBudget: a data set that the ledger does not know gets what is asked for.
func TestFirstBudget(t *testing.T) {
	p := newPlace(t)
	of := planFor(clipped())
	of.Epsilon, of.Answers = 3, 3
	s := p.session(t, p.options(t, of, newToy()))
	s.price = func(n int64) (float64, error) { return float64(n), nil }
	must(t, s.CheckBudget(t.Context(), 1000))
	var seen []string
	s.options.Env.Observe = func(e env.Progress) { seen = append(seen, string(e.Kind)) }
	a, err := s.Answer(t.Context(), "who?", nil)
	must(t, err)
	expect.Equal(t, "a.Limit", a.Limit, 3)
	expect.Len(t, "a.Warnings", a.Warnings, 1)
	expect.Contains(t, "a.Warnings[0]", a.Warnings[0], `budget "chats" of ε = 3 at δ = 0.001, which is for 3 answers`)
	expect.Equal(t, "seen[0]", seen[0], "budget")
	a, err = s.Answer(t.Context(), "who?", nil)
	expect.NoError(t, err)
	expect.Len(t, "a.Warnings", a.Warnings, 0)
	expect.Equal(t, "a.InSeries", a.InSeries, 1)

	q := newPlace(t)
	s = q.session(t, q.options(t, of, newToy()))
	s.price = func(n int64) (float64, error) { return float64(n), nil }
	n := 0
	must(t, s.All(t.Context(), inputs(7), func(i int, a *Answer) error {
		n++
		if a.Limit < 7 || a.Limit > 7.01 {
			t.Errorf("%+v", a)
		}
		return nil
	}))
	if n != 7 {
		t.Errorf("%d answers", n)
	}

	// Where each answer takes its part of δ, more of them than planned have no ε.
	short := newPlace(t)
	s = short.session(t, short.options(t, of, newToy()))
	s.price = func(int64) (float64, error) { return math.Inf(1), nil }
	err = s.All(t.Context(), inputs(7), func(int, *Answer) error { return errors.New("answered") })
	var wrong *plan.InputError
	if !errors.As(err, &wrong) || !strings.Contains(wrong.Reason, "plan for 7 answers") {
		t.Errorf("a budget without end: %v", err)
	}

	other := newPlace(t)
	must(t, second(other.ledger.Init(t.Context(), ledger.InitRequest{Dataset: "hmac-sha256:" + ledger.Fingerprint(strings.Repeat("0", 64)), Name: "chats", Budget: ledger.Budget{Epsilon: 1}})))
	if _, err := other.session(t, other.options(t, of, newToy())).Answer(t.Context(), "who?", nil); !errors.As(err, new(*ledger.ExistsError)) {
		t.Errorf("the name of other data: %v", err)
	}
}

func second[V any](_ V, err error) error { return err }

// TestSeeded: no charge, no guarantee, and the same answers however many are written at
// once.
func TestSeeded(t *testing.T) {
	p := newPlace(t)
	seed := uint64(7)
	texts := func(parallel int, seed uint64) (out []string) {
		o := p.options(t, planFor(clipped()), newToy())
		o.Env.Seed, o.Env.Ledger, o.Parallel = &seed, nil, parallel
		s := p.session(t, o)
		must(t, s.CheckBudget(t.Context(), 1<<40))
		must(t, s.All(t.Context(), inputs(12), func(i int, a *Answer) error {
			expect.True(t, "not a.Private", !a.Private)
			expect.Equal(t, "a.Charge", a.Charge, "")
			expect.True(t, "no a.Event", a.Event == nil, a.Event)
			expect.Equal(t, "a.Limit", a.Limit, 0)
			out = append(out, a.Text)
			return nil
		}))
		return out
	}
	want := texts(1, seed)
	for _, parallel := range []int{2, 5, 12} {
		if got := texts(parallel, seed); !slices.Equal(got, want) {
			t.Errorf("%d at once: %q, one by one %q", parallel, got, want)
		}
	}
	if slices.Equal(texts(1, seed+1), want) {
		t.Error("another seed answers the same")
	}
	if len(p.charges(t)) != 0 {
		t.Error("a simulation is charged")
	}
}

// TestFreshRandomness: the same question again has another key.
func TestFreshRandomness(t *testing.T) {
	p := newPlace(t)
	p.budget(t, ledger.Budget{Epsilon: 9, Delta: 1e-3})
	s := p.session(t, p.options(t, planFor(clipped()), newToy()))
	seen := map[string]bool{}
	s.drawKey = func() (noise.Key, error) {
		key, err := noise.NewKey()
		must(t, err)
		data, err := key.Export()
		must(t, err)
		seen[string(data)] = true
		return key, nil
	}
	for range 3 {
		must(t, second(s.Answer(t.Context(), "who?", nil)))
	}
	if len(seen) != 3 {
		t.Errorf("%d keys of 3 answers", len(seen))
	}
	s.drawKey = func() (noise.Key, error) { return noise.KeyFromSeed(1), nil }
	if _, err := s.Answer(t.Context(), "who?", nil); !errors.As(err, new(*ChargedError)) || !strings.Contains(err.Error(), "seed") {
		t.Errorf("a key that is known: %v", err)
	}
}

// TestPublic: without records there is nothing to pay for, and no data.
func TestPublic(t *testing.T) {
	p := newPlace(t)
	o := p.options(t, planFor(&decode.Public{Temperature: 1, Candidates: 10}), newToy())
	o.Env.Ledger, o.Data = nil, nil
	a, err := p.session(t, o).Answer(t.Context(), "who?", nil)
	expect.NoError(t, err)
	expect.True(t, "a.Private", a.Private)
	expect.Equal(t, "a.Charge", a.Charge, "")
	expect.True(t, "a.Text that is not empty", a.Text != "")
}

// TestNonPrivate: what has no guarantee is not charged, and says so.
func TestNonPrivate(t *testing.T) {
	p := newPlace(t)
	o := p.options(t, planFor(&decode.NonPrivate{Draw: perToken(), Candidates: 10}), newToy())
	a, err := p.session(t, o).Answer(t.Context(), "who?", nil)
	expect.NoError(t, err)
	expect.True(t, "not a.Private", !a.Private)
	expect.True(t, "no a.Event", a.Event == nil, a.Event)
	expect.Equal(t, "a.Charge", a.Charge, "")
	expect.Len(t, "charges", p.charges(t), 0)
}

// TestNotIsolated: where a score depends on what else was asked, a session that would
// charge for proven answers does not open; one that claims nothing does.
func TestNotIsolated(t *testing.T) {
	p := newPlace(t)
	p.budget(t, ledger.Budget{Epsilon: 9, Delta: 1e-3})
	for _, of := range []plan.Answers{planFor(clipped()), whole(sorting(), voting())} {
		m := newToy()
		m.info.BatchInvariant, m.leaks = false, true
		o := p.options(t, of, m)
		var leaks *lm.NotIsolatedError
		if _, err := Open(t.Context(), o); !errors.As(err, &leaks) {
			t.Errorf("%s on a model whose scores leak: %v", of.Method(), err)
		}
		if seen := p.charges(t); len(seen) != 0 {
			t.Errorf("%d charges", len(seen))
		}
		seed := uint64(1)
		o.Env.Seed = &seed
		if a, err := p.session(t, o).Answer(t.Context(), "who?", nil); err != nil || a.Private {
			t.Errorf("%s, seeded: %+v, %v", of.Method(), a, err)
		}
	}
}

// TestOnlyWrites: a model without scores is refused before anything is charged, seeded or not.
func TestOnlyWrites(t *testing.T) {
	p := newPlace(t)
	p.budget(t, ledger.Budget{Epsilon: 9, Delta: 1e-3})
	m := newToy()
	m.info.Can = lm.Capabilities{Chat: true}
	o := p.options(t, planFor(clipped()), m)
	seed := uint64(1)
	for _, o.Env.Seed = range []*uint64{nil, &seed} {
		var unsupported *lm.UnsupportedError
		if _, err := Open(t.Context(), o); !errors.As(err, &unsupported) {
			t.Errorf("a model that only writes: %v", err)
		}
	}
	if seen := p.charges(t); len(seen) != 0 {
		t.Errorf("%d charges", len(seen))
	}
}

// TestCautions: cautions come once, with the first answer.
func TestCautions(t *testing.T) {
	p := newPlace(t)
	p.budget(t, ledger.Budget{Epsilon: 9, Delta: 1e-3})
	m := newToy()
	m.info.BatchInvariant, m.info.Deterministic = false, false
	of := planFor(clipped())
	of.Delta = 0.5
	s := p.session(t, p.options(t, of, m))
	a, err := s.Answer(t.Context(), "who?", nil)
	must(t, err)
	expect.Len(t, "a.Warnings", a.Warnings, 2)
	expect.Contains(t, "a.Warnings[0]", a.Warnings[0], "is not below 1/")
	expect.Contains(t, "a.Warnings[1]", a.Warnings[1], "nobody else uses the server")
	if a, err = s.Answer(t.Context(), "who?", nil); err != nil || len(a.Warnings) != 0 {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestSizeFarOff: a declared size that is far off is reported when a session begins. That
// depends on the records: no answer has it.
func TestSizeFarOff(t *testing.T) {
	for size, want := range map[int64]bool{40: false, 40_000: true} {
		p := newPlace(t)
		of := planFor(clipped())
		of.Size, of.Delta = size, 1e-6
		o := p.options(t, of, newToy())
		var seen []string
		o.Env.Observe = func(e env.Progress) { seen = append(seen, e.Message) }
		s := p.session(t, o)
		if got := strings.Contains(strings.Join(seen, "\n"), "CHECK THE SIZE"); got != want {
			t.Errorf("%d: seen %q", size, seen)
		}
		a, err := s.Answer(t.Context(), "who?", nil)
		must(t, err)
		if strings.Contains(strings.Join(a.Warnings, "\n"), "SIZE") {
			t.Errorf("an answer has it: %q", a.Warnings)
		}
	}
}

// TestMemoryThatIsTooSmall is found when the session opens, before anything is charged.
func TestMemoryThatIsTooSmall(t *testing.T) {
	const perToken = 1000
	for _, parallel := range []int{1, 3} {
		p := newPlace(t)
		m := newToy()
		m.perToken = perToken
		o := p.options(t, planFor(clipped()), m)
		o.Parallel = parallel
		need := int64(0)
		for _, free := range []int64{1, 0, -1} { // -1: what the first says is needed
			if free < 0 {
				free = need
			}
			s := &Session{options: o, drawKey: noise.NewKey, free: func() int64 { return free }}
			err := s.open(t.Context())
			var memory *lm.MemoryError
			if free != 1 {
				must(t, err)
				continue
			}
			if !errors.As(err, &memory) || !strings.Contains(err.Error(), "nothing was charged") {
				t.Fatalf("with a byte free: %v", err)
			}
			need = memory.Need
		}
		// The longest question there may be, for each of the prompts that are expected.
		sampling := o.Plan.Scheme()
		minimum := float64(parallel) * sampling.Expected(o.Plan.Size) * float64(o.Plan.Task.Limits.InputTokens+o.Plan.Tokens) * perToken
		if float64(need) < minimum || len(p.charges(t)) != 0 {
			t.Errorf("%d bytes for %d at once, not %.0f; charges %v", need, parallel, minimum, p.charges(t))
		}
	}
}
