// Command table measures what private tables cost beside other ways to the same numbers,
// in one run: profiles of a Parquet file beside diffprivlib and beside DuckDB without any
// privacy, perturbing rows, and reconstructing a joint distribution beside a dense solve.
// Randomness is from seeds: nothing here protects anybody, and nobody is in the data.
//
//	go run ./bench/table -python .venv/table/bin/python -out dist/bench-table.md
package main

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/sotto-dp/sotto/lab/bench/harness"
	"github.com/sotto-dp/sotto/schema"
)

//go:embed schema.toml
var schemaFile []byte

// settings of a run.
type settings struct {
	python, peers, dir string
	rows, repeat       int
	dense, cells       int
}

func main() {
	var s settings
	flag.StringVar(&s.python, "python", "python3", "a Python that has the peers")
	flag.StringVar(&s.peers, "peers", "lab/bench/table/peers.py", "their script")
	flag.StringVar(&s.dir, "dir", "", "where the table is made, and kept; default: a folder that is removed")
	flag.IntVar(&s.rows, "rows", 10_000_000, "rows of the table")
	flag.IntVar(&s.repeat, "repeat", 3, "take the best of so many")
	flag.IntVar(&s.dense, "dense", 14, "a dense solve for up to 2^this cells (8·4^this bytes)")
	flag.IntVar(&s.cells, "cells", 24, "reconstruct up to 2^this cells")
	out := harness.Out()
	harness.Main(func(ctx context.Context) error { return run(ctx, s, *out) })
}

func run(ctx context.Context, s settings, out string) error {
	r := &report{settings: s, machine: harness.Here()}
	people, err := schema.Parse("people", schemaFile)
	if err != nil {
		return err
	}
	if s.dir == "" {
		if s.dir, err = os.MkdirTemp("", "sotto-bench-table-"); err != nil {
			return err
		}
		defer os.RemoveAll(s.dir)
	} else if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return err
	}
	file := filepath.Join(s.dir, fmt.Sprintf("people-%d.parquet", s.rows))
	if _, err := os.Stat(file); err != nil {
		note("making %d rows", s.rows)
		if _, err := s.ask("make", file, strconv.Itoa(s.rows)); err != nil {
			return err
		}
	}
	if r.profile, err = profile(ctx, s, people, file); err != nil {
		return err
	}
	if r.perturb, err = perturb(people, s.rows, s.repeat); err != nil {
		return err
	}
	if r.joint, err = reconstruction(ctx, s); err != nil {
		return err
	}
	return harness.Write(out, r.text())
}

// ask runs a peer and returns what it measured, by name, in seconds.
func (s settings) ask(args ...string) (map[string]float64, error) {
	got := map[string]float64{}
	err := harness.Ask(&got, s.python, append([]string{s.peers}, args...)...)
	return got, err
}

// best returns the least time of several.
func best(repeat int, f func() error) (time.Duration, error) {
	fastest := time.Duration(math.MaxInt64)
	for range repeat {
		runtime.GC()
		start := time.Now()
		if err := f(); err != nil {
			return 0, err
		}
		fastest = min(fastest, time.Since(start))
	}
	return fastest, nil
}

func note(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
