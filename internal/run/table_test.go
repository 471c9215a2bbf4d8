package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/internal/reconstruct"
	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/schema"
)

// pets is a schema with a number and two lists.
func pets() schema.Schema {
	return schema.Schema{
		Name: "pets", Label: "kind",
		Columns: []schema.Column{
			{Name: "weight", Kind: schema.Numeric, Low: 0, High: 50, Clamp: true, Edges: []float64{10}, Values: []string{"light", "heavy"}},
			{Name: "colour", Kind: schema.Categorical, Values: []string{"black", "white", "else"}, Other: "else"},
			{Name: "kind", Kind: schema.Categorical, Values: []string{"cat", "dog"}},
		},
		Template: "The pet weighs {weight} kg and is {colour}.", Question: "What is it?",
	}.WithDefaults()
}

// petsFile has rows with content that must not show anywhere: in a column that is not
// read, and in a value that the schema maps to another.
func petsFile(t testing.TB, dir string, rows int) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("name,weight,colour,kind\n")
	for i := range rows {
		weight, kind := 4+i%10/9, "cat"
		if i%3 == 0 {
			weight, kind = 20+i%7, "dog"
		}
		fmt.Fprintf(&b, "%s-%d,%d,%s,%s\n", marker, i, weight, []string{"black", "black", "white", marker}[i%4], kind)
	}
	path := filepath.Join(dir, "pets.csv")
	must(t, os.WriteFile(path, []byte(b.String()), 0o600))
	return path
}

// tableJob is a kind of run on a table: how it is made in a place, with a disk.
type tableJob struct {
	discrete bool
	make     func(ctx context.Context, o TableOptions, d disk) (*engine, error)
}

func profileJob(t testing.TB) tableJob {
	t.Helper()
	p, err := plan.NewProfile(plan.ProfileRequest{Schema: pets(), Epsilon: 4, Size: 60, Groups: []schema.Group{{Column: "kind"}}})
	must(t, err)
	return tableJob{make: func(ctx context.Context, o TableOptions, d disk) (*engine, error) {
		w, err := newProfiler(ctx, p, o, d)
		if err != nil {
			return nil, err
		}
		return newEngine(w, w.exec), nil
	}}
}

func perturbJob(t testing.TB) tableJob {
	t.Helper()
	p, err := plan.NewLocal(plan.LocalRequest{Schema: pets(), Epsilon: 6})
	must(t, err)
	return tableJob{discrete: true, make: func(ctx context.Context, o TableOptions, d disk) (*engine, error) {
		w, err := newPerturber(ctx, p, o, d)
		if err != nil {
			return nil, err
		}
		return newEngine(w, w.exec), nil
	}}
}

// tableOptions opens the table, in a fresh folder.
func (p *place) tableOptions(t testing.TB, j tableJob, path string) TableOptions {
	t.Helper()
	data, err := table.Open(context.Background(), path, table.Options{Schema: pets(), Discrete: j.discrete, Private: filepath.Join(filepath.Dir(path), "private")})
	must(t, err)
	t.Cleanup(func() { _ = data.Close() })
	return TableOptions{Env: env.Environment{Ledger: p.ledger, Dataset: "pets", Signer: p.signer, Version: "test"}, Dir: filepath.Join(p.dir, "out"), Data: data, Workers: 1}
}

// try is one attempt, of which nothing is left to chance.
func (p *place) try(t testing.TB, j tableJob, o TableOptions, at func(int, string) error) *attempt {
	t.Helper()
	a := newAttempt(o.Dir, at)
	e, err := j.make(context.Background(), o, a.disk)
	must(t, err)
	p.settle(e)
	return a.of(e)
}

func tableCharges(t testing.TB, o TableOptions) []ledger.Charge {
	t.Helper()
	sum, err := o.Data.Fingerprint(context.Background())
	must(t, err)
	return chargesOf(t, o.Env.Ledger, sum)
}

// jobs are the kinds of runs on tables.
func jobs(t testing.TB) map[string]tableJob {
	t.Helper()
	return map[string]tableJob{"profile": profileJob(t), "perturb": perturbJob(t)}
}

