package plot

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// measured is a figure like those of reports.
func measured() Figure {
	at := func(x, y float64) Estimate { return Estimate{x, y - 2, y, y + 3} }
	return Figure{
		Title: "accuracy & <cost>",
		Panels: []Panel{{
			Title:  "accuracy against ε",
			X:      Axis{Label: "ε", Log: true, Ends: true, Fit: true, Ticks: []float64{0.1, 1, 8}},
			Y:      Axis{Label: "accuracy, %", Fit: true, Max: 100},
			Levels: []Level{{Name: "zero", Look: 6, Y: 49}, {Name: "real", Look: 7, Y: 64}},
			Series: []Series{
				{Name: "clipped", Look: 0, Points: []Estimate{at(0.1, 60), at(1, 63), at(8, 65)}},
				{Name: "gaussian", Look: 1, Points: []Estimate{at(0, 58), at(0.1, 59), at(1, 62), at(8, 63.9), at(math.Inf(1), 64.5)}},
				{Look: 1, Hollow: true, Apart: true, Points: []Estimate{at(8, 50), at(1, 51)}},
			},
		}},
		Notes: []string{"bars are intervals"},
	}
}

func TestSeriesGolden(t *testing.T) {
	for name, write := range map[string]func(io.Writer) error{
		"series.svg":          measured().WriteSVG,
		"series-fragment.svg": measured().WriteFragment,
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", name)
			if *rewrite {
				if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if b.String() != string(want) {
				t.Errorf("%s changed; look at it after go test ./internal/plot -rewrite", name)
			}
		})
	}
}

func TestSeriesElements(t *testing.T) {
	n := elements(t, draw(t, measured()))
	// A dot for each of ten points, two in labels; a level for each of two, and two in labels.
	for name, want := range map[string]int{".bar": 10, ".dot": 12, ".level": 4, ".name": 4, ".join": 2, ".guide": 2} {
		t.Run(name, func(t *testing.T) {
			if n[name] != want {
				t.Errorf("%d of %s, want %d", n[name], name, want)
			}
		})
	}
	var b strings.Builder
	if err := measured().WriteFragment(&b); err != nil {
		t.Fatal(err)
	}
	f := elements(t, b.String())
	expect.Equal(t, "f[\"style\"]", f["style"], 0)
	expect.Equal(t, "f[\"rect\"]", f["rect"], 0)
	expect.Equal(t, "f[\"title\"]", f["title"], 1)
	for _, look := range []string{".look0 ", ".look7 ", "prefers-color-scheme: dark", "--paper"} {
		if !strings.Contains(PageStyle(), look) {
			t.Errorf("the page's style has no %q", look)
		}
	}
}

func TestSeriesRefused(t *testing.T) {
	for name, spoil := range map[string]func(*Panel){
		"no point":          func(p *Panel) { p.Series[0].Points = nil },
		"not a number":      func(p *Panel) { p.Series[0].Points[1].Low = math.NaN() },
		"outside its bar":   func(p *Panel) { p.Series[0].Points[1].High = 0 },
		"not in order":      func(p *Panel) { p.Series[0].Points[0].X = 9 },
		"0 without a place": func(p *Panel) { p.X.Ends = false },
		"ends of linear":    func(p *Panel) { p.X.Log = false },
		"vertical ends":     func(p *Panel) { p.Y.Ends = true },
		"infinite level":    func(p *Panel) { p.Levels[0].Y = math.Inf(1) },
		"nothing":           func(p *Panel) { p.Series, p.Levels = nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			f := measured()
			spoil(&f.Panels[0])
			if err := f.WriteSVG(io.Discard); err == nil {
				t.Error("drawn")
			}
		})
	}
}

// TestLabelsKeepApart: labels lie within the frame, in order, as far apart as there is
// room for, and a label that has room stays where it belongs.
func TestLabelsKeepApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		heights := rapid.SliceOfN(rapid.Float64Range(10, 200), 1, 25).Draw(t, "heights")
		var labels []label
		for _, h := range heights {
			labels = append(labels, label{from: h})
		}
		for i := 1; i < len(labels); i++ { // sorted, as drawLabels does
			for j := i; j > 0 && labels[j].from < labels[j-1].from; j-- {
				labels[j], labels[j-1] = labels[j-1], labels[j]
			}
		}
		spread(labels, 10, 200)
		room := math.Min(labelGap, 190/math.Max(1, float64(len(labels)-1)))
		for i, l := range labels {
			if l.at < 10-1e-9 || l.at > 200+1e-9 {
				t.Fatalf("label at %v", l.at)
			}
			if i > 0 && l.at-labels[i-1].at < room-1e-9 {
				t.Fatalf("labels %v and %v", labels[i-1].at, l.at)
			}
		}
		if len(labels) == 1 && labels[0].at != labels[0].from {
			t.Fatal("a single label moved")
		}
	})
}

