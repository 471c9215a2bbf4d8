package plot

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// Ranking is values of many things below each other, where a line for each would be too
// many.
type Ranking struct {
	// Title is for those who have it read to them.
	Title string
	// X is the axis of the values.
	X    Axis
	Rows []RankRow
}

// RankRow is one of them. Others are values from elsewhere, drawn as outlines.
type RankRow struct {
	Name           string
	Look           int
	Low, Value, Up float64
	Others         []float64
}

// Measures of rankings, in SVG user units.
const (
	rankHeight = 20.0
	rankWidth  = 560.0
	rankTop    = 12.0
)

func (r Ranking) check() error {
	if len(r.Rows) == 0 {
		return errors.New("plot: a ranking needs a row")
	}
	if r.X.Ends || r.X.Log {
		return errors.New("plot: a ranking has a linear axis")
	}
	for _, row := range r.Rows {
		for _, v := range append([]float64{row.Low, row.Value, row.Up}, row.Others...) {
			if err := r.X.check(v); err != nil {
				return fmt.Errorf("plot: %q: %w", row.Name, err)
			}
		}
		if row.Low > row.Value || row.Value > row.Up {
			return fmt.Errorf("plot: %q: the value %v is not between %v and %v", row.Name, row.Value, row.Low, row.Up)
		}
	}
	return nil
}

// WriteFragment draws the ranking as [Figure.WriteFragment] does a figure.
func (r Ranking) WriteFragment(w io.Writer) error {
	if err := r.check(); err != nil {
		return err
	}
	names := 0.0
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, row := range r.Rows {
		names = math.Max(names, textWidth(shorten(row.Name, 2*labelRunes)))
		for _, v := range append([]float64{row.Low, row.Up}, row.Others...) {
			lo, hi = math.Min(lo, v), math.Max(hi, v)
		}
	}
	lo, hi = r.X.fit(lo, hi)
	left := math.Max(names+16, 40) // room for the first tick too
	width := math.Ceil(left + rankWidth + 30)
	bottom := rankTop + rankHeight*float64(len(r.Rows))
	xs := newScale(false, lo, hi, left, left+rankWidth, false)

	d := &drawing{}
	(&Figure{Title: r.Title}).open(d, width, bottom+padBottom)
	for _, t := range xs.ticks {
		d.add(`<line class="grid" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, xs.at(t), rankTop, xs.at(t), bottom)
		d.text(xs.at(t), bottom+16, "muted", "middle", xs.label(t))
	}
	d.add(`<path class="frame" d="M%.1f %.1fV%.1fH%.1f"/>`, left, rankTop, bottom, left+rankWidth)
	d.text(left+rankWidth/2, bottom+36, "", "middle", r.X.Label)
	for i, row := range r.Rows {
		row.draw(d, xs, left-8, rankTop+rankHeight*(float64(i)+0.5))
	}
	d.add(`</svg>`)
	_, err := io.WriteString(w, d.String())
	return err
}

func (r RankRow) draw(d *drawing, xs scale, edge, y float64) {
	d.text(edge, y+4, "", "end", shorten(r.Name, 2*labelRunes))
	d.add(`<g class="look%d">`, look(r.Look))
	if r.Low < r.Up {
		d.add(`<path class="bar" d="M%.1f %.1fH%.1fM%.1f %.1fv6M%.1f %.1fv6"/>`, xs.at(r.Low), y, xs.at(r.Up), xs.at(r.Low), y-3, xs.at(r.Up), y-3)
	}
	d.shape(look(r.Look), xs.at(r.Value), y)
	d.add(`</g>`)
	if len(r.Others) == 0 {
		return
	}
	var marks strings.Builder
	for _, v := range r.Others {
		fmt.Fprintf(&marks, "M%.1f %.1fl4.5 4.5l-4.5 4.5l-4.5 -4.5Z", xs.at(v), y-4.5)
	}
	d.add(`<path class="other" d="%s"/>`, marks.String())
}
