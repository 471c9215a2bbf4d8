package attack

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/demo"
	"github.com/sotto-dp/sotto/internal/stat"
	"github.com/sotto-dp/sotto/lab/attack/adversary"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// Codes is how many codes a secret can be.
const Codes = 1000

// Chance is how many bits a code that nothing is known about is exposed by on average: 1/ln 2, a little
// less for a finite number of codes.
var Chance = 1 / math.Ln2

// Kinds of demonstrations that secrets are looked for in.
const (
	ShownNone    = "none"
	ShownReal    = "real"
	ShownPrivate = "private"
)

// Exposed is the conclusion on demonstrations without a guarantee that give codes away.
const Exposed = "exposed"

// SecretRow is how exposed codes are by one kind of demonstrations.
type SecretRow struct {
	Shown   string  `json:"shown"`
	Epsilon float64 `json:"epsilon,omitempty"`
	// Copies of the record with the code in the data; 0 for no demonstrations at all.
	Copies int `json:"copies"`
	// Secrets is how many codes there were, each with a release of its own. Exposure in bits is the mean
	// over them, with an interval, and Verbatim is how many are in what was released, word for word.
	Secrets  int     `json:"secrets"`
	Exposure float64 `json:"exposure"`
	Low      float64 `json:"exposure_low"`
	High     float64 `json:"exposure_high"`
	Verbatim int     `json:"verbatim"`
	// Chance is how likely exposure would be as large if nothing leaked, at most. Allowed is the most that
	// ε allows on average, for as many copies.
	Chance     float64 `json:"chance"`
	Allowed    float64 `json:"exposure_allowed"`
	Conclusion string  `json:"conclusion"`
}

// Hunt looks for secrets that were planted.
type Hunt struct {
	Model lm.Scorer
	Task  prompt.Task
	// Records that the secrets are among: public ones that stand in.
	Records []prompt.Example
	// Copies are how often a secret is planted, Secrets how many codes are tried for each.
	Copies  []int
	Secrets int
	// Size is how many records a release is made of, copies included; Shots how many demonstrations a
	// prompt has.
	Size, Shots int
	Confidence  float64
	Key         noise.Key
	Observe     func(done int)

	reader *adversary.Reader
	label  string
	pool   []prompt.Example
	codes  [][]lm.Token
	done   int
}

// Secret is one that was planted: a record ends with a code.
type Secret struct {
	Lead string
	Code int
	// Label of its record.
	Label string
}

// rooms that codes are for.
var rooms = strings.Fields("archive garage laboratory kitchen cellar workshop library studio attic vault pantry hangar stable chapel boathouse foundry")

func codeText(code int) string { return fmt.Sprintf(" %03d", code) }

// Text of the record with the secret.
func (s Secret) Text() string { return s.Lead + codeText(s.Code) }

func (s Secret) record() prompt.Example {
	return prompt.Example{Input: s.Text() + ".", Output: s.Label}
}

// Prepare checks the hunt. It has to be called first.
func (h *Hunt) Prepare(ctx context.Context) (err error) {
	if h.reader, err = adversary.NewReader(h.Model, h.Task); err != nil {
		return err
	}
	h.label = h.Task.Labels[len(h.Task.Labels)-1]
	for _, e := range h.Records {
		if e.Output == h.label {
			h.pool = append(h.pool, e)
		}
	}
	if required := max(h.Size, h.Shots); len(h.pool) < required {
		return fmt.Errorf("%d records have the label %q, and %d are needed", len(h.pool), h.label, required)
	}
	if slices.Max(h.Copies) > h.Size {
		return fmt.Errorf("%d copies are more than the %d records of a release", slices.Max(h.Copies), h.Size)
	}
	h.codes = make([][]lm.Token, Codes)
	for i := range h.codes {
		if h.codes[i], err = h.Model.Tokenizer().Encode(ctx, codeText(i)); err != nil {
			return err
		}
	}
	return nil
}

