package sums

import (
	"errors"
	"fmt"
	"math"

	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// Sums are the settings: public values that the cost follows from.
type Sums struct {
	// Encoder is the name of the encoder of texts, with its fingerprint.
	Encoder string `json:"encoder"`
	// Sums is how many there are, one after the other, and Sigma the noise of each, as a multiple of
	// what one unit may add: gaussian(Sigma).
	Sums  int64   `json:"sums"`
	Sigma float64 `json:"sigma"`
	// Step is how far one sum moves vectors, divided by Size. It is for several sums.
	Step float64 `json:"step,omitempty"`
	// Names is the weight that the names of labels have at most where vectors begin; the first sum says how
	// much of it they get. It is for several sums, and 0 leaves names out.
	Names float64 `json:"names,omitempty"`
	// Size is the declared number of units.
	Size int64 `json:"size"`
	// Adjacency is what the guarantee is about.
	Adjacency privacy.Adjacency `json:"adjacency"`
	// Each is how many records of a unit are asked, with the mean of what they say. It is one where
	// units are records.
	Each int `json:"each"`
}

const (
	// cut is the norm that what moves the classifier is cut to, of √2 at most. Then records that it has
	// wrong count alike, and the noise is small against them.
	cut = 0.25
	// temperature of the vectors of one sum: cosines of sentence vectors are divided by it. About 0.06
	// makes probabilities of them.
	temperature = 0.06
	// MaxSums and maxEach bound the work.
	MaxSums = 256
	maxEach = 16
)

// Check finds what is wrong with the settings.
func (s Sums) Check() error {
	switch {
	case s.Encoder == "":
		return errors.New("sums need the name of an encoder")
	case s.Sums < 1 || s.Sums > MaxSums:
		return fmt.Errorf("there are from 1 to %d sums, not %d", MaxSums, s.Sums)
	case s.Size < 1:
		return fmt.Errorf("sums need the declared number of records, not %d", s.Size)
	case s.Each < 1 || s.Each > maxEach:
		return fmt.Errorf("from 1 to %d records of a unit are asked, not %d", maxEach, s.Each)
	case s.Adjacency != privacy.AddRemove && s.Adjacency != privacy.ReplaceOne:
		return fmt.Errorf("sums are under %s or %s adjacency, not %q", privacy.AddRemove, privacy.ReplaceOne, s.Adjacency)
	}
	if one := s.Sums == 1; one != (s.Step == 0) || s.Step < 0 || math.IsNaN(s.Step) || math.IsInf(s.Step, 0) {
		return fmt.Errorf("several sums have a positive step, and one has none, not %v", s.Step)
	}
	if !(s.Names >= 0 && s.Names <= maxNames) || s.Names > 0 && s.Sums == 1 {
		return fmt.Errorf("names of labels have a weight from 0 to %d, and 0 in one sum, not %v", maxNames, s.Names)
	}
	if !(s.Sigma > 0) {
		return fmt.Errorf("sums need noise of a positive scale, not %v", s.Sigma)
	}
	if _, err := s.noise(); err != nil {
		return err
	}
	return privacy.Validate(s.Event())
}

// Event is what all sums cost.
func (s Sums) Event() privacy.Event {
	return privacy.Canonical(privacy.Repeat{N: s.Sums, Event: privacy.Gaussian{Sigma: s.Sigma}})
}

// Proof cites why Event is right, for certificates.
func (Sums) Proof() string {
	return "Gaussian mechanism on sums of vectors over all records, to which one unit adds a norm of at most one, or exchanges it"
}

// For settles how many sums there are, and how far each goes, for labels at a scale of the noise that is
// that of a single sum; several have the square root of their number times it, which costs the same.
//
// Settled in trials on six data sets with from 500 to 8,000 training records, on others of them that were kept back
// (lab/results). What noise does to the logarithm of a label's odds is about Step·Sums·sigma/Size, or twice that where
// units are exchanged: it may be 0.9. A single sum, whose rows are mean directions, was worse everywhere. Vectors begin
// at the names of the labels.
func (s Sums) For(sigma float64) Sums {
	const odds, maxWay = 0.9, 1600
	way := min(odds*float64(s.Size)/(sigma*s.sensitivity()), maxWay)
	n := int64(32)
	switch {
	case way < 150:
		n = 4
	case way < 300:
		n = 8
	case way < 1000:
		n = 16
	}
	s.Names = maxNames
	return s.several(n, way, sigma)
}

// several sums go a way together, and cost what one with noise of scale sigma does.
func (s Sums) several(n int64, way, sigma float64) Sums {
	s.Sums, s.Step = n, way/float64(n)
	// Rounded up, so that it does not cost more.
	s.Sigma = sigma * math.Sqrt(float64(s.Sums)) * (1 + 1e-15)
	return s
}

// ForRows is [Sums.For] for vectors of rows (package internal/evidence/rows).
//
// Settled in trials on eight tables, on training rows that were kept back. Vectors of rows have much in common, so
// that long steps overshoot: those of 25 did. They are of length stride, and up to twice that where there would be more
// than most of them, which costs no more: what noise does follows from the way alone. Naive Bayes of one sum was worse
// on all eight, with 449 rows and with 34,168, so there are several however few rows there are; and with few features
// more noise in the odds is worth its while.
func (s Sums) ForRows(sigma float64) Sums {
	const odds, maxWay, stride, maxSteps = 1.5, 3000, 6.25, 240
	way := min(odds*float64(s.Size)/(sigma*s.sensitivity()), maxWay)
	return s.several(min(max(int64(math.Ceil(way/stride)), 2), maxSteps), way, sigma)
}

// sensitivity is how far one unit moves a sum: an exchanged one takes away and adds.
func (s Sums) sensitivity() float64 {
	if s.Adjacency == privacy.ReplaceOne {
		return 2
	}
	return 1
}

// noise is on the grid of products.
func (s Sums) noise() (*noise.Additive, error) {
	grid, err := noise.NewGrid(2 * fine)
	if err != nil {
		return nil, err
	}
	return noise.NewGaussian(noise.Options{Multiplier: s.Sigma, Sensitivity: s.sensitivity(), Grid: grid})
}
