package plot

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"math"
	"os"
	"strings"
	"unicode/utf8"
)

// Measures in SVG user units.
const (
	panelWidth  = 460.0
	panelHeight = 300.0
	padLeft     = 66.0
	padRight    = 18.0
	padTop      = 34.0
	padBottom   = 50.0
	headHeight  = 62.0
	noteHeight  = 18.0
	titleSize   = 14.0
	fixedWidth  = 0.602 // of a character of the fixed-width face, in font sizes
)

// colours of the lines, in order; they differ in lightness too.
var colours = []string{"#1d5fa6", "#b4540a", "#2f7d4f", "#7a3e9d"}

const style = `
text { font-family: -apple-system, "Segoe UI", "Helvetica Neue", "DejaVu Sans", Arial, sans-serif; font-size: 12px; fill: #1f2937 }
.title { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: 14px; font-weight: 600 }
.muted { fill: #5b6472 }
.panel { font-size: 13px; font-weight: 600 }
.grid { stroke: #e3e6ea; stroke-width: 1 }
.frame { stroke: #8b94a1; stroke-width: 1; fill: none }
.line { stroke-width: 2; fill: none; stroke-linejoin: round; stroke-linecap: round }
.band { stroke: none; fill-opacity: 0.2 }
.mark { paint-order: stroke; stroke: #ffffff; stroke-width: 4px; stroke-linejoin: round }
.guide { stroke: #8b94a1; stroke-width: 1; stroke-dasharray: 3 3 }
`

// drawing collects elements.
type drawing struct{ strings.Builder }

func (d *drawing) add(format string, args ...any) {
	fmt.Fprintf(d, format, args...)
	d.WriteByte('\n')
}

func (d *drawing) text(x, y float64, class, anchor, s string) {
	d.add(`<text x="%.1f" y="%.1f" class="%s" text-anchor="%s">%s</text>`, x, y, class, anchor, escape(s))
}

// escape makes any text fit to stand in a document; what XML has no place for is replaced.
func escape(s string) string {
	return html.EscapeString(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xfffe || r == 0xffff {
			return utf8.RuneError
		}
		return r
	}, s))
}

// WriteSVG draws the figure.
func (f Figure) WriteSVG(w io.Writer) error {
	if err := f.check(); err != nil {
		return err
	}
	width := f.width()
	height := headHeight + panelHeight + noteHeight*float64(len(f.Notes)) + 10
	d := &drawing{}
	f.open(d, width, height)
	d.add(`<style>%s%s</style>`, style, f.seriesStyle())
	d.add(`<rect width="%.0f" height="%.0f" fill="#ffffff"/>`, width, height)
	d.text(18, 26, "title", "start", shorten(f.Title, int((width-36)/(titleSize*fixedWidth))))
	d.text(18, 46, "muted", "start", f.Subtitle)
	f.body(d, headHeight)
	_, err := io.WriteString(w, d.String())
	return err
}

// WriteFragment draws the figure for a page that has [PageStyle] in it: no background, no
// heading, and colours that go with the page's scheme. The title is kept for those who
// have it read to them.
func (f Figure) WriteFragment(w io.Writer) error {
	if err := f.check(); err != nil {
		return err
	}
	d := &drawing{}
	f.open(d, f.width(), panelHeight+noteHeight*float64(len(f.Notes))+10)
	f.body(d, 0)
	_, err := io.WriteString(w, d.String())
	return err
}

func (f *Figure) width() float64 {
	width := 0.0
	for i := range f.Panels {
		width += f.Panels[i].width()
	}
	return math.Ceil(width)
}

