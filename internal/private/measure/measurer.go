package measure

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/private/internal/jury"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/internal/scheme"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// Options of a [Measurer].
type Options struct {
	// Model, Task, Pool, Key and Measure are required. Parts is the number of parts of the
	// pool, 1 unless told; records are drawn from all of them alike.
	Model   lm.Trusted
	Task    prompt.Task
	Pool    draw.Pool
	Parts   int
	Key     noise.Key
	Measure Measure
	// PassTokens and Held are as PassTokens and Prompts in package jury; 0 takes the default.
	PassTokens, Held int
	// Usage, if set, is told what the model has done so far. It depends on the records that
	// were drawn: it is not to be published.
	Usage func(lm.Usage)
}

// Measurer makes one measurement. It is for one goroutine at a time.
type Measurer struct {
	Options
	jury   *jury.Jury
	drawer *draw.Drawer
	noise  *noise.Additive
	key    noise.Key
	// bound are the prompts that it was asked about, by their hash.
	bound *[sha256.Size]byte
}

// Outcome of a measurement.
type Outcome struct {
	// Counts of each prompt.
	Counts []Count `json:"counts"`
	// Pair compares two prompts. Their Counts follow from it.
	Pair *Pair `json:"pair,omitempty"`
	// Event is what it cost.
	Event privacy.Event `json:"-"`
}

// New checks the options. No record is read.
func New(ctx context.Context, o Options) (*Measurer, error) {
	if err := o.Measure.Check(); err != nil {
		return nil, err
	}
	if o.Pool == nil {
		return nil, errors.New("there are no records to measure on")
	}
	if err := draw.Genuine(o.Pool); err != nil {
		return nil, err
	}
	if o.Parts = max(1, o.Parts); o.Parts > 1 && o.Measure.Draw.Kind == scheme.FixedSize {
		return nil, errors.New("draws of a fixed size are from all records together, and these are in parts by label: an exchanged record may be in another part")
	}
	key := o.Key.Derive("measure")
	m := &Measurer{Options: o, key: key, drawer: draw.NewDrawer(o.Pool, key)}
	var err error
	if m.jury, err = jury.New(ctx, jury.Options{
		Model: o.Model, Task: o.Task, Utility: o.Measure.Verdict, PassTokens: o.PassTokens, Prompts: o.Held, Usage: o.Usage,
	}); err != nil {
		return nil, err
	}
	m.noise, err = o.Measure.noise()
	return m, err
}

// Counts draws records and counts for how many of them each prompt is right, with noise. The
// prompts are public. Asked again, after an error or for the same prompts, it gives the same
// outcome where the model repeats itself; other prompts are refused.
func (m *Measurer) Counts(ctx context.Context, prompts []prompt.Prompt) (Outcome, error) {
	if err := m.bind(prompts); err != nil {
		return Outcome{}, err
	}
	records, err := m.records(ctx)
	if err != nil {
		return Outcome{}, err
	}
	verdicts, err := m.jury.Judge(ctx, prompts, records)
	if err != nil {
		return Outcome{}, err
	}
	tables := tables(verdicts)
	for i := range tables {
		if err := m.noise.AddTo(m.key.Stream("noise", uint64(i)), tables[i]); err != nil {
			return Outcome{}, err
		}
	}
	out, err := read(tables, len(prompts))
	out.Event = m.Measure.Event()
	return out, err
}

// bind makes sure that a measurement is of as many prompts as are paid for, and of one list
// of them only.
func (m *Measurer) bind(prompts []prompt.Prompt) error {
	if len(prompts) != m.Measure.Prompts {
		return fmt.Errorf("%d prompts are to be measured, and %d are paid for", len(prompts), m.Measure.Prompts)
	}
	for i, p := range prompts {
		if err := p.Check(m.Task); err != nil {
			return fmt.Errorf("prompt %d: %w", i+1, err)
		}
	}
	data, err := json.Marshal(prompts)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	if m.bound != nil && *m.bound != sum {
		return errors.New("other prompts were measured before: a measurement looks once")
	}
	m.bound = &sum
	return nil
}

// records are those of the draw.
func (m *Measurer) records(ctx context.Context) ([]seal.Record, error) {
	var refs []seal.Ref
	for part := range m.Parts {
		samples, err := m.drawer.Draw(m.Measure.Draw, draw.Text{Index: uint64(part), Part: part}, 1)
		if err != nil {
			return nil, err
		}
		for _, p := range samples[0].Prompts {
			refs = append(refs, p...)
		}
	}
	return m.drawer.Fetch(ctx, refs)
}
