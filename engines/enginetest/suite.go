// Package enginetest states what every engine does at the front door: what is refused, that
// a refusal charges nothing and leaves nothing, what a release costs, and that a run which
// was interrupted comes to the same end. The one in memory and that on Apache Beam pass the
// same suite.
package enginetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/demo"
	"github.com/sotto-dp/sotto/internal/run"
	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/schema"
)

// Engine is a way to compute on a table.
type Engine struct {
	// Put stores a table, whose CSV is given, below a folder, and returns how it is read.
	Put func(t *testing.T, dir string, rows []byte) sotto.TableSource
	// Files says that a table is known by its content and has a budget by itself. A table
	// in a database is entered first.
	Files bool
	// Several reads several CSV files as one table; nil if the engine does not.
	Several func(paths ...string) sotto.TableSource
}

const rows = 600

// bench is a place with a ledger, a key ring and a table.
type bench struct {
	t      *testing.T
	e      Engine
	dir    string
	schema schema.Schema
	source sotto.TableSource
	client *sotto.Client
}

func newBench(t *testing.T, e Engine) *bench {
	t.Helper()
	b := &bench{t: t, e: e, dir: t.TempDir()}
	var err error
	b.schema, err = schema.Parse("loans", demo.LoansFile())
	b.must(err)
	b.client, err = sotto.Open(b.dir, nil)
	b.must(err)
	l, err := ledger.Open(t.Context(), b.path("ledger.db"), ledger.Options{Create: true})
	b.must(err)
	b.must(l.Close())
	b.source = b.put(Loans(t, rows))
	return b
}

// Loans is a table as CSV.
func Loans(t *testing.T, n int) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := demo.WriteLoans(&out, demo.Loans(n)); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) put(csv []byte) sotto.TableSource {
	b.t.Helper()
	dir, err := os.MkdirTemp(b.dir, "table-")
	b.must(err)
	return b.e.Put(b.t, dir, csv)
}

// enter gives the table of a database its budget.
func (b *bench) enter(s sotto.TableSource, epsilon float64, of sotto.ProfileOptions) {
	b.t.Helper()
	b.must(Enter(b.t.Context(), b.client, s, b.schema, ledger.Budget{Epsilon: epsilon, Adjacency: of.Request.Adjacency}))
}

