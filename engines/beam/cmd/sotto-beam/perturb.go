package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"sotto/engines/beam"
	"sotto/joint"
	"sotto/plan"
	"sotto/privacy/certificate"
	"sotto/run"
	"sotto/schema"
)

func (r *request) perturb(ctx context.Context) (err error) {
	source, err := r.source()
	if err != nil {
		return err
	}
	if r.unit != "" || r.rate != 0 || r.groups != "" || r.noise != "" || r.rowsPerUnit != 0 {
		return errors.New("--unit, --rows-per-unit, --rate, --groups and --noise are for profiles: every row is perturbed by itself")
	}
	p, err := r.planLocal()
	if err != nil {
		return err
	}
	s := p.Schema
	if r.out == "" || strings.Contains(r.out, "://") {
		return errors.New("--out must be a folder of this machine, or one that is mounted here and on all workers")
	}
	b, err := r.open(ctx, s, promise{name: s.Name + " perturbed", event: p.Event(), adjacency: p.Adjacency(), unit: p.Unit(), epsilon: p.Epsilon})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	// Nothing is under its name before all of it is there.
	parts := strings.TrimRight(r.out, "/") + ".parts"
	done, err := beam.Perturb(ctx, beam.PerturbOptions{Source: source, Schema: s, Settings: p.Settings, Out: parts, Job: r.job})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	if err := merge(r.out, parts, done, s); err != nil {
		return err
	}
	sidecar, err := p.Settings.Sidecar(s, done.Rows, done.Private && r.generate == 0)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := sidecar.Write(&text); err != nil {
		return err
	}
	if err := errors.Join(write(r.out, run.SidecarFile, text.Bytes()), writeJSON(r.out, "plan.json", p), os.RemoveAll(parts)); err != nil {
		return err
	}
	return b.finish(ctx, certificate.Claim{
		Method: "local", Proof: "k-ary randomised response in each column, with odds of at most e^ε; Warner 1965, Kairouz, Bonawitz and Ramage 2016",
		Samplers:    []certificate.Sampler{certificate.SampleAll},
		Assumptions: []string{"The number of rows is public, and that somebody has a row among them."},
	})
}

// planLocal makes the plan, or reads it.
func (r *request) planLocal() (p plan.Local, err error) {
	if r.plan == "" {
		s, err := r.find()
		if err != nil {
			return p, err
		}
		return plan.NewLocal(plan.LocalRequest{Schema: s, Epsilon: r.epsilon, Rows: r.size})
	}
	if err := r.read(&p); err != nil {
		return p, err
	}
	if err := p.Check(); err != nil {
		return p, fmt.Errorf("the plan cannot be carried out: %w", err)
	}
	return p, nil
}

// merge puts the rows of all shards under one header, in the order of the table.
func merge(out, parts string, of beam.Perturbed, s schema.Schema) (err error) {
	head, err := header(s)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(out, run.RowsFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	skip := 0
	for _, shard := range of.Shards {
		if err := appendShard(f, filepath.Join(parts, shard.Name), skip); err != nil {
			return fmt.Errorf("put %s together: %w", run.RowsFile, err)
		}
		skip = len(head)
	}
	return nil
}

// header is what every shard begins with.
func header(s schema.Schema) ([]byte, error) {
	var b bytes.Buffer
	w, err := joint.NewWriter(&b, s, joint.CSV)
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
