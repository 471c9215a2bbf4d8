package report

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/stat"
	"github.com/sotto-dp/sotto/lab/result"
)

// tableCell is what lab/results says of one method in a suite of tables.
type tableCell struct {
	name       string
	epsilon    float64
	shots      int
	calibrated bool
}

// cellRows returns those of a cell, by data set; baselines have no calibration.
func cellRows(rows []result.Row, c tableCell) map[string][]result.Row {
	found := map[string][]result.Row{}
	for _, r := range rows {
		e := math.Inf(1)
		if r.Epsilon != nil {
			e = *r.Epsilon
		}
		if r.Name == c.name && e == c.epsilon && r.Shots == c.shots && (r.Answerer == "" || r.Calibrated == c.calibrated) {
			found[r.Dataset] = append(found[r.Dataset], r)
		}
	}
	return found
}

// meanOf data sets of the means over seeds, in points; a metric that is not named is the
// value itself.
func meanOf(found map[string][]result.Row, metric string) float64 {
	sum := 0.0
	for _, rows := range found {
		for _, r := range rows {
			v := r.Value
			if metric != "" {
				v = r.Metrics[metric]
			}
			sum += 100 * v / float64(len(rows)*len(found))
		}
	}
	return sum
}

// tableLine is a line of a table in lab/results: a column for each ε, or for each number
// of shots at one.
type tableLine struct {
	folder, label string
	cells         []tableCell
	auc           bool
}

func (l tableLine) markdown(t *testing.T, rows []result.Row, datasets int) string {
	t.Helper()
	b := "| " + l.label + " |"
	for _, c := range l.cells {
		if c.name == "" {
			b += " |"
			continue
		}
		found := cellRows(rows, c)
		if len(found) != datasets {
			t.Fatalf("%s: %+v is on %d data sets", l.folder, c, len(found))
		}
		b += fmt.Sprintf(" %.1f (%.1f)", meanOf(found, ""), meanOf(found, "balanced_accuracy"))
		if l.auc {
			b += fmt.Sprintf(" %.1f", meanOf(found, "auc"))
		}
		b += " |"
	}
	return b
}

// along are cells of a method at several values of ε.
func along(name string, shots int, calibrated bool, epsilons ...float64) []tableCell {
	var cells []tableCell
	for _, e := range epsilons {
		c := tableCell{name: name, epsilon: e, shots: shots, calibrated: calibrated}
		if math.IsNaN(e) {
			c = tableCell{}
		}
		cells = append(cells, c)
	}
	return cells
}

// tableLines returns all lines of the tables about demonstrations.
func tableLines() []tableLine {
	inf, none := math.Inf(1), math.NaN()
	global := func(label, name string, shots int, calibrated bool, epsilons ...float64) tableLine {
		return tableLine{folder: "table-global", label: label, cells: along(name, shots, calibrated, epsilons...)}
	}
	local := func(label, name string, shots int, epsilons ...float64) tableLine {
		return tableLine{folder: "table-local", label: label, cells: along(name, shots, false, epsilons...)}
	}
	qwen := func(label, name string, e float64) tableLine {
		return tableLine{folder: "table-qwen", label: label, auc: true, cells: append(along(name, 2, false, e), along(name, 8, false, e)...)}
	}
	return []tableLine{
		global("`global`, averages of 2 groups", "global", 2, false, 0.1, 0.3, 1, 10, inf),
		global("`global`, averages of 8 groups", "global", 8, false, 0.1, 0.3, 1, 10, inf),
		global("`global-published`, 8 groups", "global-published", 8, false, none, none, 1, 10, inf),
		global("8 real rows", "real", 8, false, none, none, none, none, inf),
		global("**`drawn, near`**, 8 rows", "drawn, near", 8, false, 0.1, 0.3, 1, 10, inf),
		global("the same, calibrated", "drawn, near", 8, true, 0.1, 0.3, 1, 10, inf),
		global("8 real rows, near", "real, near", 8, false, none, none, none, none, inf),
		global("the same, calibrated", "real, near", 8, true, none, none, none, none, inf),
		local("`local`, 8 rows", "local", 8, 1, 5, 10, 25, 50, inf),
		local("**`local, near`**, 8 rows", "local, near", 8, 1, 5, 10, 25, 50, inf),
		local("8 real rows, near", "real, near", 8, none, none, none, none, none, inf),
		local("`lr-local`", "lr-local", 0, 1, 5, 10, 25, 50, inf),
		local("`gnb-local`", "gnb-local", 0, 1, 5, 10, 25, 50, inf),
		qwen("`local`", "local", 1),
		qwen("`local, near`", "local, near", 1),
		qwen("`global`", "global", 1),
		qwen("`global-published`", "global-published", 1),
		qwen("`drawn, near`", "drawn, near", 1),
		qwen("real rows", "real", inf),
		qwen("real rows, near", "real, near", inf),
	}
}

