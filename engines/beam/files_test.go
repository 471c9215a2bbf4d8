package beam

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/sotto-dp/sotto/internal/demo"
	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/schema"
)

func loans(t testing.TB) schema.Schema {
	t.Helper()
	s, err := schema.Parse("loans", demo.LoansFile())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// aboutLoans asks for a mean or a mode of each column, for two groups.
func aboutLoans(s schema.Schema) global.Settings {
	o := global.Settings{Groups: s.Groups["2"], Count: 5}
	for _, c := range s.Columns {
		k := global.Column{Name: c.Name, Statistic: global.Mode, Multiplier: 5}
		switch {
		case c.Name == "repaid":
			k = global.Column{Name: c.Name, Statistic: global.Given}
		case c.Kind == schema.Numeric:
			k.Statistic = global.Mean
		}
		o.Columns = append(o.Columns, k)
	}
	return o
}

func loansCSV(t testing.TB, all []demo.Loan) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := demo.WriteLoans(&b, all); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func save(t testing.TB, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func zipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(data)
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func loansParquet(t testing.TB, all []demo.Loan) []byte {
	t.Helper()
	type row struct {
		Customer   int64   `parquet:"customer"`
		Age        int64   `parquet:"age"`
		Income     int64   `parquet:"income"`
		Employment string  `parquet:"employment,dict"`
		Home       string  `parquet:"home,dict"`
		Purpose    string  `parquet:"purpose"`
		Amount     float64 `parquet:"amount"`
		Late       int64   `parquet:"late"`
		Repaid     string  `parquet:"repaid,dict"`
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b, parquet.MaxRowsPerRowGroup(3000))
	var err error
	for _, l := range all {
		repaid := "no"
		if l.Repaid {
			repaid = "yes"
		}
		_, e := w.Write([]row{{int64(l.Customer), int64(l.Age), int64(l.Income), l.Employment, l.Home, l.Purpose, l.Amount, int64(l.Late), repaid}})
		err = errors.Join(err, e)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestFiles: whatever the format, and however it is cut, the sums are those that the main
// module has of the same rows.
func TestFiles(t *testing.T) {
	all := demo.Loans(20_000)
	s := loans(t)
	o := aboutLoans(s)
	m := mechanism(t, s, o)
	whole := loansCSV(t, all)
	d, err := table.Open(t.Context(), save(t, "loans.csv", whole), table.Options{Schema: s})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	want, err := m.Collect(t.Context(), d, noise.KeyFromSeed(1), 2)
	if err != nil {
		t.Fatal(err)
	}
	three := t.TempDir()
	for i, part := range [][]demo.Loan{all[:1], all[1:15_000], all[15_000:]} {
		if err := os.WriteFile(filepath.Join(three, fmt.Sprint(i, ".csv")), loansCSV(t, part), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name   string
		files  fileSet
		pieces int
	}{
		{"in stretches", fileSet{Paths: []string{save(t, "a.csv", whole)}}, 0},
		{"in pieces", fileSet{Paths: []string{save(t, "a.csv", whole)}}, 3},
		{"whole", fileSet{Paths: []string{save(t, "a.csv", whole)}, Whole: true}, 0},
		{"compressed", fileSet{Paths: []string{save(t, "a.csv.gz", zipped(t, whole))}}, 0},
		{"parquet", fileSet{Paths: []string{save(t, "a.parquet", loansParquet(t, all))}}, 0},
		{"three files", fileSet{Paths: expanded(t, three+"/*.csv")}, 2},
		{"mixed", fileSet{Paths: []string{save(t, "a.parquet", loansParquet(t, all[:9000])), save(t, "b.csv", loansCSV(t, all[9000:]))}}, 0},
		{"windows", fileSet{Paths: []string{save(t, "a.csv", bytes.ReplaceAll(whole, []byte("\n"), []byte("\r\n")))}}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := addUp(t.Context(), m, profileJob{Source: input{Files: &c.files}, Schema: s, Job: Job{Run: onPrism, Pieces: c.pieces}})
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Export(), want.Export()) {
				t.Error("the sums are different")
			}
		})
	}
}

// TestUnitsOfFiles: rows of one customer are bounded together, in whichever files they
// are and whichever worker reads those.
func TestUnitsOfFiles(t *testing.T) {
	all := demo.Loans(3000)
	customers := map[int]bool{}
	for _, l := range all {
		customers[l.Customer] = true
	}
	if len(customers) == len(all) {
		t.Fatal("no customer has two loans")
	}
	s := loans(t)
	odd, even := []demo.Loan{}, []demo.Loan{}
	for i, l := range all {
		if i%2 == 0 {
			even = append(even, l)
		} else {
			odd = append(odd, l)
		}
	}
	for _, c := range []struct {
		name  string
		files fileSet
	}{
		{"stretches", fileSet{Paths: []string{save(t, "a.csv", loansCSV(t, odd)), save(t, "b.csv", loansCSV(t, even))}}},
		{"whole", fileSet{Paths: []string{save(t, "a.csv.gz", zipped(t, loansCSV(t, odd))), save(t, "b.parquet", loansParquet(t, even))}}},
	} {
		for _, limit := range []int{1, 9} {
			t.Run(fmt.Sprint(c.name, limit), func(t *testing.T) {
				o := aboutLoans(s)
				o.RowsPerUnit = limit
				m := mechanism(t, s, o)
				got, err := addUp(t.Context(), m, profileJob{Source: input{Files: &c.files}, Schema: s, Unit: "customer", Job: Job{Run: onPrism}})
				if err != nil {
					t.Fatal(err)
				}
				want := int64(len(all))
				if limit == 1 {
					want = int64(len(customers))
				}
				if n := counted(m, got); n != want {
					t.Errorf("%d rows count, and it should be %d", n, want)
				}
			})
		}
	}
	mixed := fileSet{Paths: []string{save(t, "a.csv", loansCSV(t, odd)), save(t, "b.parquet", loansParquet(t, even))}}
	o := aboutLoans(s)
	o.RowsPerUnit = 1
	_, err := addUp(t.Context(), mechanism(t, s, o), profileJob{Source: input{Files: &mixed}, Schema: s, Unit: "customer", Job: Job{Run: onPrism}})
	if err == nil || !strings.Contains(err.Error(), "--whole") {
		t.Errorf("files that are read in two ways name units in two ways, and the error is %v", err)
	}
}

func TestRefusedFiles(t *testing.T) {
	s := loans(t)
	good := string(loansCSV(t, demo.Loans(50)))
	lines := strings.SplitAfter(good, "\n")
	header := lines[0]
	const bad = "ZZSECRETZZ"
	for _, c := range []struct {
		name, text, want string
		files            fileSet
		rows             int64 // if it is not refused
	}{
		{"empty", "", "header", fileSet{}, 0},
		{"no such column", strings.Replace(good, "income", "wages", 1), `"income"`, fileSet{}, 0},
		{"a column twice", strings.Replace(good, "customer", "income", 1), `2 columns "income"`, fileSet{}, 0},
		{"a value that is not allowed", good + "9,30,50,employed," + bad + ",car,3,0,yes\n", `column "home"`, fileSet{}, 0},
		{"not a number", good + "9,30," + bad + ",employed,own,car,3,0,yes\n", `column "income"`, fileSet{}, 0},
		{"a field too many", good + "9,30,50,employed,own,car,3,0,yes," + bad + "\n", "fields", fileSet{}, 0},
		{"a row over two lines", good + "9,30,50,employed,own,\"" + bad + "\n9,30,50,employed,own,car,3,0,yes\n\",3,0,yes\n", "--whole", fileSet{}, 0},
		{"a row over two lines is not left out", good + "9,30,50,employed,own,\"" + bad + "\n9,30,50,employed,own,car,3,0,yes\n\",3,0,yes\n", "--whole", fileSet{OnError: table.Skip}, 0},
		{"a row over two lines in a whole file", good + "9,30,50,employed,own,\"" + bad + "\nx\",3,0,yes\n", "", fileSet{Whole: true}, 51},
		{"left out", good + "9,30,50,employed," + bad + ",car,3,0,yes\n" + lines[3], "", fileSet{OnError: table.Skip}, 51},
		{"only a header", header, "", fileSet{}, 0},
		{"a header without an end", strings.TrimSpace(header), "", fileSet{}, 0},
		{"quotes, a mark, blank lines, no end", "\ufeff" + header + "\r\n\n" + "9,\"30\",50,\"employed\",own,\"a \"\"car\"\", new\",3,0,yes", "", fileSet{}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := aboutLoans(s)
			m := mechanism(t, s, o)
			c.files.Paths = []string{save(t, "a.csv", []byte(c.text))}
			got, err := addUp(t.Context(), m, profileJob{Source: input{Files: &c.files}, Schema: s, Job: Job{Run: onPrism}})
			switch {
			case c.want == "" && err != nil:
				t.Fatal(err)
			case c.want == "":
				if n := counted(m, got); n != c.rows {
					t.Errorf("%d rows, and it should be %d", n, c.rows)
				}
			case err == nil || !strings.Contains(err.Error(), c.want):
				t.Errorf("the error is %v, and should speak of %q", err, c.want)
			case strings.Contains(err.Error(), bad):
				t.Errorf("the error holds content: %v", err)
			}
		})
	}
}

func TestChangedFile(t *testing.T) {
	s := loans(t)
	path := save(t, "a.csv", loansCSV(t, demo.Loans(10)))
	f := &fileSet{Paths: []string{path}}
	parts, err := f.parts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, loansCSV(t, demo.Loans(11)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = rows{Source: input{Files: f}, Schema: s}.open(t.Context(), parts[0])
	if err == nil || !strings.Contains(err.Error(), "new key") {
		t.Errorf("a file that changed is read: %v", err)
	}
}

func expanded(t *testing.T, patterns ...string) []string {
	t.Helper()
	paths, err := expand(t.Context(), patterns)
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// TestExpand: files are listed by what patterns match, also ones whose names look like a
// pattern; what matches nothing is an error.
func TestExpand(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.csv", "b.csv", "c[1].csv"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	if got := expanded(t, at("b.csv"), at("a*"), at("c[1].csv")); !slices.Equal(got, []string{at("a.csv"), at("b.csv"), at("c[1].csv")}) {
		t.Errorf("%v", got)
	}
	for want, patterns := range map[string][]string{"no file matches": {at("a.csv"), at("z*")}, "name some": {}, "not registered": {"zz://x"}} {
		if _, err := expand(t.Context(), patterns); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", patterns, err)
		}
	}
}
