package plan

import (
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/scheme"
	"github.com/sotto-dp/sotto/privacy/accountant"
)

// Mean says how mixing puts the densities of its prompts together.
type Mean string

// The ways there are.
const (
	// Geometric is the geometric mean at a temperature.
	Geometric Mean = "geometric"
	// Product is the product, as published. It sharpens the public part too, to the
	// temperature 1/Batch, and so writes nearly the same text every time.
	Product Mean = "product"
)

// EnoughWidth is the room in nats that the default batch of mixing leaves to a record.
const EnoughWidth = 8

// mixtures are the sizes that the default batch of mixing is chosen from. The smallest is
// the paper's.
var mixtures = []int{4, 8, 16, 32, 64}

// mixing chooses the batch, by roughly calibrated ranges, and then the range.
func (r *Request) mixing(p Plan, part Part) (decode.Method, error) {
	return r.batched(part, mixtures, func(batch int, by accountant.Accountant) (decode.Method, bool, error) {
		m, err := r.mixingAt(p, part, batch, by)
		return m, err == nil && m.(*decode.Mixing).Width() >= EnoughWidth, err
	})
}

func (r *Request) mixingAt(p Plan, part Part, batch int, by accountant.Accountant) (decode.Method, error) {
	temperature := or(r.Temperature, 0.5)
	switch r.Mean {
	case "", Geometric:
	case Product:
		if r.Temperature != 0 {
			return nil, wrong("the product of %d densities has the temperature 1/%d: leave the temperature out, or take the geometric mean", batch, batch)
		}
		temperature = 1 / float64(batch)
	default:
		return nil, wrong("unknown mean %q: one of %s, %s", r.Mean, Geometric, Product)
	}
	sampling, err := r.sampling(part, or(r.Per, scheme.PerText), batch, 0)
	if err != nil {
		return nil, err
	}
	return calibrateBy(by, p, part, func(x float64) decode.Method {
		return &decode.Mixing{Draw: sampling, Expected: float64(batch), Range: x, Temperature: temperature, Most: r.Most, Candidates: r.candidates()}
	})
}
