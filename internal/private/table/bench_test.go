package table_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"io"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/sotto-dp/sotto/internal/private/table"
)

const benchRows = 200000

// BenchmarkCSV reads and encodes, and reports how long that takes for each time that
// encoding/csv takes to split the same rows.
func BenchmarkCSV(b *testing.B) {
	data := encodeCSV(b, someVisits(benchRows))
	d, err := table.Open(context.Background(), writeFile(b, "a.csv", data), table.Options{Schema: visits})
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if err := d.Scan(context.Background(), nil, 1, func(int, *table.Batch) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
	ours := b.Elapsed().Seconds() / float64(b.N)
	b.StopTimer()
	const times = 5
	start := time.Now()
	for range times {
		r := csv.NewReader(bytes.NewReader(data))
		r.ReuseRecord = true
		for {
			if _, err := r.Read(); err == io.EOF {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(ours*times/time.Since(start).Seconds(), "times-encoding/csv")
}

// BenchmarkParquet reports rows in a second.
func BenchmarkParquet(b *testing.B) {
	for name, dictionary := range map[string]bool{"plain": false, "dictionary": true} {
		b.Run(name, func(b *testing.B) {
			path := writeFile(b, "a.parquet", encodeParquet(b, someVisits(benchRows), dictionary, parquet.Compression(&parquet.Snappy)))
			d, err := table.Open(context.Background(), path, table.Options{Schema: visits})
			if err != nil {
				b.Fatal(err)
			}
			defer d.Close()
			for b.Loop() {
				if err := d.Scan(context.Background(), nil, 1, func(int, *table.Batch) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(benchRows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