// Exposure is how many bits of a secret the model gives away, with demonstrations in its prompt.
func (h *Hunt) Exposure(ctx context.Context, demos []prompt.Example, s Secret) (bits float64, err error) {
	session, err := h.Model.Open(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	tokenizer := h.Model.Tokenizer()
	root, err := h.reader.Root(ctx, session, h.Task.GenerationPrefix())
	if err != nil {
		return 0, err
	}
	var before []lm.Token
	for _, e := range demos {
		demo, err := h.reader.Shown(ctx, e)
		if err != nil {
			return 0, err
		}
		before = append(before, demo...)
	}
	for _, text := range []string{h.Task.GenerationHead(s.Label), " " + s.Lead} {
		tokens, err := tokenizer.Encode(ctx, text)
		if err != nil {
			return 0, err
		}
		before = append(before, tokens...)
	}
	const together = 32
	scores, err := among(ctx, session, root, before, h.codes, together)
	if err != nil {
		return 0, err
	}
	return Exposure(place(scores, s.Code), Codes), nil
}

// secret is the i-th that is planted so many times.
func (h *Hunt) secret(copies, i int) Secret {
	s := h.Key.Stream("secret", uint64(copies), uint64(i))
	return Secret{
		Lead: "The access code of the " + rooms[i%len(rooms)] + " is", Code: int(s.Uint64n(Codes)), Label: h.label,
	}
}

// data is that of a release: copies of the secret's record, and others.
func (h *Hunt) data(copies, i int) ([]prompt.Example, error) {
	s := h.Key.Stream("data", uint64(copies), uint64(i))
	some, err := s.Subset(h.Size-copies, len(h.pool))
	if err != nil {
		return nil, err
	}
	var out []prompt.Example
	for _, j := range some {
		out = append(out, h.pool[j])
	}
	for range copies {
		out = append(out, h.secret(copies, i).record())
	}
	s.Shuffle(len(out), func(a, b int) { out[a], out[b] = out[b], out[a] })
	return out, nil
}

// demonstrator makes the demonstrations for a secret.
type demonstrator func(ctx context.Context, copies, i int) ([]prompt.Example, error)

// None looks without demonstrations: what the model would say anyhow.
func (h *Hunt) None(ctx context.Context) (SecretRow, error) {
	row := SecretRow{Shown: ShownNone}
	err := h.measure(ctx, &row, func(context.Context, int, int) ([]prompt.Example, error) { return nil, nil })
	return row, err
}

// Real looks in demonstrations that are records, the secret's among them: as many as there are copies, or
// all of them.
func (h *Hunt) Real(ctx context.Context, copies int) (SecretRow, error) {
	row := SecretRow{Shown: ShownReal, Copies: copies}
	err := h.measure(ctx, &row, func(_ context.Context, copies, i int) ([]prompt.Example, error) {
		s := h.Key.Stream("real", uint64(copies), uint64(i))
		some, err := s.Subset(h.Shots-1, len(h.pool))
		if err != nil {
			return nil, err
		}
		out := []prompt.Example{h.secret(copies, i).record()}
		for j, at := range some {
			e := h.pool[at]
			if j+1 < copies {
				e = out[0]
			}
			out = append(out, e)
		}
		s.Shuffle(len(out), func(a, b int) { out[a], out[b] = out[b], out[a] })
		return out, nil
	})
	return row, err
}

// Private looks in what a method wrote under ε.
func (h *Hunt) Private(ctx context.Context, write Writer, copies int, epsilon float64) (SecretRow, error) {
	row := SecretRow{Shown: ShownPrivate, Copies: copies, Epsilon: epsilon}
	err := h.measure(ctx, &row, func(ctx context.Context, copies, i int) ([]prompt.Example, error) {
		members, err := h.data(copies, i)
		if err != nil {
			return nil, err
		}
		seed := h.Key.Derive(fmt.Sprint("private ", epsilon)).Stream("seed", uint64(copies), uint64(i)).Uint64()
		return write(ctx, h.label, members, seed)
	})
	return row, err
}

// measure fills a row.
func (h *Hunt) measure(ctx context.Context, row *SecretRow, demos demonstrator) error {
	var bits []float64
	for i := range h.Secrets {
		s := h.secret(row.Copies, i)
		shown, err := demos(ctx, row.Copies, i)
		if err != nil {
			return err
		}
		for _, e := range shown {
			if len(demo.Find(e.Input, []string{s.Text()})) > 0 {
				row.Verbatim++
				break
			}
		}
		b, err := h.Exposure(ctx, shown, s)
		if err != nil {
			return err
		}
		bits = append(bits, b)
		h.done++
		if h.Observe != nil {
			h.Observe(h.done)
		}
	}
	row.judge(bits, h.Confidence)
	return nil
}

// judge compares exposures with chance, and with what ε allows. Without a leak each place is equally
// likely, so that an exposure above x bits has a probability of 2^-x at most, and under ε with copies of
// e^(copies·ε) times that. So the sum of as many has at most the tail of a gamma distribution; the δ of the
// guarantee is left out, which is far smaller.
func (r *SecretRow) judge(bits []float64, confidence float64) {
	n := float64(len(bits))
	r.Secrets, r.Exposure = len(bits), stat.Mean(bits)
	half := student(1-(1-confidence)/2, max(1, n-1)) * stat.Std(bits) / math.Sqrt(n)
	allBits := math.Log2(Codes)
	in := stat.Interval{Low: r.Exposure - half, High: r.Exposure + half}.Within(0, allBits)
	r.Low, r.High = in.Low, in.High
	r.Chance = gammaTail(len(bits), n*r.Exposure*math.Ln2)
	r.Allowed, r.Conclusion = allBits, NotShown
	if r.Chance < 1-confidence {
		r.Conclusion = Exposed
	}
	if r.Shown != ShownPrivate {
		return
	}
	given := float64(r.Copies) * r.Epsilon
	r.Allowed, r.Conclusion = min(allBits, (given+1)/math.Ln2), Within
	if gammaTail(len(bits), n*(r.Exposure*math.Ln2-given)) < 1-confidence {
		r.Conclusion = Beyond
	}
}

// gammaTail is the probability that n exponential numbers of mean one add up to at least x.
func gammaTail(n int, x float64) float64 {
	if x <= 0 {
		return 1
	}
	term, sum := 1., 0.
	for k := range n {
		if k > 0 {
			term *= x / float64(k)
		}
		sum += term
	}
	return min(1, math.Exp(-x)*sum)
}
