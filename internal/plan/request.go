package plan

import (
	"cmp"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/prompt"
)

// DefaultWriter is the method that writes from records by default.
const DefaultWriter = "clipped"

// Request is what a user asks for. The zero value of a field leaves the choice to [New].
type Request struct {
	// Task is required.
	Task prompt.Task
	// Method is [DefaultWriter] by default.
	Method string
	// Epsilon is required for methods with a guarantee. Delta is min(1e-6, n^-1.1).
	Epsilon, Delta float64
	// Unit is a record by default.
	Unit privacy.Unit
	// Size is the declared number of units of the whole data, Sizes that of each label
	// (those that are not in it share what is left of Size evenly). Required unless
	// Count.
	Size  int64
	Sizes map[string]int64
	// Count the sizes instead, for CountEpsilon (a twentieth of Epsilon by default),
	// assuming at least MinSize units in a part (1000 by default).
	Count        bool
	CountEpsilon float64
	MinSize      int64
	// Shots is the number of texts, Tokens the most that one has: the task's.
	Shots, Tokens int
	// Conditions of an open task. Discover finds them in the data instead, for
	// DiscoverEpsilon (a tenth of Epsilon by default).
	Conditions      []string
	Discover        bool
	DiscoverEpsilon float64
	// Ending finds the last words that most records share, for EndingEpsilon (a twentieth of
	// Epsilon by default), and ends every text with them.
	Ending        bool
	EndingEpsilon float64
	// Rules for texts; nil takes the defaults.
	Rules *decode.Rules

	// Answers is how many answers Epsilon is for, together; 0 means 1. It is for
	// [NewAnswers] alone.
	Answers int64

	// Sampler is the method's by default.
	Sampler scheme.Kind
	// Settings of the method, by name; see package method for those that there are.
	Settings method.Values

	// Choosing has the records choose a prompt that is made from the texts; nil writes texts
	// and no more. Shots is then the number of examples that a set has to begin with.
	Choosing *ChooseRequest
	// Learning adds all records up as a classifier without a language model, and does nothing else.
	Learning *LearnRequest
}

// DefaultRules returns the default rules of texts.
func DefaultRules(t prompt.Task) decode.Rules {
	rules := decode.Rules{MinTokens: t.WithDefaults().Limits.MinTokens, Penalty: 0.7, NoRepeat: 4, Fields: true, Close: 7}
	if t.Kind == prompt.Extract {
		rules.Contain, rules.Favour, rules.After, rules.Within = true, 2, 4, 8
	}
	return rules
}

// InputError says which part of a request cannot be met, and what to do.
type InputError = method.InputError

func wrong(format string, args ...any) error { return method.Wrong(format, args...) }

// fill sets what was left open and checks the rest.
func (r *Request) fill() error {
	r.Task = r.Task.WithDefaults()
	setDefault(&r.Method, DefaultWriter)
	if r.Answers != 0 {
		return wrong("a number of answers is for those who answer questions: ask for a number of texts (shots)")
	}
	setDefault(&r.Shots, r.Task.Limits.Shots)
	setDefault(&r.Tokens, r.Task.Limits.MaxTokens)
	if r.Shots < 1 || r.Tokens < 1 {
		return wrong("shots (%d) and tokens (%d) must be positive", r.Shots, r.Tokens)
	}
	if r.Rules == nil {
		rules := DefaultRules(r.Task)
		r.Rules = &rules
	}
	spec, err := method.Find(r.Method, method.Texts)
	if err != nil {
		return err
	}
	if err := r.fillBudget(spec); err != nil {
		return err
	}
	return r.fillConditions()
}

// fillBudget sets and checks what the cost follows from, and the settings of the method.
func (r *Request) fillBudget(spec method.Spec) (err error) {
	unit, err := privacy.ParseUnit(string(r.Unit))
	if err != nil {
		return about("Unit", "%v", err)
	}
	r.Unit = unit
	setDefault(&r.Sampler, cmp.Or(spec.Sampler, scheme.Poisson))
	if spec.Bounded() {
		if err := privacy.CheckEpsilon(r.Epsilon); err != nil || r.Epsilon == 0 {
			return about("Epsilon", "an ε above 0 is needed, such as 1, not %v; without any record there is the method public", r.Epsilon)
		}
	}
	if err := r.fillSizes(); err != nil {
		return err
	}
	if err := privacy.CheckDelta(r.Delta); err != nil {
		return about("Delta", "%v", err)
	}
	r.Settings, err = r.Settings.Check(spec)
	return err
}

