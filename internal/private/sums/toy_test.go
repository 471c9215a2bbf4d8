package sums

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

const toyName = "toy@000000000000"

// toy is an encoder with a vector for each text that it knows.
type toy struct {
	width int
	known map[string][]float32
	// spoil, if set, changes what it says.
	spoil func([][]float32) [][]float32
	fails error
}

func (e *toy) Embed(_ context.Context, texts []string) ([][]float32, error) {
	if e.fails != nil {
		return nil, e.fails
	}
	out := make([][]float32, len(texts))
	for i, text := range texts {
		out[i] = e.known[text]
	}
	if e.spoil != nil {
		out = e.spoil(out)
	}
	return out, nil
}
func (e *toy) Dimension() int { return e.width }
func (e *toy) Name() string   { return toyName }
func (e *toy) Close() error   { return nil }

func trust(t testing.TB, e lm.Embedder) lm.TrustedEmbedder {
	t.Helper()
	trusted, err := lm.TrustEmbedder(e, lm.InProcess)
	if err != nil {
		t.Fatal(err)
	}
	return trusted
}

// pool has units of records, in parts.
type pool struct {
	parts [][][]seal.Record
	// seeds is the beginning of the randomness that each unit's records were chosen with.
	seeds map[string]uint64
}

func init() { seal.Admit[*pool]() }

func (p *pool) Size(part int) seal.Count { return seal.NewCount(len(p.parts[part])) }

func (p *pool) Choose(part, unit int, s *noise.Stream) (seal.Ref, error) {
	records := p.parts[part][unit]
	x := s.Uint64()
	if name := fmt.Sprint(part, "/", unit); p.seeds != nil {
		if _, ok := p.seeds[name]; !ok {
			p.seeds[name] = x
		}
	}
	return seal.NewRef(seal.Ordinal(records[x%uint64(len(records))]), int64(part)), nil
}

func (p *pool) Fetch(_ context.Context, refs []seal.Ref) ([]seal.Record, error) {
	byOrdinal := map[int64]seal.Record{}
	for _, units := range p.parts {
		for _, records := range units {
			for _, r := range records {
				byOrdinal[seal.Ordinal(r)] = r
			}
		}
	}
	out := make([]seal.Record, len(refs))
	for i, ref := range refs {
		ordinal, _ := seal.Place(ref)
		out[i] = byOrdinal[ordinal]
	}
	return out, nil
}

// scene is data with its encoder.
type scene struct {
	encoder *toy
	pool    *pool
	n       int64
}

func newScene(width, parts int) *scene {
	return &scene{encoder: &toy{width: width, known: map[string][]float32{}}, pool: &pool{parts: make([][][]seal.Record, parts)}}
}

// record makes a record with a vector.
func (s *scene) record(label string, vector []float32) seal.Record {
	s.n++
	text := fmt.Sprint("text ", s.n)
	s.encoder.known[text] = vector
	return seal.NewRecord(s.n, label, text)
}

func (s *scene) unit(part int, records ...seal.Record) {
	s.pool.parts[part] = append(s.pool.parts[part], records)
}

// labels are the first k of a list.
func labels(k int) []string {
	out := make([]string, k)
	for i := range out {
		out[i] = fmt.Sprintf("label %d", i)
	}
	return out
}

func task(k int) prompt.Task {
	return prompt.Task{Name: "toy", Kind: prompt.Classify, Labels: labels(k), Aliases: map[string]string{"another name": "label 1"}}
}

func settings(sums int64, sigma float64) Sums {
	s := Sums{Encoder: toyName, Sums: sums, Sigma: sigma, Size: 100, Adjacency: privacy.AddRemove, Each: 1}
	if sums > 1 {
		s.Step = 50
	}
	return s
}

func (s *scene) options(t testing.TB, k int, of Sums) Options {
	t.Helper()
	return Options{Encoder: trust(t, s.encoder), Task: task(k), Pool: s.pool, Parts: len(s.pool.parts), Key: noise.KeyFromSeed(1), Sums: of}
}

func summer(t testing.TB, o Options) *Summer {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func released(t testing.TB, o Options) Outcome {
	t.Helper()
	out, err := summer(t, o).Evidence(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// normal returns a random vector of length one, in the precision of encoders.
func normal(width int, random *rand.Rand) []float32 {
	v := make([]float64, width)
	for i := range v {
		v[i] = random.NormFloat64()
	}
	return ofLengthOne(v)
}

func ofLengthOne(v []float64) []float32 {
	var square float64
	for _, x := range v {
		square += x * x
	}
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(x / math.Sqrt(square))
	}
	return out
}

func axis(width, at int, x float32) []float32 {
	out := make([]float32, width)
	out[at] = x
	return out
}

const canary = "canary-7f3a"

func silent(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil {
		t.Errorf("%s is no error", what)
	} else if strings.Contains(err.Error(), canary) {
		t.Errorf("%s: an error holds content", what)
	}
}

func trustToy(width int) (lm.TrustedEmbedder, error) {
	return lm.TrustEmbedder(&toy{width: width}, lm.InProcess)
}