func (f *Figure) open(d *drawing, width, height float64) {
	d.add(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img">`, width, height, width, height)
	d.add(`<title>%s</title>`, escape(f.Title))
	d.add(`<desc>%s</desc>`, escape(strings.Join(append([]string{f.Title, f.Subtitle}, f.Notes...), "\n")))
}

func (f *Figure) body(d *drawing, top float64) {
	left := 0.0
	for i := range f.Panels {
		f.Panels[i].draw(d, left, top)
		left += f.Panels[i].width()
	}
	for i, n := range f.Notes {
		d.text(18, top+panelHeight+noteHeight*float64(i+1)-6, "muted", "start", n)
	}
	d.add(`</svg>`)
}

// shorten cuts the middle out of a text of more than n characters.
func shorten(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	head := (n - 3) * 2 / 3
	return string(r[:head]) + " … " + string(r[len(r)-(n-3-head):])
}

// draw lays a panel out with its upper left corner at (left, top).
func (p *Panel) draw(d *drawing, left, top float64) {
	x0, x1 := left+padLeft, left+p.width()-p.labelRoom()
	y0, y1 := top+panelHeight-padBottom, top+padTop
	xs, ys := p.across(x0, x1), p.up(y0, y1)

	d.text(x0, top+18, "panel", "start", p.Title)
	p.drawTicks(d, xs, y0, y1)
	for _, t := range ys.ticks {
		d.add(`<line class="grid" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, x0, ys.at(t), x1, ys.at(t))
		d.text(x0-8, ys.at(t)+4, "muted", "end", ys.label(t))
	}
	d.add(`<path class="frame" d="M%.1f %.1fV%.1fH%.1f"/>`, x0, y1, y0, x1)
	d.text((x0+x1)/2, y0+38, "", "middle", p.X.Label)
	d.add(`<text transform="translate(%.1f %.1f) rotate(-90)" text-anchor="middle">%s</text>`, left+16, (y0+y1)/2, escape(p.Y.Label))

	for i, l := range p.Lines {
		l.draw(d, xs, ys, colours[i%len(colours)])
	}
	for _, m := range p.Marks {
		m.draw(d, xs, ys, p.rising())
	}
	p.drawSeries(d, xs, ys)
	p.legend(d, x1, top+18)
}

// width of the panel: names beside the frame take none of it away.
func (p *Panel) width() float64 {
	return panelWidth + p.labelRoom() - padRight
}

// drawTicks labels the horizontal axis, 0 and ∞ beyond a broken line each.
func (p *Panel) drawTicks(d *drawing, xs scale, y0, y1 float64) {
	for _, t := range xs.ticks {
		d.add(`<line class="grid" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, xs.at(t), y0, xs.at(t), y1)
		d.text(xs.at(t), y0+18, "muted", "middle", xs.label(t))
	}
	zero, infinity := p.ends()
	end := func(at, edge float64, name string) {
		d.add(`<line class="guide" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, edge, y0, edge, y1)
		d.text(at, y0+18, "muted", "middle", name)
	}
	if zero {
		end(xs.zero, xs.left+endWidth, "0")
	}
	if infinity {
		end(xs.infinity, xs.right-endWidth, "∞")
	}
}

func (l Line) draw(d *drawing, xs, ys scale, colour string) {
	var upper, lower strings.Builder
	banded := false
	for i, pt := range l.Points {
		op := "L"
		if i == 0 {
			op = "M"
		}
		fmt.Fprintf(&upper, "%s%.2f %.2f", op, xs.at(pt.X), ys.at(pt.Y))
		banded = banded || pt.Low < pt.Y
	}
	if banded {
		for i := len(l.Points) - 1; i >= 0; i-- {
			fmt.Fprintf(&lower, "L%.2f %.2f", xs.at(l.Points[i].X), ys.at(l.Points[i].Low))
		}
		d.add(`<path class="band" fill="%s" d="%s%sZ"/>`, colour, upper.String(), lower.String())
	}
	d.add(`<path class="line" stroke="%s" d="%s"/>`, colour, upper.String())
}

// draw puts the text of a mark on the side that the line leaves free.
func (m Mark) draw(d *drawing, xs, ys scale, rising bool) {
	x, y, floor := xs.at(m.X), ys.at(m.Y), ys.from
	d.add(`<line class="guide" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, x, y, x, floor)
	d.add(`<line class="guide" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, xs.from, y, x, y)
	d.add(`<circle cx="%.1f" cy="%.1f" r="4" fill="#ffffff" stroke="%s" stroke-width="2"/>`, x, y, colours[0])
	const above, below = -9.0, 18.0
	anchor, dx, dy := "start", 9.0, above
	if rising && y+below < floor-4 {
		dy = below
	}
	if x > xs.from+(xs.to-xs.from)*0.72 {
		anchor, dx, dy = "end", -9, above
		if !rising && y+below < floor-4 {
			dy = below
		}
	}
	d.text(x+dx, y+dy, "mark", anchor, m.Text)
}

// legend names the lines, from the right edge to the left.
func (p *Panel) legend(d *drawing, right, y float64) {
	for i := len(p.Lines) - 1; i >= 0; i-- {
		name := p.Lines[i].Name
		if name == "" {
			continue
		}
		d.text(right, y, "muted", "end", name)
		right -= float64(utf8.RuneCountInString(name))*6.6 + 8
		d.add(`<line class="line" stroke="%s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, colours[i%len(colours)], right-18, y-4, right, y-4)
		right -= 30
	}
}

// Save writes the figure to a file.
func (f Figure) Save(path string) error {
	var svg bytes.Buffer
	if err := f.WriteSVG(&svg); err != nil {
		return err
	}
	if err := os.WriteFile(path, svg.Bytes(), 0o644); err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	return nil
}

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
			return fmt.Sprintf(seriesRules, "#ffffff", "#ffffff") + lookRules(light)
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
		strings.ReplaceAll(fmt.Sprintf(seriesRules, "var(--paper)", "var(--paper)"), ".name {", ".figure .name {") +
		lookRules(light) +
		"@media (prefers-color-scheme: dark) {\n" + lookRules(dark) + "}\n" +
		"@media print {\n" + lookRules(light) + "}\n"
}
