package worth

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/icl"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// Evaluation asks a model the questions of a test.
type Evaluation struct {
	// Task, Items and Model are required, the model unless all sets answer by evidence alone.
	Task  prompt.Task
	Items []eval.Item
	Model lm.Model
	// Calibrate divides the probabilities of labels by those after questions without content;
	// nil does so where labels are listed, the set does not say otherwise, and the model
	// gives scores.
	Calibrate *bool
	// Form is how prompts are laid out: that in which they were chosen by default, and turns for
	// others where the model has a chat template. The other form is measured beside it where the
	// model takes both.
	Form prompt.Form
	// Normalise divides a label's log-probability by its number of tokens.
	Normalise bool
	// Metric, if not the task's own.
	Metric string
	// Encoder opens the encoder of sentences, which metrics with embeddings need.
	Encoder func(context.Context) (lm.Embedder, error)
	// Vectors opens the encoder that prompts need which use evidence, or give questions the nearest examples: the
	// one that they name.
	Vectors func() (lm.Embedder, error)
	// Seed resamples questions.
	Seed uint64
	// Observe, if set, is called with how many questions are answered with a set, and Keep its answers.
	Observe func(set string, done, of int)
	Keep    func([]Prediction) error

	sentences lm.Embedder
	vectors   lm.Embedder // of evidence and the nearest examples
}

// Close closes the encoders, if there are any.
func (e *Evaluation) Close() error {
	var err error
	for _, encoder := range []lm.Embedder{e.sentences, e.vectors} {
		if encoder != nil {
			err = errors.Join(err, encoder.Close())
		}
	}
	return err
}

// reads opens the evidence of a set, if its prompt uses it.
func (e *Evaluation) reads(set Set) (_ *evidence.Reader, err error) {
	if set.Evidence == nil || e.Vectors == nil {
		return nil, nil
	}
	var encoder evidence.Encodes
	if !set.Evidence.Rows() {
		if err := e.openVectors(); err != nil {
			return nil, err
		}
		encoder = e.vectors
	}
	r, err := evidence.Open(set.Evidence, encoder)
	if err == nil {
		err = r.Reads(inputsOf(e.Items))
	}
	if err != nil {
		return nil, wrong("the evidence of %s: %w", set.Name, err)
	}
	return r, nil
}

// openVectors opens the encoder, once.
func (e *Evaluation) openVectors() (err error) {
	if e.vectors == nil {
		e.vectors, err = e.Vectors()
	}
	return err
}

func (e *Evaluation) observe(set string, done int) {
	if e.Observe != nil {
		e.Observe(set, done, len(e.Items))
	}
}

// Run answers all questions with each set and compares the sets. Prepare, if set, is called
// for each before it is used.
func (e *Evaluation) Run(ctx context.Context, sets []Set, prepare func(*Set) error) (*Result, error) {
	began := time.Now()
	r := &Result{Task: e.Task.Name}
	scoreless := false
	for _, set := range sets {
		if prepare != nil {
			if err := prepare(&set); err != nil {
				return nil, err
			}
		}
		row, err := e.Row(ctx, set)
		if err != nil {
			return nil, err
		}
		r.Rows = append(r.Rows, row)
		r.How, r.Calibrated, scoreless = row.how, row.calibrated, scoreless || row.scoreless
		if set.NotPrivate {
			r.Warnings = append(r.Warnings, fmt.Sprintf("the demonstrations of %s are NOT PRIVATE: they are for comparison alone", set.Name))
		}
	}
	if scoreless {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s gives no scores, so that answers are not calibrated", e.Model.Info().Name))
	}
	first := r.Rows[0]
	r.Metric, r.Value, r.Low, r.High, r.N = first.Metric, first.Value, first.Low, first.High, first.N
	r.Commonest = first.commonest()
	var err error
	r.Comparisons, err = e.compare(r.Rows)
	r.Seconds = time.Since(began).Seconds()
	return r, err
}

// row answers the questions with one set in one form.
func (e *Evaluation) row(ctx context.Context, set Set, form prompt.Form) (Row, error) {
	row := Row{Demos: set.Name, Form: form, Shots: set.shown(), Private: !set.NotPrivate, N: len(e.Items)}
	began := time.Now()
	answers, err := e.answer(ctx, &row, set)
	if err != nil {
		return row, err
	}
	row.Seconds = time.Since(began).Seconds()
	row.Rate = float64(row.N) / row.Seconds
	if err := e.measure(ctx, &row, answers); err != nil || e.Keep == nil {
		return row, err
	}
	lines := make([]Prediction, len(answers))
	for i, a := range answers {
		lines[i] = Prediction{
			NotPrivate: set.NotPrivate, Demos: row.Demos, Form: form, Item: i + 1, Input: e.Items[i].Input, Want: e.Items[i].Output, Got: a.text, Raw: a.raw, Score: row.scores[i], Scores: a.scores,
		}
	}
	return row, e.Keep(lines)
}

