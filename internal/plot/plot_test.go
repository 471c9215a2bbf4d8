package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var rewrite = flag.Bool("rewrite", false, "write golden files")

// curve is a figure like those the program draws.
func curve() Figure {
	line := func(f func(float64) float64, xs ...float64) Line {
		var l Line
		for _, x := range xs {
			l.Points = append(l.Points, Point{x, 0.95 * f(x), f(x)})
		}
		return l
	}
	return Figure{
		Title:    `repeat(100, poisson(1/1500, gaussian(0.51))) & <more>`,
		Subtitle: "ε ≤ 1 at δ = 1e-6",
		Panels: []Panel{
			{
				Title: "falling", X: Axis{Label: "δ", Log: true}, Y: Axis{Label: "ε"},
				Lines: []Line{line(func(x float64) float64 { return -math.Log10(x) / 6 }, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5)},
				Marks: []Mark{{1e-6, 1, "ε ≤ 1"}},
			},
			{
				Title: "rising", X: Axis{Label: "steps"}, Y: Axis{Label: "ε"},
				Lines: []Line{
					line(func(x float64) float64 { return math.Sqrt(x) / 10 }, 1, 50, 100, 150, 200),
					{Name: "half", Points: []Point{{1, 0.5, 0.5}, {200, 0.7, 0.7}}},
				},
				Marks: []Mark{{100, 1, "ε ≤ 1"}, {190, 1.3, "late"}},
			},
		},
		Notes: []string{"a note"},
	}
}

func draw(t testing.TB, f Figure) string {
	t.Helper()
	var b bytes.Buffer
	if err := f.WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestGolden(t *testing.T) {
	got := draw(t, curve())
	name := filepath.Join("testdata", "curve.svg")
	if *rewrite {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the drawing changed; look at it after go test ./internal/plot -rewrite")
	}
	if again := draw(t, curve()); again != got {
		t.Error("the same figure gave other bytes")
	}
}

// elements reads a drawing as XML and counts its elements by name and class.
func elements(t fataler, svg string) map[string]int {
	t.Helper()
	n := map[string]int{}
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return n
		}
		if err != nil {
			t.Fatalf("not XML: %v", err)
		}
		if e, ok := token.(xml.StartElement); ok {
			n[e.Name.Local]++
			for _, a := range e.Attr {
				if a.Name.Local == "class" {
					n["."+a.Value]++
				}
			}
		}
	}
}

func TestElements(t *testing.T) {
	n := elements(t, draw(t, curve()))
	for name, want := range map[string]int{"title": 1, "desc": 1, ".band": 2, "circle": 3, ".panel": 2, ".mark": 3} {
		t.Run(name, func(t *testing.T) {
			if n[name] != want {
				t.Errorf("%d of %s, want %d", n[name], name, want)
			}
		})
	}
	f := curve()
	for i := range f.Panels[0].Lines[0].Points {
		p := &f.Panels[0].Lines[0].Points[i]
		p.Low = p.Y
	}
	if n := elements(t, draw(t, f)); n[".band"] != 1 {
		t.Errorf("%d bands, want 1: a line without lower ends has none", n[".band"])
	}
}

func TestTitleIsShortenedAndKept(t *testing.T) {
	f := curve()
	f.Title = "compose(" + strings.Repeat("gaussian(1.25), ", 40) + "laplace(3))"
	svg := draw(t, f)
	if !strings.Contains(svg, " … ") || strings.Count(svg, f.Title) != 2 {
		t.Error("the title should be cut in the text, and whole in title and desc")
	}
}

func TestRefused(t *testing.T) {
	for name, spoil := range map[string]func(*Figure){
		"no panel":       func(f *Figure) { f.Panels = nil },
		"no line":        func(f *Figure) { f.Panels[0].Lines = nil },
		"one point":      func(f *Figure) { f.Panels[0].Lines[0].Points = f.Panels[0].Lines[0].Points[:1] },
		"infinite":       func(f *Figure) { f.Panels[0].Lines[0].Points[1].Y = math.Inf(1) },
		"not a number":   func(f *Figure) { f.Panels[1].Marks[0].Y = math.NaN() },
		"zero on log":    func(f *Figure) { f.Panels[0].Lines[0].Points[0].X = 0 },
		"upside down":    func(f *Figure) { f.Panels[0].Lines[0].Points[0].Low = 9 },
		"not in order":   func(f *Figure) { f.Panels[1].Lines[0].Points[1].X = 1 },
		"mark at log −1": func(f *Figure) { f.Panels[0].Marks[0].X = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			f := curve()
			spoil(&f)
			if err := f.WriteSVG(io.Discard); err == nil {
				t.Error("drawn")
			}
		})
	}
}

func TestTickLabels(t *testing.T) {
	for _, c := range []struct {
		log    bool
		lo, hi float64
		want   string
	}{
		{false, 0, 10, "0 2 4 6 8 10"},
		{false, 0, 0.5, "0 0.1 0.2 0.3 0.4 0.5"},
		{false, 0, 25000, "0 5000 10\u2009000 15\u2009000 20\u2009000 25\u2009000"},
		{false, 0, 2e7, "0 5M 10M 15M 20M"},
		{false, 0, 4e-5, "0 1e-05 2e-05 3e-05 4e-05"},
		{true, 1e-8, 1e-2, "10⁻⁸ 10⁻⁷ 10⁻⁶ 10⁻⁵ 10⁻⁴ 0.001 0.01"},
		{true, 1e-15, 0.1, "10⁻¹⁵ 10⁻¹² 10⁻⁹ 10⁻⁶ 0.001"},
		{true, 2, 8, "2 4 6 8"},
	} {
		s := newScale(c.log, c.lo, c.hi, 0, 100, false)
		var got []string
		for _, v := range s.ticks {
			got = append(got, s.label(v))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%v to %v, log %v: %q, want %q", c.lo, c.hi, c.log, got, c.want)
		}
	}
}

// TestScale: ticks lie within the axis and are few, positions keep the order, and
// all that is drawn lies within the frame.
func TestScale(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := rapid.Bool().Draw(t, "log")
		lo := rapid.Float64Range(1e-15, 1e9).Draw(t, "lo")
		hi := lo + rapid.Float64Range(0, 1e9).Draw(t, "span")
		s := newScale(log, lo, hi, 0, 100, rapid.Bool().Draw(t, "room"))
		if n := len(s.ticks); n < 1 || n > 12 {
			t.Fatalf("%d ticks from %v to %v", n, lo, hi)
		}
		for i, v := range s.ticks {
			if at := s.at(v); at < -1e-6 || at > 100+1e-6 {
				t.Fatalf("tick %v at %v", v, at)
			}
			if i > 0 && !(s.at(s.ticks[i-1]) < s.at(v)) {
				t.Fatalf("ticks %v out of order", s.ticks)
			}
		}
		for _, v := range []float64{lo, hi} {
			if at := s.at(v); !(at >= -1e-6 && at <= 100+1e-6) {
				t.Fatalf("value %v at %v", v, at)
			}
		}
	})
}

// fataler is what both kinds of tests have.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}
