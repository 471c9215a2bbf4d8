package choose

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// TestEvents: what a choice costs is what its draw makes of bounded range.
func TestEvents(t *testing.T) {
	for _, c := range []struct {
		Choice
		want      string
		adjacency privacy.Adjacency
		rate      float64
	}{
		{choice(poisson, 1, 1.5), "poisson(0.4, boundedrange(1.5))", privacy.AddRemove, 1.5},
		{choice(poisson, 25, 2.34), "repeat(25, poisson(0.4, boundedrange(2.34)))", privacy.AddRemove, 2.34},
		{choice(exact, 7, 1.5), "repeat(7, fixedsize(3, 2, boundedrange(1.5)))", privacy.ReplaceOne, 0.75},
	} {
		want, err := privacy.Parse(c.want)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Event().String(); got != privacy.Canonical(want).String() {
			t.Errorf("costs %s, not %s", got, c.want)
		}
		if c.Draw.Adjacency() != c.adjacency || c.Choice.rate() != c.rate {
			t.Errorf("%s: %s, weights of rate %v", c.want, c.Draw.Adjacency(), c.Choice.rate())
		}
	}
}

func TestWrongChoices(t *testing.T) {
	for want, change := range map[string]func(*Choice){
		"not in (0, 1]":            func(c *Choice) { c.Draw.Rate = 0 },
		"unknown way to draw":      func(c *Choice) { c.Draw.Kind = "all" },
		"draw of its own":          func(c *Choice) { c.Draw.Per = scheme.PerText },
		"each record is by itself": func(c *Choice) { c.Draw.Prompts, c.Draw.PerPrompt = 2, 1 },
		"poisson or fixed-size":    func(c *Choice) { c.Draw = scheme.Scheme{Kind: scheme.Disjoint, Per: scheme.PerText, Batches: 2} },
		"at least one round":       func(c *Choice) { c.Rounds = 0 },
		"not -3":                   func(c *Choice) { c.Rounds = -3 },
		"not 0":                    func(c *Choice) { c.Range = 0 },
		"not -1":                   func(c *Choice) { c.Range = -1 },
		"not NaN":                  func(c *Choice) { c.Range = math.NaN() },
		"not +Inf":                 func(c *Choice) { c.Range = math.Inf(1) },
		"between 0 and 1e+18":      func(c *Choice) { c.Range = 1e19 },
		"not 5e-324":               func(c *Choice) { c.Range = 5e-324 },
		"unknown utility":          func(c *Choice) { c.Utility = "loud" },
		"\"\"":                     func(c *Choice) { c.Utility = "" },
	} {
		c := choice(poisson, 2, 1)
		change(&c)
		err := c.Check()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, which does not say %q", c, err, want)
		}
		o, _ := scene(t, of(audience...), c)
		if _, err := New(t.Context(), o); err == nil {
			t.Errorf("%+v chooses", c)
		}
	}
}

// TestExtremeSettings: ranges that Check allows choose something, large ones the right
// thing.
func TestExtremeSettings(t *testing.T) {
	for width, sure := range map[float64]bool{minRange: false, 1e-9: false, 1e3: true, 1e18: true} {
		for _, l := range []scheme.Scheme{often, {Kind: scheme.FixedSize, Per: scheme.PerToken, Take: 3, Of: 3}} {
			o, _ := scene(t, of(likes("1"), likes("12"), likes("0")), choice(l, 20, width))
			c := chooser(t, o)
			for round := range int64(20) {
				got, err := c.Round(t.Context(), round, ways("012"))
				at := expect.At(t, "a range of %v", width)
				expect.NoError(at, err)
				expect.Within(at, "winner", got.Winner, 0, 2)
				if sure {
					expect.Equal(at, "winner", got.Winner, 1)
				}
			}
		}
	}
}

// foreign embeds a pool of this program and could name the same unit again and again.
type foreign struct{ *pool }

func TestRefusals(t *testing.T) {
	good := choice(poisson, 2, 1)
	for want, change := range map[string]func(*Options){
		"no records":            func(o *Options) { o.Pool = nil },
		"not one of this progr": func(o *Options) { o.Pool = foreign{of(audience...)} },
		"trusted":               func(o *Options) { o.Model = lm.TrustedScorer{} },
		"use the utility":       func(o *Options) { o.Choice.Utility = Written },
		"in parts by label":     func(o *Options) { o.Parts, o.Choice.Draw = 2, exact },
	} {
		p := of(audience...)
		o, toy := scene(t, p, good)
		change(&o)
		if _, err := New(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, which does not say %q", err, want)
		}
		if len(p.read) > 0 || toy.Longest > 0 {
			t.Errorf("%s: %d records were read", want, len(p.read))
		}
	}
	var nobody *pool
	o, _ := scene(t, nobody, good)
	if _, err := New(t.Context(), o); !errors.Is(err, seal.ErrForeign) {
		t.Errorf("a pool that is nil: %v", err)
	}
}

