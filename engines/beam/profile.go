package beam

import (
	"context"
	"errors"
	"fmt"

	sdk "github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/schema"
)

func init() {
	register.DoFn4x1[context.Context, *sdf.LockRTracker, Part, func([]byte), error](&sumFn{})
	register.DoFn2x1[context.Context, []byte, error](&postFn{})
	register.Combiner1[[]byte](&mergeFn{})
	register.Emitter1[[]byte]()
}

// profileJob says what is added up, and how.
type profileJob struct {
	Source input
	Schema schema.Schema
	Job    Job
	// Unit is the column that says whose row it is; "" if each row is somebody's own. It
	// is needed if and only if the settings bound rows of a unit.
	Unit string
	// Workers is the key of sampling and of choosing a unit's rows, which workers need. It
	// must not be that of the noise outside of tests.
	Workers noise.Key
}

// addUp runs the pipeline of a profile, and returns its exact sums, which do not print. The
// caller adds the noise, once, after the pipeline has ended, from a key that no worker has:
// a bundle that fails and runs again can change neither the noise nor how often it is drawn.
//
// The exact sums come from the workers in a file that only this process can open.
func addUp(ctx context.Context, m *global.Mechanism, o profileJob) (_ *global.Sums, err error) {
	settings := m.Settings()
	if bounded := settings.RowsPerUnit > 0; bounded != o.units() {
		return nil, errors.New("units need both a column that names them and a number of rows that each may have (RowsPerUnit), or neither")
	}
	if o.Unit != "" && o.Source.Files == nil {
		return nil, errors.New("made-up rows have no column of units")
	}
	parts, err := o.Source.parts(ctx)
	if err != nil {
		return nil, err
	}
	if o.Source.Files != nil {
		if err := o.Source.Files.sameUnits(o.Unit, parts); err != nil {
			return nil, err
		}
	}
	d, err := o.Job.start()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.end(context.WithoutCancel(ctx))) }()

	box, private, err := newMailbox(d.path("sums"))
	if err != nil {
		return nil, err
	}
	base := sumFn{Settings: settings}
	base.Rows = rows{Source: o.Source, Schema: o.Schema, Unit: o.Unit, Columns: m.Columns()}
	base.Stride, base.Piece = 1, o.Job.piece(parts, 1)
	if settings.Rate < 1 || o.units() {
		if base.Key, err = d.share(ctx, o.Workers); err != nil {
			return nil, err
		}
	}
	p := pipeline(base, parts, box, o, m.NewSums().Export())
	if err := o.Job.run(ctx, p); err != nil {
		return nil, err
	}
	data, err := box.fetch(ctx, private)
	if err != nil {
		return nil, err
	}
	return m.Import(data)
}

func (o profileJob) units() bool {
	return o.Unit != "" || o.Source.Generated != nil && o.Source.Generated.Units > 0
}

// pipeline adds up. The groups are as in the settings, all of them, whatever the rows
// are: they are cells of one aggregate and no keys of the pipeline, so that nothing about
// which groups exist can be seen in it.
func pipeline(fn sumFn, parts []Part, box mailbox, o profileJob, empty []byte) *sdk.Pipeline {
	p, s := sdk.NewPipelineWithRoot()
	all := sdk.CreateList(s.Scope("Parts"), parts)
	var sums sdk.PCollection
	if o.units() {
		sums = bounded(s.Scope("Units"), fn, all, empty)
	} else {
		sums = sdk.ParDo(s.Scope("Sum"), &fn, all)
	}
	total := sdk.Combine(s.Scope("Merge"), &mergeFn{Schema: fn.Rows.Schema, Settings: fn.Settings}, sums)
	sdk.ParDo0(s.Scope("Post"), &postFn{Box: box}, total)
	return p
}

// sumFn reads rows and adds them up: one aggregate for each range of a part.
type sumFn struct {
	scan
	Settings global.Settings `json:"settings"`
	Key      keyFile         `json:"key,omitempty"`

	mechanism *global.Mechanism
	picker    *global.Picker
	picked    []int
}

// Setup prepares a worker.
func (fn *sumFn) Setup(ctx context.Context) (err error) {
	if fn.mechanism, err = global.New(fn.Rows.Schema, fn.Settings); err != nil || fn.Key == "" {
		return err
	}
	key, err := fn.Key.read(ctx)
	if err != nil {
		return err
	}
	fn.picker, err = fn.mechanism.Picker(key)
	return err
}

// ProcessElement adds up a range of a part.
func (fn *sumFn) ProcessElement(ctx context.Context, rt *sdf.LockRTracker, p Part, emit func([]byte)) error {
	sums := fn.mechanism.NewSums()
	err := fn.claims(ctx, rt, p, func(o blockReader, claim int64) error {
		return fn.batches(ctx, o, p, claim, func(b *table.Batch) error { return fn.add(sums, b) })
	})
	if err != nil {
		return err
	}
	emit(sums.Export())
	return nil
}

// add takes a batch into account, or a sample of it that belongs to the key and the number
// of the batch.
func (fn *sumFn) add(sums *global.Sums, b *table.Batch) (err error) {
	if fn.picker == nil {
		return sums.Add(b)
	}
	if fn.picked, err = fn.picker.Rows(b.Index, b.Rows, fn.picked[:0]); err != nil {
		return err
	}
	return sums.AddRows(b, fn.picked)
}

// mergeFn adds aggregates. They are whole numbers, so that neither the order nor the cut
// into bundles makes a difference.
type mergeFn struct {
	Schema   schema.Schema   `json:"schema"`
	Settings global.Settings `json:"settings"`

	mechanism *global.Mechanism
}

// MergeAccumulators adds two of them.
func (fn *mergeFn) MergeAccumulators(a, b []byte) ([]byte, error) {
	if fn.mechanism == nil {
		m, err := global.New(fn.Schema, fn.Settings)
		if err != nil {
			return nil, err
		}
		fn.mechanism = m
	}
	if a == nil {
		return b, nil
	}
	sums, err := fn.mechanism.Import(a)
	if err != nil {
		return nil, err
	}
	other, err := fn.mechanism.Import(b)
	if err != nil {
		return nil, err
	}
	if err := sums.Merge(other); err != nil {
		return nil, fmt.Errorf("merge sums: %w", err)
	}
	return sums.Export(), nil
}

// postFn sends the result to the driver.
type postFn struct {
	Box mailbox `json:"box"`
}

// ProcessElement seals it.
func (fn *postFn) ProcessElement(ctx context.Context, sums []byte) error {
	return fn.Box.post(ctx, sums)
}
