package scheme_test

import (
	"math"
	"testing"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/certificate"
)

func TestEvents(t *testing.T) {
	step := privacy.Gaussian{Sigma: 2}
	for _, c := range []struct {
		drawn           scheme.Scheme
		text, two       string
		adjacency       privacy.Adjacency
		expectedOf10000 float64
	}{
		{
			scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerToken, Rate: 0.002},
			"repeat(7, poisson(0.002, gaussian(2)))", "repeat(2, repeat(7, poisson(0.002, gaussian(2))))", privacy.AddRemove, 20,
		},
		{
			scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerText, Rate: 0.002},
			"poisson(0.002, repeat(7, gaussian(2)))", "repeat(2, poisson(0.002, repeat(7, gaussian(2))))", privacy.AddRemove, 20,
		},
		{
			scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerToken, Take: 20, Of: 10000},
			"repeat(7, fixedsize(10000, 20, gaussian(2)))", "repeat(2, repeat(7, fixedsize(10000, 20, gaussian(2))))", privacy.ReplaceOne, 20,
		},
		{
			scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerText, Take: 20, Of: 10000},
			"fixedsize(10000, 20, repeat(7, gaussian(2)))", "repeat(2, fixedsize(10000, 20, repeat(7, gaussian(2))))", privacy.ReplaceOne, 20,
		},
		{
			// A unit is in one batch: a second text costs it nothing.
			scheme.Scheme{Kind: scheme.Disjoint, Per: scheme.PerText, Batches: 500},
			"repeat(7, gaussian(2))", "repeat(7, gaussian(2))", privacy.AddRemove, 20,
		},
	} {
		text := c.drawn.Event(step, 7)
		if !same(t, text, c.text) {
			t.Errorf("%+v: a text costs %v, not %s", c.drawn, text, c.text)
		}
		if two := c.drawn.Texts(text, 2); !same(t, two, c.two) {
			t.Errorf("%+v: two texts cost %v, not %s", c.drawn, two, c.two)
		}
		if got := c.drawn.Adjacency(); got != c.adjacency {
			t.Errorf("%+v is about %s", c.drawn, got)
		}
		if got := c.drawn.Expected(10000); math.Abs(got-c.expectedOf10000) > 1e-9 {
			t.Errorf("%+v expects %v", c.drawn, got)
		}
	}
}

func same(t *testing.T, e privacy.Event, expr string) bool {
	t.Helper()
	want, err := privacy.Parse(expr)
	if err != nil {
		t.Fatal(err)
	}
	return privacy.Canonical(e).String() == privacy.Canonical(want).String()
}

// TestCertificatesNameSchemes: certificates call samplers as schemes do.
func TestCertificatesNameSchemes(t *testing.T) {
	for kind, sampler := range map[scheme.Kind]certificate.Sampler{
		scheme.Poisson: certificate.SamplePoisson, scheme.FixedSize: certificate.SampleFixedSize, scheme.Disjoint: certificate.SampleDisjoint,
	} {
		t.Run(string(kind), func(t *testing.T) {
			if certificate.Sampler(kind) != sampler {
				t.Errorf("certificates call %s %s", kind, sampler)
			}
		})
	}
}
