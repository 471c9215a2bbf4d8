// Command forecast gathers from the results of suites what prompts that records chose are
// worth, for package internal/plan/forecast.
//
//	go run ./lab/forecast -out internal/plan/forecast/table.json lab/results/choose-text …
//
// Each folder holds rows.parquet or rows.jsonl and the suite.toml that they were made with,
// which has the declared sizes. Only rows of the methods choose, zero, public, real and learn count
// that have no name of their own: those with a name try other settings. Curves are of prompts without
// evidence: those are named plain where choose stands for what has it.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/sotto-dp/sotto/internal/plan/forecast"
	"github.com/sotto-dp/sotto/internal/stat"
	"github.com/sotto-dp/sotto/lab/result"
	"github.com/sotto-dp/sotto/lab/suite"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/prompt"
)

func main() {
	out := flag.String("out", "", "write the table to this file")
	flag.Parse()
	table, err := gather(flag.Args())
	if err == nil && *out != "" {
		err = write(*out, table)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "forecast:", err)
		os.Exit(1)
	}
	fmt.Fprintf(os.Stderr, "%d curves, half weight %.0f\n", len(table.Curves), forecast.NewFit(table.Curves).Half)
	for _, guess := range []bool{false, true} {
		c := forecast.Coverage(table.Curves, guess)
		by := map[bool]string{false: "with the same model", true: "with other models"}[guess]
		fmt.Fprintf(os.Stderr, "forecast from the other data sets %s: of %d settings, %d are within the interval over no examples, %d over model-generated ones\n", by, c.Settings, c.None, c.Own)
	}
}

