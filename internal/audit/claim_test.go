package audit

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/stat"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
)

// TestJudgeIsSeldomWrong: what is right is refuted as seldom as the confidence says. Of 100 audits at
// 90 %, 33 or more are wrong with a probability below 1e-9, and seeds are fixed. Noise that is a fifth
// too small is refuted most times.
func TestJudgeIsSeldomWrong(t *testing.T) {
	const audits, maxRefuted = 100, 32
	if p := stat.UpperTail(maxRefuted+1, audits, 0.1); p > 1e-9 {
		t.Fatalf("the test fails by chance with probability %v", p)
	}
	claim := Claim{Event: privacy.Gaussian{Sigma: 1}, Adjacency: privacy.AddRemove, Delta: 1e-5}
	wrong, found := 0, 0
	for i := range audits {
		with, without := gaussian(uint64(100+i), 2000, 1)
		v, err := Judge(with, without, claim, 0.9)
		if err != nil {
			t.Fatal(err)
		}
		if v.Refuted || v.Shaped > v.Claimed {
			wrong++
		}
		if i%10 == 0 {
			with, without = gaussian(uint64(100+i), 20_000, 0.8)
			if v, err = Judge(with, without, claim, 0.9); err != nil {
				t.Fatal(err)
			} else if v.Refuted && v.Shaped > v.Claimed {
				found++
			}
		}
	}
	if wrong > maxRefuted {
		t.Errorf("%d of %d audits refute what is right", wrong, audits)
	}
	if found < audits/10*3/4 {
		t.Errorf("too little noise is found in %d of %d audits", found, audits/10)
	}
}

// TestJudgeLooksAtTheCurve: a mechanism that keeps ε at its δ, and breaks its claim elsewhere, is refuted.
func TestJudgeLooksAtTheCurve(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	const n = 40_000
	with, without := make([]float64, n), make([]float64, n)
	e := 4.
	q := 1 / (1 + math.Exp(-e))
	for i := range n {
		// Randomised response of ε = 4, which gaussian(1) exceeds at δ = 1e-5, and not at others.
		if r.Float64() < q {
			with[i] = 1
		}
		if r.Float64() >= q {
			without[i] = 1
		}
	}
	claim := Claim{Event: privacy.Gaussian{Sigma: 1}, Adjacency: privacy.AddRemove, Delta: 1e-5}
	v, err := Judge(with, without, claim, sure)
	if err != nil {
		t.Fatal(err)
	}
	expect.Max(t, "v.Lower.Epsilon", v.Lower.Epsilon, v.Claimed)
	expect.Equal(t, "v.Refuted", v.Refuted, true)
	expect.True(t, "v.At < v.Lower.Epsilon", v.At < v.Lower.Epsilon, v.At, v.Lower)
	// What claims nothing cannot be refuted.
	v, err = Judge(with, without, Claim{Event: privacy.NonPrivate{}, Adjacency: privacy.AddRemove}, sure)
	expect.NoError(t, err)
	expect.Equal(t, "v.Refuted", v.Refuted, false)
	expect.Equal(t, "v.Claimed", v.Claimed, math.Inf(1))
}

// TestStronger: every kind of event has less noise, and draws stay.
func TestStronger(t *testing.T) {
	for from, want := range map[string]string{
		"gaussian(2)": "gaussian(1)", "laplace(2)": "laplace(1)", "pure(1)": "pure(2)", "approx(1, 0.1)": "approx(2, 0.1)",
		"boundedrange(1)": "boundedrange(2)", "rr(1, 3)": "rr(2, 3)", "zcdp(1)": "zcdp(4)", "nonprivate()": "nonprivate()",
		"repeat(3, poisson(0.5, gaussian(2)))": "repeat(3, poisson(0.5, gaussian(1)))",
		"fixedsize(4, 2, pure(1))":             "fixedsize(4, 2, pure(2))",
		"parallel(pure(1), laplace(2))":        "parallel(pure(2), laplace(1))",
		"compose(pure(1), gaussian(2))":        "compose(pure(2), gaussian(1))",
	} {
		t.Run(from, func(t *testing.T) {
			e, err := privacy.Parse(from)
			if err != nil {
				t.Fatal(err)
			}
			if got := Stronger(e, 2).String(); strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(want, " ", "") {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}
