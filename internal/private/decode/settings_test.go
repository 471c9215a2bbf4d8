package decode_test

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/decode"
)

// Example shows what a text of the default method costs: an event, which package
// accountant turns into an ε.
func Example() {
	method := &decode.Clipped{
		Draw:     scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerText, Rate: 32. / 6400},
		Expected: 32, Range: 0.375, Temperature: 1, Candidates: 100,
	}
	fmt.Println(method.Check())
	fmt.Println(method.Clip(), "nats")
	fmt.Println(decode.TextEvent(method, 60))
	// Output:
	// <nil>
	// 6 nats
	// poisson(0.005, repeat(60, boundedrange(0.375)))
}

func TestSettingsComeBack(t *testing.T) {
	for name, m := range methodsOn(20) {
		if err := m.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		raw, err := json.Marshal(decode.Settings{Method: m})
		if err != nil {
			t.Fatal(err)
		}
		var back decode.Settings
		if err := json.Unmarshal(raw, &back); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
		if !reflect.DeepEqual(back.Method, m) {
			t.Errorf("%s comes back as %+v", raw, back.Method)
		}
	}
	for raw, want := range map[string]string{
		`{"method":"magic","settings":{}}`:                  "unknown method",
		`{"method":"clipped","settings":{}}`:                "unknown way to draw",
		`{"method":"gaussian","settings":{"sigma":"much"}}`: "the settings of gaussian",
		`[]`: "the settings of a method",
	} {
		var s decode.Settings
		if err := json.Unmarshal([]byte(raw), &s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, which does not say %q", raw, err, want)
		}
	}
}