func write(path string, table *forecast.Table) error {
	data, err := json.MarshalIndent(table, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}

// place names a data set with a model, and setting one of its runs.
type place struct{ model, task string }

type setting struct {
	place
	records int64
	epsilon float64
	weight  float64
	rounds  int64
}

// scoreTable has scores by what they are of.
type scoreTable struct {
	// base has the scores of zero, public and real by place, method and calibration.
	base   map[place]map[string]map[bool][]float64
	chosen map[setting]map[uint64]float64
	// learned has the scores of classifiers by seed.
	learned map[classifierKey]map[uint64]float64
}

// classifierKey names the classifiers of a data set.
type classifierKey struct {
	task    string
	records int64
	noise   float64
}

func gather(folders []string) (*forecast.Table, error) {
	if len(folders) == 0 {
		return nil, errors.New("name folders of suites' results")
	}
	f := scoreTable{base: map[place]map[string]map[bool][]float64{}, chosen: map[setting]map[uint64]float64{}, learned: map[classifierKey]map[uint64]float64{}}
	table := &forecast.Table{}
	for _, dir := range folders {
		if err := f.read(dir); err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		table.Sources = append(table.Sources, filepath.Base(dir))
	}
	if err := f.fill(table); err != nil {
		return nil, err
	}
	if len(table.Curves) == 0 && len(table.Learned) == 0 {
		return nil, errors.New("no data set has rows of choose, zero and public, or of learn: name folders of the suites choose-* or learn-*")
	}
	return table, nil
}

// read adds the rows of a folder.
func (f *scoreTable) read(dir string) error {
	s, err := suite.Load(filepath.Join(dir, "suite.toml"))
	if err != nil {
		return err
	}
	sizes := map[string]int64{}
	for _, d := range s.Datasets {
		n := d.Size
		for _, part := range d.Sizes {
			if d.Size == 0 {
				n += part
			}
		}
		sizes[d.Name] = n
	}
	path := filepath.Join(dir, "rows.parquet")
	if _, err := os.Stat(path); err != nil {
		path = filepath.Join(dir, "rows.jsonl")
	}
	rows, err := result.ReadRows(path)
	if err == nil && len(rows) == 0 {
		err = errors.New("there are no rows")
	}
	if err != nil {
		return err
	}
	for _, r := range rows {
		if err := f.add(r, sizes[r.Dataset]); err != nil {
			return fmt.Errorf("row %s: %w", r.Key, err)
		}
	}
	return nil
}

func (f *scoreTable) add(r result.Row, n int64) error {
	at := place{r.Model, r.Task}
	switch {
	case r.Method == "learn" && r.Name == r.Method:
		noise, err := noiseOf(r.Event)
		if err != nil {
			return err
		}
		l := classifierKey{r.Task, n, hundredths(noise)}
		if f.learned[l] == nil {
			f.learned[l] = map[uint64]float64{}
		}
		f.learned[l][r.Seed] = 100 * r.Value
	case r.Answerer != r.Model || r.Name != r.Method && r.Name != plain:
		return nil // of another model, or of settings that a suite tries
	case r.Method == "choose":
		if r.Epsilon == nil || n == 0 {
			return errors.New("it has no ε, or a data set that the suite does not have")
		}
		if _, err := noiseOf(r.Event); err == nil {
			return nil // with evidence
		}
		weight, rounds, err := weightOf(r.Event, n)
		if err != nil {
			return err
		}
		s := setting{at, n, *r.Epsilon, math.Round(100*weight) / 100, rounds}
		if f.chosen[s] == nil {
			f.chosen[s] = map[uint64]float64{}
		}
		f.chosen[s][r.Seed] = 100 * r.Value // the same however others are calibrated
	case r.Method == "real" && r.Shots > shots:
	case r.Method == "zero" || r.Method == "public" || r.Method == "real":
		if f.base[at] == nil {
			f.base[at] = map[string]map[bool][]float64{}
		}
		if f.base[at][r.Method] == nil {
			f.base[at][r.Method] = map[bool][]float64{}
		}
		f.base[at][r.Method][r.Calibrated] = append(f.base[at][r.Method][r.Calibrated], 100*r.Value)
	}
	return nil
}

const (
	// plain is the name of prompts without evidence in suites that have both.
	plain = "plain"
	// shots is how many real records model-generated examples are compared with: as many as they are.
	shots = 4
)

// weightOf finds the rounds in the event of a run: those of the writing repeat within a draw, and the last one
// is by itself.
func weightOf(event string, n int64) (weight float64, rounds int64, err error) {
	e, err := privacy.Parse(event)
	if err != nil {
		return 0, 0, err
	}
	parts := []privacy.Event{e}
	if c, ok := e.(privacy.Compose); ok {
		parts = c.Events
	}
	for _, part := range parts {
		times, rate := int64(1), 1.
		if r, ok := part.(privacy.Repeat); ok {
			times, part = r.N, r.Event
		}
		if p, ok := part.(privacy.Poisson); ok {
			rate, part = p.Q, p.Event
		}
		if b, ok := part.(privacy.BoundedRange); ok && times > rounds {
			weight, rounds = b.C*rate*float64(n), times
		}
	}
	if rounds == 0 {
		return 0, 0, fmt.Errorf("no rounds in %s", event)
	}
	return weight, rounds, nil
}

// noiseOf finds the sums in the event of a classifier, and is the scale of the noise that one would have for all of it.
func noiseOf(event string) (float64, error) {
	e, err := privacy.Parse(event)
	if err != nil {
		return 0, err
	}
	parts := []privacy.Event{e}
	if c, ok := e.(privacy.Compose); ok {
		parts = c.Events
	}
	for _, part := range parts {
		times := int64(1)
		if r, ok := part.(privacy.Repeat); ok {
			times, part = r.N, r.Event
		}
		if g, ok := part.(privacy.Gaussian); ok {
			return g.Sigma / math.Sqrt(float64(times)), nil
		}
	}
	return 0, fmt.Errorf("no sums in %s", event)
}

// summary is the mean and the standard deviation of scores by seed.
func summary(seeds map[uint64]float64) (mean, deviation float64) {
	scores := slices.Sorted(maps.Values(seeds)) // sums come out the same every time
	if len(scores) > 1 {
		deviation = hundredths(stat.Std(scores))
	}
	return hundredths(stat.Mean(scores)), deviation
}

// fillLearned lists what classifiers are worth.
func (f *scoreTable) fillLearned(table *forecast.Table) error {
	for l, seeds := range f.learned {
		t, err := prompt.Find(l.task)
		if err != nil {
			return err
		}
		one := forecast.ClassifierResult{Task: l.task, Labels: len(t.Labels), Records: l.records, Noise: l.noise, Seeds: len(seeds)}
		one.Score, one.Deviation = summary(seeds)
		table.Learned = append(table.Learned, one)
	}
	slices.SortFunc(table.Learned, func(a, b forecast.ClassifierResult) int {
		return cmp.Or(cmp.Compare(a.Task, b.Task), cmp.Compare(a.Records, b.Records), cmp.Compare(b.Noise, a.Noise))
	})
	return nil
}

// fill makes curves of what was found.
func (f *scoreTable) fill(table *forecast.Table) error {
	if err := f.fillLearned(table); err != nil {
		return err
	}
	for at, base := range f.base {
		t, err := prompt.Find(at.task)
		if err != nil {
			return err
		}
		c := forecast.Curve{
			Model: at.model, Task: at.task, Kind: t.Kind, Labels: len(t.Labels),
			None: better(base["zero"]), Own: better(base["public"]), Real: better(base["real"]),
		}
		if t.Open() {
			c.Labels = 0
		}
		for s, seeds := range f.chosen {
			if s.place != at {
				continue
			}
			run := forecast.Run{Records: s.records, Epsilon: s.epsilon, Weight: s.weight, Rounds: s.rounds, Seeds: len(seeds)}
			run.Score, run.Deviation = summary(seeds)
			c.Runs = append(c.Runs, run)
		}
		if len(c.Runs) == 0 || len(base["zero"]) == 0 || len(base["public"]) == 0 {
			continue
		}
		slices.SortFunc(c.Runs, func(a, b forecast.Run) int { return cmp.Compare(a.Weight, b.Weight) })
		table.Curves = append(table.Curves, c)
	}
	slices.SortFunc(table.Curves, func(a, b forecast.Curve) int {
		return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(a.Task, b.Task))
	})
	return nil
}

// better returns the mean of the better of two ways to read labels off.
func better(by map[bool][]float64) float64 {
	best := 0.
	for _, scores := range by {
		slices.Sort(scores)
		best = max(best, stat.Mean(scores))
	}
	return hundredths(best)
}

func hundredths(x float64) float64 { return math.Round(100*x) / 100 }
