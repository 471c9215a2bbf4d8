package tabular_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/internal/demo"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lab/tabular"
	"github.com/sotto-dp/sotto/schema"
)

// loansFile writes rows of the demo's table and reads its schema.
func loansFile(t testing.TB, n int) (string, schema.Schema) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "loans.csv")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := demo.WriteLoans(f, demo.Loans(n)); err != nil {
		t.Fatal(err)
	}
	s, err := schema.Parse("loans", demo.LoansFile())
	if err != nil {
		t.Fatal(err)
	}
	return path, s
}

// TestSplits: every row is on one side, in the order of the file, whatever is read.
func TestSplits(t *testing.T) {
	const n = 200
	path, s := loansFile(t, n)
	whole, err := tabular.ReadTable(path, s, false, tabular.Split{First: n - 1})
	if err != nil {
		t.Fatal(err)
	}
	rows := append(slices.Clone(whole.Train), whole.Test...)
	for _, split := range []tabular.Split{{First: 150}, {Share: 0.8}, {Share: 0.005}} {
		table, err := tabular.ReadTable(path, s, false, split)
		if err != nil {
			t.Fatal(err)
		}
		want := split.First
		if split.Share > 0 {
			want = int(split.Share * n)
		}
		if len(table.Train) != want || len(table.Train)+len(table.Test) != n {
			t.Errorf("%+v: %d and %d rows", split, len(table.Train), len(table.Test))
		}
		train, test := table.Train, table.Test
		for _, row := range rows {
			switch {
			case len(train) > 0 && reflect.DeepEqual(train[0], row):
				train = train[1:]
			case len(test) > 0 && reflect.DeepEqual(test[0], row):
				test = test[1:]
			default:
				t.Fatalf("%+v: a row is on neither side, or out of order", split)
			}
		}
		bins, err := tabular.ReadTable(path, s, true, split)
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range bins.Test {
			for j, v := range row {
				if !v.Discrete {
					t.Fatalf("%s is read as a number", s.Columns[j].Name)
				}
				if numeric := s.Columns[j].Kind == schema.Numeric; table.Test[i][j].Discrete == numeric {
					t.Fatalf("%s is not read as the kind of column it is", s.Columns[j].Name)
				}
			}
			if s.Answer(row) != s.Answer(table.Test[i]) {
				t.Fatal("the two views have split the rows differently")
			}
		}
	}
}

// TestTableItems: items are rows in words, and those that are picked are rows that are
// picked.
func TestTableItems(t *testing.T) {
	path, s := loansFile(t, 100)
	table, err := tabular.ReadTable(path, s, false, tabular.Split{Share: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	some, err := table.Subset(10)
	if err != nil {
		t.Fatal(err)
	}
	items, err := eval.Subset(table.Items(), 10)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(some.Items(), items) || len(some.Train) != 50 {
		t.Error("rows and items are picked differently")
	}
	for i, row := range some.Test {
		expect.Equal(t, "items[i].Input", items[i].Input, s.Text(row))
		expect.Equal(t, "items[i].Output", items[i].Output, s.Answer(row))
		expect.True(t, "no answer in items[i].Input", !strings.Contains(items[i].Input, "repaid "+items[i].Output), items[i].Input)
	}
}

func TestTablesRefused(t *testing.T) {
	path, s := loansFile(t, 10)
	strict := s
	strict.Columns = slices.Clone(s.Columns)
	strict.Columns[3].Values = []string{"tent"}
	for name, c := range map[string]struct {
		path   string
		schema schema.Schema
		split  tabular.Split
		want   string
	}{
		"no split":   {path, s, tabular.Split{}, "a share between 0 and 1"},
		"two splits": {path, s, tabular.Split{First: 1, Share: 0.5}, "a share between 0 and 1"},
		"all":        {path, s, tabular.Split{First: 10}, "left to test with"},
		"none":       {path, s, tabular.Split{Share: 0.01}, "left to test with"},
		"no file":    {path + "x", s, tabular.Split{First: 1}, "cannot be read"},
		"values":     {path, strict, tabular.Split{First: 1}, "record 1: its home is outside"},
	} {
		_, err := tabular.ReadTable(c.path, c.schema, false, c.split)
		var item *eval.ItemError
		if !errors.As(err, &item) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