// TestRoundsLookOnce: no round that is not paid for, no round about other candidates than
// before, in whichever order; a refused round reads nothing.
func TestRoundsLookOnce(t *testing.T) {
	p := of(audience...)
	o, _ := scene(t, p, choice(often, 2, 1))
	c := chooser(t, o)
	refused := func(what string, round int64, candidates []prompt.Prompt, want string) {
		t.Helper()
		before := len(p.read)
		if _, err := c.Round(t.Context(), round, candidates); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", what, err)
		}
		if len(p.read) != before {
			t.Errorf("%s: records were read", what)
		}
	}
	refused("a round too many", 2, ways("01"), "not one of the 2 that are paid for")
	refused("far too many", math.MaxInt64, ways("01"), "paid for")
	refused("before the first", -1, ways("01"), "paid for")
	refused("no candidates", 0, nil, "no candidates")
	first, err := c.Round(t.Context(), 0, ways("012"))
	if err != nil {
		t.Fatal(err)
	}
	for what, other := range map[string][]prompt.Prompt{
		"one left out":   ways("01"),
		"one more":       ways("0123"),
		"another order":  ways("021"),
		"the winner out": append(ways("012")[:first.Winner:first.Winner], ways("012")[first.Winner+1:]...),
		"calibrated":     {ways("0")[0], ways("1")[0], {Instruction: "way 2", Calibrated: true}},
	} {
		refused(what, 0, other, "each round looks once")
	}
	if again, err := c.Round(t.Context(), 0, ways("012")); err != nil || again.Winner != first.Winner {
		t.Errorf("asked again, the winner is %d and not %d: %v", again.Winner, first.Winner, err)
	}
	if _, err := c.Round(t.Context(), 1, ways("01")); err != nil {
		t.Error("other candidates in the next round:", err)
	}
	if s := first.Event.String(); s != privacy.Canonical(o.Choice.Draw.Event(o.Choice.Step(), 1)).String() {
		t.Errorf("a round costs %s", s)
	}
}

// TestFixedSizesAreExact: under replace-one the size is public, and another one is refused.
func TestFixedSizesAreExact(t *testing.T) {
	o, _ := scene(t, of(audience...), choice(exact, 1, 1)) // of three
	if _, err := chooser(t, o).Round(t.Context(), 0, ways("01")); !errors.Is(err, draw.ErrSize) {
		t.Errorf("three declared units are drawn from four: %v", err)
	}
}

// TestReplay: the same key and candidates give the same winners, also in another process
// that asks in another order, in passes of another size, or after an error; another key
// gives others.
func TestReplay(t *testing.T) {
	const rounds = 12
	for name, l := range schemes {
		run := func(order func(int64) int64, change func(*Options)) string {
			o, toy := scene(t, of(audience...), choice(l, rounds, 1))
			change(&o)
			c := chooser(t, o)
			out := make([]byte, rounds)
			for i := range int64(rounds) {
				round := order(i)
				if i%3 == 0 { // fails first
					toy.Fail = func(call string) error {
						if call == "step" {
							return errInjected
						}
						return nil
					}
					if _, err := c.Round(t.Context(), round, ways("012")); !errors.Is(err, errInjected) {
						t.Errorf("round %d: %v", round, err)
					}
					toy.Fail = nil
				}
				got, err := c.Round(t.Context(), round, ways("012"))
				if err != nil {
					t.Fatal(err)
				}
				out[round] = byte('0' + got.Winner)
			}
			return string(out)
		}
		forward := func(i int64) int64 { return i }
		want := run(forward, func(*Options) {})
		for what, got := range map[string]string{
			"backward":     run(func(i int64) int64 { return rounds - 1 - i }, func(*Options) {}),
			"mixed":        run(func(i int64) int64 { return i * 5 % rounds }, func(*Options) {}),
			"small passes": run(forward, func(o *Options) { o.PassTokens, o.Prompts = 1, 1 }),
		} {
			if got != want {
				t.Errorf("%s, %s: winners are %s, not %s", name, what, got, want)
			}
		}
		if other := run(forward, func(o *Options) { o.Key = noise.KeyFromSeed(8) }); other == want {
			t.Errorf("%s: another key gives the same winners", name)
		}
	}
}