func TestWrongSettings(t *testing.T) {
	all := methodsOn(20)
	gaussian := func(change func(*decode.Gaussian)) decode.Method {
		m := *all["gaussian"].(*decode.Gaussian)
		change(&m)
		return &m
	}
	noisymax := func(change func(*decode.NoisyMax)) decode.Method {
		m := *all["noisymax"].(*decode.NoisyMax)
		change(&m)
		return &m
	}
	radius := func(change func(*decode.Radius)) decode.Method {
		m := *all["radius"].(*decode.Radius)
		change(&m)
		return &m
	}
	clipped := func(change func(*decode.Clipped)) decode.Method {
		m := *all["clipped"].(*decode.Clipped)
		change(&m)
		return &m
	}
	mixing := func(change func(*decode.Mixing)) decode.Method {
		m := *all["mixing"].(*decode.Mixing)
		change(&m)
		return &m
	}
	published := func(change func(*decode.PublishedMixing)) decode.Method {
		m := *all["mixing, published"].(*decode.PublishedMixing)
		change(&m)
		return &m
	}
	for want, m := range map[string]decode.Method{
		"multiplier, not 0":         gaussian(func(g *decode.Gaussian) { g.Sigma = 0 }),
		"multiplier, not NaN":       gaussian(func(g *decode.Gaussian) { g.Sigma = math.NaN() }),
		"multiplier, not +Inf":      gaussian(func(g *decode.Gaussian) { g.Sigma = math.Inf(1) }),
		"-1 candidates":             gaussian(func(g *decode.Gaussian) { g.Candidates = -1 }),
		"unknown choice":            gaussian(func(g *decode.Gaussian) { g.Choose = "best" }),
		"number of prompts":         gaussian(func(g *decode.Gaussian) { g.Draw.Prompts, g.Draw.PerPrompt = 0, 0 }),
		"at least 1e-300, not 0":    noisymax(func(n *decode.NoisyMax) { n.Epsilon = 0 }),
		"not 5e-324":                noisymax(func(n *decode.NoisyMax) { n.Epsilon = 5e-324 }),
		"step of at least 1e-300, ": noisymax(func(n *decode.NoisyMax) { n.Epsilon = math.NaN() }),
		"among -2 candidates":       noisymax(func(n *decode.NoisyMax) { n.Candidates = -2 }),
		"needs a number of":         noisymax(func(n *decode.NoisyMax) { n.Draw.Prompts = 0 }),
		"sigma0 in (0, 1000]":       radius(func(r *decode.Radius) { r.Sigma0 = 0 }),
		"sigma1 in (0, 1000]":       radius(func(r *decode.Radius) { r.Sigma1 = 1001 }),
		"sigma2 in (0, 1000]":       radius(func(r *decode.Radius) { r.Sigma2 = math.NaN() }),
		"not negative, not -1":      radius(func(r *decode.Radius) { r.Lambda = -1 }),
		"at least one round":        radius(func(r *decode.Radius) { r.Rounds = 0 }),
		"among -3 candidates":       radius(func(r *decode.Radius) { r.Candidates = -3 }),
		"positive range":            clipped(func(c *decode.Clipped) { c.Range = 0 }),
		"positive expected":         clipped(func(c *decode.Clipped) { c.Expected = -1 }),
		"positive temperature":      clipped(func(c *decode.Clipped) { c.Temperature = math.Inf(1) }),
		"positive gain":             clipped(func(c *decode.Clipped) { c.Gain = math.NaN() }),
		"at least one candidate":    clipped(func(c *decode.Clipped) { c.Candidates = 0 }),
		"unknown centre":            clipped(func(c *decode.Clipped) { c.Centre = "middle" }),
		"a larger ε":                clipped(func(c *decode.Clipped) { c.Range = 1e-12 }),
		"positive temperature and":  &decode.Public{},
		"clipped cannot count":      clipped(func(c *decode.Clipped) { c.Expected = 1e9 }),
		"mixing needs a positive e": mixing(func(m *decode.Mixing) { m.Expected = math.NaN() }),
		"mixing needs a positive r": mixing(func(m *decode.Mixing) { m.Range = 0 }),
		"mixing needs a positive t": mixing(func(m *decode.Mixing) { m.Temperature = -1 }),
		"0 and 10000, not -1":       mixing(func(m *decode.Mixing) { m.MaxLambda = -1 }),
		"0 and 10000, not +Inf":     mixing(func(m *decode.Mixing) { m.MaxLambda = math.Inf(1) }),
		"or 0 for all, not 1":       mixing(func(m *decode.Mixing) { m.Candidates = 1 }),
		"or 0 for all, not -1":      mixing(func(m *decode.Mixing) { m.Candidates = -1 }),
		"mixing cannot count":       mixing(func(m *decode.Mixing) { m.Expected = 1e9 }),
		"fewer texts":               mixing(func(m *decode.Mixing) { m.Range = 1e-12 }),
		"unknown way to draw \"\"":  mixing(func(m *decode.Mixing) { m.Draw = scheme.Scheme{} }),
		"draws a fixed number":      published(func(m *decode.PublishedMixing) { m.Draw = all["mixing"].Scheme() }),
		"order of at least 2, not":  published(func(m *decode.PublishedMixing) { m.Order = 1 }),
		"needs a positive β":        published(func(m *decode.PublishedMixing) { m.Beta = 0 }),
		"published needs at least":  published(func(m *decode.PublishedMixing) { m.Candidates = 1 }),
		"way to draw \"dice\"":      published(func(m *decode.PublishedMixing) { m.Draw.Kind = "dice" }),
	} {
		if err := m.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, which does not say %q", m, err, want)
		}
	}
}

// TestClipHalves: where a unit exchanges a vector, C is half of what it is where a unit
// adds one, at the same range.
func TestClipHalves(t *testing.T) {
	all := methodsOn(20)
	adds, fixed := all["clipped"].(*decode.Clipped), all["clipped, fixed"].(*decode.Clipped)
	several := *adds
	several.Draw.Prompts, several.Draw.PerPrompt = 3, 2
	if step := math.Ldexp(1, -20); math.Abs(adds.Clip()/2-fixed.Clip()) > step || fixed.Clip() != several.Clip() {
		t.Errorf("C is %v for one more, %v for a fixed size and %v for several in a prompt", adds.Clip(), fixed.Clip(), several.Clip())
	}
}
