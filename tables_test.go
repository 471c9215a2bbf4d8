package sotto_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/demo"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/reconstruct"
	"github.com/sotto-dp/sotto/internal/run/compute"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/schema"
)

// bank is a folder with a table, and options to work on it.
func bank(t *testing.T) tableCall {
	t.Helper()
	dir := t.TempDir()
	var rows bytes.Buffer
	if err := demo.WriteLoans(&rows, demo.Loans(400)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "loans.csv"), rows.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return tableCall{world{Dir: dir}, sotto.TableOptions{
		Source: sotto.TableSource{Location: filepath.Join(dir, "loans.csv")}, Out: filepath.Join(dir, "out"),
	}}
}

// TestTableOptions: what is missing is said before anything is opened.
func TestTableOptions(t *testing.T) {
	request := sotto.ProfileRequest{Schema: loans(), Size: 400, Epsilon: 1}
	local := sotto.PerturbRequest{Schema: loans(), Epsilon: 8}
	for name, change := range map[string]func(*tableCall){
		"folder to write to": func(o *tableCall) { o.Out = "" },
		"data is missing":    func(o *tableCall) { o.Source.Location = "" },
	} {
		t.Run(name, func(t *testing.T) {
			o := bank(t)
			change(&o)
			_, profile := profile(t.Context(), o, request)
			_, perturb := perturb(t.Context(), o, local)
			for _, err := range []error{profile, perturb} {
				if !errors.As(err, new(*plan.InputError)) || !strings.Contains(err.Error(), name) {
					t.Errorf("%v", err)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(o.Out), "out")); o.Out != "" && len(left) > 0 {
				t.Errorf("%v is left", left)
			}
		})
	}
	request.Epsilon = math.Inf(1)
	if _, err := profile(t.Context(), bank(t), request); err == nil || !strings.Contains(err.Error(), "allowed explicitly") {
		t.Errorf("a profile without noise: %v", err)
	}
	broken := plan.Profile{Schema: loans()}
	o := bank(t)
	if _, err := o.client().Profile(t.Context(), sotto.ProfileOptions{Plan: &broken, TableOptions: o.TableOptions}); !errors.As(err, new(*plan.InputError)) {
		t.Errorf("a plan that is none: %v", err)
	}
	if _, err := o.client().Perturb(t.Context(), sotto.PerturbOptions{Plan: &plan.Local{Schema: loans()}, TableOptions: o.TableOptions}); !errors.As(err, new(*plan.InputError)) {
		t.Errorf("a plan that is none: %v", err)
	}
	if _, err := sotto.PerturbRows(t.Context(), plan.Local{Schema: loans()}, strings.NewReader(""), &bytes.Buffer{}, reconstruct.CSV, nil); err == nil {
		t.Error("rows are perturbed by no plan")
	}
}

// TestNoSuchColumn: a table that does not have the schema's columns is refused once.
func TestNoSuchColumn(t *testing.T) {
	o := bank(t)
	request := sotto.ProfileRequest{Schema: loans(), Size: 400, Epsilon: 1, Unit: "user:custmer"}
	_, err := profile(t.Context(), o, request)
	expect.Contains(t, "error", fmt.Sprint(err), "custmer")
	expect.True(t, "no close in error", !strings.Contains(fmt.Sprint(err), "close"), fmt.Sprint(err))
}

// TestPerturbTwice: the second time is not paid for, and the same call is.
func TestPerturbTwice(t *testing.T) {
	o, request := bank(t), sotto.PerturbRequest{Schema: loans(), Epsilon: 8}
	first, err := perturb(t.Context(), o, request)
	expect.NoError(t, err)
	expect.Equal(t, "first.Sidecar.Rows", first.Sidecar.Rows, 400)
	expect.True(t, "first.Private", first.Private)
	expect.Min(t, "number of first.Words()", len(first.Words()), 1)
	again, err := perturb(t.Context(), o, request)
	expect.NoError(t, err)
	expect.True(t, "again.Finished", again.Finished)
	expect.Equal(t, "again.Sidecar.Rows", again.Sidecar.Rows, 400)
	o.Out += "2"
	if _, err := perturb(t.Context(), o, request); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("a second time: %v", err)
	}
}

