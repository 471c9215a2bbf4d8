package release

import (
	"fmt"
	"strconv"

	"github.com/sotto-dp/sotto/prompt"
)

// Worth is the quality of a prompt as measured on the private records, with noise.
type Worth struct {
	// Metric is accuracy, or another score of a record for a prompt.
	Metric string `json:"metric"`
	// Value is a share from 0 to 1; Low to High is a 95 % interval that covers both the
	// noise and the draw of records.
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	// Epsilon is its part of the run's ε.
	Epsilon float64 `json:"epsilon"`
	// Commonest is the label that most records have: who always says it is right on that share of them. Nil if it
	// is not known.
	Commonest *Commonest `json:"commonest,omitempty"`
	// Classifier is what the evidence alone is worth, on the same records, beside a prompt that asks a language
	// model; nil if that was not measured.
	Classifier *Beside `json:"classifier,omitempty"`
	// Alone: no language model answered, but the evidence of all records.
	Alone bool `json:"-"`
}

// Commonest is the label that most records have.
type Commonest struct {
	Label string  `json:"label"`
	Share float64 `json:"share"`
	// Measured: counted with noise among the records that were asked; else it was declared.
	Measured bool `json:"measured"`
}

// MostCommon is the label that most records have of some numbers of them, by label and of so many in all; nil where there are
// none.
func MostCommon(labels []string, numbers []int64, of int64, measured bool) *Commonest {
	if len(numbers) == 0 || len(numbers) != len(labels) {
		return nil
	}
	commonest := 0
	for i, n := range numbers {
		if n > numbers[commonest] {
			commonest = i
		}
	}
	return &Commonest{Label: labels[commonest], Share: max(0, min(1, float64(numbers[commonest])/float64(max(1, of)))), Measured: measured}
}

