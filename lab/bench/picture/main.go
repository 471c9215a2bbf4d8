// Command picture draws the picture at the top of the README: how well a model answers with
// a prompt that private records chose, beside no examples, model-generated ones and real records.
//
//	go run ./lab/bench/picture -out docs/pictures/result.svg lab/results/choose-text lab/results/choose-qwen
//
// Each folder holds the rows of a suite, and becomes a panel.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/lab/result"
)

func main() {
	out := flag.String("out", "", "write the picture to this file")
	flag.Parse()
	if err := draw(*out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

func draw(out string, folders []string) error {
	if out == "" || len(folders) == 0 {
		return errors.New("name a file with -out, and folders of suites' results")
	}
	var panels []panel
	for _, dir := range folders {
		p, err := read(dir)
		if err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		panels = append(panels, p)
	}
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	return errors.Join(picture(f, panels), f.Close())
}

// The sets of examples, in the order of the legend, and how they are drawn.
var sets = []struct{ method, name, class string }{
	{"zero", "no examples", "zero"},
	{"public", "model-generated examples", "own"},
	{"real", "real records, which nothing protects", "real"},
	{"choose", "chosen by the records, ε = 1", "chosen"},
}

// A panel has the means of one model: a line for each data set, and their average.
type panel struct {
	model string
	seeds int
	lines []line
}

type line struct {
	name  string
	means map[string]float64
}

// order of the data sets, as in the tables of lab/results: labels, then phrases.
var order = []string{"agnews", "dbpedia", "trec", "mit-g", "mit-d"}

var titles = map[string]string{"agnews": "AG News", "dbpedia": "DBpedia", "trec": "TREC", "mit-g": "MIT-G", "mit-d": "MIT-D"}

// read gathers the means of a suite's rows. Where labels were read off in two ways, with
// calibration and without, the better mean counts, for each set and data set.
func read(dir string) (panel, error) {
	rows, err := result.ReadRows(filepath.Join(dir, "rows.parquet"))
	if err != nil {
		return panel{}, err
	}
	type cell struct {
		dataset, method string
		calibrated      bool
	}
	values := map[cell][]float64{}
	var datasets []string
	p := panel{}
	for _, r := range rows {
		if r.Name != r.Method || r.Answerer != r.Model || r.Method == "choose" && (r.Epsilon == nil || *r.Epsilon != 1) || r.Method == "real" && r.Shots > 4 {
			continue
		}
		if !slices.Contains(datasets, r.Dataset) {
			datasets = append(datasets, r.Dataset)
		}
		p.model = r.Model
		c := cell{r.Dataset, r.Method, r.Calibrated}
		values[c] = append(values[c], 100*r.Value)
		if r.Method == "choose" {
			p.seeds = max(p.seeds, len(values[c]))
		}
	}
	slices.SortFunc(datasets, func(a, b string) int { return cmp.Compare(slices.Index(order, a), slices.Index(order, b)) })
	all := line{"average", map[string]float64{}}
	for _, d := range datasets {
		l := line{titles[d], map[string]float64{}}
		for _, s := range sets {
			for _, calibrated := range []bool{false, true} {
				if v := values[cell{d, s.method, calibrated}]; len(v) > 0 {
					l.means[s.method] = max(l.means[s.method], mean(v))
				}
			}
			if _, ok := l.means[s.method]; !ok || l.name == "" {
				return panel{}, fmt.Errorf("%s has no rows of %s, or no title", d, s.method)
			}
			all.means[s.method] += l.means[s.method] / float64(len(datasets))
		}
		p.lines = append(p.lines, l)
	}
	p.lines = append(p.lines, all)
	return p, nil
}

func mean(v []float64) float64 {
	sum := 0.
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

const (
	width, height = 880, 352
	top, step     = 104, 36
	margin, names = 24, 70
)

const style = `<style>
text{font:13px system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;fill:#24292f}
.title{font-size:17px;font-weight:600}.small{font-size:12px;fill:#57606a}.strong{font-weight:600}
.end{text-anchor:end}.mid{text-anchor:middle}
.page{fill:#fff}.grid{stroke:#d8dee4;stroke-width:1}.span{stroke:#b6d3f5;stroke-width:5;stroke-linecap:round}
.zero{fill:#fff;stroke:#8c959f;stroke-width:2}.own{fill:#8c959f}.real{fill:#cf7a1b}.chosen{fill:#0b5cad}
.value{font-weight:600;fill:#0b5cad}
@media (prefers-color-scheme:dark){text{fill:#e6edf3}.small{fill:#9da7b3}.page{fill:#0d1117}.grid{stroke:#30363d}
.span{stroke:#1d3f66}.zero{fill:#0d1117}.chosen,.value{fill:#6cb6ff}.real{fill:#e0944a}}
</style>
`

// picture writes the panels side by side.
func picture(w io.Writer, panels []panel) error {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-labelledby="t d">`+"\n", width, height, width, height)
	b.WriteString("<title id=\"t\">How well a model answers with a prompt that private records chose</title>\n")
	fmt.Fprintf(&b, "<desc id=\"d\">%s</desc>\n", describe(panels))
	b.WriteString(style)
	fmt.Fprintf(&b, `<rect class="page" width="%d" height="%d" rx="8"/>`+"\n", width, height)
	fmt.Fprintf(&b, `<text class="title" x="%d" y="32">Questions answered right, in percent, with prompts from</text>`+"\n", margin)
	x := margin + 6
	for _, s := range sets {
		fmt.Fprintf(&b, `<circle class="%s" cx="%d" cy="52" r="5.5"/><text x="%d" y="56.5"`, s.class, x, x+12)
		if s.class == "chosen" {
			b.WriteString(` class="strong"`)
		}
		fmt.Fprintf(&b, ">%s</text>\n", s.name)
		x += 46 + 27*len([]rune(s.name))/4
	}
	each := (width - margin) / len(panels)
	for i, p := range panels {
		p.draw(&b, margin+i*each, each-margin)
	}
	fmt.Fprintf(&b, `<text class="small" x="%d" y="%d">Held-out questions, means over seeds. The defaults of choosing were settled on these data sets with the model on the left.</text>`+"\n", margin, height-14)
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// draw draws a panel whose left edge is at x.
func (p panel) draw(b *strings.Builder, x, wide int) {
	const lo, hi = 0., 100.
	at := func(v float64) float64 { return float64(x+names) + (v-lo)/(hi-lo)*float64(wide-names-10) }
	bottom := top + step*(len(p.lines)-1) + 14
	fmt.Fprintf(b, `<text class="small" x="%d" y="82">%s, %d seeds</text>`+"\n", x, p.model, p.seeds)
	for v := lo; v <= hi; v += 20 {
		fmt.Fprintf(b, `<line class="grid" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/><text class="small mid" x="%.1f" y="%d">%.0f</text>`+"\n", at(v), at(v), top-12, bottom, at(v), bottom+16, v)
	}
	for i, l := range p.lines {
		y := top + step*i
		class := "end"
		if l.name == "average" {
			class = "end strong"
		}
		fmt.Fprintf(b, `<text class="%s" x="%d" y="%.1f">%s</text>`, class, x+names-10, float64(y)+4.5, l.name)
		own, chosen := at(l.means["public"]), at(l.means["choose"])
		fmt.Fprintf(b, `<line class="span" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/>`, own, chosen, y, y)
		for _, s := range sets {
			fmt.Fprintf(b, `<circle class="%s" cx="%.1f" cy="%d" r="5.5"/>`, s.class, at(l.means[s.method]), y)
		}
		fmt.Fprintf(b, `<text class="value mid" x="%.1f" y="%d">%.1f</text>`+"\n", chosen, y-10, l.means["choose"])
	}
}

// describe puts the averages into words, for those who do not see the picture.
func describe(panels []panel) string {
	var out []string
	for _, p := range panels {
		m := p.lines[len(p.lines)-1].means
		out = append(out, fmt.Sprintf("%s, on average over %d data sets: no examples %.1f, model-generated %.1f, real records %.1f, chosen by the records at ε = 1 %.1f.",
			p.model, len(p.lines)-1, m["zero"], m["public"], m["real"], m["choose"]))
	}
	return strings.Join(out, " ")
}
