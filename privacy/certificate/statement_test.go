package certificate

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/privacytest"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
)

// TestRefused: what must never get a certificate gets none, by any entrance.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Claim)
		ev     Evaluator
		want   string
	}{
		{"seeded", func(c *Claim) { c.Randomness = Seeded }, basic{}, "seeded"},
		{"randomness unstated", func(c *Claim) { c.Randomness = "" }, basic{}, "randomness"},
		{"standing unstated", func(c *Claim) { c.Standing = Unstated }, basic{}, "proven"},
		{"unproven rule", func(c *Claim) { c.Standing = Unproven }, basic{}, "not proven"},
		{"baseline", func(c *Claim) { c.Standing = Baseline }, basic{}, "baseline"},
		{"scores not kept apart", func(c *Claim) { c.Model.BatchInvariant = false }, basic{}, "apart"},
		{"no events", func(c *Claim) { c.Events = nil }, basic{}, "no privacy event"},
		{"nil event", func(c *Claim) { c.Events = []privacy.Event{nil} }, basic{}, "nil"},
		{"nonprivate", func(c *Claim) { c.Events = []privacy.Event{privacy.NonPrivate{}} }, basic{}, "nonprivate()"},
		{"nonprivate within", func(c *Claim) {
			c.Events = append(c.Events, mustParse(t, "compose(pure(1), repeat(3, nonprivate()))"))
		}, basic{}, "nonprivate()"},
		{"nonprivate that canonical form drops", func(c *Claim) {
			c.Events = append(c.Events, mustParse(t, "poisson(0, nonprivate())"))
		}, basic{}, "nonprivate()"},
		{"infinite ε", func(*Claim) {}, constantAccountant{0, math.Inf(1)}, "no finite ε"},
	} {
		claim := testClaim(t)
		c.change(&claim)
		dir := t.TempDir()
		for entrance, err := range map[string]error{
			"NewStatement": second(NewStatement(claim, c.ev)),
			"Issue":        second(Issue(dir, claim, c.ev, testSigner(t))),
		} {
			var refused *RefusedError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s by %s: %v, want a refusal about %q", c.name, entrance, err, c.want)
			}
		}
		if names, err := HashFiles(dir); err != nil || len(names) > 0 {
			t.Errorf("%s left files behind: %v, %v", c.name, names, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestClaimErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Claim)
		ev     Evaluator
		want   string
	}{
		{"no evaluator", func(*Claim) {}, nil, "evaluator"},
		{"NaN", func(*Claim) {}, constantAccountant{0, math.NaN()}, "no usable ε"},
		{"lower above upper", func(*Claim) {}, constantAccountant{2, 1}, "no usable ε"},
		{"event invalid", func(c *Claim) { c.Events = []privacy.Event{privacy.Gaussian{Sigma: -1}} }, basic{}, "gaussian: σ is -1"},
		{"event unsupported", func(c *Claim) { c.Events = []privacy.Event{privacy.Gaussian{Sigma: 1}} }, basic{}, "no rule for gaussian"},
		{"δ", func(c *Claim) { c.Delta = math.NaN() }, basic{}, "δ is NaN"},
		{"adjacency", func(c *Claim) { c.Adjacency = "both" }, basic{}, "unknown adjacency"},
		{"unit", func(c *Claim) { c.Unit = "person" }, basic{}, "unknown unit"},
		{"method", func(c *Claim) { c.Method = "" }, basic{}, "the method is empty"},
		{"proof", func(c *Claim) { c.Proof = "" }, basic{}, "the proof is empty"},
		{"version", func(c *Claim) { c.Version = "" }, basic{}, "version is empty"},
		{"invalid UTF-8", func(c *Claim) { c.Method = "a\xff" }, basic{}, "statement: "},
		{"wrong sampler", func(c *Claim) { c.Samplers = []Sampler{SampleFixedSize} }, basic{}, "take credit for poisson"},
		{"no sampler", func(c *Claim) { c.Samplers = nil }, basic{}, "no sampler"},
		{"no size", func(c *Claim) { c.Sizes = nil }, basic{}, "no size"},
		{"fixed size not declared", func(c *Claim) {
			c.Events = []privacy.Event{mustParse(t, "fixedsize(100, 10, pure(1))")}
			c.Samplers = []Sampler{SampleFixedSize}
		}, basic{}, "draws from 100 records"},
		{"no files", func(c *Claim) { c.Subjects = nil }, basic{}, "names 0 files"},
		{"file twice", func(c *Claim) { c.Subjects = append(c.Subjects, c.Subjects[0]) }, basic{}, "not distinct"},
		{"empty assumption", func(c *Claim) { c.Assumptions = []string{""} }, basic{}, "an assumption is empty"},
	} {
		claim := testClaim(t)
		c.change(&claim)
		if _, err := NewStatement(claim, c.ev); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestStatementDefaults(t *testing.T) {
	before := Day(time.Now())
	s, err := NewStatement(Claim{
		Subjects: testClaim(t).Subjects, Events: []privacy.Event{privacy.Pure{Epsilon: 1}},
		Method: "local", Proof: "randomised response", Standing: Proven, Randomness: OSRandom,
		Samplers: []Sampler{SampleAll}, Version: "1",
	}, basic{})
	if err != nil {
		t.Fatal(err)
	}
	p := s.Predicate()
	expect.Equal(t, "p.Adjacency", p.Adjacency, privacy.AddRemove)
	expect.Equal(t, "p.Unit", p.Unit, privacy.Record)
	expect.Equal(t, "p.Created.Before(before)", p.Created.Before(before), false)
	if !slices.Equal(p.Assumptions, []string{assumeHonest, assumeAlone, assumeAdjacency(privacy.AddRemove, privacy.Record), assumeRandom}) {
		t.Errorf("assumptions are %q", p.Assumptions)
	}
	if len(s.Subjects()) != len(testFiles) {
		t.Errorf("subjects are %v", s.Subjects())
	}
}

func TestAssumptionsFollowFromTheFields(t *testing.T) {
	c := testClaim(t)
	c.Model.BatchInvariant, c.Model.Isolation = false, "alone, by the operator's word"
	c.Adjacency, c.Unit = privacy.ReplaceOne, "user:patient"
	s, err := NewStatement(c, basic{})
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(s.Predicate().Assumptions, "\n")
	for _, want := range []string{assumeScored, "by the word of who ran this", assumeModel, assumeSampling, assumeSizes, `exchange of all records that share one value of column "patient"`, c.Assumptions[0]} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is missing in\n%s", want, all)
		}
	}
	if s.Predicate().Epsilon.Upper != 4 {
		t.Errorf("ε under replace-one is %v; by hand 2·2", s.Predicate().Epsilon)
	}
	for how, wants := range map[string][]string{
		"one record at a time, by the operator's word":                                          {assumeRecords, "kept nothing between them"},
		"alone, by the server's counters; one record at a time, by the server's counters":       {assumeScored, assumeRecords, "while records were scored, are right", "while records were asked about, are right"},
		"alone, on a server of one sequence; one record at a time, on a server of one sequence": {assumeScored, assumeRecords, "one sequence at a time, as it says"},
	} {
		t.Run(how, func(t *testing.T) {
			c.Model.Isolation = how
			s, err := NewStatement(c, basic{})
			if err != nil {
				t.Fatal(err)
			}
			all := strings.Join(s.Predicate().Assumptions, "\n")
			for _, want := range wants {
				if strings.Count(all, want) != 1 {
					t.Errorf("%q is there %d times in\n%s", want, strings.Count(all, want), all)
				}
			}
		})
	}
}

