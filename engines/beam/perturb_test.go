package beam

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	sdk "github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/rtrackers/offsetrange"

	"github.com/sotto-dp/sotto/internal/demo"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/private/table/local"
	"github.com/sotto-dp/sotto/internal/reconstruct"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/schema"
)

func planned(t testing.TB, s schema.Schema, epsilon float64) local.Settings {
	t.Helper()
	p, err := plan.NewLocal(plan.LocalRequest{Schema: s, Epsilon: epsilon})
	if err != nil {
		t.Fatal(err)
	}
	return p.Settings
}

// joined are the rows of all shards, under one header.
func joined(t testing.TB, folder string, p perturbResult) []byte {
	t.Helper()
	var out []byte
	for i, s := range p.Shards {
		data, err := os.ReadFile(filepath.Join(folder, s.Name))
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			_, data, _ = bytes.Cut(data, []byte("\n"))
		}
		out = append(out, data...)
	}
	return out
}

// perturbedHere is what the main module makes of the batches that scan hands out.
func perturbedHere(t testing.TB, s schema.Schema, set local.Settings, key noise.Key, scan func(each func(*table.Batch) error) error) []byte {
	t.Helper()
	p, err := local.New(set)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := reconstruct.NewWriter(&out, s, reconstruct.CSV)
	if err != nil {
		t.Fatal(err)
	}
	var rows reconstruct.Rows
	err = scan(func(b *table.Batch) error {
		return errors.Join(p.Batch(b, key, &rows), w.Write(&rows))
	})
	if err = errors.Join(err, w.Flush()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func allColumns(s schema.Schema) []int {
	var out []int
	for i := range s.Columns {
		out = append(out, i)
	}
	return out
}

func TestPerturbSameAsInMemory(t *testing.T) {
	s := wide()
	s.Columns = s.Columns[:4]
	set := planned(t, s, 20)
	key := noise.KeyFromSeed(3)
	for _, c := range []struct {
		name   string
		rows   int64
		pieces int
		shards int
	}{
		{"several shards", 1_100_000, 0, 3},
		{"pieces", 600_000, 2, 2},
		{"one row", 1, 0, 1},
		{"no rows", 0, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			if slow && c.rows > perShard*generatedRows+1 {
				c.rows, c.shards = perShard*generatedRows+1, 2
			}
			if slow && c.pieces > 0 {
				t.Skip("the race detector is on: one case of so many rows is enough")
			}
			source := input{Generated: &syntheticTable{Rows: c.rows, Seed: 4}}
			out := t.TempDir()
			got, err := perturb(t.Context(), perturbJob{Source: source, Schema: s, Settings: set, Out: out, Key: key, Job: Job{Run: onPrism, Pieces: c.pieces}})
			if err != nil {
				t.Fatal(err)
			}
			want := perturbedHere(t, s, set, key, func(each func(*table.Batch) error) error {
				return source.Generated.scan(rows{Source: source, Schema: s, Discrete: true, Columns: allColumns(s)}, each)
			})
			if !bytes.Equal(joined(t, out, got), want) {
				t.Error("the rows are different")
			}
			if got.Rows != c.rows || len(got.Shards) != c.shards {
				t.Errorf("%d rows in %d files", got.Rows, len(got.Shards))
			}
		})
	}
}

// TestPerturbFile: a file that is read whole comes out as the main module has it.
func TestPerturbFile(t *testing.T) {
	s := loans(t)
	set := planned(t, s, 8)
	key := noise.KeyFromSeed(5)
	path := save(t, "loans.csv", loansCSV(t, demo.Loans(20_000)))
	out := t.TempDir()
	got, err := perturb(t.Context(), perturbJob{Source: input{Files: &fileSet{Paths: []string{path}, Whole: true}}, Schema: s, Settings: set, Out: out, Key: key, Job: Job{Run: onPrism}})
	if err != nil {
		t.Fatal(err)
	}
	d, err := table.Open(t.Context(), path, table.Options{Schema: s, Discrete: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	want := perturbedHere(t, s, set, key, func(each func(*table.Batch) error) error {
		return d.Scan(t.Context(), nil, 1, func(_ int, b *table.Batch) error { return each(b) })
	})
	if !bytes.Equal(joined(t, out, got), want) {
		t.Error("the rows are different")
	}
	// In stretches the batches are others, and so is the randomness; as many rows.
	got, err = perturb(t.Context(), perturbJob{Source: input{Files: &fileSet{Paths: []string{path}}}, Schema: s, Settings: set, Out: t.TempDir(), Key: key, Job: Job{Run: onPrism}})
	if err != nil || got.Rows != 20_000 {
		t.Errorf("%d rows: %v", got.Rows, err)
	}
}

// TestKeptValues: with fresh keys, values are kept as often as they should be, within 6.5
// standard deviations (less than 10^-10), and not as with an ε that is 10% off.
func TestKeptValues(t *testing.T) {
	s := schema.Schema{Name: "one", Columns: []schema.Column{{Name: "a", Kind: schema.Categorical, Values: values(5)}}}
	const n, epsilon = 100_000, 2.0
	set := planned(t, s, epsilon)
	source := input{Generated: &syntheticTable{Rows: n, Seed: 6}}
	var truth, before cells
	err := source.Generated.scan(rows{Source: source, Schema: s, Discrete: true, Columns: []int{0}}, truth.add)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		out := t.TempDir()
		got, err := perturb(t.Context(), perturbJob{Source: source, Schema: s, Settings: set, Out: out, Job: Job{Run: onPrism}})
		if err != nil {
			t.Fatal(err)
		}
		var now cells
		for line := range strings.Lines(string(joined(t, out, got))) {
			now = append(now, strings.TrimSpace(line))
		}
		now = now[1:]
		kept := 0
		for i, text := range now {
			if text == s.Columns[0].Values[truth[i][0]-'0'] {
				kept++
			}
		}
		chance := func(e float64) float64 { return math.Exp(e) / (math.Exp(e) + 4) }
		far := 6.5 * math.Sqrt(chance(epsilon)*(1-chance(epsilon))*n)
		if off := math.Abs(float64(kept) - chance(epsilon)*n); off > far {
			t.Errorf("%d values are kept, %v from the mean", kept, off)
		}
		for _, wrong := range []float64{0.9 * epsilon, 1.1 * epsilon} {
			if math.Abs(float64(kept)-chance(wrong)*n) <= far {
				t.Errorf("%d values cannot tell ε = %v from %v", n, epsilon, wrong)
			}
		}
		if reflect.DeepEqual(now, before) {
			t.Error("two jobs drew the same")
		}
		before = now
	}
}

// TestSecondAttempts: a bundle that fails half-way and runs again in other pieces, on
// another worker, writes the same files, so that there is one perturbed copy of each row.
func TestSecondAttempts(t *testing.T) {
	s := loans(t)
	path := save(t, "loans.csv", loansCSV(t, demo.Loans(3000)))
	out := t.TempDir()
	key := keyFile(filepath.Join(t.TempDir(), "key"))
	fresh, err := noise.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	if err := key.write(t.Context(), fresh); err != nil {
		t.Fatal(err)
	}
	f := &fileSet{Paths: []string{path}}
	parts, err := f.parts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	part := parts[0]
	part.Stretch = 1000
	part.Blocks = (part.Size + part.Stretch - 1) / part.Stretch
	worker := func() *perturbFn {
		fn := &perturbFn{Settings: planned(t, s, 10), Out: out, Key: key}
		fn.Rows = rows{Source: input{Files: f}, Schema: s, Discrete: true, Columns: allColumns(s)}
		fn.Stride, fn.Piece = perShard, 100
		if err := fn.Setup(t.Context()); err != nil {
			t.Fatal(err)
		}
		return fn
	}
	attempt := func(ctx context.Context, from, to int64) (names []Shard, err error) {
		fn := worker()
		tracker := fn.CreateTracker(offsetrange.Restriction{Start: from, End: to})
		err = fn.ProcessElement(ctx, tracker, part, func(s Shard) { names = append(names, s) })
		return names, err
	}
	claims := worker().CreateInitialRestriction(part).End
	if claims < 2 {
		t.Fatalf("%d claims are too few for this test", claims)
	}
	whole, err := attempt(t.Context(), 0, claims)
	if err != nil {
		t.Fatal(err)
	}
	first := joined(t, out, perturbResult{Shards: whole})

	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if names, err := attempt(stopped, 0, claims); err == nil || len(names) > 0 {
		t.Error("an attempt that was stopped says that it is complete")
	}
	var again []Shard
	for claim := claims - 1; claim >= 0; claim-- {
		names, err := attempt(t.Context(), claim, claim+1)
		if err != nil {
			t.Fatal(err)
		}
		again = append(names, again...)
	}
	if !reflect.DeepEqual(again, whole) {
		t.Error("the second attempt has other files")
	}
	if !bytes.Equal(joined(t, out, perturbResult{Shards: again}), first) {
		t.Error("the second attempt has other rows: each row was released twice")
	}
	left, err := os.ReadDir(out)
	if err != nil || len(left) != len(whole) {
		t.Errorf("there are %d files, and %d shards: %v", len(left), len(whole), err)
	}
}

// TestJobTwice: a driver that runs a pipeline twice gets the same, with the same keys.
func TestJobTwice(t *testing.T) {
	s := wide()
	o := asked(s)
	o.Rate, o.RowsPerUnit = 0.5, 2
	m := mechanism(t, s, o)
	twice := func(ctx context.Context, p *sdk.Pipeline) error { return errors.Join(onPrism(ctx, p), onPrism(ctx, p)) }
	key, err := noise.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	var all [][]byte
	for _, run := range []func(context.Context, *sdk.Pipeline) error{onPrism, twice} {
		sums, err := addUp(t.Context(), m, profileJob{Source: input{Generated: &syntheticTable{Rows: 30_000, Units: 5000}}, Schema: s, Job: Job{Run: run}, Workers: key})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, sums.Export())
	}
	if !bytes.Equal(all[0], all[1]) {
		t.Error("the second attempt has another sample")
	}
}

// TestFailedBundle: a job that fails leaves no rows.
func TestFailedBundle(t *testing.T) {
	s := loans(t)
	good := loansCSV(t, demo.Loans(10))
	path := save(t, "loans.csv", append(good, "9,30,50,employed,nowhere,car,3,0,yes\n"...))
	out := t.TempDir()
	key := noise.KeyFromSeed(8)
	o := perturbJob{Source: input{Files: &fileSet{Paths: []string{path}}}, Schema: s, Settings: planned(t, s, 5), Out: out, Key: key, Job: Job{Run: onPrism}}
	if _, err := perturb(t.Context(), o); err == nil {
		t.Fatal("a row that the schema refuses is perturbed")
	}
	if left, err := os.ReadDir(out); err != nil || len(left) > 0 {
		t.Errorf("a job that failed leaves %d files: %v", len(left), err)
	}
}

func TestExpectedShards(t *testing.T) {
	parts := []Part{{Blocks: perShard + 1}, {Number: 1, Blocks: 0}}
	all := []Shard{{Name: shardName(0, 0)}, {Name: shardName(0, 1)}, {Name: shardName(1, 0)}}
	if err := expect(all, parts); err != nil {
		t.Error(err)
	}
	for i := range all {
		if expect(append(append([]Shard{}, all[:i]...), all[i+1:]...), parts) == nil {
			t.Errorf("nobody misses shard %d", i)
		}
	}
}

func TestRefusedPerturbations(t *testing.T) {
	s := wide()
	o := perturbJob{Source: input{Generated: &syntheticTable{Rows: 1}}, Schema: s, Settings: planned(t, s, 1), Job: Job{Run: onPrism}}
	if _, err := perturb(t.Context(), o); err == nil || !strings.Contains(err.Error(), "Out") {
		t.Errorf("without a folder: %v", err)
	}
	o.Out, o.Settings.Domains = t.TempDir(), []int{2}
	if _, err := perturb(t.Context(), o); err == nil {
		t.Error("settings of another schema are used")
	}
	// The job itself refuses to leave rows out, no matter who asks for it.
	o = perturbJob{
		Source: input{Files: &fileSet{Paths: []string{save(t, "a.csv", loansCSV(t, demo.Loans(10)))}, OnError: table.Skip}},
		Schema: loans(t), Settings: planned(t, loans(t), 1), Out: t.TempDir(), Job: Job{Run: onPrism},
	}
	if _, err := perturb(t.Context(), o); !errors.Is(err, errSkip) {
		t.Errorf("rows that the schema refuses are left out: %v", err)
	}
}
