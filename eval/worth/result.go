package worth

import (
	"cmp"
	"slices"

	"github.com/sotto-dp/sotto/prompt"
)

// Result holds the first set's figures, so that programs that evaluate one set need
// not look into rows.
type Result struct {
	Metric string  `json:"metric"`
	Value  float64 `json:"value"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	N      int     `json:"n"`

	Task        string       `json:"task"`
	Model       string       `json:"model"`
	How         string       `json:"how"`
	Calibrated  bool         `json:"calibrated"`
	Seconds     float64      `json:"seconds"`
	Rows        []Row        `json:"rows"`
	Comparisons []Comparison `json:"comparisons"`
	// Commonest is the label that most questions have, of a closed list.
	Commonest *Commonest `json:"commonest,omitempty"`
	Warnings  []string   `json:"warnings,omitempty"`
}

// Row is what one set did.
type Row struct {
	Demos string `json:"demos"`
	// Form is how the prompt was laid out, and Other the same set in the other form, if it
	// was measured too. Tokens and seconds are for both.
	Form    prompt.Form `json:"form"`
	Other   *Beside     `json:"other,omitempty"`
	Shots   int         `json:"shots"`
	Private bool        `json:"private"`
	Metric  string      `json:"metric"`
	Value   float64     `json:"value"`
	Low     float64     `json:"low"`
	High    float64     `json:"high"`
	N       int         `json:"n"`
	// Metrics are others of the same answers.
	Metrics map[string]float64 `json:"metrics"`
	// Uncalibrated is what the same probabilities give without calibration.
	Uncalibrated *float64 `json:"uncalibrated,omitempty"`
	// Labels in the task's order; Confusion counts answers, a row for each wanted label
	// and a column for each answered one.
	Labels     []Label `json:"labels,omitempty"`
	Confusion  [][]int `json:"confusion,omitempty"`
	Unanswered int     `json:"unanswered"`

	PromptTokens int     `json:"prompt_tokens,omitempty"`
	ModelTokens  int64   `json:"model_tokens"`
	Seconds      float64 `json:"seconds"`
	Rate         float64 `json:"items_per_s"`

	// How answers are found, and whether labels are calibrated; scoreless: they were to be,
	// and the model gives no scores.
	how                   string
	calibrated, scoreless bool
	// scores of the items, and whether they have answers without calibration too.
	scores []float64
	raw    bool
}

// Commonest is the label that most questions have, and their share: what an answer without a look at the question has.
type Commonest struct {
	Label string  `json:"label"`
	Share float64 `json:"share"`
}

// commonest is the label that most questions of a row have; nil for other tasks.
func (r Row) commonest() *Commonest {
	if len(r.Labels) == 0 || r.N == 0 {
		return nil
	}
	commonest := slices.MaxFunc(r.Labels, func(a, b Label) int { return cmp.Compare(a.N, b.N) })
	return &Commonest{Label: commonest.Label, Share: float64(commonest.N) / float64(r.N)}
}

// Label is how often a label was wanted, and answered rightly.
type Label struct {
	Label    string  `json:"label"`
	N        int     `json:"n"`
	Accuracy float64 `json:"accuracy"`
}

// Comparison is of two sets on the same items: A less B.
type Comparison struct {
	A          string  `json:"a"`
	B          string  `json:"b"`
	Difference float64 `json:"difference"`
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
	P          float64 `json:"p"`
	Adjusted   float64 `json:"p_adjusted"`
}

// Prediction is the answer to a question.
type Prediction struct {
	// NotPrivate: the demonstrations, on which all of it depends, have no privacy guarantee. It marks the line
	// as [Marked] finds it.
	NotPrivate bool `json:"not_private,omitempty"`

	Demos string      `json:"demos"`
	Form  prompt.Form `json:"form"`
	// Item is the place of the question among those that were asked, from 1.
	Item   int       `json:"item"`
	Input  string    `json:"input"`
	Want   string    `json:"want"`
	Got    string    `json:"got"`
	Raw    string    `json:"uncalibrated,omitempty"`
	Score  float64   `json:"score"`
	Scores []float64 `json:"probabilities,omitempty"`
}
