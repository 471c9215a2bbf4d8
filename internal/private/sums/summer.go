package sums

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"runtime"
	"slices"

	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/internal/private/internal/vectors"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/schema"
)

// Options of a [Summer].
type Options struct {
	// Encoder, Task, Pool, Key and Sums are required. Parts is the number of parts of the pool, 1 by
	// default.
	Encoder lm.TrustedEmbedder
	Task    prompt.Task
	Pool    draw.Pool
	Parts   int
	Key     noise.Key
	Sums    Sums
	// Schema is that of the table whose rows the encoder reads, if it does: evidence carries it.
	Schema *schema.Schema
	// Encoded, if set, is called with how many units were encoded so far, again and again. It depends on how many
	// there are: it is not to be published.
	Encoded func(units int64)
}

// Summer adds up records. It is for one goroutine at a time.
type Summer struct{ Options }

// Outcome of sums.
type Outcome struct {
	Evidence evidence.Evidence
	// Event is what it cost.
	Event privacy.Event
}

// New checks the options. No record is read.
func New(o Options) (*Summer, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o.Parts = max(1, o.Parts)
	o.Task = o.Task.WithDefaults() // a copy
	return &Summer{o}, nil
}

// check finds what is wrong with the options.
func (o *Options) check() error {
	if err := o.Sums.Check(); err != nil {
		return err
	}
	if !o.Encoder.Valid() {
		return errors.New("records may only be shown to a trusted encoder, and there is none")
	}
	if o.Encoder.Name() != o.Sums.Encoder {
		return fmt.Errorf("the plan is for the encoder %s, and this one is %s", o.Sums.Encoder, o.Encoder.Name())
	}
	if o.Task.Open() || o.Task.Kind == prompt.Generate || len(o.Task.Labels) < 2 {
		return fmt.Errorf("task %q has no closed list of labels to add up records by", o.Task.Name)
	}
	if e := o.empty(); e.Check() != nil {
		return fmt.Errorf("task %q cannot have evidence: %w", o.Task.Name, e.Check())
	}
	if o.Key == (noise.Key{}) {
		return errors.New("sums need the key of a run for their noise, and there is none")
	}
	if o.Pool == nil {
		return errors.New("there are no records to add up")
	}
	return draw.Genuine(o.Pool)
}

// empty is evidence before there are sums.
func (o *Options) empty() evidence.Evidence {
	e := evidence.Evidence{
		Encoder: o.Sums.Encoder, Schema: o.Schema, Labels: slices.Clone(o.Task.Labels),
		Sums: int(o.Sums.Sums), Sigma: o.Sums.Sigma, Vectors: make([][]float64, len(o.Task.Labels)),
	}
	for l := range e.Vectors {
		e.Vectors[l] = make([]float64, o.Encoder.Dimension())
	}
	return e
}

// key is that of these settings and of this task: sums of others have other randomness, so that the same
// noise is not taken off twice.
func (s *Summer) key() (noise.Key, error) {
	settings, err := json.Marshal(s.Sums)
	if err != nil {
		return noise.Key{}, err
	}
	return s.Key.Derive(fmt.Sprintf("sums of %d parts by %s for %s", s.Parts, settings, s.Task.Canonical())), nil
}

// batch is how many records are read at once. A source that can only be read from its beginning is read
// once for each batch.
const batch = 1 << 16

// Preflight finds what [Summer.Evidence] would refuse before it reads a record: the encoder reads the names of labels.
func (s *Summer) Preflight(ctx context.Context) error {
	if err := s.check(); err != nil {
		return err
	}
	_, err := s.names(ctx)
	return err
}

// Evidence reads all records and makes evidence of them. Asked again, it gives the same.
func (s *Summer) Evidence(ctx context.Context) (Outcome, error) {
	if err := s.check(); err != nil { // fields can be set from outside
		return Outcome{}, err
	}
	noise, err := s.Sums.noise()
	if err != nil {
		return Outcome{}, err
	}
	key, err := s.key()
	if err != nil {
		return Outcome{}, err
	}
	names, err := s.names(ctx)
	if err != nil {
		return Outcome{}, err
	}
	units, err := s.encode(ctx, key)
	if err != nil {
		return Outcome{}, err
	}
	defer units.close()
	e, width := s.empty(), s.Encoder.Dimension()
	for at := range s.Sums.Sums {
		if err := ctx.Err(); err != nil {
			return Outcome{}, err
		}
		sum, err := s.add(units, e.Vectors)
		if err != nil {
			return Outcome{}, err
		}
		if err := noise.AddTo(key.Stream("noise", uint64(at)), sum); err != nil {
			return Outcome{}, err
		}
		if at == 0 {
			s.begin(e.Vectors, names, sum)
		}
		for l, v := range e.Vectors {
			s.move(v, sum[l*width:(l+1)*width])
		}
	}
	for _, v := range e.Vectors {
		for i := range v {
			v[i] = short(v[i])
		}
	}
	if err := e.Check(); err != nil {
		return Outcome{}, err
	}
	return Outcome{e, s.Sums.Event()}, nil
}