// TestRandomnessIsNotShared: the draws of a chooser, its choice and what its caller may take
// for public things come of streams of their own.
func TestRandomnessIsNotShared(t *testing.T) {
	key := noise.KeyFromSeed(3)
	used := map[uint64]string{}
	for name, s := range map[string]*noise.Stream{
		"choice 0": key.Stream("choice", 0), "choice 1": key.Stream("choice", 1), "search": key.Stream("search", 0),
		"texts' draw": key.Stream("draw", 0, 0), "draw": key.Derive("choose").Stream("draw", 0, 0), "records": key.Derive("choose").Stream("choose", 0, 0),
	} {
		x := s.Uint64()
		if used[x] != "" {
			t.Errorf("%s and %s share randomness", name, used[x])
		}
		used[x] = name
	}
}

var errInjected = errors.New("it broke")

func clean(t *testing.T, what string, err error) {
	t.Helper()
	for _, format := range []string{"%v", "%+v", "%#v", "%q"} {
		s := fmt.Sprintf(format, err)
		at := expect.At(t, "%s: the error shows what is in a record", what)
		expect.True(at, "no canary in s", !strings.Contains(s, canary), s)
		expect.True(at, "no 4711 in s", !strings.Contains(s, "4711"), s)
		expect.True(at, "no likes in s", !strings.Contains(s, "likes"), s)
	}
}

// TestErrorsHaveNoContent breaks each call that a round makes: the error comes out without a
// word of the records, and without a winner.
func TestErrorsHaveNoContent(t *testing.T) {
	for fail := 1; ; fail++ {
		o, toy := scene(t, of(audience...), choice(often, 1, 1))
		c := chooser(t, o)
		calls := 0
		toy.Fail = func(string) error {
			if calls++; calls == fail {
				return errInjected
			}
			return nil
		}
		got, err := c.Round(t.Context(), 0, ways("01"))
		if calls < fail {
			if err != nil || fail < 20 {
				t.Errorf("%d calls: %v", calls, err)
			}
			break
		}
		clean(t, fmt.Sprint("call ", fail), err)
		at := expect.At(t, "call %d failed", fail)
		expect.True(at, "err is errInjected", errors.Is(err, errInjected), err)
		expect.Equal(at, "got", got, (Outcome{}))
		expect.Equal(at, "toy.Opened", toy.Opened, 0)
	}
	for what, change := range map[string]func(*pool){
		"a record that cannot be found": func(p *pool) { p.choosing = errInjected },
		"records that cannot be read":   func(p *pool) { p.fetching = errInjected },
	} {
		p := of(audience...)
		change(p)
		o, _ := scene(t, p, choice(often, 1, 1))
		got, err := chooser(t, o).Round(t.Context(), 0, ways("01"))
		clean(t, what, err)
		if !errors.Is(err, errInjected) || got != (Outcome{}) {
			t.Errorf("%s: %v, %v", what, got, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	o, toy := scene(t, of(audience...), choice(often, 1, 1))
	c := chooser(t, o)
	cancel()
	toy.Fail = func(string) error { return ctx.Err() }
	if _, err := c.Round(ctx, 0, ways("01")); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted round says %v", err)
	}
}

// TestOddRecordsAreNoError: what does not fit, has no label of the task, or nobody at all
// chooses all the same.
func TestOddRecordsAreNoError(t *testing.T) {
	for what, p := range map[string]*pool{
		"nobody":     of(),
		"too long":   of(likes("0"), strings.Repeat(canary+" ", 5000)),
		"empty":      of("", " \n"),
		"not a text": of("\xff\xfe" + canary),
	} {
		o, _ := scene(t, p, choice(often, 1, 1))
		o.Task.Limits.InputTokens = 1e6
		if _, err := chooser(t, o).Round(t.Context(), 0, ways("012")); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestOutcomesAreSmall: an outcome says who won and what it cost, and nothing else.
func TestOutcomesAreSmall(t *testing.T) {
	o, _ := scene(t, of(audience...), choice(often, 1, 1e3))
	got, err := chooser(t, o).Round(t.Context(), 0, ways("012"))
	if err != nil {
		t.Fatal(err)
	}
	if s := fmt.Sprintf("%+v", got); s != fmt.Sprintf("{Winner:0 Event:%v}", got.Event) {
		t.Errorf("an outcome is %s", s)
	}
}

// TestChoicesAreSettings: what is written to a plan and read back costs the same.
func TestChoicesAreSettings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := rapid.SampledFrom([]scheme.Scheme{poisson, often, exact}).Draw(t, "sampling")
		c := choice(l, rapid.Int64Range(1, 1e6).Draw(t, "rounds"), rapid.Float64Range(minRange, 1e6).Draw(t, "range"))
		c.Utility = rapid.SampledFrom(Utilities()).Draw(t, "utility")
		if err := c.Check(); err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		var back Choice
		err = json.Unmarshal(data, &back)
		at := expect.At(t, "%s", data)
		expect.NoError(at, err)
		expect.Equal(at, "back", back, c)
		expect.Equal(at, "back.Event().String", back.Event().String(), c.Event().String())
	})
}
