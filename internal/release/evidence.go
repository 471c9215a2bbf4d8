package release

import (
	"fmt"

	"github.com/sotto-dp/sotto/prompt"
)

// evidenceFile returns what all records say about labels, for programs.
func evidenceFile(r Release) ([]byte, error) {
	e := r.Evidence
	if err := e.Check(); err != nil {
		return nil, err
	}
	about := object{{"encoder", e.Encoder}}
	if e.Rows() {
		about = append(about, object{{"schema", e.Schema}}...)
	}
	data, err := encode(r.mark(append(about, object{{"labels", e.Labels}, {"sums", e.Sums}, {"sigma", e.Sigma}, {"vectors", e.Vectors}}...)), "")
	return append(data, '\n'), err
}

// evident describes how the chosen prompt uses evidence; "" if it does not.
func (r Release) evident() string {
	switch u := r.Prompt.Evidence; u.How {
	case prompt.Combined:
		return fmt.Sprintf("The records chose to combine the model's probabilities with what all records say, evidence.json, at a weight of %v: `sotto eval` does so, and a route of `sotto serve` with a model of its own.", u.Weight)
	case prompt.Hinted:
		return "The records chose to tell the model in each question, and with each example, what all records say (evidence.json): `sotto eval` does so, and a route of `sotto serve`, whatever its model."
	case prompt.Alone:
		return "The records chose the evidence of all records (evidence.json) without a language model: `sotto eval` answers by it, and a route of `sotto serve`."
	}
	return ""
}