// farthest bounds the numbers of vectors, whatever was declared about the number of records.
const farthest = 1e5

// move makes the vector of a label from its row of a noisy sum: its direction, or a step towards it.
func (s *Summer) move(vector []float64, row []int64) {
	factor := s.Sums.Step / float64(s.Sums.Size)
	if s.Sums.Sums == 1 {
		var square float64
		for _, x := range row {
			square += float64(steps(x) * steps(x))
		}
		factor = 1 / (temperature * math.Sqrt(max(square, math.SmallestNonzeroFloat32)))
	}
	for i, x := range row {
		vector[i] = min(max(vector[i]+float64(factor*steps(x)), -farthest), farthest)
	}
}

// steps returns a number of the grid of sums.
func steps(x int64) float64 { return math.Ldexp(float64(x), -2*fine) }

// short keeps six digits, which are enough, so that files are small.
func short(x float64) float64 {
	const digits = 1e6
	return math.Round(x*digits) / digits
}

// encode turns all units into vectors on the grid, each with its labels. Vectors that are kept from an earlier run
// are the encoder's, and go the same way. The caller closes what it returns.
func (s *Summer) encode(ctx context.Context, key noise.Key) (*pages, error) {
	out := newPages(s.Sums.Each, s.Encoder.Dimension(), s.Pool)
	var encoder evidence.Encodes = s.Encoder
	if k, ok := s.Pool.(vectors.Keeper); ok {
		if store := k.Vectors(s.Encoder, true); store != nil {
			defer store.Close()
			encoder = store
		}
	}
	for part := range s.Parts {
		size := seal.Exactly(s.Pool.Size(part))
		for from := 0; from < size; from += batch / s.Sums.Each {
			if err := s.units(ctx, key, encoder, part, from, min(from+batch/s.Sums.Each, size), out); err != nil {
				out.close()
				return nil, err
			}
		}
	}
	return out, nil
}

// units reads and encodes some units of a part, after others.
func (s *Summer) units(ctx context.Context, key noise.Key, encoder evidence.Encodes, part, from, to int, out *pages) error {
	refs := make([]seal.Ref, 0, (to-from)*s.Sums.Each)
	for at := from; at < to; at++ {
		stream := key.Stream("choose", uint64(part), uint64(at))
		for range s.Sums.Each {
			ref, err := s.Pool.Choose(part, at, stream)
			if err != nil {
				return err
			}
			refs = append(refs, ref)
		}
	}
	records, err := s.Pool.Fetch(ctx, refs)
	if err != nil {
		return err
	}
	if len(records) != len(refs) {
		return errors.New("there is not one record for each that was asked for: this is an internal error, and nothing was released")
	}
	u, before := make(unit, 0, s.Sums.Each), out.units
	for at, some := range chunks(records) {
		vectors, err := s.vectors(ctx, encoder, some)
		if err != nil {
			return err
		}
		for i, r := range some {
			label, _ := s.Task.ResolveLabel(seal.Condition(r))
			u = append(u, recordVector{slices.Index(s.Task.Labels, label), vectors[i]})
			if len(u) < s.Sums.Each {
				continue
			}
			if err := out.add(u); err != nil {
				return err
			}
			u = u[:0]
		}
		if s.Encoded != nil {
			s.Encoded(before + int64((at+len(some))/s.Sums.Each))
		}
	}
	return nil
}

// chunks cuts records into parts that keep all processors busy for about a second, and gives where each begins.
func chunks(records []seal.Record) iter.Seq2[int, []seal.Record] {
	return func(yield func(int, []seal.Record) bool) {
		for size, at := 64*runtime.GOMAXPROCS(0), 0; at < len(records); at += size {
			if !yield(at, records[at:min(at+size, len(records))]) {
				return
			}
		}
	}
}

// vectors are those of records, on the grid.
func (s *Summer) vectors(ctx context.Context, encoder evidence.Encodes, records []seal.Record) ([][]int16, error) {
	texts := make([]string, len(records))
	for i, r := range records {
		texts[i] = seal.Text(r)
	}
	vectors, err := encoder.Embed(ctx, texts)
	if err != nil {
		return nil, err
	}
	if len(vectors) != len(texts) {
		return nil, errors.New("there is not one vector for each text that was asked for: this is a fault of the encoder, and nothing was released")
	}
	out := make([][]int16, len(vectors))
	for i, v := range vectors {
		if out[i], err = onGrid(v, s.Encoder.Dimension()); err != nil {
			return nil, err
		}
	}
	return out, nil
}
