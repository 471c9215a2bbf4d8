package sums

import (
	"context"
	"errors"
	"math"
)

const (
	// mostNames is the weight that names of labels have at most, where settings are chosen: a cosine of 1 more than
	// that with other names is worth odds of e^10.
	mostNames = 10
	// namesGain makes a weight of how much closer, in cosine, records are to the name of their own label than to the
	// others on average: it is one over the square of 0.1, by which such a difference varies from text to text.
	namesGain = 100
)

// names are the encoder's vectors of the labels themselves, less their mean, in the units of evidence; none if the
// settings leave them out. Labels are public, and so are these.
func (s *Summer) names(ctx context.Context) ([][]float64, error) {
	if s.Sums.Names == 0 {
		return nil, nil
	}
	vectors, err := s.Encoder.Embed(ctx, s.Task.Labels)
	if err != nil {
		return nil, err
	}
	if len(vectors) != len(s.Task.Labels) {
		return nil, errors.New("there is not one vector for each label: this is a fault of the encoder, and nothing was released")
	}
	out, mean := make([][]float64, len(vectors)), make([]int64, s.Encoder.Dimension())
	for l, v := range vectors {
		steps, err := onGrid(v, s.Encoder.Dimension())
		if err != nil {
			return nil, err
		}
		out[l] = make([]float64, len(steps))
		for i, x := range steps {
			out[l][i] = float64(x)
			mean[i] += int64(x)
		}
	}
	for _, v := range out {
		for i := range v {
			v[i] = (v[i] - float64(mean[i])/float64(len(out))) / one
		}
	}
	return out, nil
}

// begin puts vectors of labels where they begin: at the names, with the weight that the first noisy sum gives them. In
// that sum a record of label y adds (e_y − 1/k)/√(1−1/k) ⊗ φ, so that its product with the names is, for each
// record, by how much it is closer to the name of its label than to all on average. Names that say nothing, or
// mislead, get a weight of about 0. It is made of the released sum and of what is public.
func (s *Summer) begin(vectors, names [][]float64, sum []int64) {
	var agree float64
	for l, v := range names {
		for i, x := range v {
			agree += float64(x * steps(sum[l*len(v)+i]))
		}
	}
	k := float64(len(vectors))
	weight := namesGain * math.Sqrt(1-1/k) * agree / float64(s.Sums.Size)
	weight = min(max(weight, 0), s.Sums.Names)
	for l, v := range names {
		for i, x := range v {
			vectors[l][i] = float64(weight * x)
		}
	}
}
