package global_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// TestTheSameFromFilesAndDatabases: rows of a file and of a database make the same profile of
// the same key, hostile values among them.
func TestTheSameFromFilesAndDatabases(t *testing.T) {
	s := tiny()
	s.Columns[0].Clamp, s.Columns[0].Missing = true, "12.5"
	s.Columns[2].Other = "c"
	dir := t.TempDir()
	lines := []string{"x,z,kind,one,y,who"}
	for i := range 300 {
		x := fmt.Sprint(float64(i%47) + 0.1*float64(i%7))
		switch i % 29 {
		case 3:
			x = ""
		case 5:
			x = "-1e300"
		case 7:
			x = "NaN"
		}
		kind := []string{"a", "b", "c", "it's", `a"b`}[i%5]
		if strings.Contains(kind, `"`) {
			kind = `"a""b"`
		}
		lines = append(lines, fmt.Sprintf("%s,%v,%s,same,%s,u%d", x, float64(i%9)-4, kind, []string{"Yes", "No"}[i*i%7%2], i%40))
	}
	file := filepath.Join(dir, "rows.csv")
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	db := filepath.Join(dir, "rows.db")
	fill(t, db, lines)

	o := all()
	o.Columns[3] = global.Column{Name: "one", Statistic: global.Histogram, Multiplier: 1}
	m, err := global.New(s, o)
	if err != nil {
		t.Fatal(err)
	}
	byUnit := o
	byUnit.RowsPerUnit = 3
	units, err := global.New(s, byUnit)
	if err != nil {
		t.Fatal(err)
	}
	first := profileOf(t, m, file, table.Options{Schema: s})
	if second := profileOf(t, m, db, table.Options{Schema: s, Table: "rows"}); first != second {
		t.Errorf("of a file\n%s\nof a database\n%s", first, second)
	}
	// Which rows of a unit are used is drawn in each place, so that only sizes agree.
	for location, name := range map[string]string{file: "", db: "rows"} {
		d := open(t, location, table.Options{Schema: s, Table: name, Unit: "who", Private: filepath.Join(dir, "private")})
		sums, err := units.Collect(t.Context(), d, noise.KeyFromSeed(3), 2)
		if err != nil {
			t.Fatal(err)
		}
		n := int64(0)
		for g := range units.Layout().Groups() {
			n += global.CellsOf(sums)[g*units.Cells()]
		}
		if n != 120 {
			t.Errorf("%d rows of 40 units are used, want 3 of each", n)
		}
	}
}

func fill(t *testing.T, path string, lines []string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("create table rows (x text, z real, kind text, one text, y text, who text)"); err != nil {
		t.Fatal(err)
	}
	for _, line := range lines[1:] {
		var values []any
		for _, v := range strings.Split(line, ",") {
			if v == `"a""b"` {
				v = `a"b`
			}
			values = append(values, v)
		}
		if _, err := db.Exec("insert into rows values (?, ?, ?, ?, ?, ?)", values...); err != nil {
			t.Fatal(err)
		}
	}
}

func open(t *testing.T, location string, o table.Options) *table.Data {
	t.Helper()
	d, err := table.Open(t.Context(), location, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func profileOf(t *testing.T, m *global.Mechanism, location string, o table.Options) string {
	t.Helper()
	d := open(t, location, o)
	sums, err := m.Collect(t.Context(), d, noise.KeyFromSeed(3), 2)
	if err != nil {
		t.Fatal(err)
	}
	r, err := m.Release(sums, noise.KeyFromSeed(3))
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(r.Profile())
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

var _ global.Source = (*table.Data)(nil)
