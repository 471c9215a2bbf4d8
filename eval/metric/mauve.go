package metric

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/sotto-dp/sotto/lm"
)

// MauveOptions say how to compare two sets of texts.
type MauveOptions struct {
	// Clusters of texts, a tenth of the smaller set but at least 2.
	Clusters int
	// Scale of divergences, 5 as in the paper: the larger, the lower are areas.
	Scale float64
	// Seed of the clustering.
	Seed uint64
}

// Frontier compares two sets of texts.
type Frontier struct {
	// Name has what the value depends on besides the texts: values of different names
	// are not comparable. Nor are those of sets of different sizes: small sets differ
	// by chance.
	Name string
	// Value is from 0 (nothing in common) to 1 (the same distribution).
	Value float64
}

// Mauve tells how close the distributions of two sets of texts are, by the area under
// their divergence frontier (Pillutla et al., "MAUVE: Measuring the Gap Between Neural
// Text and Human Text using Divergence Frontiers", NeurIPS 2021): texts become vectors,
// all of them are clustered by k-means, and what counts are the histograms of the two
// sets over the clusters. It is like the paper's, not the same: any encoder of sentences
// takes the place of GPT-2, and vectors are not projected before. Sets should have some
// hundred texts each.
func Mauve(ctx context.Context, e lm.Embedder, a, b []string, options MauveOptions) (Frontier, error) {
	o := options
	if o.Clusters == 0 {
		o.Clusters = max(2, min(len(a), len(b))/10)
	}
	if o.Scale == 0 {
		o.Scale = 5
	}
	switch {
	case e == nil:
		return Frontier{}, fmt.Errorf("comparing sets of texts needs an encoder: name a sentence encoder, such as minilm")
	case len(a) == 0 || len(b) == 0:
		return Frontier{}, fmt.Errorf("the sets have %d and %d texts: give some hundred each", len(a), len(b))
	case o.Clusters < 1 || o.Clusters > len(a)+len(b):
		return Frontier{}, fmt.Errorf("%d clusters for %d texts: give at least one, and no more than texts", o.Clusters, len(a)+len(b))
	case !(o.Scale > 0) || math.IsInf(o.Scale, 0):
		return Frontier{}, fmt.Errorf("the scale of divergences is %v: give a positive number, or 0 for 5", o.Scale)
	}
	vectors, err := e.Embed(ctx, slices.Concat(a, b))
	if err != nil {
		return Frontier{}, fmt.Errorf("embed texts: %w", err)
	}
	if len(vectors) != len(a)+len(b) {
		return Frontier{}, fmt.Errorf("%s gave %d vectors for %d texts: use another encoder", e.Name(), len(vectors), len(a)+len(b))
	}
	in, err := cluster(ctx, vectors, o.Clusters, o.Seed)
	if err != nil {
		return Frontier{}, err
	}
	return Frontier{
		Name:  fmt.Sprintf("mauve (%s, %d clusters, scale %v)", e.Name(), o.Clusters, o.Scale),
		Value: area(histogram(in[:len(a)], o.Clusters), histogram(in[len(a):], o.Clusters), o.Scale),
	}, nil
}

func histogram(in []int, clusters int) []float64 {
	h := make([]float64, clusters)
	for _, c := range in {
		h[c] += 1 / float64(len(in))
	}
	return h
}

// mixtures between two distributions that make up a frontier, in steps of one in so many.
const mixtures = 200

// area under the frontier of two distributions: the curve of exp(−c·KL(q‖r)) and
// exp(−c·KL(p‖r)) for mixtures r of both, with the ends (0, 1) and (1, 0), by trapezia.
func area(p, q []float64, scale float64) float64 {
	type point struct{ x, y float64 }
	points := []point{{0, 1}, {1, 0}}
	r := make([]float64, len(p))
	for i := 1; i < mixtures; i++ {
		part := float64(i) / mixtures
		for k := range r {
			r[k] = part*p[k] + (1-part)*q[k]
		}
		points = append(points, point{math.Exp(-scale * divergence(q, r)), math.Exp(-scale * divergence(p, r))})
	}
	slices.SortFunc(points, func(a, b point) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(b.y, a.y)) })
	sum := 0.0
	for i := 1; i < len(points); i++ {
		sum += (points[i].x - points[i-1].x) * (points[i].y + points[i-1].y) / 2
	}
	return sum
}

// divergence is that of Kullback and Leibler; r is positive wherever p is. It cannot
// be negative, but rounding can.
func divergence(p, r []float64) float64 {
	sum := 0.0
	for k, v := range p {
		if v > 0 {
			sum += v * math.Log(v/r[k])
		}
	}
	return max(0, sum)
}
