package global

import "github.com/sotto-dp/sotto/internal/method"

func init() {
	method.Register(method.Spec{
		Name: "global", Kind: method.Profile, Guarantee: method.Proven,
		Summary: "sum up groups of rows with noise, and describe each by a typical row",
		Idea: "Rows are divided into public groups. Of each group, noisy counts, sums and most frequent values are released, and typical rows are worked out from them. " +
			"Profiles also serve naive Bayes, and histograms to draw rows from.",
		Cost:  "One pass over the rows, without a model.",
		When:  "The default for tables: it needs somebody who may see the rows, and far less noise than local.",
		Proof: "Laplace or Gaussian mechanism on whole numbers, of which one row moves few by a bounded amount",
		Cites: "Carey et al. 2024 (GDP-TabICL)", Draws: "all rows, or a Poisson sample", Calibrates: "the scale of the noise",
		Needs: "no model",
		Settings: []method.Setting{
			{Name: "noise", Type: method.Choice, Help: "the noise of the sums", Choices: []string{string(Laplace), string(Gaussian)}},
			{Name: "rate", Type: method.Float, Help: "rate of Poisson sampling", Default: "all rows", Most: 1},
		},
	})
}
