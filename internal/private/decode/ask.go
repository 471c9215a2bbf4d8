package decode

import "github.com/sotto-dp/sotto/privacy/noise"

// query is a look at the prompts through Gaussian noise: whole numbers that
// exchanging one prompt moves by at most sensitivity in ℓ2. To ask it is to add noise of
// sigma times that to each, which is gaussian(sigma) ([noise.RoundedGaussian]).
type query struct {
	values      []int64
	sensitivity float64
	sigma       float64
}

func (q query) ask(s *noise.Stream) error {
	mechanism, err := noise.NewGaussian(noise.Options{Multiplier: q.sigma, Sensitivity: q.sensitivity})
	if err != nil {
		return err
	}
	return mechanism.AddTo(s, q.values)
}

// selection is a choice among candidates by scores in steps of 2^-exponent, each times
// rate. The choice is all that is learnt.
type selection struct {
	scores   []int64
	exponent int
	rate     float64
}

// softmax draws a candidate with probability ∝ exp(rate·score).
func (c selection) softmax(s *noise.Stream) (int, error) {
	selector, err := c.selector()
	if err != nil {
		return 0, err
	}
	return selector.Softmax(s, c.scores)
}

// noisyMax takes the largest of rate·score with exponential noise of mean 1 on each.
func (c selection) noisyMax(s *noise.Stream) (int, error) {
	selector, err := c.selector()
	if err != nil {
		return 0, err
	}
	return selector.PermuteAndFlip(s, c.scores)
}

func (c selection) selector() (*noise.Selector, error) {
	grid, err := noise.NewGrid(c.exponent)
	if err != nil {
		return nil, err
	}
	return noise.NewSelector(noise.SelectorOptions{Grid: grid, Rate: c.rate})
}
