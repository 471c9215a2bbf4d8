package suite

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/internal/metric"
	"github.com/sotto-dp/sotto/internal/stat"
	"github.com/sotto-dp/sotto/lab/attack"
	"github.com/sotto-dp/sotto/lab/tabular"
)

// readTable gets a table, and its test rows as items.
func (s Suite) readTable(c Cell) (*dataset, error) {
	d := c.Dataset
	columns, err := s.schema(d, c.View)
	if err != nil {
		return nil, err
	}
	t, err := tabular.ReadTable(s.path(d.Data), columns, c.View == viewLocal, tabular.Split{First: d.TrainRows, Share: d.TrainShare})
	if err != nil {
		return nil, err
	}
	if t, err = t.Subset(c.Items); err != nil {
		return nil, err
	}
	return &dataset{task: c.Task, train: s.path(d.Data), items: t.Items(), table: t}, nil
}

// tabular makes demonstrations from a table and answers with them, or learns to answer.
func (r *runner) tabular(ctx context.Context, e *entry) (err error) {
	if kinds[e.cell.Method].learns {
		return r.learned(ctx, e)
	}
	if e.answerer, err = r.answererOf(ctx, e.cell.Answerer); err != nil {
		return err
	}
	e.writer = e.answerer
	if err := r.demonstrate(ctx, e); err != nil {
		return err
	}
	e.answers, err = r.answers(ctx, e)
	return err
}

// demonstrate puts rows into words: drawn for each question, or the same for all.
func (r *runner) demonstrate(ctx context.Context, e *entry) (err error) {
	c, t, began := e.cell, e.data.table, time.Now()
	e.set = &set{}
	switch c.Method {
	case "zero":
		return nil
	case "real":
		if c.Settings.Near > 0 {
			e.set.each, err = tabular.RealNear(t, c.Settings.Near, c.Shots, c.Seed)
		} else {
			e.set.Demos, err = tabular.Real(t, c.Shots, c.Seed)
		}
	case "local", "drawn":
		var d *tabular.Distribution
		if d, err = r.distribution(ctx, e, c.Method); err != nil {
			return err
		}
		e.table = d.Guarantee
		if c.Settings.Near > 0 {
			e.set.each, err = d.Near(t.Test, c.Settings.Near, c.Shots)
		} else {
			e.set.each = d.Demos(len(t.Test), c.Shots)
		}
	default:
		var g *tabular.Global
		if g, err = r.profile(e); err == nil {
			e.table = g.Guarantee
			e.set.Demos, err = g.Demos(ctx, t, c.Seed)
		}
	}
	if err != nil {
		return err
	}
	e.set.Seconds = time.Since(began).Seconds()
	e.set.key, err = keyOf("table", c.Name, c.Shots, c.Seed, epsilonText(c.Epsilon))
	r.report(Progress{Kind: Written, Cell: c})
	return err
}

// distribution is what demonstrations are drawn from, for each question anew: a table
// perturbed and learned from, or a profile of histograms. It is made once for all numbers of
// demonstrations, wherever they are drawn.
func (r *runner) distribution(ctx context.Context, e *entry, method string) (*tabular.Distribution, error) {
	c := e.cell
	c.Settings.Near = 0
	key, err := keyOf(method, c.Dataset.Name, epsilonText(c.Epsilon), c.Seed, c.Settings)
	if err != nil {
		return nil, err
	}
	return r.distributions.get(key, func() (*tabular.Distribution, error) {
		if method == "drawn" {
			return tabular.NewDrawn(ctx, e.data.table, tabular.GlobalOptions{
				Epsilon: epsilonOf(c), Delta: c.Delta, Size: c.Dataset.Size, Noise: c.Settings.Values.Word("noise", ""),
			}, c.Seed)
		}
		return tabular.NewLocal(ctx, e.data.table, tabular.LocalOptions{
			Epsilon: epsilonOf(c), Reconstruct: c.Settings.Reconstruct, Split: c.Settings.Split, Seed: c.Seed,
		})
	})
}

// profile is planned once for all seeds.
func (r *runner) profile(e *entry) (*tabular.Global, error) {
	c := e.cell
	key, err := keyOf("profile", c.Dataset.Name, c.Method, epsilonText(c.Epsilon), c.Shots, c.Settings)
	if err != nil {
		return nil, err
	}
	return r.globals.get(key, func() (*tabular.Global, error) {
		return tabular.NewGlobal(e.data.table.Schema, tabular.GlobalOptions{
			Epsilon: epsilonOf(c), Delta: c.Delta, Size: c.Dataset.Size, Groups: c.Shots,
			Noise: c.Settings.Values.Word("noise", ""), Rate: c.Settings.Rate, Published: c.Method == "global-published",
		})
	})
}

