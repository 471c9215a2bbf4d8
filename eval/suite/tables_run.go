package suite

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/eval/metric"
	"github.com/sotto-dp/sotto/eval/stat"
	"github.com/sotto-dp/sotto/eval/tabular"
	"github.com/sotto-dp/sotto/internal/icl"
	"github.com/sotto-dp/sotto/schema"
)

// readTable gets a table, and its test rows as items.
func (s Suite) readTable(c Cell) (*dataset, error) {
	d := c.Dataset
	columns, err := s.schema(d, c.View)
	if err != nil {
		return nil, err
	}
	t, err := eval.ReadTable(s.path(d.Data), columns, c.View == viewLocal, eval.Split{First: d.TrainRows, Share: d.TrainShare})
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
	case "local":
		var l *tabular.Local
		if l, err = r.local(ctx, e); err == nil {
			e.table = l.Guarantee
			e.set.each, err = c.draw(t, l)
		}
	case "drawn":
		var d *tabular.Drawn
		if d, err = r.drawn(ctx, e); err == nil {
			e.table = d.Guarantee
			e.set.each, err = c.draw(t, d)
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
	r.tell(Event{Kind: Written, Cell: c})
	return err
}

// local is a table perturbed and learned from, once for all numbers of demonstrations.
func (r *runner) local(ctx context.Context, e *entry) (*tabular.Local, error) {
	c := e.cell
	key, err := c.learned("local")
	if err != nil {
		return nil, err
	}
	return r.locals.get(key, func() (*tabular.Local, error) {
		return tabular.NewLocal(ctx, e.data.table, tabular.LocalOptions{
			Epsilon: epsilonOf(c), Reconstruct: c.Settings.Reconstruct, Split: c.Settings.Split, Seed: c.Seed,
		})
	})
}

// drawn is a profile of histograms, likewise.
func (r *runner) drawn(ctx context.Context, e *entry) (*tabular.Drawn, error) {
	c := e.cell
	key, err := c.learned("drawn")
	if err != nil {
		return nil, err
	}
	return r.drawns.get(key, func() (*tabular.Drawn, error) {
		return tabular.NewDrawn(ctx, e.data.table, tabular.GlobalOptions{
			Epsilon: epsilonOf(c), Delta: c.Delta, Size: c.Dataset.Size, Noise: c.Settings.Values.Word("noise", ""),
		}, c.Seed)
	})
}

// learned is the key of what a cell draws from, wherever it draws.
func (c Cell) learned(method string) (string, error) {
	c.Settings.Near = 0
	return keyOf(method, c.Dataset.Name, epsilonText(c.Epsilon), c.Seed, c.Settings)
}

// distribution is what demonstrations are drawn from, for each question anew.
type distribution interface {
	Demos(n, shots int) ([][]icl.Demo, error)
	Near(questions []schema.Row, mismatch float64, shots int) ([][]icl.Demo, error)
}

func (c Cell) draw(t *eval.Table, d distribution) ([][]icl.Demo, error) {
	if c.Settings.Near > 0 {
		return d.Near(t.Test, c.Settings.Near, c.Shots)
	}
	return d.Demos(len(t.Test), c.Shots)
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
	out := &learnedAnswers{}
	there, err := r.store.get("answers", key, out)
	if err == nil && !there {
		if out, err = r.learn(ctx, e); err == nil {
			err = r.store.put("answers", key, out)
		}
	}
	if err != nil {
		return err
	}
	out.key = key
	e.answers, e.table = &out.answers, out.Guarantee
	r.tell(Event{Kind: Answered, Cell: c, Cached: there})
	return nil
}

func (r *runner) learn(ctx context.Context, e *entry) (*learnedAnswers, error) {
	c, began := e.cell, time.Now()
	o := tabular.LearnOptions{Model: c.Method, Epsilon: epsilonOf(c), Delta: c.Delta, Size: c.Dataset.Size, Seed: c.Seed}
	if strings.HasSuffix(c.Method, "-local") {
		l, err := r.local(ctx, e)
		if err != nil {
			return nil, err
		}
		o.Local = l
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
	if area, err := metric.AUC(positive, scores); err == nil { // a small test may have one answer only
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
