package plan

import (
	"fmt"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/private/ensemble"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/prompt"
)

// Answers fixes how questions are answered from private records, except for randomness, data
// and questions. It is public. All questions are answered in the same way, and each
// answer costs [Answers.Event].
type Answers struct {
	Task prompt.Task `json:"task"`
	// Epsilon and Delta are for so many Answers together; what they cost is at most that.
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
	Answers int64   `json:"together"`
	// Adjacency and Unit are what the guarantee is about, and Size is the declared number
	// of units.
	Adjacency privacy.Adjacency `json:"adjacency"`
	Unit      privacy.Unit      `json:"unit"`
	Size      int64             `json:"size"`
	// Tokens of an answer at most.
	Tokens int          `json:"tokens"`
	Rules  decode.Rules `json:"rules"`
	// Write is how answers are written, token by token; or Ensemble how whole answers of
	// many prompts become one. One of the two is set.
	Write    decode.Settings   `json:"write,omitzero"`
	Ensemble ensemble.Settings `json:"ensemble,omitzero"`
}

// DefaultAnswerRules returns the default rules of answers: an answer is as short as it may
// be, and says things again that the question said.
func DefaultAnswerRules(t prompt.Task) decode.Rules {
	rules := decode.Rules{MinTokens: 1, Penalty: 0.3, NoRepeat: 4, Fields: true}
	if t.Kind == prompt.Generate { // other answers are phrases
		rules.Close = 7
	}
	return rules
}

// NewAnswers makes a plan of answers that keeps to the ε and δ of a request.
func NewAnswers(r Request) (Answers, error) {
	if err := r.fillAnswers(); err != nil {
		return Answers{}, err
	}
	a := Answers{
		Task: r.Task, Epsilon: r.Epsilon, Delta: r.Delta, Answers: r.Answers, Adjacency: privacy.AddRemove,
		Unit: r.Unit, Size: r.Size, Tokens: r.Tokens, Rules: *r.Rules,
	}
	if r.Sampler == scheme.FixedSize {
		a.Adjacency = privacy.ReplaceOne
	}
	if spec(r.Method).Kind == method.Answers {
		m, err := r.ensemble(a)
		if err != nil {
			return Answers{}, err
		}
		a.Ensemble = ensemble.Settings{Method: m}
	} else {
		m, err := r.method(a.texts(), Part{Size: a.Size, Texts: a.Answers})
		if err != nil {
			return Answers{}, err
		}
		a.Write = decode.Settings{Method: m}
	}
	if err := a.Check(); err != nil {
		return Answers{}, wrong("%v", err)
	}
	return a, nil
}

// texts is a plan of as many texts as there are answers together, from which all that
// holds for texts follows for answers.
func (a Answers) texts() Plan {
	return Plan{
		Task: a.Task, Epsilon: a.Epsilon, Delta: a.Delta, Unit: a.Unit, Adjacency: a.Adjacency,
		Shots: 1, Tokens: a.Tokens, Rules: a.Rules, Parts: []Part{{Size: a.Size, Texts: a.Answers, Method: a.Write}},
	}
}

// fillAnswers sets what was left open and checks the rest.
func (r *Request) fillAnswers() error {
	r.Task = r.Task.WithDefaults()
	setDefault(&r.Method, DefaultAnswer(r.Task))
	setDefault(&r.Answers, 1)
	setDefault(&r.Tokens, r.Task.Limits.AnswerTokens)
	if r.Answers < 1 || r.Tokens < 1 {
		return wrong("answers (%d) and tokens (%d) must be positive", r.Answers, r.Tokens)
	}
	if r.Rules == nil {
		rules := DefaultAnswerRules(r.Task)
		r.Rules = &rules
	}
	switch {
	case r.Count || r.Discover:
		return wrong("answers need the number of records declared, such as 20000: sizes and labels are counted for texts only")
	case r.Sampler == scheme.Disjoint:
		return wrong("disjoint batches share out a known number of texts, and questions come one by one: use poisson draws")
	case spec(r.Method).Copies:
		return wrong("records as they are answer no question: choose another method, such as %s", DefaultWriter)
	case r.Shots != 0 || len(r.Conditions) > 0:
		return wrong("shots and conditions are for texts, not for answers: leave them out")
	}
	if err := r.answerMethod(); err != nil {
		return err
	}
	if err := r.fillBudget(spec(r.Method)); err != nil {
		return err
	}
	if r.Size == 0 {
		for _, n := range r.Sizes {
			r.Size += n
		}
	}
	return nil
}

