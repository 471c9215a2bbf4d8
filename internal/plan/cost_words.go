package plan

import (
	"fmt"
	"math"
	"strconv"

	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/scheme"
)

// Noise says what protects records in a step: noise, or how far one may move a score. A
// span stands for parts with different settings.
func (p Plan) Noise() string {
	if p.Choose != nil {
		return "c = " + short(p.Choose.Range) + " a round"
	}
	switch p.Parts[0].Method.Method.(type) {
	case *decode.Clipped:
		return "C = " + p.span(func(m decode.Method) float64 { return m.(*decode.Clipped).Clip() }) +
			", c = " + p.span(func(m decode.Method) float64 { return m.(*decode.Clipped).Range })
	case *decode.Mixing:
		return "W = " + p.span(func(m decode.Method) float64 { return m.(*decode.Mixing).Width() }) +
			", c = " + p.span(func(m decode.Method) float64 { return m.(*decode.Mixing).Range })
	case *decode.MixingPublished:
		return "β = " + p.span(func(m decode.Method) float64 { return m.(*decode.MixingPublished).Beta }) + ", claimed"
	case *decode.Gaussian:
		return "σ = " + p.span(func(m decode.Method) float64 { return m.(*decode.Gaussian).Sigma })
	case *decode.NoisyMax:
		return "ε = " + p.span(func(m decode.Method) float64 { return m.(*decode.NoisyMax).Epsilon }) + " a token"
	case *decode.Radius:
		return "σ₁ = " + p.span(func(m decode.Method) float64 { return m.(*decode.Radius).Sigma1 })
	}
	return "none"
}

// span prints the least and the largest value over the parts.
func (p Plan) span(of func(decode.Method) float64) string {
	low, high := math.Inf(1), math.Inf(-1)
	for _, part := range p.Parts {
		v := of(part.Method.Method)
		low, high = math.Min(low, v), math.Max(high, v)
	}
	a, b := short(low), short(high)
	if a == b {
		return a
	}
	return a + "–" + b
}

func short(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }

// Draws says how many records are drawn, and how often.
func (p Plan) Draws() string {
	if c := p.Choose; c != nil {
		return fmt.Sprintf("%d × %.0f", c.Rounds, c.Draw.Expected(p.Units()))
	}
	sampling := p.Parts[0].Method.Scheme()
	if sampling.Kind == "" {
		return "nobody"
	}
	low, high := math.Inf(1), 0.0
	for _, part := range p.Parts {
		n := math.Round(part.Method.Scheme().Expected(part.Size))
		low, high = math.Min(low, n), math.Max(high, n)
	}
	records := fmt.Sprintf("%.0f", low)
	switch {
	case low != high:
		records = fmt.Sprintf("%.0f–%.0f", low, high)
	case sampling.Prompts > 0 && math.Mod(low, float64(sampling.Prompts)) == 0:
		records = fmt.Sprintf("%d × %.0f", sampling.Prompts, low/float64(sampling.Prompts))
	}
	if sampling.Per == scheme.PerToken {
		return records + " a token"
	}
	return records + " a text"
}
