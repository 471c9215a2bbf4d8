package run

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/reconstruct"
	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// TestTablesOpenedOtherwise: a table that was opened with another schema, another unit or
// another way of reading numbers than the plan has is refused, before there is a charge or
// a folder. With wider bounds a row would move a sum by more than the plan's noise hides.
func TestTablesOpenedOtherwise(t *testing.T) {
	for name, j := range jobs(t) {
		for what, change := range map[string]struct {
			of   func(*table.Options)
			says string
		}{
			"another schema": {func(o *table.Options) { o.Schema.Columns[0].High = 5000 }, "another schema"},
			"another unit":   {func(o *table.Options) { o.Unit = "name" }, "with the unit user:name"},
			"other numbers":  {func(o *table.Options) { o.Discrete = !o.Discrete }, "discrete"},
		} {
			t.Run(what, func(t *testing.T) {
				p := newPlace(t)
				path := petsFile(t, p.dir, 60)
				o := p.tableOptions(t, j, path)
				options := table.Options{Schema: pets(), Discrete: j.discrete, Private: filepath.Join(filepath.Dir(path), "private")}
				change.of(&options)
				data, err := table.Open(t.Context(), path, options)
				must(t, err)
				o.Data = data
				e, err := j.make(t.Context(), o, osDisk{})
				must(t, err)
				if _, err = e.do(t.Context()); err == nil || !strings.Contains(err.Error(), change.says) {
					t.Errorf("%s, %s: %v", name, what, err)
				}
				if got := tableCharges(t, o); len(got) != 0 {
					t.Errorf("%s, %s: %+v is charged", name, what, got)
				}
				if _, err := os.Stat(o.Dir); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s, %s: there is a folder: %v", name, what, err)
				}
				must(t, data.Close())
			})
		}
	}
}

// TestSeededRowsSaySo: rows that were perturbed by a seed have a sidecar that says that
// they have no privacy guarantee, in the file and in the result.
func TestSeededRowsSaySo(t *testing.T) {
	p := newPlace(t)
	j := perturbJob(t)
	o := p.tableOptions(t, j, petsFile(t, p.dir, 60))
	seed := uint64(7)
	o.Env.Seed, o.Env.Ledger, o.Env.Signer = &seed, nil, nil
	of, err := plan.NewLocal(plan.LocalRequest{Schema: pets(), Epsilon: 6})
	must(t, err)
	out, err := Perturb(t.Context(), of, o)
	must(t, err)
	expect.True(t, "not out.Private", !out.Private)
	expect.True(t, "not out.Certificate", !out.Certificate)
	expect.True(t, "not out.Sidecar.Private", !out.Sidecar.Private)
	file, err := os.Open(filepath.Join(o.Dir, SidecarFile))
	must(t, err)
	defer file.Close()
	read, err := reconstruct.ReadSidecar(file, pets())
	must(t, err)
	if read.Private {
		t.Errorf("%+v", read)
	}
}
