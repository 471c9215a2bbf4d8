package local

import "github.com/sotto-dp/sotto/internal/method"

func init() {
	method.Register(method.Spec{
		Name: "local", Kind: method.Perturbation, Guarantee: method.Proven,
		Summary: "perturb every value of a row by itself, where the row is",
		Idea: "Each value of a row is kept with some probability, and exchanged for another one of its column otherwise. No row is compared or added up with another, " +
			"so that nobody has to be trusted but the owner of the row. What the table looked like as a whole is reconstructed from the perturbed rows.",
		Cost:  "One pass over the rows, without a model.",
		When:  "Where nobody may collect the rows as they are, and columns have few values.",
		Proof: "k-ary randomised response in each column, independently: the composition of rr(ε, d) over the columns, under replace-one adjacency",
		Cites: "Warner 1965; Kairouz, Bonawitz and Ramage 2016", Draws: "all rows", Calibrates: "the ε of each column",
		Needs: "no model",
		Settings: []method.Setting{
			{Name: "weights", Type: method.Text, Help: "parts of ε relative to each other, as `COLUMN=W,…`", Default: "1 each"},
			{Name: "split", Type: method.Choice, Help: "how ε is divided over columns: equal or optimal", Choices: []string{"equal", "optimal"}},
		},
	})
}