// prediction is the answer to a question.
type prediction struct {
	text string
	// raw is the answer without calibration, scores are the labels' probabilities; both
	// are empty where the model wrote.
	raw    string
	scores []float64
}

// answer asks all questions with one set, and notes in the row how it went.
func (e *Evaluation) answer(ctx context.Context, row *Row, set Set) (answers []prediction, err error) {
	a, err := e.open(ctx, row, set)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	row.how = a.Describe()
	classifier, scored := a.(classifies)
	if sized, ok := a.(interface{ Tokens() int }); ok {
		row.PromptTokens = sized.Tokens()
	}
	e.observe(set.Name, 0)
	for done := 0; done < len(e.Items); {
		inputs := inputsOf(e.Items[done:min(len(e.Items), done+answersAtOnce)])
		if scored {
			some, err := classifier.Classify(ctx, inputs)
			if err != nil {
				return nil, err
			}
			for _, p := range some {
				answers = append(answers, prediction{p.Label, p.Raw.Label, p.Scores})
			}
		} else {
			some, err := a.Answer(ctx, inputs)
			if err != nil {
				return nil, err
			}
			for _, text := range some {
				answers = append(answers, prediction{text: text})
			}
		}
		done += len(inputs)
		e.observe(set.Name, done)
	}
	row.raw = scored && row.calibrated
	row.ModelTokens = a.Usage().Computed
	return answers, nil
}

// classifies is what gives the probabilities of labels.
type classifies interface {
	Classify(ctx context.Context, inputs []string) ([]icl.Prediction, error)
}

// answersAtOnce is some passes through the model: people see that it continues.
const answersAtOnce = 64

func inputsOf(items []eval.Item) []string {
	inputs := make([]string, len(items))
	for i, item := range items {
		inputs[i] = item.Input
	}
	return inputs
}

// open lays out the prompt. A model without scores cannot be calibrated, which is an error
// for the one who asked for it.
func (e *Evaluation) open(ctx context.Context, row *Row, set Set) (icl.Answerer, error) {
	target := e.Task
	row.calibrated = Listed(target) && (e.Calibrate == nil || *e.Calibrate)
	if c := set.Chosen; c != nil {
		target = c.For(target)
		if e.Calibrate == nil {
			row.calibrated = c.Calibrated && Listed(target)
		}
	}
	o := icl.Options{Form: row.Form, Normalise: e.Normalise && !row.Form.Turns()}
	row.calibrated = row.calibrated && !row.Form.Turns()
	o.Calibrate = row.calibrated
	if c := set.Chosen; c != nil {
		o.Use = c.Evidence
	}
	var err error
	if o.Evidence, err = e.reads(set); err != nil {
		return nil, err
	}
	if c := set.Chosen; c != nil && c.Nearest.Used() {
		if e.Vectors == nil {
			return nil, wrong("the prompt of %s gives questions the examples nearest to them, and there is no encoder to find those", set.Name)
		}
		if err := e.openVectors(); err != nil {
			return nil, err
		}
		o.Nearest, o.Encoder = c.Nearest, e.vectors
	}
	if e.Model == nil && o.Use.How != prompt.Alone {
		return nil, errors.New("a model is needed to answer with examples, and there is none")
	}
	a, err := icl.Open(ctx, e.Model, target, set.Examples, o)
	var unsupported *lm.UnsupportedError
	if errors.As(err, &unsupported) && o.Calibrate && !o.Normalise && e.Calibrate == nil {
		o.Calibrate, row.calibrated, row.scoreless = false, false, true
		a, err = icl.Open(ctx, e.Model, target, set.Examples, o)
	}
	if err != nil {
		return nil, fmt.Errorf("answer with %s: %w", set.Name, err)
	}
	return a, nil
}

// Listed reports whether answers are of a closed list of labels.
func Listed(t prompt.Task) bool { return t.Kind != prompt.Generate && !t.Open() }

// Embeds reports whether a metric needs an encoder of sentences.
func Embeds(metric string) bool { return strings.HasPrefix(metric, "embedding_") }