// TestTableCertificates: what runs of tables sign is verified by the real accountant, and
// a changed file is found.
func TestTableCertificates(t *testing.T) {
	for name, j := range jobs(t) {
		p := newPlace(t)
		o := p.tableOptions(t, j, petsFile(t, p.dir, 60))
		e, err := j.make(t.Context(), o, osDisk{})
		must(t, err)
		result, err := e.do(t.Context())
		must(t, err)
		at := expect.At(t, "%s", name)
		expect.True(at, "result.Private", result.Private)
		expect.True(at, "result.Certificate", result.Certificate)
		expect.True(at, "result.Charge that is not empty", result.Charge != "")
		expect.True(at, "not result.Resumed", !result.Resumed)
		verify := func() *certificate.Report {
			report, err := certificate.VerifyDir(o.Dir, certificate.VerifyOptions{Trust: p.trust, Evaluator: accountant.Auto{}})
			must(t, err)
			return report
		}
		if report := verify(); !report.OK {
			t.Errorf("%s: %+v", name, report)
		}
		again, err := e.do(t.Context())
		if err != nil || !again.Finished {
			t.Errorf("%s: a run that is complete: %v", name, err)
		}
		file := filepath.Join(o.Dir, result.Files[len(result.Files)-1])
		data, err := os.ReadFile(file)
		must(t, err)
		data[len(data)/2] ^= 1
		must(t, os.WriteFile(file, data, 0o644))
		if verify().OK {
			t.Errorf("%s: a changed %s is not found", name, file)
		}
	}
}

// TestTableRefused: what the budget does not allow is not charged and not read, and the
// folder is free again.
func TestTableRefused(t *testing.T) {
	for name, j := range jobs(t) {
		p := newPlace(t)
		o := p.tableOptions(t, j, petsFile(t, p.dir, 60))
		sum, err := o.Data.Fingerprint(t.Context())
		must(t, err)
		fingerprint, err := ledger.NewFingerprint(sum[:])
		must(t, err)
		e, err := j.make(t.Context(), o, osDisk{})
		must(t, err)
		_, err = p.ledger.Init(t.Context(), ledger.InitRequest{
			Dataset: fingerprint, Budget: ledger.Budget{Epsilon: 1, Adjacency: e.job.describe().Adjacency},
		})
		must(t, err)
		_, err = e.do(t.Context())
		if !errors.As(err, new(*ledger.RefusedError)) {
			t.Errorf("%s: %v", name, err)
		}
		if got := tableCharges(t, o); len(got) != 0 {
			t.Errorf("%s: %+v is charged", name, got)
		}
		if _, err := os.Lstat(o.Dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s leaves a folder: %v", name, err)
		}
	}
}

// TestRefusedRowsCostNothing: a row that the schema refuses is found before the charge,
// and named without its content.
func TestRefusedRowsCostNothing(t *testing.T) {
	for name, j := range jobs(t) {
		p := newPlace(t)
		path := petsFile(t, p.dir, 9)
		data, err := os.ReadFile(path)
		must(t, err)
		must(t, os.WriteFile(path, append(data, "x,"+marker+",black,cat\n"...), 0o600))
		o := p.tableOptions(t, j, path)
		e, err := j.make(t.Context(), o, osDisk{})
		must(t, err)
		_, err = e.do(t.Context())
		at := expect.At(t, "%s", name)
		refused := expect.As[*table.RefusedError](at, err)
		expect.Equal(at, "refused.Problems.First[0].Ordinal", refused.Problems.First[0].Ordinal, 10)
		expect.Equal(at, "refused.Problems.First[0].Column", refused.Problems.First[0].Column, "weight")
		if strings.Contains(err.Error(), marker) {
			t.Errorf("%s: the error has content: %v", name, err)
		}
		if got := tableCharges(t, o); len(got) != 0 {
			t.Errorf("%s: %+v is charged", name, got)
		}
	}
}

// TestPerturbLeavesNoRowOut: to leave out what the schema refuses would show what it is
// not.
func TestPerturbLeavesNoRowOut(t *testing.T) {
	p := newPlace(t)
	data, err := table.Open(t.Context(), petsFile(t, p.dir, 9), table.Options{Schema: pets(), Discrete: true, OnError: table.Skip, Private: filepath.Join(p.dir, "private")})
	must(t, err)
	defer data.Close()
	o := p.tableOptions(t, perturbJob(t), filepath.Join(p.dir, "pets.csv"))
	o.Data = data
	e, err := perturbJob(t).make(t.Context(), o, osDisk{})
	must(t, err)
	if _, err := e.do(t.Context()); !errors.As(err, new(*plan.InputError)) {
		t.Errorf("%v", err)
	}
}

