package plan

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/internal/evidence/rows"
	"github.com/sotto-dp/sotto/internal/private/sums"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/schema"
)

// Evidence says that all records are added up, before they choose if they do, and how prompts may use the sum.
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

// DefaultEvidence is the share of ε for evidence, of what is not for writing. Settled on training records
// that were kept back (lab/results): 0.6 and 0.8 differ by a point, and what is left is enough to choose by.
const DefaultEvidence = 0.7

// minPerLabel is how many records there are for each label, times ε, for evidence to be worth its share. In
// trials with from 60 to 2,000 records, those with fewer said less than a small model does by itself.
const minPerLabel = 60

// minDeciding is how many records choose last, at least, for prompts that use no evidence to compete: of so many, one
// prompt is right for about five in a hundred more or less than another by chance alone.
const minDeciding = 100

// OnlyEvident reports whether only prompts that use evidence compete, since few records choose.
func (p Plan) OnlyEvident() bool {
	c := p.Choose
	if c == nil || p.Evidence == nil {
		return false
	}
	deciding := c.Draw
	if c.Last != nil {
		deciding = c.Last.Draw
	}
	return deciding.Expected(p.Units()) < minDeciding
}

// Evident is the share of ε for evidence: what was asked for, or else the default, where the task has a closed
// list of labels and the records are enough. An encoder is needed if it is not 0.
func (r Request) Evident() float64 {
	c := r.Choosing
	switch {
	case c == nil || c.Evidence < 0:
		return 0
	case c.Evidence != 0:
		return c.Evidence
	case !r.hasLabels() || len(c.Sets) > 0 || c.Measuring >= 1-DefaultEvidence:
		return 0
	case !(float64(r.declared())*r.Epsilon >= float64(minPerLabel*len(r.Task.Labels))):
		return 0
	}
	return DefaultEvidence * (1 - max(0, c.Writing))
}

// hasLabels reports whether the task has a closed list of labels.
func (r Request) hasLabels() bool {
	return labelled(r.Task.WithDefaults())
}

// Provisional names an encoder where one is asked for that is opened later, so that the request can be checked before.
func (r Request) Provisional() Request {
	if c := r.Choosing; c != nil && c.Encoder == "" && (c.Evidence > 0 || c.Nearest > 0) {
		own := *c
		own.Encoder, r.Choosing = "any", &own
	}
	return r
}

// fillEvidence sets the share for evidence, and checks what was asked of it. Without an encoder there is none
// by default.
func (r *Request) fillEvidence(c *ChooseRequest) error {
	asked := *r
	asked.Choosing = c
	share := asked.Evident()
	if c.Evidence <= 0 && c.Encoder == "" {
		share = 0
	}
	c.Evidence = share
	switch {
	case share == 0:
		return nil
	case math.IsNaN(share):
		return about("Evidence", "the share of ε for evidence is to be a number below 1, not %v", share)
	case !r.hasLabels():
		return about("Evidence", "evidence is for tasks with a closed list of labels, and the task %s has none: leave it out", r.Task.Name)
	case c.Encoder == "":
		return about("Evidence", noEncoder)
	case !(share < 1-max(0, c.Writing)-max(0, c.Measuring)):
		return about("Evidence", "the shares of ε for evidence (%v), writing (%v) and measuring (%v) leave nothing for choosing", share, max(0, c.Writing), max(0, c.Measuring))
	}
	return nil
}

const noEncoder = "evidence needs an encoder of sentences: fetch it with sotto model pull minilm"

// labelled reports whether a task has a closed list of labels to have evidence for.
func labelled(t prompt.Task) bool { return !t.Open() && t.Kind != prompt.Generate && len(t.Labels) > 0 }

// evidence plans to add up the records of n units, rows of a table if they have a schema, so that this and the events beside it cost at most ε.
func (p *Plan) evidence(encoder string, of *schema.Schema, epsilon float64, n int64, beside ...privacy.Event) error {
	e := &Evidence{Sums: sums.Sums{Encoder: encoder, Size: n, Adjacency: p.Adjacency, Each: unitRecords}, Schema: of, Alone: true}
	if p.Unit == privacy.Record {
		e.Each = 1
	}
	all := func(x float64) privacy.Event {
		return privacy.Canonical(privacy.Compose{Events: append([]privacy.Event{privacy.Gaussian{Sigma: 1 / x}}, beside...)})
	}
	x, err := solve("evidence", accountant.Target{Epsilon: epsilon, Delta: p.Delta, Adjacency: p.Adjacency}, all)
	if err != nil {
		return err
	}
	if e.Schema != nil {
		e.Sums = e.ForRows(1 / x)
	} else {
		e.Sums = e.For(1 / x)
	}
	switch {
	case p.Choose == nil:
	case p.Choose.Form.Turns():
		e.Hints = prompt.Hints()
	default:
		e.Weights = slices.Clone(weights)
	}
	p.Evidence = e
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
	if !labelled(p.Task) {
		return fmt.Errorf("the task has no closed list of labels to have evidence for")
	}
	if e.Adjacency != p.Adjacency {
		return fmt.Errorf("the plan is under %s adjacency, and its evidence under %s", p.Adjacency, e.Adjacency)
	}
	if p.Choose == nil && (len(e.Weights) > 0 || e.Hints != 0 || !e.Alone) {
		return fmt.Errorf("evidence without prompts is used alone")
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
