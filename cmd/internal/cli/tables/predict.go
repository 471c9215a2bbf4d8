package tables

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/estimate"
	"github.com/sotto-dp/sotto/internal/ui"
)

type predictOptions struct{ profile, column, data, out string }

func newTablePredictCommand(p *cli.Program) *cobra.Command {
	var opt predictOptions
	cmd := &cobra.Command{
		Use:   "predict --profile DIR --data rows.csv",
		Short: "Predicts a column from a released profile, without a language model",
		Long: `Predicts the label of public or unlabelled rows by naive Bayes on a profile that
"sotto table profile" wrote, with histograms of all columns (--histograms) or
with moments of numbers (--statistic COLUMN=moments); or by the classifier that
"sotto learn --task table:SCHEMA" made. It needs no language model. It costs
nothing, since it reads the release only: predict any number of rows, any number
of times.

The rows are a CSV file with a header that names every column of the schema. The
predicted column may be missing. Where rows have it, the output says how many
predictions are right, and how many the commonest value alone would have been:
exact numbers, for rows that may be seen. It is the schema's label, or another
one that the profile is grouped by (--column).

With --out, a new CSV file gets the prediction of each row, in their order, and
the probability of each value.` + ui.JSONKeys(predictResult{}, "probabilities are in the order of classes; rows is the declared number."),
		Example: `  sotto table predict --profile demos --data questions.csv
  sotto table predict --profile demos --data questions.csv --out predictions.csv
  sotto table predict --profile labels --data held-out.csv`,
		RunE: func(*cobra.Command, []string) error { return runPredict(p, opt) },
	}
	f := cmd.Flags()
	f.StringVar(&opt.profile, "profile", "", "the `DIR` that \"sotto table profile --histograms\" or \"sotto learn\" wrote; required")
	f.StringVar(&opt.data, "data", "", "the rows to predict, a CSV `FILE`; required")
	f.StringVar(&opt.column, "column", "", "the `COLUMN` to predict (default: the label of the schema)")
	f.StringVar(&opt.out, "out", "", "write the predictions to a CSV `FILE`")
	return cmd
}

func runPredict(p *cli.Program, opt predictOptions) (err error) {
	switch {
	case opt.profile == "":
		return cli.Usage("--profile is missing: a folder that \"sotto table profile --histograms\" or \"sotto learn --task table:SCHEMA\" wrote")
	case opt.data == "":
		return cli.Usage("--data is missing: a CSV file of rows to predict")
	}
	by, err := estimate.ReadPredictor(opt.profile, opt.column)
	if err != nil {
		return cli.AsUsage[*estimate.InputError](err)
	}
	in, err := os.Open(opt.data)
	if err != nil {
		return cli.Usage("--data: %w", err)
	}
	defer in.Close()
	r := &predictResult{
		Schema: by.Schema.Name, Column: by.Column, Classes: by.Classes,
		Rows: by.Rows, Epsilon: by.Epsilon, Private: by.Private, Out: opt.out,
	}
	if r.Predictions, err = by.Predict(in); err != nil {
		return cli.AsUsage[*estimate.InputError](err)
	}
	predicted, known := make([]string, len(r.Predictions)), make([]string, len(r.Predictions))
	for i, q := range r.Predictions {
		predicted[i], known[i] = q.Value, q.Known
	}
	if n, right, commonest := cli.Compared(predicted, known); n > 0 {
		r.Accuracy = &predictAccuracy{Rows: n, Right: right, Commonest: commonest, Exact: true}
	}
	if opt.out != "" {
		if err := by.SaveCSV(opt.out, r.Predictions); err != nil {
			return cli.Usage("--out: %w", err)
		}
	}
	if !by.Private {
		r.Warnings = append(r.Warnings, by.Warning())
	}
	return p.Warned(r, r.Warnings)
}

type predictResult struct {
	Schema      string                `json:"schema"`
	Column      string                `json:"column"`
	Classes     []string              `json:"classes"`
	Rows        int64                 `json:"rows"`
	Epsilon     float64               `json:"epsilon"`
	Private     bool                  `json:"private"`
	Predictions []estimate.Prediction `json:"predictions"`
	Accuracy    *predictAccuracy      `json:"accuracy,omitempty"`
	Out         string                `json:"out,omitempty"`
	Warnings    []string              `json:"warnings,omitempty"`
}

// predictAccuracy is about the rows whose value is known.
type predictAccuracy struct {
	Rows  int     `json:"rows"`
	Right float64 `json:"right"`
	// Commonest is how many would be right if all had the value that most of them have.
	Commonest float64 `json:"commonest_value"`
	// Exact says that no noise protects the values in the file: these numbers are for rows that may be seen.
	Exact bool `json:"exact"`
}

func (r *predictResult) Print(p *ui.Page) {
	from := "a release of rows"
	if r.Rows > 0 {
		from = fmt.Sprintf("a release of about %s rows", ui.Thousands(r.Rows))
	}
	from += ui.If(r.Private, ": ε ≤ "+ui.AtMost(r.Epsilon))
	p.Head("%s of %s rows, predicted from %s", r.Column, ui.Thousands(int64(len(r.Predictions))), from)
	cli.PrintPredictions(p, "row", r.Predictions, func(q estimate.Prediction) (string, []float64) { return q.Value, q.Probabilities })
	right := ""
	if a := r.Accuracy; a != nil {
		right = fmt.Sprintf("%.1f %% of %s rows that have one; the commonest value alone %.1f %% (exact numbers, for rows that may be seen)", 100*a.Right, ui.Thousands(int64(a.Rows)), 100*a.Commonest)
	}
	p.Facts("right", right, "file", r.Out, "cost", "nothing more: the release was paid for before")
}
