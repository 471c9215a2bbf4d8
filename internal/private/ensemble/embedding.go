package ensemble

import (
	"context"
	"fmt"
	"math"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/internal/mechanism"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

func init() {
	register[Embedding](method.Spec{
		Name: "embedding", Encodes: true, Summary: "choose the public answer nearest to the noisy mean of the prompts' answers",
		Idea: "Each drawn record has a prompt of its own, which writes an answer. The answers are encoded as vectors and added up with Gaussian noise; " +
			"of answers that the model wrote without records, the nearest one is the answer.",
		Cost:  "Each prompt writes a whole answer, and public ones beside them; an encoder reads all.",
		When:  "For written answers that the model could write by itself, if it knew which.",
		Cites: "Wu et al. 2023, embedding space aggregation; Flemings et al. 2025, algorithm 4",
		Draws: "32 records for each answer, one in each prompt", Calibrates: "sigma",
		Steps: []string{
			"The model writes candidate answers without any record.",
			"Draw records and give each a prompt of its own, which writes an answer.",
			"A trusted encoder turns each answer into a vector of length 1 at most; they are added up, with Gaussian noise on each number.",
			"Release the candidate nearest to the noisy sum.",
		},
		Not:   "Where the right answer is one that the model does not write by itself.",
		Event: "poisson(q, gaussian(σ))", Theorem: "P35",
		Needs:    "scores of the most likely tokens, and a trusted encoder",
		Settings: append(drawSettings(writers), publicSetting()),
	}, func(a method.Ask) (*Embedding, error) {
		sampling, err := drawn(a, scheme.PerText, writers)
		if err != nil {
			return nil, err
		}
		return calibrate(a, func(x float64) *Embedding {
			return &Embedding{Draw: sampling, Sigma: x, Candidates: a.Values.Int("candidates", publicAnswers)}
		})
	})
}

// Embedding answers with the public candidate nearest to the noisy sum of the prompts'
// sentences as vectors (Wu et al. 2023, "Privacy-preserving in-context learning for large
// language models", embedding space aggregation; Flemings et al. 2025, algorithm 4). The
// candidates are what the model writes without records.
//
// Precondition: one unit adds or removes one prompt's sentence, or exchanges it where
// prompts hold several records or the size of the draw is fixed. Postcondition:
// gaussian(Sigma) on the drawn records. Proof: a sentence, whatever it is, contributes
// whole numbers of length at most one on the grid ([unit]), so that the sum moves by at
// most 1 in ℓ2, exchanged by at most 2; noise of Sigma times that is added to each number
// ([noise.RoundedGaussian]). Which candidate is nearest is post-processing. Dividing by the
// number of sentences would not change it, so nothing is divided by a private number.
//
// Empty prompts have the public sentence, which is one that a prompt may have.
type Embedding struct {
	// Draw: per text.
	Draw scheme.Scheme `json:"draw"`
	// Sigma is the noise multiplier.
	Sigma float64 `json:"sigma"`
	// Candidates is the number of public answers to choose among, equal ones included.
	Candidates int `json:"candidates"`
}

// Name implements [Method].
func (*Embedding) Name() string { return "embedding" }

// Proof implements [Method].
func (*Embedding) Proof() string {
	return "Gaussian mechanism on a sum of vectors of length at most one on a grid, of which one unit adds, removes or exchanges one: l2-sensitivity 1, or 2 exchanged"
}

// Check implements [Method].
func (e *Embedding) Check() error {
	if !positive(e.Sigma) {
		return fmt.Errorf("embedding needs a positive noise multiplier, not %v", e.Sigma)
	}
	if e.Candidates < 1 {
		return fmt.Errorf("embedding needs at least one public candidate to choose, not %d", e.Candidates)
	}
	return checkOnce(e)
}

// Serves implements [Method].
func (*Embedding) Serves(t prompt.Task) error { return writes("embedding", t) }

// Scheme implements [Method].
func (e *Embedding) Scheme() scheme.Scheme { return e.Draw }

// Amounts implements [Method].
func (e *Embedding) Amounts() []method.Amount { return []method.Amount{{Symbol: "σ", Value: e.Sigma}} }

// Loud implements [Method].
func (e *Embedding) Loud(prompts float64) bool { return e.Sigma > prompts }

// Work implements [Method].
func (e *Embedding) Work() Work { return Work{Looks: 1, Writes: true, Public: e.Candidates} }

// Event implements [Method].
func (e *Embedding) Event() privacy.Event {
	return privacy.Canonical(e.Draw.Event(privacy.Gaussian{Sigma: e.Sigma}, 1))
}

func (e *Embedding) answer(ctx context.Context, r *round) (outcome, error) {
	if !r.Encoder.Valid() {
		return outcome{}, fmt.Errorf("sentences written from records may only be shown to a trusted encoder, and there is none")
	}
	candidates, err := r.candidates(ctx, e.Candidates)
	if err != nil {
		return outcome{}, err
	}
	if len(candidates) == 1 {
		// Nothing is left to choose, and no record to read: the empty composition.
		return outcome{candidates[0], privacy.Compose{}}, nil
	}
	places, err := r.Encoder.Embed(ctx, candidates)
	if err != nil {
		return outcome{}, fmt.Errorf("encode the candidates: %w", err)
	}
	written, empty, err := r.sentences(ctx)
	if err != nil {
		return outcome{}, err
	}
	var vectors [][]float32
	if len(written) > 0 {
		if vectors, err = r.Encoder.Embed(ctx, written); err != nil {
			return outcome{}, fmt.Errorf("encode what prompts wrote: %w", err)
		}
	}
	at, err := e.pick(cloud{vectors, places[0], empty}, places, r.noise(0))
	if err != nil {
		return outcome{}, err
	}
	return outcome{text: candidates[at]}, nil
}

// cloud is where sentences lie: those of prompts with records, and as many times the
// public one as prompts are empty.
type cloud struct {
	vectors [][]float32
	public  []float32
	empty   int
}

// pick is the index of the place nearest to the noisy sum.
func (e *Embedding) pick(c cloud, places [][]float32, s *noise.Stream) (int, error) {
	q := e.query(c)
	if err := q.Ask(s); err != nil {
		return 0, err
	}
	return nearest(q.Values, places), nil
}

// query is the sum of the vectors.
func (e *Embedding) query(c cloud) mechanism.Query {
	sum := make([]int64, len(c.public))
	for i, x := range unit(c.public, len(sum)) {
		sum[i] = x * int64(c.empty)
	}
	for _, v := range c.vectors {
		for i, x := range unit(v, len(sum)) {
			sum[i] += x
		}
	}
	sensitivity := 1.0
	if e.Draw.Exchanges() {
		sensitivity = 2
	}
	return mechanism.Query{Values: sum, Sensitivity: math.Ldexp(sensitivity, fine), Sigma: e.Sigma}
}

// unit puts a vector on the grid with a length of at most one, exactly in whole numbers,
// whatever comes in: a vector of another size or with something in it that is not a number
// is none.
func unit(v []float32, size int) []int64 {
	out := make([]int64, size)
	if len(v) != size {
		return out
	}
	length := 0.0
	for _, x := range v {
		length += float64(x) * float64(x)
	}
	length = math.Sqrt(length)
	if !positive(length) {
		return out
	}
	for i, x := range v {
		// Rounds toward zero, which never makes a vector longer.
		out[i] = int64(math.Ldexp(float64(x)/length, fine))
	}
	for tooLong(out) { // by what floating point may have added
		for i, x := range out {
			switch {
			case x > 0:
				out[i]--
			case x < 0:
				out[i]++
			}
		}
	}
	return out
}

// tooLong reports whether whole numbers, each within the grid's one, are longer than one.
func tooLong(v []int64) bool {
	var square uint64
	for _, x := range v {
		square += uint64(x * x) // at most 2^40 each
	}
	return square > 1<<(2*fine)
}

// nearest is the index of the place with the largest cosine to a vector, the first of
// equal ones.
func nearest(v []int64, places [][]float32) int {
	at, highest := 0, math.Inf(-1)
	for i, p := range places {
		dot, length := 0.0, 0.0
		for j, x := range p {
			dot += float64(x) * float64(v[j])
			length += float64(x) * float64(x)
		}
		if cosine := dot / math.Sqrt(length); cosine > highest {
			at, highest = i, cosine
		}
	}
	return at
}
