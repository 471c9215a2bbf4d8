package worst

import (
	"context"
	"math"

	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/internal/private/sums"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// axisEncoder is an encoder: the record and the name of its label point along the second axis, its opposite and the
// name of the other label against it, others along the first.
type axisEncoder struct{}

const against = "against " + mark

func (axisEncoder) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		switch text {
		case mark, task.Labels[0]:
			out[i] = []float32{0, 1}
		case against, task.Labels[1]:
			out[i] = []float32{0, -1}
		default:
			out[i] = []float32{1, 0}
		}
	}
	return out, nil
}
func (axisEncoder) Dimension() int { return 2 }
func (axisEncoder) Name() string   { return "pointing@audit" }
func (axisEncoder) Close() error   { return nil }

// evidence are sums of vectors over all records. In one sum others give the row of a label its length, so
// that its direction, which is released, tells the number along the second axis. In several sums, with steps
// that are too small for the classifier to learn anything, the record adds the same each time. Where vectors begin at the
// names of labels, what is released is the weight that the first sum gives them, and hardly anything else.
func evidence() ([]Game, error) {
	encoder, err := lm.TrustEmbedder(axisEncoder{}, lm.InProcess)
	if err != nil {
		return nil, err
	}
	game := func(name, inputs, instead string, others int, s sums.Sums) (Game, error) {
		s.Encoder, s.Size, s.Each = encoder.Name(), 1000, 1
		if err := s.Check(); err != nil {
			return Game{}, err
		}
		pool := func(with bool) *people {
			p := &people{}
			add := func(text string) {
				p.records = append(p.records, seal.NewRecord(int64(len(p.records)+1), "a", text))
			}
			for range others {
				add("other")
			}
			if with {
				add(mark)
			} else if instead != "" {
				add(instead)
			}
			return p
		}
		pools := map[bool]*people{true: pool(true), false: pool(false)}
		play := func(ctx context.Context, key noise.Key, with bool) (float64, error) {
			adder, err := sums.New(sums.Options{Encoder: encoder, Task: task, Pool: pools[with], Key: key, Sums: s})
			if err != nil {
				return 0, err
			}
			out, err := adder.Evidence(ctx)
			if err != nil {
				return 0, err
			}
			v := out.Evidence.Vectors
			if s.Sums == 1 {
				return math.Atan2(v[0][1], v[0][0]), nil
			}
			return v[0][1] - v[1][1], nil
		}
		return Game{Name: name, Inputs: inputs, Claim: s.Event(), Adjacency: s.Adjacency, Delta: 1e-5, Tight: true, Whole: true, player: always(play)}, nil
	}
	one, err := game("evidence", "one sum of the vectors of 16 records that are alike, and of a record at a right angle to them that comes and goes", "", 16,
		sums.Sums{Sums: 1, Sigma: 1, Adjacency: privacy.AddRemove})
	if err != nil {
		return nil, err
	}
	exchanged, err := game("evidence, exchanged", "the same with a record that is exchanged for its opposite", against, 16,
		sums.Sums{Sums: 1, Sigma: 1, Adjacency: privacy.ReplaceOne})
	if err != nil {
		return nil, err
	}
	several, err := game("evidence sums", "four sums of what one record, or none, adds against a classifier that knows nothing", "", 0,
		sums.Sums{Sums: 4, Sigma: 2, Step: 1, Adjacency: privacy.AddRemove})
	if err != nil {
		return nil, err
	}
	named, err := game("evidence names", "the same with a classifier that begins at the names of labels, which the record agrees with", "", 0,
		sums.Sums{Sums: 2, Sigma: math.Sqrt2, Step: 1e-3, Names: 10, Adjacency: privacy.AddRemove})
	named.Tight = false // half of the first sum's noise ends at a weight of 0
	return []Game{one, exchanged, several, named}, err
}
