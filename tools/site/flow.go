package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var (
	flowNode = regexp.MustCompile(`^(\w+)\["(.*)"\]$`)
	flowEdge = regexp.MustCompile(`^(\w+) --> (\w+)$`)
)

// box is a node of a flowchart: what it says, the row it stands in, and where.
type box struct {
	id    string
	lines []string
	row   int
	x, y  float64
	to    []*box
	from  []*box
}

// flowchart draws a Mermaid flowchart from the top down as SVG, where it has nodes and arrows alone:
// each box a row below all that lead to it.
func flowchart(source string) (string, error) {
	boxes, err := parseFlow(source)
	if err != nil {
		return "", err
	}
	rows, err := layers(boxes)
	if err != nil {
		return "", err
	}
	const width, wide, high, gap = 920.0, 212.0, 62.0, 44.0
	for y, row := range rows {
		// Boxes stand near those that lead to them.
		if y > 0 {
			slices.SortStableFunc(row, func(a, b *box) int { return int(100 * (centre(a) - centre(b))) })
		}
		for i, b := range row {
			b.x = width * (float64(i) + 0.5) / float64(len(row))
			b.y = float64(y) * (high + gap)
		}
	}
	var out strings.Builder
	fmt.Fprintf(&out, `<svg class="flow" viewBox="0 -4 %g %g" role="img" aria-label="Flowchart">`, width, float64(len(rows))*(high+gap)-gap+8)
	for _, b := range boxes {
		for _, c := range b.to {
			from, to := b.y+high, c.y
			fmt.Fprintf(&out, `<path d="M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f"/>`, b.x, from, b.x, from+gap*.9, c.x, to-gap*.9, c.x, to)
		}
	}
	for _, b := range boxes {
		w := max(wide, 9.2*float64(len(b.lines[0])))
		fmt.Fprintf(&out, `<rect x="%.0f" y="%.0f" width="%.0f" height="%.0f" rx="7"/>`, b.x-w/2, b.y, w, high)
		for i, line := range b.lines {
			class := ""
			if i > 0 {
				class = ` class="note"`
			}
			fmt.Fprintf(&out, `<text%s x="%.0f" y="%.0f" text-anchor="middle">%s</text>`, class, b.x, b.y+22+float64(i)*15, escape(line))
		}
	}
	out.WriteString("</svg>")
	return out.String(), nil
}

// parseFlow reads nodes and arrows.
func parseFlow(source string) ([]*box, error) {
	var boxes []*box
	known := map[string]*box{}
	for line := range strings.Lines(source) {
		switch line = strings.TrimSpace(line); {
		case line == "", strings.HasPrefix(line, "flowchart TD"):
		case flowNode.MatchString(line):
			m := flowNode.FindStringSubmatch(line)
			title, note, _ := strings.Cut(m[2], "<br>")
			b := &box{id: m[1], lines: append([]string{title}, wrap(note, 34)...)}
			boxes, known[b.id] = append(boxes, b), b
		case flowEdge.MatchString(line):
			m := flowEdge.FindStringSubmatch(line)
			from, to := known[m[1]], known[m[2]]
			if from == nil || to == nil {
				return nil, fmt.Errorf("%q names a box that is not there", line)
			}
			from.to, to.from = append(from.to, to), append(to.from, from)
		default:
			return nil, fmt.Errorf("%q is not understood", line)
		}
	}
	return boxes, nil
}

// layers puts each box below those that lead to it.
func layers(boxes []*box) ([][]*box, error) {
	for range boxes {
		changed := false
		for _, b := range boxes {
			for _, c := range b.to {
				if c.row <= b.row {
					c.row, changed = b.row+1, true
				}
			}
		}
		if !changed {
			var rows [][]*box
			for _, b := range boxes {
				for len(rows) <= b.row {
					rows = append(rows, nil)
				}
				rows[b.row] = append(rows[b.row], b)
			}
			return rows, nil
		}
	}
	return nil, errors.New("arrows go round in a circle")
}

// centre is the mean place of the boxes that lead to one.
func centre(b *box) float64 {
	sum := 0.0
	for _, a := range b.from {
		sum += a.x
	}
	return sum / float64(max(1, len(b.from)))
}

// wrap breaks a text into lines, two at most.
func wrap(s string, width int) []string {
	var lines []string
	at := ""
	for _, word := range strings.Fields(s) {
		if at != "" && len([]rune(at+" "+word)) > width && len(lines) == 0 {
			lines, at = append(lines, at), ""
		}
		at = strings.TrimSpace(at + " " + word)
	}
	if at != "" {
		lines = append(lines, at)
	}
	return lines
}
