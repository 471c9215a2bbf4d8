package plan

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/method/scheme"
)

// Noise says what protects records in a step: noise, or how far one may move a score. A
// span stands for parts with different settings.
func (p Plan) Noise() string {
	if p.Learns() {
		return fmt.Sprintf("σ = %s, %s", short(p.Evidence.Sigma), counted(int(p.Evidence.Sums.Sums), "sum"))
	}
	if p.Choose != nil {
		return "c = " + short(p.Choose.Range) + " a round"
	}
	var all [][]method.Amount
	for _, part := range p.Parts {
		all = append(all, part.Method.Amounts())
	}
	return spans(all)
}

// spans prints numbers: the least and the largest that parts have.
func spans(parts [][]method.Amount) string {
	if len(parts[0]) == 0 {
		return "none"
	}
	var out []string
	for i, first := range parts[0] {
		low, high := first.Value, first.Value
		for _, part := range parts {
			low, high = math.Min(low, part[i].Value), math.Max(high, part[i].Value)
		}
		span := short(low)
		if short(high) != span {
			span += "–" + short(high)
		}
		out = append(out, first.Symbol+" = "+span+first.After)
	}
	return strings.Join(out, ", ")
}

func short(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }

// Draws says how many records are drawn, and how often.
func (p Plan) Draws() string {
	if p.Learns() {
		return "all records, added up"
	}
	if c := p.Choose; c != nil {
		said := fmt.Sprintf("%d × %.0f", c.Rounds, c.Draw.Expected(p.Units()))
		if c.Last != nil {
			said += fmt.Sprintf(" + %.0f", c.Last.Draw.Expected(p.Units()))
		}
		return said
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