// TestTableNumbers: the lines of lab/results about tables are what its rows say.
func TestTableNumbers(t *testing.T) {
	text := resultsText(t)
	rows := map[string][]result.Row{}
	for _, l := range tableLines() {
		if rows[l.folder] == nil {
			rows[l.folder] = folderRows(t, l.folder)
		}
		datasets := 8
		if l.folder == "table-qwen" {
			datasets = 2
		}
		if want := l.markdown(t, rows[l.folder], datasets); !strings.Contains(text, want+"\n") {
			t.Errorf("lab/results does not have\n%s", want)
		}
	}
}

func resultsText(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(resultsDir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func folderRows(t *testing.T, folder string) []result.Row {
	t.Helper()
	rows, err := result.ReadRows(filepath.Join(resultsDir, folder, "rows.parquet"))
	if err != nil || len(rows) == 0 {
		t.Fatalf("%s has %d rows: %v", folder, len(rows), err)
	}
	return rows
}

// classWeights turn a mean over items into balanced accuracy: the most common answer is
// right on just the items of one class.
func classWeights(t *testing.T, rows []result.Row) map[string][]float64 {
	t.Helper()
	weights := map[string][]float64{}
	for dataset, found := range cellRows(rows, tableCell{name: "majority", epsilon: math.Inf(1)}) {
		items := found[0].Items
		n, common := float64(len(items)), 0.0
		for _, v := range items {
			common += v
		}
		for _, v := range items {
			weights[dataset] = append(weights[dataset], v*n/(2*common)+(1-v)*n/(2*(n-common)))
		}
	}
	return weights
}

// TestTableDifferences: so are the differences of balanced accuracy and their intervals.
func TestTableDifferences(t *testing.T) {
	text := strings.Join(strings.Fields(resultsText(t)), " ")
	inf := math.Inf(1)
	for folder, pairs := range map[string][][2]tableCell{
		"table-global": {
			{{"drawn, near", 0.3, 8, false}, {"real", inf, 8, false}},
			{{"drawn, near", 0.3, 8, false}, {"real, near", inf, 8, false}},
			{{"drawn, near", 0.1, 8, false}, {"nb-private", 0.1, 0, false}},
			{{"drawn, near", 1, 8, false}, {"nb-private", 1, 0, false}},
		},
		"table-local": {
			{{"local, near", 10, 8, false}, {"local", 10, 8, false}},
			{{"local, near", 10, 8, false}, {"gnb-local", 10, 0, false}},
		},
	} {
		rows := folderRows(t, folder)
		weights := classWeights(t, rows)
		for _, p := range pairs {
			a, b := cellRows(rows, p[0]), cellRows(rows, p[1])
			var names []string
			for name := range a {
				names = append(names, name)
			}
			slices.Sort(names)
			var sets []stat.PairedScores
			for _, name := range names {
				sets = append(sets, stat.PairedScores{A: weighted(a[name], weights[name]), B: weighted(b[name], weights[name])})
			}
			d, ok := difference(sets...)
			if !ok || len(sets) != 8 {
				t.Fatalf("%v cannot be compared", p)
			}
			if math.Abs(d.Difference-meanOf(a, "balanced_accuracy")+meanOf(b, "balanced_accuracy")) > 1e-9 {
				t.Errorf("%v: the difference is not that of balanced accuracy", p)
			}
			want := fmt.Sprintf("%s, %s to %s", signed(d.Difference), minus(d.Interval.Low), minus(d.Interval.High))
			if !strings.Contains(text, want) {
				t.Errorf("%v: lab/results does not have %q", p, want)
			}
		}
	}
}

func minus(v float64) string { return strings.Replace(fmt.Sprintf("%.1f", v), "-", "−", 1) }

// weighted returns the scores of seeds in points, times the weights of items.
func weighted(rows []result.Row, weights []float64) [][]float64 {
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(a, b result.Row) int { return int(a.Seed) - int(b.Seed) })
	var out [][]float64
	for _, r := range rows {
		scores := make([]float64, len(r.Items))
		for i, v := range r.Items {
			scores[i] = 100 * v * weights[i]
		}
		out = append(out, scores)
	}
	return out
}
