package forecast

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/sotto-dp/sotto/prompt"
)

// Table is what suites measured. Scores are from 0 to 100.
type Table struct {
	// Sources are the folders of suites' results, below lab/results.
	Sources []string `json:"sources"`
	Curves  []Curve  `json:"curves"`
	// Learned is what private classifiers are worth.
	Learned []ClassifierResult `json:"learned"`
}

// Curve is one data set with one model.
type Curve struct {
	Model string `json:"model"`
	// Task of the data set, its Kind and its number of Labels, 0 where they are open.
	Task   string      `json:"task"`
	Kind   prompt.Kind `json:"kind"`
	Labels int         `json:"labels"`
	// None is the score without examples, Own that with model-generated examples, Real
	// that with real records, 0 if it was not measured. Where labels can be read off in two
	// ways, they are from the better one.
	None float64 `json:"none"`
	Own  float64 `json:"own"`
	Real float64 `json:"real,omitempty"`
	// Runs in which records chose.
	Runs []Run `json:"runs"`
}

// Run is what chosen prompts are worth with one setting, over some seeds.
type Run struct {
	Records int64   `json:"records"`
	Epsilon float64 `json:"epsilon"`
	// Weight is the weight of a round's records against the noise, in each of Rounds.
	Weight float64 `json:"weight"`
	Rounds int64   `json:"rounds"`
	// Score is the mean over Seeds, and Deviation their standard deviation.
	Score     float64 `json:"score"`
	Deviation float64 `json:"deviation"`
	Seeds     int     `json:"seeds"`
}

//go:embed table.json
var measured []byte

// Measured returns what suites have measured.
var Measured = sync.OnceValue(func() Table {
	var t Table
	if err := json.Unmarshal(measured, &t); err != nil {
		panic(fmt.Sprintf("table.json: %v", err)) // it is part of the program
	}
	return t
})

// written reports whether answers of a task are texts, which are measured by overlap.
func written(k prompt.Kind) bool { return k == prompt.Generate }

var sizeInName = regexp.MustCompile(`(?i)(?:^|[^a-z0-9.])(\d+(?:\.\d+)?)\s?(b|m)(?:$|[^a-z0-9])`)

// Parameters returns the number of parameters that the name of a model states, as most do
// ("SmolLM2-135M", "qwen2.5:7b"); 0 if it does not.
func Parameters(model string) float64 {
	found := sizeInName.FindStringSubmatch(model)
	if found == nil {
		return 0
	}
	n, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		return 0
	}
	if strings.EqualFold(found[2], "b") {
		return n * 1e9
	}
	return n * 1e6
}