// Enter gives a table a budget in a client's ledger, which is made if it is not there, as its
// owner does with "sotto ledger init".
func Enter(ctx context.Context, c *sotto.Client, s sotto.TableSource, of schema.Schema, budget ledger.Budget) (err error) {
	id, err := c.TableIdentity(ctx, s, of)
	if err != nil {
		return err
	}
	l, err := ledger.Open(ctx, c.Ledger(), ledger.Options{Create: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	_, err = l.Init(ctx, ledger.InitRequest{
		Dataset: id.Fingerprint, Sketch: id.Sketch, KeyID: id.KeyID, KeyPath: id.KeyPath, Budget: budget,
	})
	return err
}

func (b *bench) options(out string) sotto.TableOptions {
	return sotto.TableOptions{Source: b.source, Out: b.path(out)}
}

func (b *bench) profile(set func(*sotto.ProfileOptions)) (*sotto.ProfileRun, error) {
	o := sotto.ProfileOptions{
		Request:      sotto.ProfileRequest{Schema: b.schema, Size: rows, Epsilon: 1, Groups: []schema.Group{{Column: b.schema.Label}}},
		TableOptions: b.options("out"),
	}
	if set != nil {
		set(&o)
	}
	return b.client.Profile(b.t.Context(), o)
}

func (b *bench) perturb(set func(*sotto.PerturbOptions)) (*sotto.PerturbRun, error) {
	o := sotto.PerturbOptions{Request: sotto.PerturbRequest{Schema: b.schema, Epsilon: 8}, TableOptions: b.options("out")}
	if set != nil {
		set(&o)
	}
	return b.client.Perturb(b.t.Context(), o)
}

// charges are all that the ledger has.
func (b *bench) charges() (out []ledger.Charge) {
	b.t.Helper()
	l, err := ledger.Open(b.t.Context(), b.path("ledger.db"), ledger.Options{})
	b.must(err)
	defer l.Close()
	all, err := l.List(b.t.Context())
	b.must(err)
	for _, d := range all {
		of, err := l.Show(b.t.Context(), string(d.Fingerprint))
		b.must(err)
		out = append(out, of.Charges...)
	}
	return out
}

// refused checks a refusal: what it says, its exit code, and that nothing came of it.
func (b *bench) refused(name string, err error, code int, want string) {
	b.t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		b.t.Errorf("%s: the error is %v, and should speak of %q", name, err, want)
		return
	}
	if got := ui.ExitCode(err); got != code {
		b.t.Errorf("%s: exit code %d, want %d: %v", name, got, code, err)
	}
	if all := b.charges(); len(all) != 0 {
		b.t.Errorf("%s: %d charges for nothing", name, len(all))
	}
	if _, err := os.Lstat(b.path("out")); !errors.Is(err, fs.ErrNotExist) {
		b.t.Errorf("%s: there is a folder: %v", name, err)
	}
}

// Run runs the suite.
func Run(t *testing.T, e Engine) {
	t.Run("refusals", func(t *testing.T) { refusals(t, e) })
	t.Run("refused rows", func(t *testing.T) { refusedRows(t, e) })
	t.Run("budgets", func(t *testing.T) { budgets(t, e) })
	t.Run("seeds", func(t *testing.T) { seeds(t, e) })
	t.Run("interrupted", func(t *testing.T) { interrupted(t, e) })
	if e.Several != nil {
		t.Run("the same file twice", func(t *testing.T) { sameFile(t, e) })
	}
}

// refusals: what cannot be done is said before anything is charged.
func refusals(t *testing.T, e Engine) {
	b := newBench(t, e)
	elsewhere := *b
	var err error
	elsewhere.client, err = sotto.Open(b.dir, &sotto.Options{Ledger: b.path("none.db")})
	b.must(err)
	_, err = elsewhere.profile(nil)
	b.refused("profile, no such ledger", err, 2, "sotto ledger init")
	_, err = elsewhere.perturb(nil)
	b.refused("perturb, no such ledger", err, 2, "sotto ledger init")
	for _, c := range []struct {
		name, want string
		set        func(*sotto.TableOptions)
	}{
		{"no folder", "folder to write", func(o *sotto.TableOptions) { o.Out = "" }},
		{"a folder elsewhere", "this machine", func(o *sotto.TableOptions) { o.Out = "gs://x/y" }},
		{"a folder with something else", "no run", func(o *sotto.TableOptions) { o.Out = b.dir }},
	} {
		_, err := b.profile(func(o *sotto.ProfileOptions) { c.set(&o.TableOptions) })
		b.refused("profile, "+c.name, err, 2, c.want)
		_, err = b.perturb(func(o *sotto.PerturbOptions) { c.set(&o.TableOptions) })
		b.refused("perturb, "+c.name, err, 2, c.want)
	}
	for _, c := range []struct {
		name, want string
		set        func(*sotto.ProfileOptions)
	}{
		{"no ε", "ε", func(o *sotto.ProfileOptions) { o.Request.Epsilon = 0 }},
		{"no such unit", "custmer", func(o *sotto.ProfileOptions) { o.Request.Unit = "user:custmer" }},
		{"a sample of nobody knows what", "how many", func(o *sotto.ProfileOptions) { o.Request.Rate, o.Request.Size = 0.1, 0 }},
		{"another schema", "wages", func(o *sotto.ProfileOptions) {
			o.Request.Schema.Columns = append([]schema.Column(nil), b.schema.Columns...)
			o.Request.Schema.Columns[0].Name = "wages"
			o.Request.Schema.Template = ""
		}},
	} {
		_, err := b.profile(c.set)
		b.refused(c.name, err, 2, c.want)
	}
	_, err = b.perturb(func(o *sotto.PerturbOptions) { o.Source.SkipRefused = true })
	b.refused("rows left out of perturbed ones", err, 2, "cannot be left out")
	if !e.Files {
		_, err := b.profile(nil)
		b.refused("a database without a budget", err, 2, "sotto ledger init")
	}
}

// refusedRows: a file with a row that the schema refuses is refused before it is charged,
// since the corrected file would be another. Perturbed rows are never without it.
func refusedRows(t *testing.T, e Engine) {
	b := newBench(t, e)
	b.source = b.put(append(Loans(t, rows), "9999,30,50,employed,nowhere,car,3,0,yes\n"...))
	if !e.Files {
		b.enter(b.source, 100, sotto.ProfileOptions{})
	}
	_, err := b.profile(nil)
	if e.Files {
		b.refused("profile", err, 2, "home")
		_, err = b.perturb(nil)
		b.refused("perturb", err, 2, "home")
		return
	}
	if err == nil {
		t.Error("a row that the schema refuses is added up")
	}
	if all := b.charges(); len(all) != 1 || all[0].State != ledger.Reserved {
		t.Errorf("the charges are %v", all)
	}
}

// budgets: a release is charged once, signed, and counts against the next.
func budgets(t *testing.T, e Engine) {
	b := newBench(t, e)
	if !e.Files {
		b.enter(b.source, 1, sotto.ProfileOptions{})
	}
	done, err := b.profile(nil)
	b.must(err)
	b.verify(done.Dir)
	all := b.charges()
	at := expect.At(t, "the charges")
	expect.Len(at, "all", all, 1)
	expect.Equal(at, "all[0].State", all[0].State, ledger.Committed)
	expect.Equal(at, "all[0].Event", all[0].Event, done.Plan.Event().String())
	again, err := b.profile(nil)
	at = expect.At(t, "a run that is complete is repeated")
	expect.NoError(at, err)
	expect.True(at, "again.Finished", again.Finished)
	expect.Len(at, "b.charges()", b.charges(), 1)
	_, err = b.profile(func(o *sotto.ProfileOptions) { o.Out = b.path("more") })
	at = expect.At(t, "the budget is used up")
	expect.True(at, "the error ledger.ErrBudget", errors.Is(err, ledger.ErrBudget), err)
	expect.Equal(at, "ui.ExitCode(err)", ui.ExitCode(err), 3)
	expect.Contains(at, "error", fmt.Sprint(err), "sotto ledger grant")
	_, err = b.perturb(func(o *sotto.PerturbOptions) { o.Out = b.path("more") })
	var mismatch *ledger.MismatchError
	if !errors.As(err, &mismatch) || ui.ExitCode(err) != 2 {
		t.Errorf("other neighbours: %v", err)
	}
	if _, err := os.Lstat(b.path("more")); !errors.Is(err, fs.ErrNotExist) || len(b.charges()) != 1 {
		t.Errorf("a refusal leaves a folder (%v), or a charge", err)
	}
	if !e.Files {
		return
	}
	// The same file has one budget, no matter who reads it.
	csv := b.path("copy.csv")
	b.must(os.WriteFile(csv, Loans(t, rows), 0o600))
	_, err = b.profile(func(o *sotto.ProfileOptions) {
		o.Out, o.Source = b.path("more"), sotto.TableSource{Location: csv}
	})
	if !errors.Is(err, ledger.ErrBudget) {
		t.Errorf("the same rows have a fresh budget in memory: %v", err)
	}
}

func (b *bench) verify(dir string) {
	b.t.Helper()
	trust, err := certificate.LoadTrust(b.path("keys"))
	b.must(err)
	report, err := certificate.VerifyDir(dir, certificate.VerifyOptions{Trust: trust, Evaluator: accountant.Auto{}})
	if err != nil || !report.OK {
		b.t.Fatalf("the certificate does not hold: %+v, %v", report, err)
	}
	files, err := os.ReadDir(dir)
	b.must(err)
	for _, f := range files { // when they were written shows how long it took
		if info, err := f.Info(); err != nil || !info.ModTime().Equal(report.Predicate.Created) {
			b.t.Errorf("%s was changed at %v, and the certificate is of %v: %v", f.Name(), info.ModTime(), report.Predicate.Created, err)
		}
	}
}

// seeds: what is drawn from a seed is not charged and has no certificate.
func seeds(t *testing.T, e Engine) {
	b := newBench(t, e)
	seed := uint64(7)
	done, err := b.perturb(func(o *sotto.PerturbOptions) { o.Seed = &seed })
	b.must(err)
	_, err = os.Lstat(filepath.Join(done.Dir, certificate.FileName))
	at := expect.At(t, "a seed is private")
	expect.True(at, "an error", err != nil)
	expect.True(at, "not done.Private", !done.Private)
	expect.True(at, "not done.Sidecar.Private", !done.Sidecar.Private)
	if all := b.charges(); len(all) != 0 {
		t.Errorf("%d charges for a seed", len(all))
	}
}

// interrupted: a run that ends after its charge resumes by the same call, with the same
// charge, and what comes out does not depend on where it was interrupted.
func interrupted(t *testing.T, e Engine) {
	b := newBench(t, e)
	if !e.Files {
		b.enter(b.source, 8, sotto.ProfileOptions{Request: sotto.ProfileRequest{Adjacency: "replace-one"}})
	}
	ctx, cancel := context.WithCancel(t.Context())
	o := sotto.PerturbOptions{Request: sotto.PerturbRequest{Schema: b.schema, Epsilon: 8}, TableOptions: b.options("out")}
	o.Observe = func(e sotto.Progress) {
		if e.Kind == env.Reserved {
			cancel()
		}
	}
	if _, err := b.client.Perturb(ctx, o); err == nil {
		t.Fatal("a run that was interrupted is complete")
	}
	if all := b.charges(); len(all) != 1 || all[0].State != ledger.Reserved {
		t.Fatalf("the charges are %+v", all)
	}
	b.must(os.CopyFS(b.path("copy"), os.DirFS(b.path("out"))))
	b.must(os.Chmod(b.path("copy/private"), 0o700))
	done, err := b.perturb(nil)
	b.must(err)
	all := b.charges()
	at := expect.At(t, "it continued with the charges")
	expect.True(at, "done.Resumed", done.Resumed)
	expect.Len(at, "all", all, 1)
	expect.Equal(at, "all[0].State", all[0].State, ledger.Committed)
	b.verify(done.Dir)
	again, err := b.perturb(func(o *sotto.PerturbOptions) { o.Out = b.path("copy") })
	if !e.Files {
		if err == nil {
			t.Error("a table that may have changed is perturbed twice for one charge")
		}
		return
	}
	b.must(err)
	for _, name := range []string{run.RowsFile, run.SidecarFile} {
		x, err := os.ReadFile(filepath.Join(done.Dir, name))
		b.must(err)
		y, err := os.ReadFile(filepath.Join(again.Dir, name))
		b.must(err)
		if !bytes.Equal(x, y) {
			t.Errorf("%s is different in two copies of one run", name)
		}
	}
}

// sameFile: a file that is there twice, by whatever names, is refused.
func sameFile(t *testing.T, e Engine) {
	b := newBench(t, e)
	half := Loans(t, rows)
	b.must(os.WriteFile(b.path("a.csv"), half, 0o600))
	b.must(os.Symlink(b.path("a.csv"), b.path("soft.csv")))
	b.must(os.Link(b.path("a.csv"), b.path("hard.csv")))
	b.must(os.WriteFile(b.path("copy.csv"), half, 0o600))
	for _, c := range [][2]string{
		{b.path("a.csv"), b.path("a.csv")},
		{b.path("a.csv"), b.dir + "/./a.csv"},
		{b.path("a.csv"), b.path("a*.csv")},
		{b.path("a.csv"), b.path("soft.csv")},
		{b.path("a.csv"), b.path("hard.csv")},
		{b.path("a.csv"), b.path("copy.csv")},
	} {
		b.source = e.Several(c[0], c[1])
		_, err := b.profile(nil)
		b.refused("profile of "+c[1], err, 2, "the same")
		_, err = b.perturb(nil)
		b.refused("perturb of "+c[1], err, 2, "the same")
	}
}
