package metric

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

const (
	// clusterings are tried, of which the closest one counts.
	clusterings = 5
	// clusterRounds end one that does not settle before.
	clusterRounds = 100
)

// cluster finds k clusters of vectors by Lloyd's algorithm from centres chosen by
// k-means++ (Arthur and Vassilvitskii 2007), and returns the cluster of each. The
// generator is seeded: nothing here is private.
func cluster(ctx context.Context, vectors [][]float32, k int, seed uint64) ([]int, error) {
	for i, v := range vectors {
		if len(v) != len(vectors[0]) {
			return nil, fmt.Errorf("text %d has a vector of %d numbers and the first one of %d: use another encoder", i, len(v), len(vectors[0]))
		}
	}
	random := rand.New(rand.NewPCG(seed, 0))
	var best []int
	least := math.Inf(1)
	for range clusterings {
		in := make([]int, len(vectors))
		centres := spread(vectors, k, random)
		total := assign(vectors, centres, in)
		for range clusterRounds {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			before := slices.Clone(in)
			centres = middles(vectors, centres, in)
			if total = assign(vectors, centres, in); slices.Equal(in, before) {
				break
			}
		}
		if best == nil || total < least {
			best, least = in, total
		}
	}
	return best, nil
}

// spread chooses centres, each with a probability in proportion to its squared distance
// from the closest one before it.
func spread(vectors [][]float32, k int, random *rand.Rand) [][]float64 {
	var centres [][]float64
	distances := make([]float64, len(vectors))
	for i := range distances {
		distances[i] = 1
	}
	for range k {
		at := pick(distances, random)
		centre := make([]float64, len(vectors[at]))
		for j, v := range vectors[at] {
			centre[j] = float64(v)
		}
		centres = append(centres, centre)
		for i, v := range vectors {
			d := distance(v, centre)
			if len(centres) == 1 || d < distances[i] {
				distances[i] = d
			}
		}
	}
	return centres
}

// pick draws in proportion to weights; all alike if they are zero.
func pick(weights []float64, random *rand.Rand) int {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	if sum == 0 {
		return random.IntN(len(weights))
	}
	left := random.Float64() * sum
	last := 0
	for i, w := range weights {
		if w == 0 {
			continue
		}
		if last = i; left < w {
			break
		}
		left -= w
	}
	return last
}

// assign puts each vector in the cluster of the closest centre, the first of several,
// and returns the sum of squared distances.
func assign(vectors [][]float32, centres [][]float64, in []int) float64 {
	total := 0.0
	for i, v := range vectors {
		least := math.Inf(1)
		for c, centre := range centres {
			if d := distance(v, centre); d < least {
				least, in[i] = d, c
			}
		}
		total += least
	}
	return total
}

// middles are the means of clusters; that of an empty one stays where it was.
func middles(vectors [][]float32, centres [][]float64, in []int) [][]float64 {
	out := make([][]float64, len(centres))
	sizes := make([]float64, len(centres))
	for c := range out {
		out[c] = make([]float64, len(centres[c]))
	}
	for i, v := range vectors {
		c := in[i]
		sizes[c]++
		for j, x := range v {
			out[c][j] += float64(x)
		}
	}
	for c, n := range sizes {
		if n == 0 {
			out[c] = centres[c]
			continue
		}
		for j := range out[c] {
			out[c][j] /= n
		}
	}
	return out
}

func distance(v []float32, centre []float64) float64 {
	sum := 0.0
	for j, x := range v {
		d := float64(x) - centre[j]
		sum += d * d
	}
	return sum
}
