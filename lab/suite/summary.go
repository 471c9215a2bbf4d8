package suite

import (
	"fmt"

	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/internal/stat"
)

// Summary is what rows that differ in their seed alone have in common.
type Summary struct {
	Dataset    string            `json:"dataset"`
	Task       string            `json:"task"`
	Method     string            `json:"method"`
	Name       string            `json:"name"`
	Settings   map[string]string `json:"settings,omitempty"`
	Epsilon    *float64          `json:"epsilon"`
	Delta      float64           `json:"delta,omitempty"`
	Claimed    bool              `json:"claimed,omitempty"`
	Online     bool              `json:"online,omitempty"`
	Queries    int64             `json:"queries,omitempty"`
	Shots      int               `json:"shots"`
	Model      string            `json:"model"`
	Answerer   string            `json:"answerer"`
	Calibrated bool              `json:"calibrated"`
	Metric     string            `json:"metric"`
	// Mean over Seeds sets and N items, with the standard deviation over sets (0 for one,
	// which has none) and an interval of 95 % over other sets and other items.
	Mean  float64 `json:"mean"`
	Std   float64 `json:"std"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Seeds int     `json:"seeds"`
	N     int     `json:"n"`
	// Metrics and tokens are means over sets.
	Metrics         map[string]float64 `json:"metrics,omitempty"`
	WriteTokens     float64            `json:"write_tokens"`
	PublishedTokens float64            `json:"published_tokens,omitempty"`
	AnswerTokens    float64            `json:"answer_tokens"`
}

// group is what rows of a summary share.
type group struct {
	place
	contender
	metric string
}

// contender is a method with its ε, its number of demonstrations and, online, that of the
// answers that ε is for.
type contender struct {
	name, epsilon string
	shots         int
	queries       int64
}

// place is what rows that can be compared share.
type place struct {
	dataset, model, answerer string
	calibrated               bool
}

func placeOf(r eval.Row) place { return place{r.Dataset, r.Model, r.Answerer, r.Calibrated} }

func groupOf(r eval.Row) group {
	return group{placeOf(r), contender{r.Name, epsilonText(r.Epsilon), r.Shots, r.Queries}, r.Metric}
}

func epsilonText(epsilon *float64) string {
	if epsilon == nil {
		return "none"
	}
	return fmt.Sprint(*epsilon)
}

// collect puts rows that differ in their seed alone together, in the order of [eval.Tidy].
func collect(rows []eval.Row) (order []group, groups map[group][]eval.Row) {
	groups = map[group][]eval.Row{}
	for _, r := range eval.Tidy(rows) {
		g := groupOf(r)
		if groups[g] == nil {
			order = append(order, g)
		}
		groups[g] = append(groups[g], r)
	}
	return order, groups
}

// Summarise averages rows over their seeds.
func Summarise(rows []eval.Row) ([]Summary, error) {
	order, groups := collect(rows)
	out := make([]Summary, 0, len(order))
	for _, g := range order {
		s, err := summarise(groups[g])
		if err != nil {
			return nil, fmt.Errorf("%s, %s: %w", g.dataset, g.name, err)
		}
		out = append(out, s)
	}
	return out, nil
}

func summarise(rows []eval.Row) (Summary, error) {
	first := rows[0]
	s := Summary{
		Dataset: first.Dataset, Task: first.Task, Method: first.Method, Name: first.Name, Settings: first.Settings,
		Epsilon: first.Epsilon, Delta: first.Delta, Claimed: first.Claimed, Online: first.Online, Queries: first.Queries, Shots: first.Shots, Model: first.Model, Answerer: first.Answerer,
		Calibrated: first.Calibrated, Metric: first.Metric, Seeds: len(rows), N: first.N,
	}
	scores, err := table(rows)
	if err != nil {
		return s, err
	}
	n := float64(len(rows))
	values := make([]float64, len(rows))
	metrics := map[string]float64{}
	for i, r := range rows {
		values[i] = r.Value
		s.WriteTokens += float64(r.WriteTokens) / n
		s.PublishedTokens += float64(r.PublishedTokens) / n
		s.AnswerTokens += float64(r.AnswerTokens) / n
		for name, v := range r.Metrics {
			metrics[name] += v / n
		}
	}
	if len(metrics) > 0 {
		s.Metrics = metrics
	}
	s.Mean = stat.Mean(values)
	if len(values) > 1 {
		s.Std = stat.Std(values)
	}
	i, err := stat.Crossed(scores, stat.Options{})
	s.Low, s.High = i.Low, i.High
	return s, err
}

// table is the scores of rows, a line for each.
func table(rows []eval.Row) ([][]float64, error) {
	out := make([][]float64, len(rows))
	for i, r := range rows {
		if len(r.Items) == 0 || len(r.Items) != len(rows[0].Items) {
			return nil, fmt.Errorf("rows are about %d and %d items: they are of different runs; remove rows.jsonl and run the suite again", len(rows[0].Items), len(r.Items))
		}
		out[i] = r.Items
	}
	return out, nil
}
