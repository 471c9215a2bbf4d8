package run

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// TestTablesKilledAtEveryPoint kills runs of tables before each thing they do to disk and
// ledger, as kill -9 does and as a power cut does, and makes each fail. In progress gives the
// same bytes and one charge, and nothing is outside that was not paid for.
func TestTablesKilledAtEveryPoint(t *testing.T) {
	if testing.Short() {
		t.Skip("a run is repeated for each point at which it can end")
	}
	for name, j := range jobs(t) {
		p := newPlace(t)
		path := petsFile(t, p.dir, 60)
		q := p.fresh(t)
		o := q.tableOptions(t, j, path)
		a := q.try(t, j, o, nil)
		_, err := a.run(t.Context())
		must(t, err)
		want, log := outcome(t, o.Dir), a.points.log
		if len(log) < 50 {
			t.Fatalf("%s has only %d points", name, len(log))
		}
		for point := 1; point <= len(log); point++ {
			hows := []string{"kill", "power cut"}
			if strings.Contains(log[point-1], RowsFile) || strings.Contains(log[point-1], journalFile) {
				hows = append(hows, "full disk") // elsewhere it is as with texts
			}
			for _, how := range hows {
				t.Run(fmt.Sprintf("%s %d %s %s", name, point, log[point-1], how), func(t *testing.T) {
					p.disturbTable(t, j, path, want, point, how)
				})
			}
		}
	}
}

func (p *place) disturbTable(t *testing.T, j tableJob, path string, want map[string]string, point int, how string) {
	t.Helper()
	q := p.fresh(t)
	o := q.tableOptions(t, j, path)
	at := killAt(point)
	if how == "full disk" {
		at = func(n int, _ string) error {
			if n == point {
				return syscall.ENOSPC
			}
			return nil
		}
	}
	a := q.try(t, j, o, at)
	if _, err := a.run(t.Context()); err == nil {
		t.Error("the run was not disturbed")
	}
	if how == "power cut" {
		a.disk.powerCut(t, o.Dir)
	}
	charged := tableCharges(t, o)
	if _, err := os.Stat(o.Dir); err == nil {
		q.keepsSecrets(t, o.Dir)
		for _, file := range []string{profileFile, "demos.jsonl", RowsFile} {
			if _, err := os.Stat(filepath.Join(o.Dir, file)); err == nil && len(charged) == 0 {
				t.Errorf("%s is there, and nothing is charged", file)
			}
		}
	}
	again := q.try(t, j, o, nil)
	if len(charged) > 0 {
		again.mustNotBeginAnew(t)
	}
	if _, err := again.run(t.Context()); err != nil {
		t.Fatalf("resuming: %v", err)
	}
	q.completed(t, o.Dir, tableCharges(t, o), want)
}

// runTable is a child that works on a table.
func (c *child) runTable(ctx context.Context, p *place) error {
	j := jobs(noTest{})[c.Table]
	o, closing, err := c.tableOptions(ctx, j)
	if err != nil {
		return err
	}
	defer closing()
	a := newAttempt(o.Dir, c.kill)
	e, err := j.make(ctx, o, a.disk)
	if err != nil {
		return err
	}
	p.settle(e)
	_, err = a.of(e).run(ctx)
	return err
}

// noTest is for plans that a child makes: they do not fail.
type noTest struct{ testing.TB }

func (noTest) Helper() {}

func (c *child) tableOptions(ctx context.Context, j tableJob) (o TableOptions, closing func(), err error) {
	data, err := table.Open(ctx, c.Data, table.Options{Schema: pets(), Discrete: j.discrete, Private: filepath.Join(filepath.Dir(c.Data), "private")})
	if err != nil {
		return o, nil, err
	}
	l, signer, err := c.open(ctx)
	return TableOptions{
		Env: env.Environment{Ledger: l, Dataset: "pets", Signer: signer, Version: "test"}, Dir: c.Dir, Data: data, Workers: 1,
	}, func() { l.Close(); data.Close() }, err
}

