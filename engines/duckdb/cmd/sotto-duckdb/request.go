//go:build cgo

package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"sotto"
	"sotto/engines/duckdb"
	"sotto/plan"
	"sotto/privacy"
	"sotto/private/table"
	"sotto/private/table/global"
	"sotto/schema"
)

// request is what the flags say.
type request struct {
	schema, data, table, query, out string
	ledger, keys, private           string
	epsilon, delta                  float64
	size                            int64
	groups                          string
	group                           []string
	noise, unit, onError, split     string
	rowsPerUnit                     int
	json                            bool
	stdout, stderr                  io.Writer
}

func (r *request) add(f *flag.FlagSet) {
	f.StringVar(&r.schema, "schema", "", "schema of the table: a ready-made one, or the path of a file (required)")
	f.StringVar(&r.data, "data", "", "the DuckDB file (required)")
	f.StringVar(&r.table, "table", "", "which table of the file")
	f.StringVar(&r.query, "query", "", "the rows as SQL, in place of --table")
	f.StringVar(&r.out, "out", "", "folder to write to, also to go on with a run (required)")
	f.Float64Var(&r.epsilon, "epsilon", 0, "the most ε that all of it may cost; of perturbed rows that of each (required)")
	f.StringVar(&r.ledger, "ledger", "", "ledger that pays: a path or postgres://… (required; default: SOTTO_LEDGER)")
	f.StringVar(&r.keys, "keys", "", "key ring that signs (default: SOTTO_KEYS, or keys beside the ledger)")
	f.StringVar(&r.private, "private", "", "folder with the key by which the ledger knows tables; the same one every time (default: private beside the ledger)")
	f.BoolVar(&r.json, "json", false, "print the result as JSON")
}

func (r *request) addProfile(f *flag.FlagSet) {
	f.Int64Var(&r.size, "size", 0, "about how many rows there are, a public number (required)")
	f.Float64Var(&r.delta, "delta", 0, "δ of the guarantee (default: 0; for Gaussian noise min(1e-6, N^-1.1))")
	f.StringVar(&r.groups, "groups", "", "the schema's ready-made partition into so many groups")
	f.Func("group", "group by COLUMN[:CLASSES]; may be repeated (default: by the label)", func(text string) error {
		r.group = append(r.group, text)
		return nil
	})
	f.StringVar(&r.noise, "noise", string(global.Laplace), "laplace or gaussian")
	f.StringVar(&r.unit, "unit", "", "protect all rows with one value of this column together (default: each row)")
	f.IntVar(&r.rowsPerUnit, "rows-per-unit", 0, "with --unit: how many rows of each are used at most (default 1)")
	f.StringVar(&r.onError, "on-error", string(table.Fail), "what to do about rows that the schema refuses: fail, or skip")
}

func (r *request) find() (schema.Schema, error) {
	switch {
	case r.schema == "":
		return schema.Schema{}, wrong("--schema is missing: one of %s, or the path of a file", strings.Join(schema.Builtins(), ", "))
	case r.epsilon == 0:
		return schema.Schema{}, wrong("--epsilon is missing: the most that it may cost, such as 1")
	}
	return schema.Find(r.schema)
}

// options makes of the flags what the library takes.
func (r *request) options() (o sotto.TableOptions, err error) {
	r.ledger, r.keys = cmp.Or(r.ledger, os.Getenv("SOTTO_LEDGER")), cmp.Or(r.keys, os.Getenv("SOTTO_KEYS"))
	switch {
	case r.data == "":
		return o, wrong("--data is missing: a DuckDB file")
	case (r.table == "") == (r.query == ""):
		return o, wrong("name the rows by either --table or --query")
	case r.out == "":
		return o, wrong("--out is missing: the folder to write to")
	case r.ledger == "":
		return o, wrong("--ledger is missing: every use of the rows is charged to a budget; name the ledger, such as that of sotto, or set SOTTO_LEDGER")
	case strings.Contains(r.ledger, "://") && (r.keys == "" || r.private == ""):
		return o, wrong("--keys and --private are needed with a ledger on a server: there is no place beside it")
	}
	beside := filepath.Dir(r.ledger)
	source := duckdb.Source(r.data, r.table)
	source.Query, source.Private = r.query, cmp.Or(r.private, filepath.Join(beside, "private"))
	base := filepath.Base(r.data)
	return sotto.TableOptions{
		Source: source, Out: r.out, Ledger: r.ledger, Keys: cmp.Or(r.keys, filepath.Join(beside, "keys")), Version: version,
		Dataset: cmp.Or(r.table, strings.TrimSuffix(base, filepath.Ext(base))),
		Observe: func(e sotto.Event) {
			if e.Message != "" {
				fmt.Fprintln(r.stderr, e.Message)
			}
		},
	}, nil
}

func (r *request) profile(ctx context.Context) (*result, error) {
	of, err := r.find()
	if err != nil {
		return nil, err
	}
	q := plan.ProfileRequest{Schema: of, Epsilon: r.epsilon, Delta: r.delta, Size: r.size, Noise: global.Noise(r.noise), RowsPerUnit: r.rowsPerUnit}
	switch {
	case r.size < 1:
		return nil, wrong("--size is missing: about how many rows there are, a public number such as 20000")
	case r.onError != string(table.Fail) && r.onError != string(table.Skip):
		return nil, wrong("--on-error is %q, it should be fail or skip", r.onError)
	case r.rowsPerUnit < 0 || r.rowsPerUnit > 0 && r.unit == "":
		return nil, wrong("--rows-per-unit is a positive number, and goes with --unit")
	case r.unit != "":
		q.Unit = privacy.Unit("user:" + r.unit)
	}
	if q.Groups, err = of.Partition(r.groups, r.group); err != nil {
		return nil, usageError{err}
	}
	o, err := r.options()
	if err != nil {
		return nil, err
	}
	o.Source.SkipRefused = r.onError == string(table.Skip)
	done, err := sotto.Profile(ctx, sotto.ProfileOptions{Request: q, TableOptions: o})
	if err != nil {
		return nil, err
	}
	out := newResult(done.Result, of.Name, done.Words())
	out.Warnings = append(out.Warnings, done.Plan.Warnings()...)
	if n := done.Problems.Count; n > 0 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%d rows were left out: the schema refuses them. How many depends on the rows: do not publish that number", n))
	}
	return out, nil
}

func (r *request) perturb(ctx context.Context) (*result, error) {
	of, err := r.find()
	if err != nil {
		return nil, err
	}
	o, err := r.options()
	if err != nil {
		return nil, err
	}
	done, err := sotto.Perturb(ctx, sotto.PerturbOptions{Request: plan.LocalRequest{Schema: of, Epsilon: r.epsilon, Split: r.split}, TableOptions: o})
	if err != nil {
		return nil, err
	}
	out := newResult(done.Result, of.Name, done.Words())
	out.Rows = done.Sidecar.Rows
	return out, nil
}
