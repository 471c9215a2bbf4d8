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
	"github.com/sotto-dp/sotto/privacy"
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

// PerturbResult is a finished run of a perturbation.
type PerturbResult struct {
	Result
	Plan    plan.Local
	Sidecar reconstruct.Sidecar
}

// Perturb carries out the plan of a perturbation: every row of a table is exchanged for
// one that may be seen. It returns as [Do] does.
func Perturb(ctx context.Context, p plan.Local, o TableOptions) (*PerturbResult, error) {
	w, err := newPerturber(ctx, p, o, osDisk{})
	if err != nil {
		return nil, err
	}
	result, err := newEngine(w, w.exec).do(ctx)
	if err != nil {
		return nil, err
	}
	sidecar, err := w.sidecar()
	return &PerturbResult{Result: *result, Plan: w.plan, Sidecar: sidecar}, err
}

// perturber is a run of a perturbation.
//
// Rows are written into the private part of the folder first, and are put in place after
// the journal has noted what they are. So no rows are ever outside that a second attempt
// would make again: of a table in a database, which may have changed, the same randomness
// would give other rows, and two copies show more than one.
type perturber struct {
	source    source
	exec      *execution
	plan      plan.Local
	mechanism *local.Perturber
}

func newPerturber(ctx context.Context, p plan.Local, o TableOptions, d disk) (*perturber, error) {
	w := &perturber{plan: p}
	var err error
	w.exec, err = w.source.open(ctx, o, d)
	return w, err
}

func (*perturber) caution() {}

func (*perturber) fill(context.Context, *Result) error { return nil }

func (w *perturber) planFile() any { return w.plan }

func (w *perturber) describe() spec {
	return spec{
		Engine: w.source.elsewhere(),
		Name:   w.plan.Schema.Name + " perturbed", Private: true, Event: w.plan.Event(),
		Adjacency: w.plan.Adjacency(), Unit: w.plan.Unit(), Epsilon: w.plan.Epsilon,
	}
}

func (*perturber) modelHeader() model { return model{} }

func (*perturber) spent(context.Context) (privacy.Event, error) { return nil, nil }

func (w *perturber) check() (err error) {
	if w.plan, err = plan.Checked(w.plan); err != nil {
		return err
	}
	if w.source.data.Options().OnError == table.Skip {
		// That a row is missing would show for certain what it was not; the event has no
		// room for that.
		return &plan.InputError{Reason: "rows that the schema refuses cannot be left out of perturbed ones: correct them, or give their columns rules in the schema (other, missing, clamp)"}
	}
	if w.mechanism, err = local.New(w.plan.Settings); err != nil {
		return fmt.Errorf("the plan: %w", err)
	}
	return w.source.fitting(w.plan.Schema, w.plan.Unit(), true)
}

func (w *perturber) preflight(ctx context.Context) error { return w.source.usable(ctx, nil) }

func (w *perturber) stages() []func(context.Context) error {
	return []func(context.Context) error{w.perturb, w.place}
}

func (w *perturber) repeats() bool { return w.exec.progress.perturbed || !w.source.placed() }

// perturb writes all rows, perturbed, where only their owner reads them.
func (w *perturber) perturb(ctx context.Context) error {
	if w.exec.progress.perturbed {
		return nil
	}
	f, err := w.exec.folder.disk.Create(w.exec.folder.path(privateDir, RowsFile), 0o600)
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
	if err := w.exec.folder.disk.SyncDir(w.exec.folder.path(privateDir)); err != nil {
		return err
	}
	noted := []certificate.Subject{{Name: RowsFile, Digest: certificate.Digest{SHA256: hex.EncodeToString(sum.Sum(nil))}}}
	return w.exec.announce(entry{State: perturbed, Rows: rows, Files: noted}, env.Progress{Kind: env.Exchanged})
}

// exchange has the engine perturb the rows, or does so here.
func (w *perturber) exchange(ctx context.Context, to io.Writer) (rows int64, err error) {
	if w.source.by == nil {
		return w.copy(ctx, to)
	}
	folder := w.exec.folder.path(privateDir, partsDir)
	if err := os.RemoveAll(folder); err != nil { // of an attempt that was interrupted
		return 0, err
	}
	rows, err = w.source.by.Perturb(ctx, compute.Perturbation{Settings: w.plan.Settings, Key: w.exec.key, To: to, Folder: folder})
	return rows, errors.Join(err, os.RemoveAll(folder))
}

// copy perturbs the batches in the order of the table.
func (w *perturber) copy(ctx context.Context, to io.Writer) (rows int64, err error) {
	out, err := reconstruct.NewWriter(to, w.plan.Schema, reconstruct.CSV)
	if err != nil {
		return 0, err
	}
	var exchanged reconstruct.Rows
	next := int64(0)
	// One worker has the batches in their order.
	err = w.source.data.Scan(ctx, nil, 1, func(_ int, b *table.Batch) error {
		if b.Index < next {
			return errors.New("the table was read out of order: this is an internal error")
		}
		next = b.Index + 1
		if err := w.mechanism.Batch(b, w.exec.key, &exchanged); err != nil {
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
	from, to := w.exec.folder.path(privateDir, RowsFile), w.exec.folder.path(RowsFile)
	err := w.exec.folder.disk.Rename(from, to)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // they are there already: what is signed is checked again
	}
	if err == nil {
		// The file was made for its owner alone; who reads it now reads what is released.
		err = os.Chmod(to, w.exec.mode())
	}
	if err != nil {
		return fmt.Errorf("put the rows in place: %w", err)
	}
	// The new name is durable before the old one is gone.
	if err := w.exec.folder.disk.SyncDir(w.exec.folder.dir); err != nil {
		return err
	}
	return w.exec.folder.disk.SyncDir(w.exec.folder.path(privateDir))
}

func (w *perturber) sidecar() (reconstruct.Sidecar, error) {
	return w.plan.Settings.Sidecar(w.plan.Schema, w.exec.progress.rows, w.exec.certified())
}

func (w *perturber) files(context.Context) ([]release.File, error) {
	subjects, err := certificate.HashFiles(w.exec.folder.dir, RowsFile)
	if err != nil || len(subjects) != 1 || subjects[0] != w.exec.progress.apart[0] {
		return nil, w.exec.folder.refuse("%s is not what its journal notes (%v): restore it, or start again in another folder", RowsFile, err)
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
	c.Assumptions = append(append(c.Assumptions, w.source.assumptions()...), "The number of rows is public, and that somebody has a row among them.")
}
