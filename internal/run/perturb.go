package run

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/private/table/local"
	"github.com/sotto-dp/sotto/internal/reconstruct"
	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/internal/run/compute"
	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/privacy/certificate"
)

// Names of the files of perturbed rows.
const (
	RowsFile    = "rows.csv"
	SidecarFile = RowsFile + ".json"
)

// partsDir is where an engine writes rows before they are put together, in the private
// part of the folder.
const partsDir = "parts"

// Perturbed is a finished run of a perturbation.
type Perturbed struct {
	Result
	Plan    plan.Local
	Sidecar reconstruct.Sidecar
}

// Perturb carries out the plan of a perturbation: every row of a table is exchanged for
// one that may be seen. It returns as [Do] does.
func Perturb(ctx context.Context, p plan.Local, o TableOptions) (*Perturbed, error) {
	w, err := newPerturber(ctx, p, o, osDisk{})
	if err != nil {
		return nil, err
	}
	result, err := newEngine(w, w.execution).do(ctx)
	if err != nil {
		return nil, err
	}
	sidecar, err := w.sidecar()
	return &Perturbed{Result: *result, Plan: w.of, Sidecar: sidecar}, err
}

// perturber is a run of a perturbation.
//
// Rows are written into the private part of the folder first, and are put in place after
// the journal has noted what they are. So no rows are ever outside that a second attempt
// would make again: of a table in a database, which may have changed, the same randomness
// would give other rows, and two copies show more than one.
type perturber struct {
	source
	*execution
	of        plan.Local
	mechanism *local.Perturber
}

func newPerturber(ctx context.Context, p plan.Local, o TableOptions, d disk) (*perturber, error) {
	w := &perturber{of: p}
	var err error
	w.execution, err = w.open(ctx, o, d)
	return w, err
}

func (*perturber) caution() {}

func (*perturber) fill(context.Context, *Result) error { return nil }

func (w *perturber) plan() any { return w.of }

func (w *perturber) spec() spec {
	return spec{
		Engine: w.elsewhere(),
		Name:   w.of.Schema.Name + " perturbed", Private: true, Event: w.of.Event(),
		Adjacency: w.of.Adjacency(), Unit: w.of.Unit(), Epsilon: w.of.Epsilon,
	}
}

func (w *perturber) check() (err error) {
	if w.of, err = plan.Checked(w.of); err != nil {
		return err
	}
	if w.data.Options().OnError == table.Skip {
		// That a row is missing would show for certain what it was not; the event has no
		// room for that.
		return &plan.InputError{Reason: "rows that the schema refuses cannot be left out of perturbed ones: correct them, or give their columns rules in the schema (other, missing, clamp)"}
	}
	if w.mechanism, err = local.New(w.of.Settings); err != nil {
		return fmt.Errorf("the plan: %w", err)
	}
	return w.fitting(w.of.Schema, w.of.Unit(), true)
}

func (w *perturber) preflight(ctx context.Context) error { return w.usable(ctx, nil) }

func (w *perturber) stages() []func(context.Context) error {
	return []func(context.Context) error{w.perturb, w.place}
}

func (w *perturber) repeats() bool { return w.perturbed || !w.placed() }

// perturb writes all rows, perturbed, where only their owner reads them.
func (w *perturber) perturb(ctx context.Context) error {
	if w.perturbed {
		return nil
	}
	f, err := w.disk.Create(w.path(privateDir, RowsFile), 0o600)
	if err != nil {
		return fmt.Errorf("write the rows: %w", err)
	}
	sum := sha256.New()
	rows, err := w.exchange(ctx, io.MultiWriter(f, sum))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("perturb the rows: %w", err)
	}
	if err := w.disk.SyncDir(w.path(privateDir)); err != nil {
		return err
	}
	noted := []certificate.Subject{{Name: RowsFile, Digest: certificate.Digest{SHA256: hex.EncodeToString(sum.Sum(nil))}}}
	return w.announce(entry{State: perturbed, Rows: rows, Files: noted}, env.Progress{Kind: env.Exchanged})
}

// exchange has the engine perturb the rows, or does so here.
func (w *perturber) exchange(ctx context.Context, to io.Writer) (rows int64, err error) {
	if w.by == nil {
		return w.copy(ctx, to)
	}
	folder := w.path(privateDir, partsDir)
	if err := os.RemoveAll(folder); err != nil { // of an attempt that was interrupted
		return 0, err
	}
	rows, err = w.by.Perturb(ctx, compute.Perturbation{Settings: w.of.Settings, Key: w.key, To: to, Folder: folder})
	return rows, errors.Join(err, os.RemoveAll(folder))
}

// copy perturbs the batches in the order of the table.
func (w *perturber) copy(ctx context.Context, to io.Writer) (rows int64, err error) {
	out, err := reconstruct.NewWriter(to, w.of.Schema, reconstruct.CSV)
	if err != nil {
		return 0, err
	}
	var exchanged reconstruct.Rows
	next := int64(0)
	// One worker has the batches in their order.
	err = w.data.Scan(ctx, nil, 1, func(_ int, b *table.Batch) error {
		if b.Index < next {
			return errors.New("the table was read out of order: this is an internal error")
		}
		next = b.Index + 1
		if err := w.mechanism.Batch(b, w.key, &exchanged); err != nil {
			return err
		}
		rows += int64(b.Rows)
		return out.Write(&exchanged)
	})
	if err != nil {
		return rows, err
	}
	return rows, out.Flush()
}

// place moves rows that are noted to where others read them.
func (w *perturber) place(context.Context) error {
	from, to := w.path(privateDir, RowsFile), w.path(RowsFile)
	err := w.disk.Rename(from, to)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // they are there already: what is signed is checked again
	}
	if err == nil {
		// The file was made for its owner alone; who reads it now reads what is released.
		err = os.Chmod(to, w.mode())
	}
	if err != nil {
		return fmt.Errorf("put the rows in place: %w", err)
	}
	// The new name is durable before the old one is gone.
	if err := w.disk.SyncDir(w.dir); err != nil {
		return err
	}
	return w.disk.SyncDir(w.path(privateDir))
}

func (w *perturber) sidecar() (reconstruct.Sidecar, error) {
	return w.of.Settings.Sidecar(w.of.Schema, w.rows, w.certified())
}

func (w *perturber) files(context.Context) ([]release.File, error) {
	subjects, err := certificate.HashFiles(w.dir, RowsFile)
	if err != nil || len(subjects) != 1 || subjects[0] != w.apart[0] {
		return nil, w.refuse("%s is not what its journal notes (%v): restore it, or start again in another folder", RowsFile, err)
	}
	sidecar, err := w.sidecar()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = sidecar.Write(&b)
	return []release.File{{Name: SidecarFile, Data: b.Bytes()}}, err
}

func (w *perturber) claim(c *certificate.Claim) {
	c.Method, c.Proof = "local", "k-ary randomised response in each column, with odds of at most e^ε; Warner 1965, Kairouz, Bonawitz and Ramage 2016"
	c.Samplers = []certificate.Sampler{certificate.SampleAll}
	c.Assumptions = append(append(c.Assumptions, w.assumptions()...), "The number of rows is public, and that somebody has a row among them.")
}