// TestTablesKilledProcess kills real processes before every sync of the journal and every
// call of a ledger on disk.
func TestTablesKilledProcess(t *testing.T) {
	for name, j := range map[string]tableJob{"profile": profileJob(t)} {
		p := newPlace(t)
		path := petsFile(t, p.dir, 60)
		q := p.fresh(t)
		a := q.try(t, j, q.tableOptions(t, j, path), nil)
		_, err := a.run(t.Context())
		must(t, err)
		want := outcome(t, filepath.Join(q.dir, "out"))
		killed := 0
		for i, what := range a.points.log {
			if what != "sync "+journalFile && !strings.HasPrefix(what, "ask to ") {
				continue
			}
			killed++
			dir := t.TempDir()
			c := child{
				Dir: filepath.Join(dir, "out"), Data: path, Ledger: filepath.Join(dir, "ledger.db"), Ring: filepath.Join(p.dir, "ring"),
				Table: name, Key: p.key, Point: i + 1,
			}
			c.slain(t, what)
			o, closing, err := c.tableOptions(t.Context(), j)
			must(t, err)
			again := p.try(t, j, o, nil)
			if len(tableCharges(t, o)) > 0 {
				again.mustNotBeginAnew(t)
			}
			if _, err := again.run(t.Context()); err != nil {
				t.Errorf("%s, point %d, %s: resuming: %v", name, i+1, what, err)
			}
			p.completed(t, c.Dir, tableCharges(t, o), want)
			closing()
		}
		if killed < 10 {
			t.Errorf("only %d processes were killed", killed)
		}
	}
}

// TestCopiesOfAFolder: of a table in a database, which may have changed, a second copy of
// an unfinished folder does not release again what the first has; a file gives the same.
func TestCopiesOfAFolder(t *testing.T) {
	t.Run("profile", func(t *testing.T) { copies(t, profileJob(t), profileFile) })
	t.Run("perturb", func(t *testing.T) { copies(t, perturbJob(t), RowsFile) })
}

// copies runs a job in two copies of a folder, of a file and of a database; what it
// releases is in a file of that name.
func copies(t *testing.T, j tableJob, name string) {
	for _, kind := range []string{"file", "database"} {
		p := newPlace(t)
		path := petsFile(t, p.dir, 60)
		options := table.Options{Schema: pets(), Discrete: j.discrete, Private: filepath.Join(p.dir, "private")}
		if kind == "database" {
			path, options.Table = petsDatabase(t, p.dir), "pets"
		}
		data, err := table.Open(t.Context(), path, options)
		must(t, err)
		defer data.Close()
		o := TableOptions{Env: env.Environment{Ledger: p.ledger, Dataset: "pets", Signer: p.signer, Version: "test"}, Dir: filepath.Join(p.dir, "out"), Data: data, Workers: 1}
		q := p.fresh(t)
		o.Env.Ledger = q.ledger
		if kind == "database" { // it has no budget by itself
			sum, err := data.Fingerprint(t.Context())
			must(t, err)
			id, err := ledger.NewFingerprint(sum[:])
			must(t, err)
			adjacency := privacy.AddRemove
			if name == RowsFile {
				adjacency = privacy.ReplaceOne
			}
			_, err = q.ledger.Init(t.Context(), ledger.InitRequest{Dataset: id, Name: "pets", Budget: ledger.Budget{Epsilon: 8, Adjacency: adjacency}})
			must(t, err)
		}
		reserved := 0
		a := q.try(t, j, o, func(_ int, what string) error {
			if what == "after reserve" {
				reserved++
			}
			if reserved > 0 && what == "write "+journalFile {
				if reserved++; reserved > 2 {
					return syscall.ENOSPC
				}
			}
			return nil
		})
		if _, err := a.run(t.Context()); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("%s: %v", kind, err)
		}
		copied := filepath.Join(p.dir, "copy")
		must(t, os.CopyFS(copied, os.DirFS(o.Dir)))
		must(t, os.Chmod(filepath.Join(copied, privateDir), 0o700))
		_, err = q.try(t, j, o, nil).run(t.Context())
		must(t, err)
		other := o
		other.Dir = copied
		_, err = q.try(t, j, other, nil).run(t.Context())
		if kind == "file" {
			must(t, err)
			q.completed(t, copied, tableCharges(t, other), outcome(t, o.Dir))
			continue
		}
		var folder *FolderError
		if !errors.As(err, &folder) || !strings.Contains(err.Error(), "committed") {
			t.Errorf("a second copy: %v", err)
		}
		if _, err := os.Stat(filepath.Join(copied, name)); err == nil {
			t.Error("a second copy is released")
		}
	}
}

// petsDatabase has the rows of petsFile in SQLite.
func petsDatabase(t testing.TB, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "pets.db")
	db, err := sql.Open("sqlite", path)
	must(t, err)
	defer db.Close()
	_, err = db.Exec("create table pets (weight double precision, colour text, kind text)")
	must(t, err)
	for i := range 60 {
		_, err := db.Exec("insert into pets values ($1, 'black', $2)", 4+i%3, []string{"cat", "dog"}[i%2])
		must(t, err)
	}
	return path
}
