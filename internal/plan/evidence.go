package plan

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/internal/private/sums"
	"github.com/sotto-dp/sotto/internal/rows"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/schema"
)

// Evidence says that all records are added up before they choose, and how prompts may use the sum.
type Evidence struct {
	sums.Sums
	// Schema is that of the rows of a table, if they are what is added up: the encoder is theirs.
	Schema *schema.Schema `json:"schema,omitempty"`
	// Weights with which it may be combined with a model's scores, Hints wordings that may tell a model
	// of it; Alone says that it may answer without a model.
	Weights []float64 `json:"weights,omitempty"`
	Hints   int       `json:"hints,omitempty"`
	Alone   bool      `json:"alone,omitempty"`
}

// unitRecords is how many records of a unit are asked, where units are not records.
const unitRecords = 4

// weights of evidence beside the scores of a model. Those of larger models are sharp, and right less often than
// they say: evidence needs more weight beside them.
var weights = []float64{0.5, 1, 2, 4, 8}

// fillEvidence checks what was asked of evidence.
func (r *Request) fillEvidence(c *Choosing) error {
	if c.Evidence <= 0 {
		c.Evidence = 0
		return nil
	}
	switch t := r.Task.WithDefaults(); {
	case math.IsNaN(c.Evidence):
		return about("Evidence", "the share of ε for evidence is to be a number below 1, not %v", c.Evidence)
	case t.Open() || t.Kind == prompt.Generate:
		return about("Evidence", "evidence is for tasks with a closed list of labels, and the task %s has none: leave it out", t.Name)
	case c.Encoder == "":
		return about("Evidence", "evidence needs an encoder of sentences: fetch it with sotto model pull minilm")
	case !(c.Evidence < 1-max(0, c.Writing)-max(0, c.Measuring)):
		return about("Evidence", "the shares of ε for evidence (%v), writing (%v) and measuring (%v) leave nothing for choosing", c.Evidence, max(0, c.Writing), max(0, c.Measuring))
	}
	return nil
}

// evidence plans to add up the records of n units for a share of ε.
func (p *Plan) evidence(c Choosing, n int64) error {
	if c.Evidence == 0 {
		return nil
	}
	e := &Evidence{Sums: sums.Sums{Encoder: c.Encoder, Size: n, Adjacency: p.Adjacency, Each: unitRecords}, Alone: true}
	if p.Unit == privacy.Record {
		e.Each = 1
	}
	one := func(x float64) privacy.Event { return privacy.Gaussian{Sigma: 1 / x} }
	x, err := solve("evidence", accountant.Target{Epsilon: c.Evidence * p.Epsilon, Delta: p.Delta, Adjacency: p.Adjacency}, one)
	if err != nil {
		return err
	}
	if e.Schema = c.Schema; e.Schema != nil {
		e.Sums = e.ForRows(1 / x)
	} else {
		e.Sums = e.For(1 / x)
	}
	if p.Choose.Form.Turns() {
		e.Hints = prompt.Hints()
	} else {
		e.Weights = slices.Clone(weights)
	}
	p.Choose.Evidence = e
	return nil
}

// encode is how long the records of units take to be encoded.
func (v Speed) encode(units int64, each int) float64 {
	return v.Encode * float64(units) * float64(each)
}

// MeasureEncoder finds out how long an encoder takes for a text, in seconds. No record is involved.
func MeasureEncoder(ctx context.Context, e interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
},
) (float64, error) {
	const texts, words = 64, 20
	made := make([]string, texts)
	for i := range made {
		made[i] = strings.Repeat("a text of so many words ", words/5) + fmt.Sprint(i)
	}
	if _, err := e.Embed(ctx, made[:1]); err != nil { // a first one pays for what is set up once
		return 0, err
	}
	begin := time.Now()
	_, err := e.Embed(ctx, made)
	return time.Since(begin).Seconds() / texts, err
}

// check finds what is wrong with evidence of a plan.
func (e *Evidence) check(p Plan) error {
	if e == nil {
		return nil
	}
	if err := e.Sums.Check(); err != nil {
		return err
	}
	if err := rows.Named(e.Schema, e.Encoder); err != nil {
		return err
	}
	if p.Task.Open() || p.Task.Kind == prompt.Generate {
		return fmt.Errorf("the task has no closed list of labels to have evidence for")
	}
	if e.Adjacency != p.Adjacency {
		return fmt.Errorf("the plan is under %s adjacency, and its evidence under %s", p.Adjacency, e.Adjacency)
	}
	if len(e.Weights) > 0 && p.Choose.Form.Turns() {
		return fmt.Errorf("evidence is combined with scores, which turns do not have")
	}
	if e.Hints < 0 || e.Hints > prompt.Hints() {
		return fmt.Errorf("there are %d wordings of hints, not %d", prompt.Hints(), e.Hints)
	}
	if slices.ContainsFunc(e.Weights, func(w float64) bool { return !(w > 0) || math.IsInf(w, 1) }) {
		return fmt.Errorf("evidence is combined with positive weights")
	}
	return nil
}

// words say what is done, for people.
func (e *Evidence) words() string {
	if e == nil {
		return ""
	}
	return "; all records are added up as evidence for labels"
}
