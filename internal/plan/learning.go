package plan

import (
	"fmt"
	"math"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/private/sums"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/schema"
)

// Learns is how people call the method that makes a classifier of all records, and nothing else.
const Learns = "learn"

// LearnRequest is what a user asks of a classifier. The zero value of a field leaves it to [New], but for Encoder.
type LearnRequest struct {
	// Encoder of texts, by its name. Schema is that of the table whose rows, in words, are the records, if they
	// are: Encoder is then that of its rows.
	Encoder string
	Schema  *schema.Schema
	// Measuring is the share of ε for saying in the end for how many records the classifier is right; 0 or
	// less has none.
	Measuring float64
}

// learnMeasured is how many records are asked in the end: no model answers them, so that more are asked than
// where one does. Sampling alone leaves an interval of about ± 2 points.
const learnMeasured = 2000

func init() {
	method.Register(method.Spec{
		Name: Learns, Kind: method.Learning, Guarantee: method.Proven,
		Summary: "add all records up as a classifier that needs no language model",
		Idea: "A public encoder of sentences turns each record's text into a vector. Sums of vectors by label are released with Gaussian noise: they are a small " +
			"linear classifier, and all that is released. It answers in milliseconds, with the probabilities of all labels.",
		Cost:  "Each record is encoded once. No language model is opened, asked or fetched.",
		When:  "Where the answer is one of a list of labels, and nothing has to be written: it has all of ε, and on public data sets it is about as good as prompts that use it as evidence.",
		Proof: sums.Sums{}.Proof(), Cites: "Dwork et al. 2006 (Gaussian mechanism); Song, Chaudhuri and Sarwate 2013; Abadi et al. 2016 (noisy gradient descent)",
		Draws: "nobody: all records are added up", Calibrates: "sigma",
		Steps: []string{
			"Turn each record's text into a vector φ of length one, by a public encoder in this process.",
			"Begin with a classifier whose rows are the vectors of the labels' names, times a weight that the first noisy sum gives them.",
			"Make T sums, one after the other: each record adds (e_y − p) ⊗ φ, with the probabilities p that the classifier of the sums before gives, cut to a norm.",
			"Round what a unit adds to a grid, so that its norm is at most one, and add exact discrete Gaussian noise of scale σ to each sum.",
			"Release the vectors of the labels, which follow from the noisy sums.",
			"If asked to: draw records, count with noise for how many the classifier is right, for a share of ε.",
		},
		Not:   "Where labels are no closed list, outputs are written, or the task needs what a language model knows and the records do not say.",
		Event: "repeat(T, gaussian(σ)), and what measuring costs after it", Theorem: "P43",
		Needs: "an encoder of sentences in this process, and no language model",
	})
}

// learning plans to add all records up, for all of ε but what measuring costs.
func (r Request) learning() (Plan, error) {
	l, t := *r.Learning, r.Task.WithDefaults()
	if err := privacy.CheckEpsilon(r.Epsilon); err != nil || r.Epsilon == 0 || math.IsInf(r.Epsilon, 1) {
		return Plan{}, about("Epsilon", "an ε above 0 is needed to learn from the records, such as 1, not %v", r.Epsilon)
	}
	switch {
	case r.Choosing != nil || r.Method != "" || len(r.Settings) > 0:
		return Plan{}, wrong("learning adds records up, and neither writes nor chooses: leave out what is for these")
	case !labelled(t):
		return Plan{}, wrong("learning is for tasks with a closed list of labels, and the task %s has none: have records choose a prompt instead (sotto synth)", t.Name)
	case l.Encoder == "":
		return Plan{}, wrong(noEncoder)
	case r.Count:
		return Plan{}, about("Size", "how far sums go follows from the number of records: declare about how many there are, such as 20000, rather than have them counted")
	case r.Ending || r.Discover:
		return Plan{}, wrong("learning writes nothing that could end alike, and has its labels from the task: leave out endings and discovery")
	case !(l.Measuring < 1):
		return Plan{}, about("Measuring", "the share of ε for measuring is to be below 1, so that some is left for learning, not %v", l.Measuring)
	}
	r.Learning = nil
	p, err := r.pool(ChooseRequest{NoGeneration: true})
	if err != nil {
		return Plan{}, err
	}
	n := max(p.Units(), r.Size) // parts of equal sizes leave a remainder
	var beside []privacy.Event
	if l.Measuring > 0 {
		if p.Measure, err = p.measuring(l.Measuring, n, learnMeasured); err != nil {
			return Plan{}, err
		}
		beside = append(beside, p.Measure.Event())
	}
	if err := p.evidence(l.Encoder, l.Schema, p.Epsilon, n, beside...); err != nil {
		return Plan{}, err
	}
	if err := p.Check(); err != nil {
		return Plan{}, wrong("%v", err)
	}
	return p, nil
}

// Learns reports whether the plan makes a classifier of all records, and nothing else: no language model takes
// part.
func (p Plan) Learns() bool { return p.Evidence != nil && p.Choose == nil }

// checkLearning finds what does not belong in a plan that adds records up by itself.
func (p Plan) checkLearning() error {
	if !p.Learns() {
		if p.Measure != nil {
			return fmt.Errorf("what is measured in the end is a chosen prompt, or evidence alone, and the plan has neither")
		}
		return nil
	}
	if p.Shots != 0 || p.WritesFromRecords() || p.Count != nil || p.Discover != nil || p.Ending != nil || !p.Private() {
		return fmt.Errorf("a plan that adds records up by itself writes, counts and finds nothing else")
	}
	return p.checkMeasure(p.Measure)
}

// learnSteps says what is going to be done, before anything is spent; "" for other plans.
func (p Plan) learnSteps() string {
	if !p.Learns() {
		return ""
	}
	e := p.Evidence
	out := fmt.Sprintf("the plan: all records are added up in %s with noise, σ = %s; no language model takes part", counted(int(e.Sums.Sums), "sum"), short(e.Sigma))
	if m := p.Measure; m != nil {
		out += fmt.Sprintf("; then about %.0f records say whether it is right for them", m.Draw.Expected(p.Units()))
	}
	return out
}
