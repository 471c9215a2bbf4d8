package beam

import (
	"context"
	"reflect"
	"testing"
	"time"

	"sotto/privacy/noise"
	"sotto/private/table"
	"sotto/private/table/global"
)

// inMemory is a generated table for the reader of the main module.
type inMemory struct{ rows }

func (s inMemory) Scan(ctx context.Context, columns []int, _ int, each func(int, *table.Batch) error) error {
	r := s.rows
	r.Columns = columns
	return r.Source.Generated.scan(r, func(b *table.Batch) error { return each(0, b) })
}

func TestMillions(t *testing.T) {
	s := wide()
	o := asked(s)
	g := &Generated{Rows: 10_000_000, Seed: 1}
	m, err := global.New(s, o)
	if err != nil {
		t.Fatal(err)
	}
	key := noise.KeyFromSeed(1)
	start := time.Now()
	got, err := Profile(t.Context(), ProfileOptions{Source: Source{Generated: g}, Schema: s, Settings: o, Job: Job{Run: onPrism}, Key: key, Workers: key})
	if err != nil {
		t.Fatal(err)
	}
	t.Log("beam", time.Since(start))
	start = time.Now()
	sums, err := m.Collect(t.Context(), inMemory{rows{Source: Source{Generated: g}, Schema: s}}, key, 1)
	if err != nil {
		t.Fatal(err)
	}
	want, err := m.Release(sums, key)
	if err != nil {
		t.Fatal(err)
	}
	t.Log("memory", time.Since(start))
	if !reflect.DeepEqual(got.Profile(), want.Profile()) {
		t.Error("different")
	}
}
