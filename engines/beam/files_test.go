package beam

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"sotto/demo"
	"sotto/privacy/noise"
	"sotto/private/table"
	"sotto/private/table/global"
	"sotto/schema"
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
		files  Files
		pieces int
	}{
		{"in stretches", Files{Patterns: []string{save(t, "a.csv", whole)}}, 0},
		{"in pieces", Files{Patterns: []string{save(t, "a.csv", whole)}}, 3},
		{"whole", Files{Patterns: []string{save(t, "a.csv", whole)}, Whole: true}, 0},
		{"compressed", Files{Patterns: []string{save(t, "a.csv.gz", zipped(t, whole))}}, 0},
		{"parquet", Files{Patterns: []string{save(t, "a.parquet", loansParquet(t, all))}}, 0},
		{"three files", Files{Patterns: []string{three + "/*.csv"}}, 2},
		{"the same file named twice", Files{Patterns: []string{three + "/*.csv", three + "/1.csv"}}, 0},
		{"mixed", Files{Patterns: []string{save(t, "a.parquet", loansParquet(t, all[:9000])), save(t, "b.csv", loansCSV(t, all[9000:]))}}, 0},
		{"windows", Files{Patterns: []string{save(t, "a.csv", bytes.ReplaceAll(whole, []byte("\n"), []byte("\r\n")))}}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Sums(t.Context(), m, ProfileOptions{Source: Source{Files: &c.files}, Schema: s, Settings: o, Job: Job{Run: onPrism, Pieces: c.pieces}})
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
		files Files
	}{
		{"stretches", Files{Patterns: []string{save(t, "a.csv", loansCSV(t, odd)), save(t, "b.csv", loansCSV(t, even))}}},
		{"whole", Files{Patterns: []string{save(t, "a.csv.gz", zipped(t, loansCSV(t, odd))), save(t, "b.parquet", loansParquet(t, even))}}},
	} {
		for _, most := range []int{1, 9} {
			t.Run(fmt.Sprint(c.name, most), func(t *testing.T) {
				o := aboutLoans(s)
				o.RowsPerUnit = most
				m := mechanism(t, s, o)
				got, err := Sums(t.Context(), m, ProfileOptions{Source: Source{Files: &c.files}, Schema: s, Settings: o, Unit: "customer", Job: Job{Run: onPrism}})
				if err != nil {
					t.Fatal(err)
				}
				want := int64(len(all))
				if most == 1 {
					want = int64(len(customers))
				}
				if n := counted(m, got); n != want {
					t.Errorf("%d rows count, and it should be %d", n, want)
				}
			})
		}
	}
	mixed := Files{Patterns: []string{save(t, "a.csv", loansCSV(t, odd)), save(t, "b.parquet", loansParquet(t, even))}}
	o := aboutLoans(s)
	o.RowsPerUnit = 1
	_, err := Sums(t.Context(), mechanism(t, s, o), ProfileOptions{Source: Source{Files: &mixed}, Schema: s, Settings: o, Unit: "customer", Job: Job{Run: onPrism}})
	if err == nil || !strings.Contains(err.Error(), "Whole") {
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
		files            Files
		rows             int64 // if it is not refused
	}{
		{"empty", "", "header", Files{}, 0},
		{"no such column", strings.Replace(good, "income", "wages", 1), `"income"`, Files{}, 0},
		{"a column twice", strings.Replace(good, "customer", "income", 1), `2 columns "income"`, Files{}, 0},
		{"a value that is not allowed", good + "9,30,50,employed," + bad + ",car,3,0,yes\n", `column "home"`, Files{}, 0},
		{"not a number", good + "9,30," + bad + ",employed,own,car,3,0,yes\n", `column "income"`, Files{}, 0},
		{"a field too many", good + "9,30,50,employed,own,car,3,0,yes," + bad + "\n", "fields", Files{}, 0},
		{"a row over two lines", good + "9,30,50,employed,own,\"" + bad + "\n9,30,50,employed,own,car,3,0,yes\n\",3,0,yes\n", "Files.Whole", Files{}, 0},
		{"a row over two lines is not left out", good + "9,30,50,employed,own,\"" + bad + "\n9,30,50,employed,own,car,3,0,yes\n\",3,0,yes\n", "Files.Whole", Files{OnError: table.Skip}, 0},
		{"a row over two lines in a whole file", good + "9,30,50,employed,own,\"" + bad + "\nx\",3,0,yes\n", "", Files{Whole: true}, 51},
		{"left out", good + "9,30,50,employed," + bad + ",car,3,0,yes\n" + lines[3], "", Files{OnError: table.Skip}, 51},
		{"only a header", header, "", Files{}, 0},
		{"a header without an end", strings.TrimSpace(header), "", Files{}, 0},
		{"quotes, a mark, blank lines, no end", "\ufeff" + header + "\r\n\n" + "9,\"30\",50,\"employed\",own,\"a \"\"car\"\", new\",3,0,yes", "", Files{}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := aboutLoans(s)
			m := mechanism(t, s, o)
			c.files.Patterns = []string{save(t, "a.csv", []byte(c.text))}
			got, err := Sums(t.Context(), m, ProfileOptions{Source: Source{Files: &c.files}, Schema: s, Settings: o, Job: Job{Run: onPrism}})
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
	f := &Files{Patterns: []string{path}}
	parts, err := f.parts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, loansCSV(t, demo.Loans(11)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = rows{Source: Source{Files: f}, Schema: s}.open(t.Context(), parts[0])
	if err == nil || !strings.Contains(err.Error(), "new key") {
		t.Errorf("a file that changed is read: %v", err)
	}
}

// cells are the rows that were read, in order.
type cells []string

func (c *cells) add(b *table.Batch) error {
	for i := range b.Rows {
		var row []string
		for _, v := range b.Columns {
			if v.Codes != nil {
				row = append(row, fmt.Sprint(v.Codes[i]))
			} else {
				row = append(row, fmt.Sprint(v.Steps[i]))
			}
		}
		*c = append(*c, strings.Join(row, " "))
	}
	return nil
}

// small is a schema that allows much.
func small() schema.Schema {
	return schema.Schema{Name: "small", Columns: []schema.Column{
		{Name: "a", Kind: schema.Numeric, Low: 0, High: 10, Clamp: true, Missing: "3"},
		{Name: "b", Kind: schema.Categorical, Values: []string{"x", "y", "other"}, Other: "other", Missing: "y"},
	}}
}

// failing is a test, or one case of a property.
type failing interface {
	Helper()
	Fatal(...any)
	Context() context.Context
}

// readLines reads a file in stretches, in the given order of blocks.
func readLines(t failing, path string, stretch int64, order func(n int) []int) (cells, error) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	p := Part{Path: path, Size: info.Size(), Stretch: stretch, Blocks: max(1, (info.Size()+stretch-1)/stretch)}
	r := rows{Source: Source{Files: &Files{}}, Schema: small(), Columns: []int{0, 1}}
	o, err := r.openLines(t.Context(), p)
	if err != nil {
		return nil, err
	}
	defer o.Close()
	each := make([]cells, p.Blocks)
	for _, n := range order(int(p.Blocks)) {
		if err := o.block(t.Context(), int64(n), each[n].add); err != nil {
			return nil, err
		}
	}
	return slices.Concat(each...), nil
}

func readWhole(t failing, path string) (out cells, err error) {
	t.Helper()
	d, err := table.Open(t.Context(), path, table.Options{Schema: small()})
	if err != nil {
		return nil, err
	}
	defer d.Close()
	err = d.Scan(t.Context(), []int{0, 1}, 1, func(_ int, b *table.Batch) error { return out.add(b) })
	return out, err
}

func inOrder(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// TestStretches: cut anywhere, and read in any order, a file has the rows that it has.
func TestStretches(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.csv")
	rapid.Check(t, func(t *rapid.T) {
		var b bytes.Buffer
		w := csv.NewWriter(&b)
		w.UseCRLF = rapid.Bool().Draw(t, "crlf")
		rows := rapid.SliceOf(rapid.SampledFrom([][]string{
			{"1", "x", "z"}, {"2.5", "a, b", ""}, {"", "", ""}, {"7", `"y"`, "zzzzzzzzzzzzzzzzzzzzzzzz"}, {"99", "y", "é"},
		})).Draw(t, "rows")
		_ = w.Write([]string{"a", "b", "unused"})
		if err := w.WriteAll(rows); err != nil {
			t.Fatal(err)
		}
		data := b.Bytes()
		if rapid.Bool().Draw(t, "open end") {
			data = bytes.TrimRight(data, "\r\n")
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		want, err := readWhole(t, path)
		if err != nil {
			t.Fatal(err)
		}
		order := func(n int) []int { return rapid.Permutation(inOrder(n)).Draw(t, "order") }
		if rapid.Bool().Draw(t, "sequential") {
			order = inOrder
		}
		got, err := readLines(t, path, rapid.Int64Range(1, 60).Draw(t, "stretch"), order)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%d rows, and there are %d", len(got), len(want))
		}
	})
}

// agree: what is read in stretches is refused, or is what the main module reads.
func agree(t failing, path string, data []byte, stretch int64) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := readLines(t, path, stretch, inOrder)
	if err != nil {
		return
	}
	want, err := readWhole(t, path)
	if err != nil {
		t.Fatal("stretches are read, and the whole file is refused:", err)
	}
	if !slices.Equal(got, want) {
		t.Fatal(len(got), "rows in stretches, and in the whole file", len(want))
	}
}

// TestOddFiles tries files of the bytes that matter.
func TestOddFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.csv")
	rapid.Check(t, func(t *rapid.T) {
		pieces := []string{"1,x\n", "2,y\r\n", "3,\"x\"\n", "4,\"x\"\"\"\n", ",\n", "\n", "\r\n", "\r", " ", "5,", "\"", "x", "1,\"", "\"\n"}
		usual := rapid.SampledFrom(pieces[:8])
		odd := rapid.SampledFrom(pieces)
		data := "a,b\n" + strings.Join(rapid.SliceOf(usual).Draw(t, "before"), "") +
			strings.Join(rapid.SliceOfN(odd, 0, 2).Draw(t, "odd"), "") + strings.Join(rapid.SliceOf(usual).Draw(t, "after"), "")
		agree(t, path, []byte(data), rapid.Int64Range(1, 20).Draw(t, "stretch"))
	})
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a,b\n1,x\n2,y\n"), int64(3))
	f.Add([]byte("a,b\r\n\"1\",\"x\"\"\"\r\n\r\n2,\"y\""), int64(5))
	f.Add([]byte("\ufeffb,a\nx,1"), int64(1))
	f.Fuzz(func(t *testing.T, data []byte, stretch int64) {
		if stretch < 1 || len(data) > 1<<12 {
			t.Skip()
		}
		agree(t, filepath.Join(t.TempDir(), "a.csv"), data, stretch)
	})
}
