package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/internal/private/table/local"
	"github.com/sotto-dp/sotto/internal/reconstruct"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/schema"
)

// profiles are seconds for the same averages and histograms of four groups.
type profiles struct {
	groups        int
	collect, hash time.Duration
	megabytes     float64
	duckdb        map[string]float64
	diffprivlib   map[string]float64
}

// profile measures a profile by sex and label: 6 means and 6 histograms a group, each at
// an equal share of ε = 1.
func profile(ctx context.Context, s settings, people schema.Schema, file string) (p profiles, err error) {
	info, err := os.Stat(file)
	if err != nil {
		return p, err
	}
	p.megabytes = float64(info.Size()) / 1e6
	note("profile of %d rows, here", s.rows)
	m, err := global.New(people, byGroup(people))
	if err != nil {
		return p, err
	}
	p.groups = m.Layout().Groups()
	data, err := table.Open(ctx, file, table.Options{Schema: people, Private: filepath.Join(s.dir, "private")})
	if err != nil {
		return p, err
	}
	defer data.Close()
	key := noise.KeyFromSeed(8)
	if p.collect, err = best(s.repeat, func() error {
		sums, err := m.Collect(ctx, data, key, runtime.NumCPU())
		if err != nil {
			return err
		}
		_, err = m.Release(sums, key)
		return err
	}); err != nil {
		return p, err
	}
	if p.hash, err = best(s.repeat, func() error {
		again, err := table.Open(ctx, file, table.Options{Schema: people, Private: filepath.Join(s.dir, "private")})
		if err != nil {
			return err
		}
		defer again.Close()
		_, err = again.Fingerprint(ctx)
		return err
	}); err != nil {
		return p, err
	}
	note("the same with DuckDB")
	if p.duckdb, err = s.ask("duckdb", file, strconv.Itoa(runtime.NumCPU())); err != nil {
		return p, err
	}
	if err := same(ctx, people, data, p.duckdb); err != nil {
		return p, err
	}
	note("the same with diffprivlib")
	p.diffprivlib, err = s.ask("diffprivlib", file)
	return p, err
}

// same checks that DuckDB and this program added up the same rows.
func same(ctx context.Context, people schema.Schema, data *table.Data, theirs map[string]float64) error {
	o := byGroup(people)
	o.Noise = global.None
	m, err := global.New(people, o)
	if err != nil {
		return err
	}
	key := noise.KeyFromSeed(8)
	sums, err := m.Collect(ctx, data, key, runtime.NumCPU())
	if err != nil {
		return err
	}
	released, err := m.Release(sums, key)
	if err != nil {
		return err
	}
	for _, g := range released.Profile().Groups {
		sex, label := fmt.Sprintf("sex-%d", g.Classes[0]), fmt.Sprintf("label-%d", g.Classes[1])
		if want := theirs[fmt.Sprintf("count %s %s", sex, label)]; g.Count != want || want == 0 {
			return fmt.Errorf("%s %s has %g rows here and %g in DuckDB", sex, label, g.Count, want)
		}
		for i, c := range people.Columns {
			if c.Discrete() {
				continue
			}
			want := theirs[fmt.Sprintf("%s %s %s", c.Name, sex, label)]
			if got := g.Row[i].Number; math.Abs(got-want) > 1e-6*(c.High-c.Low) {
				return fmt.Errorf("%s of %s %s is %g here and %g in DuckDB", c.Name, sex, label, got, want)
			}
		}
	}
	return nil
}

func byGroup(people schema.Schema) global.Settings {
	out := global.Settings{Groups: []schema.Group{{Column: "sex"}, {Column: "label"}}, Count: 13}
	for _, c := range people.Columns {
		q := global.Column{Name: c.Name, Statistic: global.Mode, Multiplier: 13}
		switch {
		case c.Name == "sex" || c.Name == "label":
			q = global.Column{Name: c.Name, Statistic: global.Given}
		case !c.Discrete():
			q.Statistic = global.Mean
		}
		out.Columns = append(out.Columns, q)
	}
	return out
}

// perturbSpeed is how fast rows are perturbed, on one thread.
type perturbSpeed struct {
	rows, columns int
	took          time.Duration
}

// perturb measures randomised response on codes of the discrete columns.
func perturb(people schema.Schema, rows, repeat int) (p perturbSpeed, err error) {
	note("perturbing %d rows", rows)
	var o local.Settings
	b := table.Batch{Rows: 8192}
	for _, c := range people.Columns {
		if !c.Discrete() {
			continue
		}
		o.Domains, o.Epsilons = append(o.Domains, len(c.Domain())), append(o.Epsilons, 1)
		b.Columns = append(b.Columns, table.Vector{Codes: make([]uint16, b.Rows)})
	}
	l, err := local.New(o)
	if err != nil {
		return p, err
	}
	p.rows, p.columns = rows, len(o.Domains)
	key := noise.KeyFromSeed(8)
	var out reconstruct.Rows
	p.took, err = best(repeat, func() error {
		for b.Index = 0; int(b.Index)*b.Rows < rows; b.Index++ {
			if err := l.Batch(&b, key, &out); err != nil {
				return err
			}
		}
		return nil
	})
	return p, err
}
