package plan_test

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/privacy/ledger/ledgertest"
	"github.com/sotto-dp/sotto/prompt"
)

// speeds are of a small model on a processor, and of others that are slower and faster.
func speeds(factor float64) plan.Speed {
	return plan.Speed{Prefill: 700 * factor, Step: 0.02 / factor, Each: 0.0015 / factor, Texts: plan.OwnAtOnce}
}

// TestPlainWithinTime: a plan takes about the time that it may, all of it: texts, rounds and measuring. It is
// never much longer, and where there is more to do than records are needed for, not much shorter. With more
// time, and with a faster model, there is no less work.
func TestPlainWithinTime(t *testing.T) {
	shape := plan.Shape{Instruction: 40, Head: 15, Record: 60}
	ledgertest.Checks(t, 8)
	rapid.Check(t, func(rt *rapid.T) {
		r := plan.Request{Task: builtin(t, rapid.SampledFrom([]string{"agnews", "mit-d", "trec"}).Draw(rt, "task")), Size: 27632, Epsilon: 1, Choosing: &plan.ChooseRequest{
			Form: rapid.SampledFrom([]prompt.Form{prompt.TextForm, prompt.ChatForm}).Draw(rt, "form"),
		}}
		factor := rapid.Float64Range(0.3, 6).Draw(rt, "speed")
		d := time.Duration(rapid.IntRange(2, 20).Draw(rt, "minutes")) * time.Minute
		of := func(d time.Duration, factor float64) plan.Request {
			got, err := r.Within(d, shape, speeds(factor))
			if err != nil {
				rt.Fatal(err)
			}
			return got
		}
		within := of(d, factor)
		if r.Choosing.Work != 0 || within.Choosing.Work <= 0 {
			rt.Fatalf("%+v of %+v", within.Choosing, r.Choosing)
		}
		if of(2*d, factor).Choosing.Work < within.Choosing.Work || of(d, 2*factor).Choosing.Work < within.Choosing.Work {
			rt.Errorf("less work with more time or speed than %v", within.Choosing.Work)
		}
		p, err := plan.New(within)
		if err != nil {
			rt.Fatal(err)
		}
		// Texts count with their full length here, and with half of it where rounds are planned.
		took := p.Cost(shape, speeds(factor)).Cached.Seconds
		if took > 1.5*d.Seconds() || took < 0.5*d.Seconds() {
			rt.Errorf("%v: the plan takes %.0f s: %d texts, %d rounds of %.0f records", d, took, p.Shots, p.Choose.Rounds, p.Choose.Draw.Expected(p.Units()))
		}
	})
}

// TestPlainWithinAsked: what a request says itself stays, the default is a time, a slow model writes fewer texts,
// and what cannot be planned is refused.
func TestPlainWithinAsked(t *testing.T) {
	r := plan.Request{Task: builtin(t, "agnews"), Size: 27632, Epsilon: 1, Choosing: &plan.ChooseRequest{}}
	within := func(r plan.Request, d time.Duration, v plan.Speed) *plan.ChooseRequest {
		t.Helper()
		got, err := r.Within(d, plan.Shape{Instruction: 40, Head: 15, Record: 60}, v)
		if err != nil {
			t.Fatal(err)
		}
		return got.Choosing
	}
	if a, b := within(r, 0, speeds(1)), within(r, plan.DefaultTime, speeds(1)); a.Work != b.Work || plan.DefaultTime != 5*time.Minute {
		t.Errorf("by default there is work of %v, in %v of %v", a.Work, plan.DefaultTime, b.Work)
	}
	if slow := within(r, time.Minute, speeds(0.02)); slow.Pool >= plan.OwnPool || slow.Pool < 8 {
		t.Errorf("a slow model writes %d texts", slow.Pool)
	}
	if fast := within(r, time.Minute, speeds(10)); fast.Pool != 0 {
		t.Errorf("a fast model writes %d texts, not as many as usual", fast.Pool)
	}
	asked := r
	asked.Choosing = &plan.ChooseRequest{Work: 5, Pool: 12}
	if got := within(asked, time.Hour, speeds(1)); got.Work != 5 || got.Pool != 12 {
		t.Errorf("%+v of %+v", got, asked.Choosing)
	}
	asked.Choosing = &plan.ChooseRequest{Pool: 30}
	if got := within(asked, time.Minute, speeds(0.02)); got.Pool != 30 || got.Work <= 0 {
		t.Errorf("%+v of %+v", got, asked.Choosing)
	}
	none := r
	none.Choosing = nil
	if got := within(none, time.Minute, speeds(1)); got != nil {
		t.Errorf("%+v of texts alone", got)
	}
	if got := within(r, time.Minute, plan.Speed{}); got.Work != 0 {
		t.Errorf("work of %v with a model of no known speed", got.Work)
	}
	written, own := r, within(r, plan.DefaultTime, speeds(1))
	written.Choosing = &plan.ChooseRequest{Writing: 0.5}
	if got := within(written, plan.DefaultTime, speeds(1)); got.Work >= own.Work {
		t.Errorf("writing from records leaves as much work as without: %v", got.Work)
	}
	wrong := r
	wrong.Epsilon = 0
	if _, err := wrong.Within(time.Minute, plan.Shape{}, speeds(1)); !errors.As(err, new(*plan.InputError)) {
		t.Errorf("no ε: %v", err)
	}
}

// TestPlainTurnsTakeLonger: an answer that is written costs more than one that is read off.
func TestPlainTurnsTakeLonger(t *testing.T) {
	for _, name := range []string{"agnews", "trec"} {
		cost := map[prompt.Form]plan.Work{}
		for _, f := range []prompt.Form{prompt.TextForm, prompt.ChatForm} {
			p := mustPlan(t, plan.Request{Task: builtin(t, name), Size: 5000, Epsilon: 1, Choosing: &plan.ChooseRequest{Form: f, Rounds: 2, Records: 100, First: 8, Next: 4, Measuring: -1}})
			cost[f] = p.Cost(plan.Shape{Instruction: 40, Head: 15, Record: 60}, speeds(1)).Cached
		}
		if a, b := cost[prompt.TextForm], cost[prompt.ChatForm]; b.Tokens <= a.Tokens || b.Seconds <= a.Seconds {
			t.Errorf("%s: %+v as texts, %+v as turns", name, a, b)
		}
	}
}