// TestWithinTheViewBox: whatever is measured, all of it is drawn on the sheet.
func TestWithinTheViewBox(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Panel{
			X: Axis{Label: "ε", Log: true, Ends: true, Fit: rapid.Bool().Draw(t, "fit")},
			Y: Axis{Label: "accuracy", Fit: rapid.Bool().Draw(t, "fit y"), Max: 100},
		}
		for i := range rapid.IntRange(0, 9).Draw(t, "series") {
			s := Series{Name: rapid.StringN(0, 60, -1).Draw(t, "name"), Look: rapid.IntRange(-3, 20).Draw(t, "look"), Apart: true}
			for range rapid.IntRange(1, 6).Draw(t, "points") {
				x := rapid.OneOf(rapid.Just(0.0), rapid.Just(math.Inf(1)), rapid.Float64Range(1e-4, 1e4)).Draw(t, "x")
				y := rapid.Float64Range(0, 100).Draw(t, "y")
				s.Points = append(s.Points, Estimate{x, y * rapid.Float64Range(0, 1).Draw(t, "low"), y, y + (100-y)*rapid.Float64Range(0, 1).Draw(t, "high")})
			}
			p.Series = append(p.Series, s)
			if i%3 == 0 {
				p.Levels = append(p.Levels, Level{Name: fmt.Sprint("level ", i), Look: i, Y: rapid.Float64Range(0, 100).Draw(t, "level")})
			}
		}
		p.Levels = append(p.Levels, Level{Name: "always", Y: 50})
		var b strings.Builder
		if err := (Figure{Panels: []Panel{p, p}}).WriteFragment(&b); err != nil {
			t.Fatal(err)
		}
		if err := within(b.String()); err != nil {
			t.Fatal(err)
		}
	})
}

var number = regexp.MustCompile(`-?[0-9]+(\.[0-9]+)?`)

// within checks the ends of all lines, the points and the estimated extent of texts.
func within(svg string) error {
	d := xml.NewDecoder(strings.NewReader(svg))
	var width, height float64
	text := [4]float64{} // x, y, anchor, whether one is open
	inside := func(x, y float64) error {
		if !(x >= -0.5 && x <= width+0.5 && y >= -0.5 && y <= height+0.5) {
			return fmt.Errorf("(%v, %v) is not within %v × %v", x, y, width, height)
		}
		return nil
	}
	for {
		token, err := d.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		switch e := token.(type) {
		case xml.StartElement:
			a := map[string]float64{}
			for _, attr := range e.Attr {
				a[attr.Name.Local], _ = strconv.ParseFloat(attr.Value, 64)
				if attr.Name.Local == "text-anchor" {
					a["anchor"] = map[string]float64{"middle": 0.5, "end": 1}[attr.Value]
				}
				if attr.Name.Local == "d" { // absolute begin of a path
					xy := number.FindAllString(attr.Value, 2)
					a["x"], _ = strconv.ParseFloat(xy[0], 64)
					a["y"], _ = strconv.ParseFloat(xy[1], 64)
				}
			}
			switch e.Name.Local {
			case "svg":
				width, height = a["width"], a["height"]
			case "line":
				if err := inside(a["x1"], a["y1"]); err != nil {
					return err
				}
				if err := inside(a["x2"], a["y2"]); err != nil {
					return err
				}
			case "circle":
				if err := inside(a["cx"], a["cy"]); err != nil {
					return err
				}
			case "path":
				if err := inside(a["x"], a["y"]); err != nil {
					return err
				}
			case "text":
				text = [4]float64{a["x"], a["y"], a["anchor"], 1}
			}
		case xml.CharData:
			if text[3] == 0 || text[0] == 0 { // the vertical label is placed by a transform
				break
			}
			w := textWidth(string(e)) * 0.85
			if err := inside(text[0]-w*text[2], text[1]); err != nil {
				return fmt.Errorf("%q: %w", e, err)
			}
			if err := inside(text[0]+w*(1-text[2]), text[1]); err != nil {
				return fmt.Errorf("%q: %w", e, err)
			}
		case xml.EndElement:
			text[3] = 0
		}
	}
}

// TestTicksFarFromZero: values that differ by little compared with their size have an
// axis too.
func TestTicksFarFromZero(t *testing.T) {
	for _, span := range []float64{1e-9, 1e-8, 1e-7, 1e-6} {
		if n := len(newScale(false, 1e9, 1e9+span, 0, 1, false).ticks); n < 2 || n > 12 {
			t.Errorf("%d ticks for a span of %v", n, span)
		}
	}
}

// TestNamesOfOutlines: two series of a look are told apart beside the frame as within it.
func TestNamesOfOutlines(t *testing.T) {
	at := []Estimate{{1, 2, 2, 2}}
	f := Figure{Title: "t", Panels: []Panel{{Series: []Series{{Name: "full", Apart: true, Points: at}, {Name: "hollow", Apart: true, Hollow: true, Points: at}}}}}
	var b bytes.Buffer
	if err := f.WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), `<g class="look0 hollow">`); n != 2 {
		t.Errorf("%d outlines, want the point and its name", n)
	}
}
