package beam

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/internal/reconstruct"
	"github.com/sotto-dp/sotto/internal/run/compute"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/schema"
)

// Options say how Beam reads files, and where it runs.
type Options struct {
	Job Job
	// Whole reads each file by one worker, from end to end. That is how Parquet and
	// compressed files are always read. Plain CSV files are cut into stretches otherwise,
	// which takes a line for a row; line breaks in quotes need Whole.
	Whole bool
}

// Source is a table in files for a [sotto.Client] to profile or to perturb, on which Beam
// computes. Patterns are paths or globs, of file systems that are registered with Beam.
//
// Files of this machine are known to the ledger by their content, as everywhere. Of others
// the owner says which data set they are: set Dataset to one that is in the ledger.
func Source(patterns []string, o Options) sotto.TableSource {
	return sotto.TableSource{Engine: &engine{patterns: patterns, o: o}}
}

type engine struct {
	patterns []string
	o        Options
}

// Sealed implements [compute.Engine].
func (*engine) Sealed(compute.Seal) {}

// Open implements [compute.Engine].
func (e *engine) Open(ctx context.Context, o table.Options) (_ *table.Data, _ compute.Table, err error) {
	if e.o.Job.Run == nil {
		return nil, nil, errNoRunner
	}
	paths, err := expand(ctx, e.patterns)
	if err != nil {
		return nil, nil, err
	}
	t := &openTable{job: e.o.Job, files: &fileSet{Paths: paths, Whole: e.o.Whole, OnError: o.OnError}}
	local := true
	for _, path := range paths {
		local = local && here(path)
	}
	if local {
		t.data, err = table.OpenFiles(ctx, paths, o)
	} else {
		t.data, err = table.OpenElsewhere(paths, o)
	}
	if err != nil {
		return nil, nil, err
	}
	if t.parts, err = t.files.parts(ctx); err == nil {
		err = t.files.sameUnits(o.Unit, t.parts)
	}
	if err != nil {
		return nil, nil, errors.Join(err, t.data.Close())
	}
	return t.data, t, nil
}

// openTable is a table that is open, for one run.
type openTable struct {
	job   Job
	files *fileSet
	parts []Part
	data  *table.Data
}

// Sealed implements [compute.Table].
func (*openTable) Sealed(compute.Seal) {}

// Name implements [compute.Table].
func (t *openTable) Name() string {
	if t.files.Whole {
		return "Apache Beam, reading files whole"
	}
	return "Apache Beam"
}

// Assumption implements [compute.Table].
func (*openTable) Assumption() string {
	return "The job ran on Apache Beam: its workers, and anyone who could read its scratch folder while it ran, are trusted."
}

func (t *openTable) input() input { return input{Files: t.files} }

// workersKey is what workers may have of a run's key: not what noise is drawn from.
func workersKey(key noise.Key) noise.Key { return key.Derive("beam workers") }

// Sums implements [compute.Table].
func (t *openTable) Sums(ctx context.Context, m *global.Mechanism, key noise.Key) (*global.Sums, error) {
	o := t.data.Options()
	workers := workersKey(key)
	defer workers.Erase()
	sums, err := addUp(ctx, m, profileJob{Source: t.input(), Schema: o.Schema, Unit: o.Unit, Job: t.job, Workers: workers})
	if err != nil {
		return nil, err
	}
	return sums, t.data.Unchanged()
}

// Perturb implements [compute.Table].
func (t *openTable) Perturb(ctx context.Context, p compute.Perturbation) (int64, error) {
	s := t.data.Options().Schema
	workers := workersKey(p.Key)
	defer workers.Erase()
	done, err := perturb(ctx, perturbJob{Source: t.input(), Schema: s, Settings: p.Settings, Out: p.Folder, Job: t.job, Key: workers})
	if err != nil {
		return 0, err
	}
	if err := merge(p.To, p.Folder, done, s); err != nil {
		return 0, err
	}
	return done.Rows, t.data.Unchanged()
}