// TestTableSeed: with a seed all files say what they are, and nothing is charged.
func TestTableSeed(t *testing.T) {
	seed := uint64(7)
	var before map[string]string
	for range 2 {
		p := newPlace(t)
		o := p.tableOptions(t, profileJob(t), petsFile(t, p.dir, 60))
		o.Env.Seed, o.Env.Ledger, o.Env.Signer = &seed, nil, nil
		e, err := profileJob(t).make(t.Context(), o, osDisk{})
		must(t, err)
		e.name = func() string { return "RUN" }
		result, err := e.do(t.Context())
		must(t, err)
		if result.Private || result.Certificate {
			t.Errorf("%+v", result)
		}
		files := outcome(t, o.Dir)
		for _, name := range []string{"demos.jsonl", profileFile, "README.md", "report.html", "prompt.txt"} {
			if !strings.Contains(files[name], "NOT PRIVATE") && !strings.Contains(files[name], `"not_private"`) {
				t.Errorf("%s does not say that it is not private", name)
			}
		}
		delete(files, journalFile) // knows the data by a key of its folder
		if before != nil && files["demos.jsonl"] != before["demos.jsonl"] {
			t.Error("the same seed gives other profiles")
		}
		before = files
	}
}

// TestPerturbedRowsRead: what a run writes is what package joint reads.
func TestPerturbedRowsRead(t *testing.T) {
	p := newPlace(t)
	j := perturbJob(t)
	o := p.tableOptions(t, j, petsFile(t, p.dir, 60))
	e, err := j.make(t.Context(), o, osDisk{})
	must(t, err)
	_, err = e.do(t.Context())
	must(t, err)
	sidecar, err := os.Open(filepath.Join(o.Dir, SidecarFile))
	must(t, err)
	defer sidecar.Close()
	read, err := reconstruct.ReadSidecar(sidecar, pets())
	must(t, err)
	expect.Equal(t, "read.Rows", read.Rows, 60)
	expect.True(t, "read.Private", read.Private)
	expect.Equal(t, "read.Adjacency", read.Adjacency, privacy.ReplaceOne)
	rows, err := os.Open(filepath.Join(o.Dir, RowsFile))
	must(t, err)
	defer rows.Close()
	r, err := reconstruct.NewReader(rows, pets(), reconstruct.CSV)
	must(t, err)
	var got reconstruct.Rows
	must(t, r.Read(&got, 100))
	if got.Count != 60 {
		t.Errorf("%d rows", got.Count)
	}
}

// TestAnotherMechanismIsNotReleased: a profile that was made otherwise than the plan pays
// for stays inside.
func TestAnotherMechanismIsNotReleased(t *testing.T) {
	p := newPlace(t)
	o := p.tableOptions(t, profileJob(t), petsFile(t, p.dir, 60))
	made, err := plan.NewProfile(plan.ProfileRequest{Schema: pets(), Epsilon: 4, Size: 60})
	must(t, err)
	w, err := newProfiler(t.Context(), made, o, osDisk{})
	must(t, err)
	must(t, w.check())
	less := made.Settings
	less.Count /= 2
	w.mechanism, err = global.New(pets(), less)
	must(t, err)
	w.exec.progress = &progress{}
	w.exec.key, err = noise.NewKey()
	must(t, err)
	if err := w.collect(t.Context()); err == nil || !strings.Contains(err.Error(), "does not pay for") {
		t.Errorf("a profile with less noise: %v", err)
	}
}

// TestProfileFile: the numbers that are released are those of the journal.
func TestProfileFile(t *testing.T) {
	p := newPlace(t)
	o := p.tableOptions(t, profileJob(t), petsFile(t, p.dir, 60))
	made, err := plan.NewProfile(plan.ProfileRequest{Schema: pets(), Epsilon: 1e4, Size: 60, Groups: []schema.Group{{Column: "kind"}}})
	must(t, err)
	done, err := Profile(t.Context(), made, o)
	must(t, err)
	data, err := os.ReadFile(filepath.Join(o.Dir, profileFile))
	must(t, err)
	var file global.Profile
	must(t, json.Unmarshal(data, &file))
	expect.Len(t, "file.Groups", file.Groups, 2)
	expect.Len(t, "done.Examples", done.Examples, 2)
	expect.Len(t, "done.Profile.Groups", done.Profile.Groups, 2)
	for i, g := range file.Groups {
		// The noise is of scale 1/2000 or less: off by 1 with a probability below 1e-800.
		if want := []float64{40, 20}[i]; g.Count < want-1 || g.Count > want+1 {
			t.Errorf("%s: %v rows, want %v", g.Where, g.Count, want)
		}
		if g.Count != done.Profile.Groups[i].Count || g.Columns[0].Mean != done.Profile.Groups[i].Columns[0].Mean {
			t.Errorf("the file says %+v, the result %+v", g, done.Profile.Groups[i])
		}
	}
	if want := "The pet weighs 4 kg and is black. What is it?"; done.Examples[0].Input != want || done.Examples[0].Output != "cat" {
		t.Errorf("%+v", done.Examples[0])
	}
}
