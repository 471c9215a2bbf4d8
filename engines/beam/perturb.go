package beam

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	sdk "github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/private/table/local"
	"github.com/sotto-dp/sotto/internal/reconstruct"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/schema"
)

func init() {
	register.DoFn4x1[context.Context, *sdf.LockRTracker, Part, func(Shard), error](&perturbFn{})
	register.DoFn3x1[context.Context, int, func(*Shard) bool, error](&manifestFn{})
	register.Emitter1[Shard]()
	register.Iter1[Shard]()
	sdk.RegisterType(reflect.TypeFor[Part]())
	sdk.RegisterType(reflect.TypeFor[Shard]())
}

// perturbJob says what is perturbed, how, and where it goes.
type perturbJob struct {
	Source   input
	Schema   schema.Schema
	Settings local.Settings
	// Out is the folder of the perturbed rows, on this machine or where Beam can write.
	Out string
	Job Job
	// Key of the randomness. It must not serve two tables, nor two versions of one.
	Key noise.Key
}

// perturbResult says what came out.
type perturbResult struct {
	Rows   int64   `json:"rows"`
	Shards []Shard `json:"shards"`
}

// Shard is a file of perturbed rows: CSV with a header. In the order of their names,
// shards hold the rows in the order of the source.
type Shard struct {
	Name string `json:"name"`
	Rows int64  `json:"rows"`
}

// perShard is how many blocks of the source go to one file.
const perShard = 64

// perturb perturbs a table. perturbed rows are written by the worker that read them, a
// file for each stretch of the source; nothing but names of files goes through the runner.
//
// A bundle that fails and runs again, or runs twice at once, writes the same bytes under
// the same names, because all randomness belongs to the key and the number of the batch.
// So however often Beam tries, one perturbed copy of each row exists; two independent ones
// would cost twice. The source must not change while the job runs.
func perturb(ctx context.Context, o perturbJob) (_ perturbResult, err error) {
	if o.Out == "" {
		return perturbResult{}, errors.New("perturbed rows need a folder to go to (Out)")
	}
	if f := o.Source.Files; f != nil && f.OnError == table.Skip {
		return perturbResult{}, errSkip
	}
	if err := o.Settings.Fits(o.Schema); err != nil {
		return perturbResult{}, err
	}
	parts, err := o.Source.parts(ctx)
	if err != nil {
		return perturbResult{}, err
	}
	d, err := o.Job.start()
	if err != nil {
		return perturbResult{}, err
	}
	defer func() { err = errors.Join(err, d.end(context.WithoutCancel(ctx))) }()
	fn := &perturbFn{Settings: o.Settings, Out: o.Out}
	if fn.Key, err = d.share(ctx, o.Key); err != nil {
		return perturbResult{}, err
	}
	fn.Rows = rows{Source: o.Source, Schema: o.Schema, Discrete: true}
	for i := range o.Schema.Columns {
		fn.Rows.Columns = append(fn.Rows.Columns, i)
	}
	fn.Stride, fn.Piece = perShard, o.Job.piece(parts, perShard)

	p, s := sdk.NewPipelineWithRoot()
	shards := sdk.ParDo(s.Scope("Perturb"), fn, sdk.CreateList(s.Scope("Parts"), parts))
	grouped := sdk.GroupByKey(s, sdk.AddFixedKey(s, shards))
	sdk.ParDo0(s.Scope("Manifest"), &manifestFn{Path: join(o.Out, manifest)}, grouped)
	if err := o.Job.run(ctx, p); err != nil {
		return perturbResult{}, err
	}
	out, err := readManifest(ctx, o.Out)
	if err != nil {
		return perturbResult{}, err
	}
	return out, expect(out.Shards, parts)
}

// errSkip: that a row is missing would reveal for certain what it was not; the event has no
// room for that.
var errSkip = errors.New("rows that the schema refuses cannot be left out of perturbed ones: correct them, or give their columns rules in the schema (other, missing, clamp)")

// manifest is the name of the file that lists the others.
const manifest = "shards.json"

