// Package method is the list of methods: what each is called, what it does, which settings
// it has, what it guarantees and why.
//
// A method describes itself, in the file that implements it, by a [Spec].
// Plans, the command line, suites, reports, tests and make docs read this list and have
// none of their own. All of it is public: a [Spec], the [Values] of its settings, and what a
// plan asks of a method ([Ask]).
package method

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/method/scheme"
)

// Kind is what a method makes.
type Kind string

// The kinds there are.
const (
	// Texts are written token by token from private prompts, examples and answers alike.
	Texts Kind = "texts"
	// Answers to questions, each made of the whole answers of many prompts.
	Answers Kind = "answers"
	// Choosing lets records choose among prompts.
	Choosing Kind = "choosing"
	// Learning makes a classifier of all records.
	Learning Kind = "learning"
	// Profile sums up a table.
	Profile Kind = "table profile"
	// Perturbation changes the rows of a table one by one.
	Perturbation Kind = "table perturbation"
)

// Guarantee is what a method promises.
type Guarantee string

// The guarantees there are.
const (
	// Proven is a guarantee with a proof beside the code: it has an ε, a charge and a
	// certificate.
	Proven Guarantee = "proven"
	// Claimed is a published guarantee whose proof does not hold: it takes an ε, and has
	// neither a charge nor a certificate.
	Claimed Guarantee = "claimed"
	// Free means that no record is read.
	Free Guarantee = "free"
	// None means that nothing protects the records.
	None Guarantee = "none"
)

// Spec describes a method.
type Spec struct {
	// Name is what plans, certificates, suites and the command line call it.
	Name string
	Kind Kind
	// Summary says in a line what it does; Idea, Cost and When in a few sentences each.
	Summary, Idea, Cost, When string
	// Steps are the algorithm, and Not says when to take another method.
	Steps     []string
	Not       string
	Guarantee Guarantee
	// Event is what a text, an answer or a release costs, as an expression with the method's
	// parameters, and Theorem the section of docs/proofs.md that proves it.
	Event, Theorem string
	// Proof says why the guarantee holds, and Cites names the papers.
	Proof, Cites string
	// Draws says how records are drawn by default, and Calibrates which number a plan turns
	// until ε is met; "" if it has none.
	Draws, Calibrates string
	// Needs says what a model has to be able to do.
	Needs    string
	Settings []Setting
	// Copies means that records are released as they are: no model writes.
	Copies bool
	// Labels means that answers are labels of a list, which nobody writes.
	Labels bool
	// Encodes means that a trusted encoder is needed beside the model.
	Encodes bool
	// Scheduled means that a paper published another schedule of prompts, whose cost is worth
	// comparing.
	Scheduled bool
	// Sampler is how records are drawn by default: poisson if it is "".
	Sampler scheme.Kind
	// Rank is the place among methods of its kind, from 1; 0 comes after all that have one.
	Rank int
	// Look is a colour and shape that figures keep for it, counted from 1; 0 takes any.
	Look int
	// Of names the method that proof=published makes this one of.
	Of string

	// made returns the method with zero settings, and planned so that it meets what a plan
	// asks for; nil where plans of its kind hold settings of their own. See [Add].
	made    func() Method
	planned func(Ask) (Method, error)
}

// Reads reports whether a method reads records.
func (s Spec) Reads() bool { return s.Guarantee != Free }

// Bounded reports whether a method takes an ε, proven or claimed.
func (s Spec) Bounded() bool { return s.Guarantee == Proven || s.Guarantee == Claimed }

// Offered reports whether a method is one to compare and recommend: it protects records.
func (s Spec) Offered() bool { return s.Guarantee == Proven || s.Guarantee == Free }

// Setting returns a setting by its name.
func (s Spec) Setting(name string) (Setting, bool) {
	for _, one := range s.Settings {
		if one.Name == name {
			return one, true
		}
	}
	return Setting{}, false
}

// SettingNames lists the settings.
func (s Spec) SettingNames() []string {
	names := make([]string, len(s.Settings))
	for i, one := range s.Settings {
		names[i] = one.Name
	}
	return names
}

