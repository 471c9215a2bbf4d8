//go:build cgo

package duckdb_test

import (
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/engines/duckdb"
	"github.com/sotto-dp/sotto/engines/enginetest"
	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/schema"
	"github.com/sotto-dp/sotto/sys/expect"
)

func client(t *testing.T, dir string) *sotto.Client {
	t.Helper()
	c, err := sotto.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestSameProfile: with the same random numbers a profile is the same, whether DuckDB adds
// up or its rows are read, or those of the file that they came from.
func TestSameProfile(t *testing.T) {
	dir := t.TempDir()
	path, of, err := loans(dir, 1500)
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(7)
	request := sotto.ProfileRequest{Schema: of, Size: 1500, Epsilon: 2, Groups: []schema.Group{{Column: "repaid"}, {Column: "income", Cuts: []float64{60}}}}
	profile := func(name string, source sotto.TableSource) (*sotto.ProfileRun, []string) {
		t.Helper()
		var said []string
		run, err := client(t, dir).Profile(t.Context(), sotto.ProfileOptions{Request: request, TableOptions: sotto.TableOptions{
			Use:    sotto.Use{Seed: &seed, Observe: func(e sotto.Progress) { said = append(said, e.Message) }},
			Source: source, Out: filepath.Join(dir, name),
		}})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return run, said
	}
	by := func(said []string, what string) bool {
		return slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, what) })
	}
	file, _ := profile("file", sotto.TableSource{Location: filepath.Join(dir, "loans.csv")})
	inside, said := profile("inside", duckdb.Source(path, "loans"))
	if !by(said, "the database adds up by itself") {
		t.Errorf("DuckDB does not add up: %q", said)
	}
	source := duckdb.Source(path, "")
	source.Query, source.PushDown = "SELECT * FROM loans", table.Never
	outside, said := profile("outside", source)
	if !by(said, "rows are read from the database") {
		t.Errorf("DuckDB adds up: %q", said)
	}
	if !reflect.DeepEqual(inside.Profile, outside.Profile) || !reflect.DeepEqual(inside.Profile, file.Profile) {
		t.Errorf("a profile of DuckDB is %+v, of its rows %+v, of the file %+v", inside.Profile, outside.Profile, file.Profile)
	}
	seed++
	if other, _ := profile("other", duckdb.Source(path, "loans")); reflect.DeepEqual(inside.Profile, other.Profile) {
		t.Error("there is no noise")
	}
}

// TestPaidOnce: the ledger knows the table again, and refuses what its budget does not
// allow.
func TestPaidOnce(t *testing.T) {
	dir := t.TempDir()
	path, of, err := loans(dir, 300)
	if err != nil {
		t.Fatal(err)
	}
	source := duckdb.Source(path, "loans")
	o := sotto.PerturbOptions{Request: sotto.PerturbRequest{Schema: of, Epsilon: 8}, TableOptions: sotto.TableOptions{Source: source, Out: filepath.Join(dir, "rows")}}
	c := client(t, dir)
	// Rows of a database have no budget by themselves.
	if err := enginetest.Enter(t.Context(), c, source, of, ledger.Budget{Epsilon: 8, Adjacency: privacy.ReplaceOne}); err != nil {
		t.Fatal(err)
	}
	run, err := c.Perturb(t.Context(), o)
	expect.NoError(t, err)
	expect.Equal(t, "rows", run.Sidecar.Rows, 300)
	expect.True(t, "a certificate", run.Certificate)
	o.Out += "2"
	if _, err := c.Perturb(t.Context(), o); !errors.Is(err, ledger.ErrBudget) {
		t.Errorf("a second time: %v", err)
	}
}