// Beside is what something else is worth on the same records, with how much better the chosen prompt is.
type Beside struct {
	Value    float64 `json:"value"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Over     float64 `json:"gain"`
	OverLow  float64 `json:"gain_low"`
	OverHigh float64 `json:"gain_high"`
}

// Against says what the number is to be compared with, of a task with so many labels of a closed list; "" where
// there is nothing.
func (w Worth) Against(labels int) string {
	if w.Metric != "accuracy" || labels < 2 {
		return ""
	}
	said := fmt.Sprintf("A blind guess is right on %.0f %%", 100/float64(labels))
	if c := w.Commonest; c != nil {
		how := "as declared"
		if c.Measured {
			how = "about, counted with noise"
		}
		said += fmt.Sprintf(", the commonest label (%s) on %.0f %% (%s)", strconv.Quote(c.Label), 100*c.Share, how)
	}
	if c := w.Classifier; c != nil {
		said += fmt.Sprintf(", and the private classifier without a language model on %.0f %% (%.0f to %.0f)", 100*c.Value, 100*c.Low, 100*c.High)
	}
	return said + "."
}

// Sentence describes it.
func (w Worth) Sentence() string {
	what := "With the chosen prompt the model is right on"
	if w.Alone {
		what = "The classifier is right on"
	}
	if w.Metric != "accuracy" {
		what = fmt.Sprintf("With the chosen prompt the model has a %s of", w.Metric)
	}
	return fmt.Sprintf("%s %.0f %% of the private records (95 %% interval %.0f to %.0f); ε = %.2g of it is for this number.", what, 100*w.Value, 100*w.Low, 100*w.High, w.Epsilon)
}

// Share is the measured value.
func (w Worth) Share() string { return fmt.Sprintf("%.0f %%", 100*w.Value) }

// Range is where it lies with the noise and the draw of records.
func (w Worth) Range() string {
	return fmt.Sprintf("%.0f to %.0f %% (95 %% interval)", 100*w.Low, 100*w.High)
}

// What says what is measured.
func (w Worth) What() string {
	if w.Metric != "accuracy" {
		return fmt.Sprintf("That is the model's %s with the chosen prompt, on average over the records.", w.Metric)
	}
	if w.Alone {
		return "On so many of the records the classifier is right, without a language model."
	}
	return "On so many of the records the model answers right with the chosen prompt."
}

// promptFile has the prompt that records chose.
const promptFile = "prompt.json"

// chosen returns the prompt that the records chose, for programs that can use all of it.
func chosen(r Release) ([]byte, error) {
	fields := object{{"instruction", r.Task.WithDefaults().Answer.Instruction}, {"examples", append([]prompt.Example{}, r.Examples...)}, {"form", r.Prompt.Form.Name()}, {"calibrated", r.Prompt.Calibrated}}
	if r.Prompt.Evidence.Used() {
		fields = append(fields, member{"evidence", r.Prompt.Evidence})
	}
	if r.Prompt.Nearest.Used() {
		fields = append(fields, member{"nearest", r.Prompt.Nearest})
	}
	if r.Worth != nil {
		fields = append(fields, object{{"worth", r.Worth}}...)
	}
	if u := Gained(r.Task, r.Prompt, r.Worth); u != nil {
		fields = append(fields, member{"nothing_gained", u})
	}
	return encodeFile(r.mark(fields))
}

// measuredAs says how labels were read off for the measured worth.
func (r Release) measuredAs() string {
	if r.learned() {
		return ""
	}
	if r.Worth != nil && r.Prompt != nil && r.Prompt.Evidence.Used() {
		return "It was measured with the evidence, as the records chose: clients that do not use it get another number."
	}
	if r.Worth != nil && r.Prompt != nil && r.Prompt.Nearest.Used() {
		return "It was measured with the nearest examples for each question, as the records chose: clients that give all questions the same get another number."
	}
	switch {
	case r.Worth == nil || r.Prompt == nil:
		return ""
	case r.Prompt.Form.Turns():
		return "It was measured as clients ask: in turns of a chat, laid out as chat.json has them, and by what the model writes, of its most likely words."
	case r.Task.Open():
		return ""
	case r.Prompt.Calibrated:
		return "Labels were read off calibrated for that: a client that takes the model's answer as it is gets another number, and usually a lower one."
	}
	return "Labels were read off the probabilities that they have after prompt.txt and a question: a client that chats gets another number, and usually a lower one."
}

// reading describes how answers are read off.
func (r Release) reading() string {
	if said := r.evident(); said != "" {
		return said
	}
	if n := r.Prompt.Nearest; n.Used() {
		return fmt.Sprintf("The records chose to give each question the %d of these %d examples that are nearest to it by the encoder %s, the nearest last: `sotto eval` does so, and a route of `sotto serve`, whatever its model. chat.json, prompt.txt and dspy.json have the first %d of them for all questions, which the records did not judge; demos.jsonl has them all, for programs that find the nearest themselves, by the product of the vectors of the inputs.", n.Examples, len(r.Examples), n.Encoder, len(r.fixed()))
	}
	switch {
	case r.Prompt.Form.Turns() && !r.Task.Open():
		return "The records judged it as chat.json has it, in turns of a chat, by what the model writes at temperature 0. The answer is the label that the model's text begins with, in any case and without white space before it."
	case r.Prompt.Form.Turns():
		return "The records judged it as chat.json has it, in turns of a chat, by what the model writes at temperature 0. The answer is the first line of the model's text, without white space around it."
	case r.Prompt.Calibrated:
		return "The records judged it as one text, prompt.txt, with labels read off calibrated: probabilities are divided by what questions without content get, as `sotto eval` does, and a route of `sotto serve` with a model of its own. A client that sees no probabilities, such as one that uses chat.json alone, cannot do that and is right less often; for such clients a release is made with --form chat."
	case !r.Task.Open():
		return "The records judged it as one text, prompt.txt, by the label that is most probable after a question, as `sotto eval` reads it, and a route of `sotto serve` with a model of its own. For clients that use chat.json a release is made with --form chat."
	}
	return "The records judged it as one text, prompt.txt. For clients that use chat.json a release is made with --form chat."
}
