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
		Steps: []string{
			"Divide ε over the columns.",
			"For each row by itself, and each column of d values: keep the value with odds e^ε_i against each other one, else exchange it for another at random.",
			"Release the rows, as many and in the same order.",
			"From many of them, reconstruct estimates the distribution of the rows; that costs nothing more.",
		},
		Not:   "Where somebody may see the rows: global needs far less noise. Combinations of many columns are hardly known afterwards.",
		Event: "compose(rr(ε_1, d_1), …, rr(ε_F, d_F)), replace-one", Theorem: "P37",
		Needs: "no model",
		Settings: []method.Setting{
			{Name: "weights", Type: method.Text, Help: "parts of ε relative to each other, as `COLUMN=W,…`", Default: "1 each"},
			{Name: "split", Type: method.Choice, Help: "how ε is divided over columns: equal or optimal", Choices: []string{"equal", "optimal"}},
		},
	})
}