// epsilonOf a cell is infinite where there is no noise.
func epsilonOf(c Cell) float64 {
	if c.Epsilon == nil {
		return math.Inf(1)
	}
	return *c.Epsilon
}

// learnedAnswers are answers of a baseline, as they are kept.
type learnedAnswers struct {
	answers
	Guarantee *tabular.Guarantee `json:"guarantee,omitempty"`
}

// learned lets a baseline answer. What comes out may change with the program.
func (r *runner) learned(ctx context.Context, e *entry) error {
	c := e.cell
	build, err := r.build()
	if err != nil {
		return err
	}
	records, err := e.data.fingerprint()
	if err != nil {
		return err
	}
	d := c.Dataset
	key, err := keyOf("learned", build, c.Method, string(e.data.table.Schema.Canonical()), records, d.TrainRows, fmt.Sprint(d.TrainShare), d.Size, c.Delta, c.Settings, epsilonText(c.Epsilon), c.Seed, e.data.test)
	if err != nil {
		return err
	}
	out, there, err := keep(r.store, "answers", key, nil, func() (*learnedAnswers, error) { return r.learn(ctx, e) })
	if err != nil {
		return err
	}
	out.key = key
	e.answers, e.table = &out.answers, out.Guarantee
	r.report(Progress{Kind: Answered, Cell: c, Cached: there})
	return nil
}

func (r *runner) learn(ctx context.Context, e *entry) (*learnedAnswers, error) {
	c, began := e.cell, time.Now()
	o := tabular.LearnOptions{Model: c.Method, Epsilon: epsilonOf(c), Delta: c.Delta, Size: c.Dataset.Size, Seed: c.Seed}
	var err error
	if strings.HasSuffix(c.Method, "-local") {
		if o.Local, err = r.distribution(ctx, e, "local"); err != nil {
			return nil, err
		}
	}
	got, err := tabular.Learn(ctx, e.data.table, o)
	if err != nil {
		return nil, err
	}
	out := &learnedAnswers{Guarantee: got.Guarantee}
	out.Raw, out.How, out.Seconds = got.Answers, "learned from rows, without a language model", time.Since(began).Seconds()
	if yes := e.yes(); yes >= 0 {
		for _, p := range got.Probabilities {
			out.RawScores = append(out.RawScores, p[yes])
		}
	}
	return out, nil
}

// yes is the place of Yes among the labels of a table that asks for Yes or No; -1 if it does
// not.
func (e entry) yes() int {
	if e.data.table == nil || len(e.cell.Task.Labels) != 2 {
		return -1
	}
	return slices.Index(e.cell.Task.Labels, "Yes")
}

// ranked is what scores of Yes know, however biased they are: the chance that a right Yes
// has more than a right No, and how answers fare that are Yes where the score is above the
// mean of all questions. That is batch calibration (Zhou et al. 2024); questions are public,
// and it needs no right answer.
func (e entry) ranked(scores []float64) map[string]float64 {
	if len(scores) != len(e.data.items) || len(scores) == 0 {
		return nil
	}
	out := map[string]float64{}
	positive := make([]bool, len(scores))
	pairs := make([]metric.Pair, len(scores))
	middle := stat.Mean(scores)
	for i, item := range e.data.items {
		positive[i] = item.Output == "Yes"
		pairs[i] = metric.Pair{Want: item.Output, Got: "No"}
		if scores[i] > middle {
			pairs[i].Got = "Yes"
		}
	}
	if area, err := attack.AUC(positive, scores); err == nil { // a small test may have one answer only
		out["auc"] = area
	}
	for _, name := range []string{"accuracy", "balanced_accuracy", "mcc"} {
		m, err := metric.New(name, metric.Options{})
		if err != nil {
			continue // they are all known
		}
		if v, err := m.Value(context.Background(), pairs); err == nil {
			out["batch_"+name] = v
		}
	}
	return out
}

// shares of the answers that each label was, by the label's name; where they are Yes and
// No, of Yes.
func shares(labels, got []string) map[string]float64 {
	if len(labels) == 2 && slices.Contains(labels, "Yes") {
		labels = []string{"Yes"}
	}
	out := map[string]float64{}
	for _, l := range labels {
		n := 0
		for _, g := range got {
			if g == l {
				n++
			}
		}
		out["share_"+strings.ToLower(l)] = float64(n) / float64(len(got))
	}
	return out
}