func (r *Request) fillSizes() error {
	if r.Count {
		if r.Size != 0 || len(r.Sizes) != 0 {
			return wrong("sizes are either declared or counted, not both")
		}
		setDefault(&r.CountEpsilon, r.Epsilon/20)
		setDefault(&r.MinSize, 1000)
		setDefault(&r.Delta, 1e-6)
		if !(r.CountEpsilon > 0 && r.CountEpsilon < r.Epsilon) || r.MinSize < 1 {
			return wrong("counting sizes needs an ε between 0 and that of the run (%v), not %v, and a least size, not %d", r.Epsilon, r.CountEpsilon, r.MinSize)
		}
		return nil
	}
	total := r.Size
	for label, n := range r.Sizes {
		if n < 1 {
			return wrong("the size of %q must be positive, not %d", label, n)
		}
		if _, known := r.Task.ResolveLabel(label); !known {
			return wrong("a size is declared for %q, which is not a label of the task", label)
		}
		if r.Size == 0 {
			total += n
		}
	}
	if total < 1 {
		return wrong("the number of records has to be declared, such as 20000: it is public, and the sampling rate follows from it; or have it counted with noise (--size auto)")
	}
	setDefault(&r.Delta, privacy.DefaultDelta(total))
	return nil
}

func (r *Request) fillConditions() error {
	switch {
	case !r.Task.Open():
		if len(r.Conditions) > 0 || r.Discover {
			return wrong("the task has a closed list of labels: leave out other labels and discovery")
		}
	case r.Discover:
		if r.Task.Kind == prompt.Generate {
			return about("Inputs", "inputs of a generation task cannot be discovered: give a public file of inputs")
		}
		if len(r.Conditions) > 0 {
			return wrong("labels are either given or discovered, not both")
		}
		setDefault(&r.DiscoverEpsilon, r.Epsilon/10)
		if !(r.DiscoverEpsilon > 0 && r.DiscoverEpsilon < r.Epsilon) {
			return wrong("discovering labels needs an ε between 0 and that of the run (%v), not %v", r.Epsilon, r.DiscoverEpsilon)
		}
	case len(r.Conditions) == 0:
		r.Conditions = r.Task.Conditions
		if len(r.Conditions) == 0 {
			if r.Task.Kind == prompt.Generate {
				return about("Inputs", "the task writes outputs for inputs: give a public file of inputs to write for")
			}
			return about("Labels", "the task has open labels: give a public list of them, or have them discovered for a part of ε")
		}
	}
	return nil
}

func setDefault[V comparable](v *V, value V) { *v = cmp.Or(*v, value) }

// split lists the parts of the data with their declared sizes.
func (r *Request) split() ([]Part, error) {
	if r.Task.Open() {
		return []Part{{Size: max(r.Size, r.MinSize), Texts: int64(r.Shots)}}, nil
	}
	labels := r.Task.Labels
	declared := map[string]int64{}
	rest, open := r.Size, int64(len(labels))
	for label, n := range r.Sizes {
		canon, _ := r.Task.ResolveLabel(label)
		declared[canon] = n
		rest -= n
		open--
	}
	// A label has at most this many of the texts, whichever labels come first.
	texts := (int64(r.Shots) + int64(len(labels)) - 1) / int64(len(labels))
	var parts []Part
	for _, label := range labels {
		size := declared[label]
		if size == 0 && r.Count {
			size = r.MinSize
		}
		if size == 0 {
			size = rest / max(open, 1)
		}
		switch {
		case size < 1 && r.Size == 0:
			return nil, about("Sizes", "no size is declared for the label %q: declare that of every label, or that of the whole too", label)
		case size < 1 && len(declared) == 0:
			return nil, about("Size", "%d records are fewer than the %d labels of the task: a text needs many records of its label to hide in", r.Size, len(labels))
		case size < 1:
			return nil, about("Sizes", "no records are left for the label %q: the declared sizes of the other labels add up to the size of the whole", label)
		}
		parts = append(parts, Part{Label: label, Size: size, Texts: texts})
	}
	return parts, nil
}

// By returns the same request for another method, with those of its settings that the method
// has, or for records that choose.
func (r Request) By(name string) Request {
	r.Method = name
	if name != Learns {
		r.Learning = nil
	}
	switch {
	case name == Learns:
		r.Method, r.Choosing, r.Settings = "", nil, nil
		if r.Learning == nil {
			r.Learning = &LearnRequest{}
		}
	case name != Chooses:
		r.Choosing = nil
		r.Settings = r.Settings.For(spec(name))
	default:
		r.Method, r.Settings = "", r.Settings.For(spec("clipped")) // which writes from records
		if r.Choosing == nil {
			r.Choosing = &ChooseRequest{}
		}
	}
	return r
}

// spec describes a method; an unknown one has no settings.
func spec(name string) method.Spec {
	s, _ := method.Lookup(name)
	return s
}
