package plan

import "fmt"

// Ending says that the last words that most texts of the records share, if there are such,
// are found with noise and end every text that is written. The model alone hardly ever
// writes them (docs/security.md).
type Ending struct {
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
	// Words is how long an ending is.
	Words int `json:"words"`
	// MinUnits is how many units have to share it: more than half of those that are declared,
	// so that there is one at most.
	MinUnits int64 `json:"min_units"`
}

// endingWords is how long a shared ending is.
const endingWords = 2

// ending plans to find one, if the request asks for it.
func (r *Request) ending(parts []Part) (*Ending, error) {
	if !r.Ending {
		return nil, nil
	}
	setDefault(&r.EndingEpsilon, r.Epsilon/20)
	if !(r.EndingEpsilon > 0 && r.EndingEpsilon < r.Epsilon) {
		return nil, wrong("finding a shared ending needs an ε between 0 and that of the run (%v), not %v", r.Epsilon, r.EndingEpsilon)
	}
	var units int64
	for _, p := range parts {
		units += p.Size
	}
	return &Ending{Epsilon: r.EndingEpsilon, Delta: r.Delta / 10, Words: endingWords, MinUnits: units/2 + 1}, nil
}

// check finds what is wrong with it.
func (e *Ending) check(p Plan) error {
	switch {
	case e == nil:
		return nil
	case e.Words < 1 || e.MinUnits < 1:
		return fmt.Errorf("a shared ending has at least one word, and units that share it")
	case p.Shots < 1:
		return fmt.Errorf("a shared ending is for texts that are written, and none are")
	}
	return nil
}
