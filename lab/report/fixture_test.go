package report

import (
	"math/rand/v2"

	"github.com/sotto-dp/sotto/lab/result"
	"github.com/sotto-dp/sotto/lab/suite"
)

func epsilon(v float64) *float64 { return &v }

// spec of made-up rows.
type spec struct {
	method, name string
	epsilon      *float64
	rate         float64 // of right answers
	write, paper int64
}

// madeUp are rows like those of the comparison of all methods: rates of right answers are
// invented.
func madeUp(datasets []string, seeds, items int) []result.Row {
	r := rand.New(rand.NewPCG(7, 11))
	specs := []spec{
		{"zero", "zero", epsilon(0), 0.45, 0, 0},
		{"public", "public", epsilon(0), 0.56, 900, 0},
		{"nonprivate", "nonprivate", nil, 0.64, 210_000, 260_000},
		{"real", "real", nil, 0.65, 0, 0},
	}
	for i, e := range []float64{0.1, 0.3, 1, 4, 8} {
		step := float64(i) * 0.01
		specs = append(specs,
			spec{"clipped", "clipped", epsilon(e), 0.61 + step, 8_000 - int64(500*i), 0},
			spec{"gaussian", "gaussian", epsilon(e), 0.55 + 2*step, 205_000, 262_000},
			spec{"radius", "radius", epsilon(e), 0.53 + 2*step, 206_000, 262_000})
	}
	var rows []result.Row
	for d, dataset := range datasets {
		// Items differ in how hard they are, for everybody.
		hard := make([]float64, items)
		for i := range hard {
			hard[i] = 0.5*r.Float64() - 0.25
		}
		for _, s := range specs {
			n := seeds
			if s.method == "zero" {
				n = 1
			}
			for seed := range n {
				luck := 0.04 * r.NormFloat64()
				for _, calibrated := range []bool{true, false} {
					if calibrated && dataset == "mit-g" {
						continue // nothing to calibrate
					}
					row := result.Row{
						Suite: "made-up", Dataset: dataset, Task: dataset, Method: s.method, Name: s.name, Epsilon: s.epsilon,
						Shots: 4, Seed: uint64(seed), Model: "smollm2", Answerer: "smollm2", Calibrated: calibrated,
						Metric: "accuracy", N: items, WriteTokens: s.write, PublishedTokens: s.paper, AnswerTokens: 30_000,
						WriteSeconds: float64(s.write) / 900, Metrics: map[string]float64{"macro_f1": s.rate - 0.02}, Version: "test",
					}
					if s.method == "zero" {
						row.Shots = 0
					}
					if dataset == "mit-g" {
						row.Metric = "exact_match"
					}
					if s.epsilon != nil && *s.epsilon > 0 {
						row.Delta = 1e-6
					}
					rate := s.rate + luck - 0.07*float64(d)
					if !calibrated && dataset != "mit-g" {
						rate -= 0.1
					}
					for i := range items {
						score := 0.0
						if r.Float64() < rate+hard[i] {
							score = 1
						}
						row.Items = append(row.Items, score)
						row.Value += score / float64(items)
					}
					rows = append(rows, row)
				}
			}
		}
	}
	return rows
}

// input returns a report of made-up rows.
func input(datasets []string, seeds, items int) Input {
	return Input{
		Title: "Every method at equal ε", About: "Made-up rows, to look at a report.",
		Rows: madeUp(datasets, seeds, items), Methods: []string{"zero", "public", "clipped", "gaussian", "radius", "nonprivate", "real"},
		Published: []suite.PublishedValue{
			{Dataset: "agnews", Method: "gaussian", Epsilon: epsilon(1), Shots: 4, Value: 64.1, Std: 3.9, Metric: "accuracy", Model: "GPT-3 Babbage", Source: "Tang et al. 2024, table 1"},
			{Dataset: "agnews", Method: "gaussian", Epsilon: epsilon(1), Shots: 4, Value: 60.74, Std: 3.09, Metric: "accuracy", Model: "Llama-2-7b-hf", Source: "Gao et al. 2025, table 2"},
			{Dataset: "agnews", Method: "nonprivate", Shots: 4, Value: 69.3, Std: 4.8, Metric: "accuracy", Model: "GPT-3 Babbage", Source: "Tang et al. 2024, table 1"},
			{Dataset: "agnews", Method: "noisymax", Epsilon: epsilon(1), Shots: 4, Value: 1, Model: "none here", Source: "nowhere"},
		},
		Command: "sotto-lab suite text --data DIR --out lab/results/text", Notes: []string{"2 processors, made-up numbers"},
	}
}
