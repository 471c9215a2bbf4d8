package method

import (
	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/prompt"
)

// Method is a method with its settings, as plans see it.
type Method interface {
	// Name is what the command line, plans and certificates call it.
	Name() string
	// Proof cites why the guarantee holds, for certificates; "" for a method that has none
	// and must not have a certificate.
	Proof() string
	// Check reports what is wrong with the settings.
	Check() error
	// Scheme returns who is drawn, and when.
	Scheme() scheme.Scheme
	// Amounts returns the numbers of what protects records: noise, or how far one may move a
	// score.
	Amounts() []Amount
}

// Amount is a number that describes a method's noise, such as σ = 2.
type Amount struct {
	Symbol string
	Value  float64
	// After goes behind the number.
	After string
}

// Ask is what a plan asks of a method: the texts of one part of the data, at an ε.
type Ask struct {
	Task           prompt.Task
	Epsilon, Delta float64
	// Size is the declared number of units, Texts how many texts or answers ε is for, Tokens
	// the most that one has.
	Size, Texts int64
	Tokens      int
	// Answering means that texts answer questions.
	Answering bool
	// Sampler is how records are drawn.
	Sampler scheme.Kind
	// Values are settings of the method, checked.
	Values Values
	// Solve finds the x at which all texts of a method together cost ε, by the plan's own
	// account: the least noise, or the largest cost. nil takes the tightest accountant.
	Solve func(by accountant.Accountant, at func(x float64) Method) (float64, error)
}

// Calibrate builds the method whose texts together cost the ε that was asked for.
func Calibrate[M Method](a Ask, build func(x float64) M) (M, error) {
	return CalibrateBy(nil, a, build)
}

// CalibrateBy is [Calibrate] with an accountant.
func CalibrateBy[M Method](by accountant.Accountant, a Ask, build func(x float64) M) (M, error) {
	x, err := a.Solve(by, func(x float64) Method { return build(x) })
	if err != nil {
		var none M
		return none, err
	}
	return build(x), nil
}

// Roughly is an accountant for choosing among settings.
var Roughly = accountant.Auto{Tolerance: 0.05}

// Batched takes the first of some sizes of a batch with which a roughly calibrated method
// has enough room for what a record says, or the last that the data has, unless a batch was
// asked for.
func Batched[M Method](a Ask, sizes []int, at func(batch int, by accountant.Accountant) (m M, enough bool, err error)) (M, error) {
	b := a.Values.Int("batch", 0)
	for i := 0; b == 0; i++ {
		m, enough, err := at(sizes[i], Roughly)
		if err != nil {
			return m, err
		}
		if enough || i+1 == len(sizes) || int64(sizes[i+1]) > a.Size {
			b = sizes[i]
		}
	}
	m, _, err := at(b, nil)
	return m, err
}

// Draw returns the scheme that draws about prompts·each records, or for each = 0 about as
// many as prompts with one in each.
func (a Ask) Draw(per scheme.Per, prompts, each int) (scheme.Scheme, error) {
	take := prompts * max(each, 1)
	s := scheme.Scheme{Kind: a.Sampler, Per: per}
	if each > 0 {
		// Poisson assignment puts a few more than the average into a prompt now and then.
		s.Prompts, s.PerPrompt = prompts, max(2*each, 2)
	}
	if int64(take) > a.Size {
		return s, About("Batch", "%d records are to be drawn from a part of %d: ask for fewer prompts or a smaller batch", take, a.Size)
	}
	switch a.Sampler {
	case scheme.Poisson:
		s.Rate = float64(take) / float64(a.Size)
	case scheme.FixedSize:
		s.Take, s.Of = int64(take), a.Size
	case scheme.Disjoint:
		s.Batches = a.Size / int64(take)
		if s.Batches < a.Texts {
			return s, Wrong("%d texts need disjoint batches of %d records, and the part has %d: ask for fewer texts or a smaller batch", a.Texts, take, a.Size)
		}
	}
	if err := s.Check(); err != nil {
		return s, Wrong("%v", err)
	}
	return s, nil
}
