package plot

import (
	"fmt"
	"strings"
)

// light and dark are the colours of looks on white and on near-black: those of Okabe and
// Ito, which people with any of the common colour deficiencies tell apart, made darker or
// lighter where the ground asks for it.
var (
	light = [Looks]string{"#0072b2", "#c25300", "#00805f", "#a8458a", "#8a6200", "#2b8bc6", "#4b5563", "#6b3fa0"}
	dark  = [Looks]string{"#5ab4ec", "#ff9147", "#3ccf9f", "#ee9fd0", "#f0b93f", "#a9dcff", "#b3bdca", "#c6a3f2"}
)

const seriesRules = `
.join { stroke: currentColor; stroke-width: 2; fill: none; stroke-linejoin: round }
.bar { stroke: currentColor; stroke-width: 1.2; fill: none; stroke-opacity: 0.75 }
.dot { fill: currentColor; stroke: %s; stroke-width: 1 }
.hollow .dot { fill: %s; stroke: currentColor; stroke-width: 1.6 }
.level { stroke: currentColor; stroke-width: 1.5; stroke-dasharray: 6 4 }
.lead { stroke: currentColor; stroke-width: 0.8; stroke-opacity: 0.6; fill: none }
.name { fill: currentColor }
.other { fill: none; stroke: %s; stroke-width: 1.2 }
`

func lookRules(colours [Looks]string) string {
	var b strings.Builder
	for i, c := range colours {
		fmt.Fprintf(&b, ".look%d { color: %s }\n", i, c)
	}
	return b.String()
}

// seriesStyle is empty for a figure that has no series.
func (f *Figure) seriesStyle() string {
	for i := range f.Panels {
		if p := &f.Panels[i]; len(p.Series)+len(p.Levels) > 0 {
			return fmt.Sprintf(seriesRules, "#ffffff", "#ffffff", "#5b6472") + lookRules(light)
		}
	}
	return ""
}

// PageStyle is the style sheet of fragments. A page sets the variables --ink, --soft,
// --line and --paper, and shows figures in elements of class "figure".
func PageStyle() string {
	return `.figure text { font-size: 12px; fill: var(--ink) }
.figure .muted { fill: var(--soft) }
.figure .panel { font-size: 13px; font-weight: 600 }
.grid { stroke: var(--line); stroke-width: 1 }
.frame { stroke: var(--soft); stroke-width: 1; fill: none }
.guide { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 2 4; stroke-opacity: 0.7 }` +
		strings.ReplaceAll(fmt.Sprintf(seriesRules, "var(--paper)", "var(--paper)", "var(--soft)"), ".name {", ".figure .name {") +
		lookRules(light) +
		"@media (prefers-color-scheme: dark) {\n" + lookRules(dark) + "}\n" +
		"@media print {\n" + lookRules(light) + "}\n"
}