// TestSkippedRows: a profile can leave rows out, and reports it.
func TestSkippedRows(t *testing.T) {
	o := bank(t)
	f, err := os.OpenFile(o.Source.Location, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("1,seven,20,employed,own,car,5,0,yes\n"); err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	request := sotto.ProfileRequest{Schema: loans(), Size: 400, Epsilon: 1}
	_, err = profile(t.Context(), o, request)
	var refused *table.RefusedError
	if !errors.As(err, &refused) || refused.Problems.Count != 1 {
		t.Fatalf("%v", err)
	}
	o.Source.SkipRefused = true
	run, err := profile(t.Context(), o, request)
	expect.NoError(t, err)
	expect.Equal(t, "run.LeftOut", run.LeftOut, 1)
	expect.True(t, "run.Charge that is not empty", run.Charge != "")
}

// TestOpen: a table that a function opens is what the same file is by its name, to the
// ledger too.
func TestOpen(t *testing.T) {
	o := bank(t)
	named := o.Source
	want := fingerprint(t, o, loans())
	var seen []table.Options
	o.Source = sotto.TableSource{Engine: compute.Opener(func(ctx context.Context, with table.Options) (*table.Data, error) {
		seen = append(seen, with)
		return table.Open(ctx, named.Location, with)
	})}
	if got := fingerprint(t, o, loans()); got != want {
		t.Errorf("fingerprint %v, want %v", got, want)
	}
	request := sotto.ProfileRequest{Schema: loans(), Size: 400, Epsilon: 1}
	makeLedger(t, o.client().Ledger())
	if _, err := profile(t.Context(), o, request); err != nil {
		t.Fatal(err)
	}
	again := o
	again.Source, again.Out = named, o.Out+"-again"
	if _, err := profile(t.Context(), again, request); !errors.Is(err, ledger.ErrBudget) {
		t.Errorf("the budget of the rows is spent, and they can be had by their name: %v", err)
	}
	o.Out, o.Ledger = o.Out+"-rows", o.at("ledger.db-rows")
	makeLedger(t, o.client().Ledger())
	done, err := perturb(t.Context(), o, sotto.PerturbRequest{Schema: loans(), Epsilon: 8})
	if err != nil || done.Sidecar.Rows != 400 {
		t.Errorf("%+v, %v", done, err)
	}
	expect.Len(t, "seen", seen, 3)
	expect.True(t, "not seen[1].Discrete", !seen[1].Discrete)
	expect.True(t, "seen[2].Discrete", seen[2].Discrete)
	expect.Equal(t, "seen[1].Private", seen[1].Private, o.at("private"))

	o.Out += "-wrong"
	o.Source.Engine = compute.Opener(func(ctx context.Context, with table.Options) (*table.Data, error) {
		with.Discrete = false
		return table.Open(ctx, named.Location, with)
	})
	_, err = perturb(t.Context(), o, sotto.PerturbRequest{Schema: loans(), Epsilon: 8})
	if err == nil || !strings.Contains(err.Error(), "discrete") {
		t.Errorf("a table that is opened otherwise: %v", err)
	}
	broken := errors.New("no such table")
	o.Source.Engine = compute.Opener(func(context.Context, table.Options) (*table.Data, error) { return nil, broken })
	if _, err := profile(t.Context(), o, request); !errors.Is(err, broken) {
		t.Errorf("a table that cannot be opened: %v", err)
	}
}

// TestPlanTable: a schema without bins has a profile only; one that is wrong has neither.
func TestPlanTable(t *testing.T) {
	adult, err := schema.Find("adult")
	if err != nil {
		t.Fatal(err)
	}
	found, err := sotto.PlanTable(sotto.ProfileRequest{Schema: adult, Size: 30162, Epsilon: 1}, sotto.PerturbRequest{})
	expect.NoError(t, err)
	expect.True(t, "an error", found.LocalErr != nil)
	expect.NoError(t, found.ProfileErr)
	if _, err := sotto.PlanTable(sotto.ProfileRequest{Schema: adult, Epsilon: -1}, sotto.PerturbRequest{}); err == nil {
		t.Error("ε = −1 has a plan")
	}
}