// specs is the list, in the order of [List].
var specs []Spec

// Register adds a method. Files of methods call it when the program starts; it panics if
// the name is taken, or if a setting has the name but not the type of another method's.
func Register(s Spec) {
	if _, taken := Lookup(s.Name); taken || s.Name == "" {
		panic(fmt.Sprintf("two methods are called %q", s.Name))
	}
	for _, one := range s.Settings {
		for _, other := range specs {
			if had, ok := other.Setting(one.Name); ok && had.Type != one.Type {
				panic(fmt.Sprintf("the setting %s is %s for %s and %s for %s", one.Name, one.Type, s.Name, had.Type, other.Name))
			}
		}
	}
	at, _ := slices.BinarySearchFunc(specs, s, compare)
	specs = slices.Insert(specs, at, s)
}

// Add registers a method with settings T, and how it meets what a plan asks for.
func Add[T any, M interface {
	*T
	Method
}](s Spec, plan func(Ask) (M, error)) {
	s.Proof = M(new(T)).Proof()
	s.made = func() Method { return M(new(T)) }
	s.planned = func(a Ask) (Method, error) { return plan(a) }
	Register(s)
}

// New returns a method of a kind with its zero settings, to be filled.
func New[M Method](name string, of Kind) (M, error) {
	s, err := Find(name, of)
	if err != nil {
		var none M
		return none, err
	}
	return s.made().(M), nil
}

// Plan returns a method of a kind that meets what a plan asks for.
func Plan[M Method](name string, of Kind, a Ask) (M, error) {
	s, err := Find(name, of)
	var m Method
	if err == nil {
		m, err = s.planned(a)
	}
	if err != nil {
		var none M
		return none, err
	}
	return m.(M), nil
}

// kinds is the order that methods are listed in.
var kinds = []Kind{Choosing, Texts, Answers, Profile, Perturbation}

// guarantees is the order within a kind.
var guarantees = []Guarantee{Proven, Claimed, Free, None}

func compare(a, b Spec) int {
	if d := slices.Index(kinds, a.Kind) - slices.Index(kinds, b.Kind); d != 0 {
		return d
	}
	if d := slices.Index(guarantees, a.Guarantee) - slices.Index(guarantees, b.Guarantee); d != 0 {
		return d
	}
	if a.Rank != b.Rank && a.Rank*b.Rank != 0 {
		return a.Rank - b.Rank
	}
	if a.Rank != b.Rank {
		return b.Rank - a.Rank
	}
	return strings.Compare(a.Name, b.Name)
}

// List returns the methods of some kinds, or all: those with a guarantee first.
func List(of ...Kind) []Spec {
	return slices.DeleteFunc(slices.Clone(specs), func(s Spec) bool { return len(of) > 0 && !slices.Contains(of, s.Kind) })
}

// Names returns the names of methods.
func Names(list []Spec) []string {
	names := make([]string, len(list))
	for i, s := range list {
		names[i] = s.Name
	}
	return names
}

// Lookup returns the method of a name.
func Lookup(name string) (Spec, bool) {
	at := slices.IndexFunc(specs, func(s Spec) bool { return s.Name == name })
	if at < 0 {
		return Spec{}, false
	}
	return specs[at], true
}

// Find is [Lookup] among methods of some kinds, with an error that names them.
func Find(name string, of ...Kind) (Spec, error) {
	s, ok := Lookup(name)
	if list := List(of...); !ok || !slices.Contains(Names(list), name) {
		return Spec{}, About("Method", "unknown method %q: one of %s", name, strings.Join(slices.Sorted(slices.Values(Names(list))), ", "))
	}
	return s, nil
}

// InputError says which part of a request cannot be met, and what to do.
type InputError struct {
	Reason string
	// Option is the name of the option or setting that would change that, if there is one.
	Option string
}

// Error returns the reason.
func (e *InputError) Error() string { return e.Reason }

// Wrong returns an [InputError].
func Wrong(format string, args ...any) error { return About("", format, args...) }

// About returns an [InputError] about an option.
func About(option, format string, args ...any) error {
	return &InputError{Reason: fmt.Sprintf(format, args...), Option: option}
}