// answerMethod checks that there is a method of the request's name that serves its task.
func (r *Request) answerMethod() error {
	spec, err := method.Find(r.Method, method.Texts, method.Answers)
	if err != nil {
		return err
	}
	if spec.Kind == method.Answers {
		m, err := method.New[ensemble.Method](r.Method, method.Answers)
		if err == nil {
			err = m.Serves(r.Task)
		}
		if err != nil {
			return wrong("%v", err)
		}
		return nil
	}
	if r.Task.Kind == prompt.Classify || !r.Task.Open() {
		return wrong("the answers of this task are labels of a list, which are voted on, not written: use the method vote, or product")
	}
	return nil
}

// DefaultAnswer is the method that answers questions of a task by default.
func DefaultAnswer(t prompt.Task) string {
	if t.Kind == prompt.Classify || !t.Open() {
		return "vote"
	}
	return DefaultWriter
}

// AnswerMethods returns the methods with a guarantee that answer questions of a task, the
// default first.
func AnswerMethods(t prompt.Task) []string {
	list := []string{DefaultAnswer(t)}
	for _, spec := range method.List(method.Texts, method.Answers) {
		r := Request{Task: t, Method: spec.Name}
		if spec.Offered() && spec.Name != list[0] && r.answerMethod() == nil {
			list = append(list, spec.Name)
		}
	}
	return list
}

// Event is all that one answer may do to the data: everything, by a method that is not
// this program's.
func (a Answers) Event() privacy.Event {
	if a.genuine() != nil {
		return privacy.NonPrivate{}
	}
	if a.Ensemble.Method != nil {
		return a.Ensemble.Event()
	}
	return privacy.Canonical(decode.TextEvent(a.Write.Method, a.Tokens))
}

// All is what n answers do to the data together.
func (a Answers) All(n int64) privacy.Event {
	return privacy.Canonical(privacy.Repeat{N: n, Event: a.Event()})
}

// Total is the ε of n answers together, at the plan's δ.
func (a Answers) Total(n int64) (privacy.Interval, error) {
	return accountant.Auto{}.Epsilon(a.All(n), a.Adjacency, a.Delta)
}

// Private reports whether the method has a guarantee. Without one there is no charge, and
// answers are NOT PRIVATE.
func (a Answers) Private() bool { return a.genuine() == nil && a.Proof() != "" }

// genuine checks that the method is one of this program.
func (a Answers) genuine() error {
	if a.Ensemble.Method != nil {
		return ensemble.Genuine(a.Ensemble)
	}
	return decode.Genuine(a.Write)
}

// method is what a writer and an ensemble have in common.
func (a Answers) method() method.Method {
	if a.Ensemble.Method != nil {
		return a.Ensemble
	}
	return a.Write
}

// Method is the name of the method.
func (a Answers) Method() string { return a.method().Name() }

// Proof cites why the event is right; "" for a method without a guarantee.
func (a Answers) Proof() string { return a.method().Proof() }

// Claim is [Plan.Claim] of answers.
func (a Answers) Claim() string { return claim(a.Write.Method, a.Epsilon, a.Delta) }

// Scheme says who is drawn for an answer, and when.
func (a Answers) Scheme() scheme.Scheme { return a.method().Scheme() }

// Noise is [Plan.Noise] of an answer.
func (a Answers) Noise() string { return spans([][]method.Amount{a.method().Amounts()}) }

// Check finds what is wrong with a plan that was read from a file.
func (a Answers) Check() error {
	if (a.Write.Method == nil) == (a.Ensemble.Method == nil) {
		return fmt.Errorf("a plan of answers needs one method, that writes or that makes one of many answers")
	}
	if err := a.genuine(); err != nil {
		return err
	}
	if a.Scheme().Kind == scheme.Disjoint {
		return fmt.Errorf("questions come one by one, and disjoint batches are for a known number of texts")
	}
	if a.Size < 1 || a.Answers < 1 {
		return fmt.Errorf("a plan of answers needs a number of records (%d), and of answers (%d)", a.Size, a.Answers)
	}
	if a.Ensemble.Method != nil {
		return a.checkEnsemble()
	}
	return a.texts().Check()
}

// Warnings are about what the settings alone show, in words; the data has no part in them.
func (a Answers) Warnings() []string {
	if a.Ensemble.Method != nil {
		return a.ensembleWarnings()
	}
	return a.texts().Warnings()
}
