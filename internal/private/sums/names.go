package sums

import (
	"context"
	"errors"
	"math"
	"strings"
	"unicode"
)

const (
	// maxNames is the weight that names of labels have at most, where settings are chosen: a cosine of 1 more than
	// that with other names is worth odds of e^15.
	maxNames = 15
	// namesGain makes a weight of how much closer, in cosine, records are to the name of their own label than to the
	// others on average.
	namesGain = 150
	// namesUsual is the weight that names have as a rule, and namesSpread how far it is from that from task to task:
	// what is believed of it before there are records.
	namesUsual, namesSpread = 10, 10
)

// wordings are texts that stand for a label.
func wordings(label string) [2]string {
	said := words(label)
	return [2]string{said, "This is about " + said + "."}
}

// words is a label as people write it: without underscores and hyphens, and with a space before a capital that follows
// a small letter.
func words(label string) string {
	var b strings.Builder
	small := false
	for _, r := range label {
		switch {
		case r == '_' || r == '-':
			r = ' '
		case small && unicode.IsUpper(r):
			b.WriteByte(' ')
		}
		small = unicode.IsLower(r)
		b.WriteRune(r)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// names are directions of the labels themselves, less their mean, in the units of evidence: of the sum of the encoder's
// vectors of their wordings. There are none if the settings leave them out. Labels are public, and so are these.
func (s *Summer) names(ctx context.Context) ([][]float64, error) {
	if s.Sums.Names == 0 {
		return nil, nil
	}
	var texts []string
	for _, label := range s.Task.Labels {
		both := wordings(label)
		texts = append(texts, both[:]...)
	}
	vectors, err := s.Encoder.Embed(ctx, texts)
	if err != nil {
		return nil, err
	}
	if len(vectors) != len(texts) {
		return nil, errors.New("there is not one vector for each wording of a label: this is a fault of the encoder, and nothing was released")
	}
	out := make([][]float64, len(s.Task.Labels))
	for l := range out {
		if out[l], err = s.direction(vectors[2*l], vectors[2*l+1]); err != nil {
			return nil, err
		}
	}
	for i := range s.Encoder.Dimension() {
		var mean float64
		for _, v := range out {
			mean += v[i]
		}
		mean /= float64(len(out))
		for _, v := range out {
			v[i] -= mean
		}
	}
	return out, nil
}

// direction is that of the sum of two vectors, of length one; it is 0 if they are opposite.
func (s *Summer) direction(a, b []float32) ([]float64, error) {
	one, err := onGrid(a, s.Encoder.Dimension())
	if err != nil {
		return nil, err
	}
	other, err := onGrid(b, s.Encoder.Dimension())
	if err != nil {
		return nil, err
	}
	var squares int64
	for i := range one {
		x := int64(one[i]) + int64(other[i])
		squares += x * x
	}
	out, length := make([]float64, len(one)), math.Sqrt(float64(max(1, squares)))
	for i := range out {
		out[i] = float64(int64(one[i])+int64(other[i])) / length
	}
	return out, nil
}

// begin puts vectors of labels where they begin: at the names, with the weight that the first noisy sum gives them. In
// that sum a record of label y adds (e_y − 1/k)/√(1−1/k) ⊗ φ, so that its product with the names is, for each
// record, by how much it is closer to the name of its label than to all on average. The less that is known for the
// noise, whose scale is public, the more the weight is what names have as a rule. Names that mislead get a weight of
// about 0. It is made of the released sum and of what is public.
func (s *Summer) begin(vectors, names [][]float64, sum []int64) {
	var agree, squares float64
	for l, v := range names {
		for i, x := range v {
			agree += float64(x * steps(sum[l*len(v)+i]))
			squares += float64(x * x)
		}
	}
	k := float64(len(vectors))
	gain := namesGain * math.Sqrt(1-1/k) / float64(s.Sums.Size)
	seen, noise := gain*agree, gain*s.Sums.Sigma*s.Sums.sensitivity()*math.Sqrt(squares)
	variance := float64(noise * noise)
	unsure := variance / (variance + namesSpread*namesSpread)
	weight := float64(unsure*namesUsual) + float64((1-unsure)*seen)
	weight = min(max(weight, 0), s.Sums.Names)
	for l, v := range names {
		for i, x := range v {
			vectors[l][i] = float64(weight * x)
		}
	}
}
