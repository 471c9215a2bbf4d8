package global

import (
	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/privacy"
)

// StatisticNames lists what people can ask for a column, as they write it.
const StatisticNames = "mean, median, quantile:Q, moments, mode, histogram or skip"

func init() {
	method.Register(method.Spec{
		Name: "global", Kind: method.Profile, Guarantee: method.Proven,
		Summary: "sum up groups of rows with noise, and describe each by a typical row",
		Idea: "Rows are divided into public groups. Of each group, noisy counts, sums and most frequent values are released, and typical rows are computed from them. " +
			"Profiles also serve naive Bayes, and histograms to draw rows from.",
		Cost:  "One pass over the rows, without a model.",
		When:  "The default for tables: it needs somebody who may see the rows, and far less noise than local.",
		Proof: "Laplace or Gaussian mechanism on whole numbers, of which one row moves few by a bounded amount",
		Cites: "Carey et al. 2024 (GDP-TabICL)", Draws: "all rows, or a Poisson sample", Calibrates: "the scale of the noise",
		Steps: []string{
			"Divide the rows into public groups, by the schema and flags.",
			"Encode each row by itself: values of the domain as codes, numbers clamped to public bounds, as whole steps from the middle.",
			"Add up, for each group, the count, the sums of columns and the counts of values: whole numbers, of which one row moves few.",
			"Add exact Laplace or Gaussian noise to each, also to values that no row has, and forget the sums.",
			"Compute typical rows, or histograms, from what is left.",
		},
		Not:   "Where nobody may see all rows (local), and for groups of fewer rows than the noise is large: sotto table plan shows that beforehand.",
		Event: "compose(laplace(b), …) over counts, sums and modes; with a sample poisson(rate, …)", Theorem: "P37",
		Needs: "no model",
		Settings: []method.Setting{
			{Name: "group", Type: method.Many, Help: "group by `COLUMN[:CLASSES]`; may be repeated", Default: "by the label"},
			{Name: "groups", Type: method.Text, Help: "the schema's ready-made partition into `K` groups"},
			{Name: "statistic", Type: method.Many, Help: "what to release for a column, `COLUMN=STATISTIC`: " + StatisticNames + "; may be repeated", Default: "mean of numbers, else mode"},
			{Name: "histograms", Type: method.Bool, Help: "a histogram of every column by label, for \"sotto table sample --profile\""},
			{Name: "noise", Type: method.Choice, Help: "laplace, gaussian, or none, which has no privacy guarantee", Choices: []string{string(Laplace), string(Gaussian), string(None)}},
			{Name: "rate", Type: method.Float, Help: "sample each row (or unit) with this probability first", Default: "1, all of them", Max: 1},
			{Name: "weights", Type: method.Text, Help: "parts of ε relative to each other, as `COLUMN=W,…`", Default: "1 each"},
			{Name: "count_weight", Type: method.Float, Help: "the part of the budget for the count of rows", Default: "1"},
			{Name: "unit", Type: method.Text, Help: "protect all rows with one value of `COLUMN` together", Default: "each row"},
			{Name: "rows_per_unit", Type: method.Int, Help: "with --unit: use at most `N` rows of each, with noise in proportion", Default: "1"},
			{Name: "adjacency", Type: method.Choice, Help: "what neighbouring tables differ by: add-remove or replace-one", Choices: []string{string(privacy.AddRemove), string(privacy.ReplaceOne)}},
		},
	})
}