func shardName(part, claim int64) string { return fmt.Sprintf("rows-%05d-%06d.csv", part, claim) }

// join puts a name into a folder, which may be a URL.
func join(folder, name string) string { return strings.TrimRight(folder, "/") + "/" + name }

// expect checks that every stretch of the source came out, and once.
func expect(got []Shard, parts []Part) error {
	i := 0
	for _, p := range parts {
		for claim := range max(1, (p.Blocks+perShard-1)/perShard) {
			if i >= len(got) || got[i].Name != shardName(p.Number, claim) {
				return fmt.Errorf("the pipeline ended without %s: run it again with the same key", shardName(p.Number, claim))
			}
			i++
		}
	}
	return nil
}

// perturbFn reads rows and writes what they become.
type perturbFn struct {
	scan
	Settings local.Settings `json:"settings"`
	Out      string         `json:"out"`
	Key      keyFile        `json:"key"`

	perturber *local.Perturber
	key       noise.Key
	rows      reconstruct.Rows
}

// Setup prepares a worker.
func (fn *perturbFn) Setup(ctx context.Context) (err error) {
	if fn.perturber, err = local.New(fn.Settings); err != nil {
		return err
	}
	fn.key, err = fn.Key.read(ctx)
	return err
}

// ProcessElement perturbs a range of a part.
func (fn *perturbFn) ProcessElement(ctx context.Context, rt *sdf.LockRTracker, p Part, emit func(Shard)) error {
	var done []Shard
	err := fn.claims(ctx, rt, p, func(o blockReader, claim int64) error {
		s, err := fn.shard(ctx, o, p, claim)
		done = append(done, s)
		return err
	})
	if err != nil {
		return err
	}
	for _, s := range done {
		emit(s)
	}
	return nil
}

func (fn *perturbFn) shard(ctx context.Context, o blockReader, p Part, claim int64) (Shard, error) {
	s := Shard{Name: shardName(p.Number, claim)}
	w, err := create(ctx, join(fn.Out, s.Name))
	if err != nil {
		return s, err
	}
	s.Rows, err = fn.write(ctx, w, o, p, claim)
	if err != nil {
		return s, errors.Join(err, w.discard(ctx))
	}
	return s, w.keep(ctx)
}

func (fn *perturbFn) write(ctx context.Context, w io.Writer, o blockReader, p Part, claim int64) (n int64, err error) {
	out, err := reconstruct.NewWriter(w, fn.Rows.Schema, reconstruct.CSV)
	if err != nil {
		return 0, err
	}
	err = fn.batches(ctx, o, p, claim, func(b *table.Batch) error {
		if err := fn.perturber.Batch(b, fn.key, &fn.rows); err != nil {
			return err
		}
		n += int64(b.Rows)
		return out.Write(&fn.rows)
	})
	if err != nil {
		return n, err
	}
	return n, out.Flush()
}

// manifestFn lists the shards.
type manifestFn struct {
	Path string `json:"path"`
}

// ProcessElement writes the list. Shards of bundles that ran twice are in it once.
func (fn *manifestFn) ProcessElement(ctx context.Context, _ int, each func(*Shard) bool) error {
	var out perturbResult
	for s := (Shard{}); each(&s); {
		out.Shards = append(out.Shards, s)
	}
	slices.SortFunc(out.Shards, func(a, b Shard) int { return strings.Compare(a.Name, b.Name) })
	out.Shards = slices.Compact(out.Shards)
	for _, s := range out.Shards {
		out.Rows += s.Rows
	}
	data, err := json.Marshal(out)
	if err != nil {
		return err
	}
	return writeFile(ctx, fn.Path, data)
}

func readManifest(ctx context.Context, folder string) (out perturbResult, err error) {
	data, err := readFile(ctx, join(folder, manifest))
	if err != nil {
		return out, fmt.Errorf("the pipeline ended without a list of its files: choose a folder that workers can write and this program can read: %w", err)
	}
	if err := json.Unmarshal(data, &out); err != nil {
		return out, fmt.Errorf("%s is damaged: run the job again with the same key: %w", manifest, err)
	}
	return out, nil
}
