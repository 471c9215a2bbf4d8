package release

import (
	"fmt"

	"github.com/sotto-dp/sotto/internal/evidence"
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

// learned: the release is a classifier of all records, and has no prompt for a language model.
func (r Release) learned() bool { return r.Origin == Learned }

// forPrompts are files for those who ask a language model, which a classifier has none of.
var forPrompts = map[string]bool{"demos.jsonl": true, "chat.json": true, "prompt.txt": true, "dspy.json": true, "finetune.jsonl": true}

// forExamples are files of nothing but examples, which would be empty where there are none.
var forExamples = map[string]bool{"demos.jsonl": true, "finetune.jsonl": true}

// learnedContents lists the files of a classifier that are its own.
func learnedContents() [][2]string {
	return [][2]string{
		{evidence.File, "the classifier: for each label a vector, whose inner product with that of a text is the logarithm of its odds"},
		{promptFile, "says to programs that the classifier answers alone"},
		{"use.md", "how to predict with it, serve it, and read it from Python"},
		{ReportFile, "for people who decide: a conclusion, the guarantee in words, the budget, and what it is worth"},
	}
}

// evident describes how the chosen prompt uses evidence; "" if it does not.
func (r Release) evident() string {
	if r.learned() {
		return "It answers without a language model: `sotto predict` labels a file of texts, a route of `sotto serve` speaks OpenAI's API, and `sotto eval` measures it."
	}
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
