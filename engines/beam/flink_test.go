package beam

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	sdk "github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/flink"

	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/schema"
)

// flinkRows is how many rows go through Flink, unless SOTTO_TEST_FLINK_ROWS says.
const flinkRows = 10_000_000

// TestFlink perturbs and profiles a table on a cluster of Flink, kills a task manager in
// the middle of each, and compares what comes out with what the main module computes in
// memory, byte by byte. scripts/flink.sh runs it.
func TestFlink(t *testing.T) {
	jars := os.Getenv("SOTTO_TEST_FLINK")
	if jars == "" {
		t.Skip("there is no Flink: make test-flink gets one and runs this")
	}
	n := int64(flinkRows)
	if text := os.Getenv("SOTTO_TEST_FLINK_ROWS"); text != "" {
		var err error
		if n, err = strconv.ParseInt(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	c := startFlink(t, jars)
	s := wide()
	s.Columns = s.Columns[:6]
	folder := perturbOnFlink(t, c, s, n)
	profileOnFlink(t, c, named(s), folder, n)
}

// named is a schema of what perturbed rows hold: names, of ranges of numbers too.
func named(s schema.Schema) schema.Schema {
	out := schema.Schema{Name: s.Name, Label: s.Label}
	for _, c := range s.Columns {
		out.Columns = append(out.Columns, schema.Column{Name: c.Name, Kind: schema.Categorical, Values: c.Domain()})
	}
	return out
}

// modes asks for the most frequent value of every column, for groups by the first.
func modes(s schema.Schema) global.Settings {
	o := global.Settings{Groups: []schema.Group{{Column: s.Columns[0].Name}}, Count: 3}
	for i, c := range s.Columns {
		k := global.Column{Name: c.Name, Statistic: global.Mode, Multiplier: 5}
		if i == 0 {
			k = global.Column{Name: c.Name, Statistic: global.Given}
		}
		o.Columns = append(o.Columns, k)
	}
	return o
}

// onFlink runs a pipeline as "--runner=flink --environment_type=EXTERNAL" does. The workers
// are in this process.
func (c *flinkCluster) onFlink(ctx context.Context, p *sdk.Pipeline) error {
	*jobopts.Endpoint, *jobopts.Parallelism = c.endpoint, flinkParallelism
	*jobopts.EnvironmentType, *jobopts.EnvironmentConfig = "EXTERNAL", c.pool
	// Sent along, and used by nobody: the workers are here.
	*jobopts.WorkerBinary = filepath.Join(c.dir, "flink-conf.yaml")
	_, err := flink.Execute(ctx, p)
	return err
}

// pieces of a table: several for each slot, so that a kill finds some done and some not.
const flinkPieces = 8 * flinkParallelism

func perturbOnFlink(t *testing.T, c *flinkCluster, s schema.Schema, n int64) string {
	set, key := planned(t, s, 20), noise.KeyFromSeed(3)
	source := input{Generated: &syntheticTable{Rows: n, Seed: 4}}
	out := ""
	run := func(name string, job Job) ([]byte, int) {
		out = t.TempDir()
		began := time.Now()
		got, err := perturb(t.Context(), perturbJob{Source: source, Schema: s, Settings: set, Out: out, Key: key, Job: job})
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, c.problems())
		}
		if got.Rows != n {
			t.Errorf("%s: %d rows of %d came out", name, got.Rows, n)
		}
		t.Logf("%s: %d rows in %d files, %.1f s", name, got.Rows, len(got.Shards), time.Since(began).Seconds())
		return joined(t, out, got), len(got.Shards)
	}
	whole, shards := run("perturb on Flink", Job{Run: c.onFlink, Pieces: flinkPieces})
	folder := out
	began := time.Now()
	want := perturbedHere(t, s, set, key, func(each func(*table.Batch) error) error {
		return source.Generated.scan(rows{Source: source, Schema: s, Discrete: true, Columns: allColumns(s)}, each)
	})
	t.Logf("perturb in memory: %d bytes, %.1f s", len(want), time.Since(began).Seconds())
	if !bytes.Equal(whole, want) {
		t.Error("what Flink perturbed is different from what comes out in memory")
	}
	whole = nil
	runtime.GC()

	// Some of the files are there, and others are not.
	killed := c.killing(func(time.Duration) bool {
		done, err := filepath.Glob(filepath.Join(out, "rows-*.csv"))
		return err == nil && len(done) > shards/4
	})
	again, _ := run("perturb on Flink, a task manager killed", Job{Run: killed.run, Pieces: flinkPieces})
	killed.check(t)
	if !bytes.Equal(again, want) {
		t.Error("what Flink perturbed is different after a task manager was killed")
	}
	return folder
}

// fileRows are files as the main module reads them.
type fileRows struct{ data *table.Data }

func (f fileRows) Scan(ctx context.Context, columns []int, workers int, each func(int, *table.Batch) error) error {
	return f.data.Scan(ctx, columns, workers, each)
}

// profileOnFlink profiles the files that were perturbed, as any other table.
func profileOnFlink(t *testing.T, c *flinkCluster, s schema.Schema, folder string, n int64) {
	paths, err := filepath.Glob(filepath.Join(folder, "rows-*.csv"))
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	key := noise.KeyFromSeed(7)
	m := mechanism(t, s, modes(s))
	began := time.Now()
	d, err := table.OpenFiles(t.Context(), paths, table.Options{Schema: s})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	here, err := m.Collect(t.Context(), fileRows{d}, key, 2)
	if err != nil {
		t.Fatal(err)
	}
	if got := counted(m, here); got != n {
		t.Fatalf("%d rows of %d are in memory", got, n)
	}
	t.Logf("profile in memory: %d rows of %d files, %.1f s", n, len(paths), time.Since(began).Seconds())
	exact, released := here.Export(), releasedFrom(t, m, here, key)

	profile := func(name string, job Job) {
		began := time.Now()
		sums, err := addUp(t.Context(), m, profileJob{Source: input{Files: &fileSet{Paths: paths}}, Schema: s, Job: job, Workers: key})
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, c.problems())
		}
		t.Logf("%s: %d rows, %.1f s", name, counted(m, sums), time.Since(began).Seconds())
		if !bytes.Equal(sums.Export(), exact) {
			t.Errorf("%s: the exact sums are different", name)
		}
		if releasedFrom(t, m, sums, key) != released {
			t.Errorf("%s: the profiles are different", name)
		}
	}
	profile("profile on Flink", Job{Run: c.onFlink, Pieces: 4})
	killed := c.killing(func(since time.Duration) bool { return since > 2*time.Second })
	profile("profile on Flink, a task manager killed", Job{Run: killed.run, Pieces: 4})
	killed.check(t)
}

// releasedFrom is what is released from sums, which is possible once.
func releasedFrom(t *testing.T, m *global.Mechanism, sums *global.Sums, key noise.Key) string {
	t.Helper()
	out, err := m.Release(sums, key)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%#v", out.Profile())
}