// merge puts the rows of all shards under one header, in the order of the table.
func merge(to io.Writer, folder string, of perturbResult, s schema.Schema) error {
	head, err := header(s)
	if err != nil {
		return err
	}
	skip := 0
	for _, shard := range of.Shards {
		if err := appendShard(to, filepath.Join(folder, shard.Name), skip); err != nil {
			return fmt.Errorf("put the perturbed rows together: %w", err)
		}
		skip = len(head)
	}
	return nil
}

// header is what every shard begins with.
func header(s schema.Schema) ([]byte, error) {
	var b bytes.Buffer
	w, err := reconstruct.NewWriter(&b, s, reconstruct.CSV)
	if err == nil {
		err = w.Flush()
	}
	return b.Bytes(), err
}

func appendShard(to io.Writer, path string, skip int) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Seek(int64(skip), io.SeekStart); err != nil {
		return err
	}
	_, err = io.Copy(to, f)
	return err
}

// Check implements [compute.Table]: it reads all files here, as workers do, so that what
// they would refuse is refused before anything is charged.
func (t *openTable) Check(ctx context.Context, columns []int) error {
	o := t.data.Options()
	if columns == nil {
		for i := range o.Schema.Columns {
			columns = append(columns, i)
		}
	}
	r := rows{Source: t.input(), Schema: o.Schema, Discrete: o.Discrete, Unit: o.Unit, Columns: columns}
	if o.Unit != "" {
		r.units = make([]byte, 32) // of units nothing is kept
		if _, err := rand.Read(r.units); err != nil {
			return err
		}
	}
	err := r.readAll(ctx, t.parts)
	if err == nil || ctx.Err() != nil {
		return err
	}
	// The reader of the rest of the program says more about rows.
	if scan := t.data.Scan(ctx, columns, 0, func(int, *table.Batch) error { return nil }); scan != nil {
		return scan
	}
	return &table.Error{Code: table.Unusable, Msg: err.Error()}
}

// readAll reads every block, by as many goroutines as there are processors.
func (r rows) readAll(ctx context.Context, parts []Part) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	type piece struct {
		part     Part
		from, to int64
	}
	pieces := make(chan piece)
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for p := range pieces {
				if err := r.read(ctx, p.part, p.from, p.to); err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, part := range parts {
		for from := int64(0); from < part.Blocks && ctx.Err() == nil; from += perShard {
			pieces <- piece{part, from, min(part.Blocks, from+perShard)}
		}
	}
	close(pieces)
	group.Wait()
	return context.Cause(ctx)
}

// read reads some blocks of a part, and forgets them.
func (r rows) read(ctx context.Context, p Part, from, to int64) error {
	o, err := r.open(ctx, p)
	if err != nil {
		return err
	}
	defer o.Close()
	for n := from; n < to; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := o.block(ctx, n, func(*table.Batch) error { return nil }); err != nil {
			return err
		}
	}
	return nil
}

// MeasureProfile runs the pipeline of a profile on so many made-up rows, and forgets what
// comes out: to measure a runner. Nothing is read, charged or certified.
func MeasureProfile(ctx context.Context, p plan.Profile, rows int64, job Job) error {
	m, err := global.New(p.Schema, p.Settings)
	if err != nil {
		return err
	}
	g := &syntheticTable{Rows: rows}
	if m.Settings().RowsPerUnit > 0 {
		g.Units = uint64(rows/2 + 1) // about two rows each
	}
	_, err = addUp(ctx, m, profileJob{Source: input{Generated: g}, Schema: p.Schema, Job: job})
	return err
}

// MeasurePerturb is [MeasureProfile] for a perturbation, whose rows are written to a
// folder that workers can write, and removed.
func MeasurePerturb(ctx context.Context, p plan.Local, rows int64, folder string, job Job) error {
	_, err := perturb(ctx, perturbJob{Source: input{Generated: &syntheticTable{Rows: rows}}, Schema: p.Schema, Settings: p.Settings, Out: folder, Job: job})
	return errors.Join(err, os.RemoveAll(folder))
}
