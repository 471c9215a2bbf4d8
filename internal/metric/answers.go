package metric

import (
	"context"

	"github.com/sotto-dp/sotto/internal/metric/rouge"
	"github.com/sotto-dp/sotto/internal/reply"
)

// simple are the metrics that need texts alone, by name.
var simple = map[string]Metric{
	"accuracy":    each(func(p Pair) float64 { return yes(p.Want == p.Got) }),
	"exact_match": each(func(p Pair) float64 { return yes(reply.Normal(p.Want) == reply.Normal(p.Got)) }),
	"macro_f1":    {value: macroF1},

	"balanced_accuracy": {value: balancedAccuracy},
	"mcc":               {value: matthews},

	"rouge_1":    each(func(p Pair) float64 { return rouge.Options{}.N(1, p.Want, p.Got).F1 }),
	"rouge_2":    each(func(p Pair) float64 { return rouge.Options{}.N(2, p.Want, p.Got).F1 }),
	"rouge_l":    each(func(p Pair) float64 { return rouge.Options{}.L(p.Want, p.Got).F1 }),
	"rouge_lsum": each(func(p Pair) float64 { return rouge.Options{}.LSum(p.Want, p.Got).F1 }),

	"rouge_1_stem":    each(func(p Pair) float64 { return stemmed.N(1, p.Want, p.Got).F1 }),
	"rouge_2_stem":    each(func(p Pair) float64 { return stemmed.N(2, p.Want, p.Got).F1 }),
	"rouge_l_stem":    each(func(p Pair) float64 { return stemmed.L(p.Want, p.Got).F1 }),
	"rouge_lsum_stem": each(func(p Pair) float64 { return stemmed.LSum(p.Want, p.Got).F1 }),

	"distinct_1": texts(func(t []string) float64 { return Distinct(1, t) }),
	"distinct_2": texts(func(t []string) float64 { return Distinct(2, t) }),
	"distinct_3": texts(func(t []string) float64 { return Distinct(3, t) }),
	"self_bleu":  texts(SelfBLEU),
	"words":      texts(wordCount),
}

var stemmed = rouge.Options{Stem: true}

func each(f func(Pair) float64) Metric {
	return Metric{score: func(ctx context.Context, pairs []Pair) ([]float64, error) {
		scores := make([]float64, len(pairs))
		for i, p := range pairs {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			scores[i] = f(p)
		}
		return scores, nil
	}}
}

// texts returns a metric of the answers alone, without references.
func texts(f func([]string) float64) Metric {
	return Metric{value: func(pairs []Pair) float64 {
		got := make([]string, len(pairs))
		for i, p := range pairs {
			got[i] = p.Got
		}
		return f(got)
	}}
}

func yes(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