func TestSignNeedsAStatementAndAKey(t *testing.T) {
	s, err := NewStatement(testClaim(t), basic{})
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"no statement":    second(Sign(nil, testSigner(t))),
		"empty statement": second(Sign(&Statement{}, testSigner(t))),
		"nil signer":      second(Sign(s, nil)),
		"empty signer":    second(Sign(s, &Signer{})),
		"issue unsigned":  second(Issue(t.TempDir(), testClaim(t), basic{}, nil)),
	} {
		t.Run(name, func(t *testing.T) {
			if err == nil {
				t.Error("signed")
			}
		})
	}
}

// TestRoundTrip: a certificate for any event with a guarantee verifies, gives
// the statement back, and its ε cannot be lowered.
func TestRoundTrip(t *testing.T) {
	signer := testSigner(t)
	base := testClaim(t)
	texts := rapid.StringOfN(rapid.RuneFrom([]rune("abc äß漢 <>&\"'\\/{}😀")), 1, 20, -1).Filter(func(s string) bool { return strings.TrimSpace(s) != "" })
	rapid.Check(t, func(t *rapid.T) {
		c := base
		c.Events = rapid.SliceOfN(privacytest.Events(), 1, 3).Draw(t, "events")
		c.Adjacency = rapid.SampledFrom([]privacy.Adjacency{privacy.AddRemove, privacy.ReplaceOne}).Draw(t, "adjacency")
		c.Unit = privacy.Unit("user:" + texts.Draw(t, "column"))
		c.Delta = rapid.Float64Range(1e-15, 0.4).Draw(t, "delta")
		c.Method, c.Assumptions = texts.Draw(t, "method"), []string{texts.Draw(t, "assumption")}
		c.Samplers = []Sampler{SamplePoisson, SampleFixedSize, SampleAll}
		sizes := map[int64]bool{1 << 40: true}
		private := false
		for _, e := range c.Events {
			_ = privacy.Walk(e, func(n privacy.Event, _ int) error {
				switch v := n.(type) {
				case privacy.FixedSize:
					sizes[v.N] = true
				case privacy.NonPrivate:
					private = true
				}
				return nil
			})
		}
		c.Sizes = nil
		for n := range sizes {
			c.Sizes = append(c.Sizes, Size{privacy.FormatNumber(float64(n)), n})
		}
		slices.SortFunc(c.Sizes, func(a, b Size) int { return strings.Compare(a.Part, b.Part) })
		s, err := NewStatement(c, zcdpAccountant{})
		var refused *RefusedError
		if private {
			if !errors.As(err, &refused) {
				t.Fatalf("%v: %v", c.Events, err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := Sign(s, signer)
		if err != nil {
			t.Fatal(err)
		}
		o := options(signer)
		o.Evaluator = zcdpAccountant{}
		r, err := Verify(release(data), o)
		if err != nil {
			t.Fatal(err)
		}
		if !r.OK {
			t.Fatal(failing(r))
		}
		if !reflect.DeepEqual(*r.Predicate, s.Predicate()) || r.Recomputed.Upper != s.Predicate().Epsilon.Upper {
			t.Fatalf("got %+v\nwant %+v", *r.Predicate, s.Predicate())
		}
		if got, want := r.Predicate.Epsilon.Upper, mustEpsilon(t, c); math.Abs(got-want) > 1e-9*(1+want) {
			t.Fatalf("ε is %v, the events give %v", got, want)
		}
		lowered := body{statementType, s.Subjects(), PredicateType, s.Predicate()}
		lowered.Predicate.Epsilon.Upper *= rapid.Float64Range(0, 1-1e-5).Draw(t, "factor")
		if s.Predicate().Epsilon.Upper < 1e-6 {
			return
		}
		payload, err := encode(lowered)
		if err != nil {
			t.Fatal(err)
		}
		if data, err = seal(payload, signer); err != nil {
			t.Fatal(err)
		}
		if r, err = Verify(release(data), o); err != nil || !strings.HasPrefix(failing(r), "epsilon: ") {
			t.Fatalf("ε lowered from %v to %v: %q, %v", s.Predicate().Epsilon.Upper, lowered.Predicate.Epsilon.Upper, failing(r), err)
		}
	})
}

// mustEpsilon evaluates the events each by itself in canonical form.
func mustEpsilon(t *rapid.T, c Claim) float64 {
	var all privacy.Compose
	for _, e := range c.Events {
		all.Events = append(all.Events, privacy.Canonical(e))
	}
	i, err := zcdpAccountant{}.Epsilon(all, c.Adjacency, c.Delta)
	if err != nil {
		t.Fatal(err)
	}
	return i.Upper
}
