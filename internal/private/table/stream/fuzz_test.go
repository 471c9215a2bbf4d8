package stream

import (
	"bytes"
	"encoding/csv"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/rows/origin"
)

// FuzzPerturb: whatever comes in, what goes out are rows of the domain, as many as are
// counted, and an error is one of those that have no content.
func FuzzPerturb(f *testing.F) {
	f.Add("age,smokes\n7,yes\n41,no\n")
	f.Add("smokes,x,age\r\n\"yes\",,\"7\"\r\n")
	f.Add("age,smokes\n7,yes,more\n")
	f.Add("age,smokes\n\"7,yes\n")
	f.Add("\ufeffage,smokes\n7,yes\n")
	f.Add("age,smokes\nNaN,yes\n1e999,no\n-0,yes\n")
	f.Fuzz(func(t *testing.T, in string) {
		o := options(t, 1)
		var out bytes.Buffer
		n, err := Perturb(t.Context(), strings.NewReader(in), &out, o)
		var row *RowError
		var source *origin.Error
		if err != nil && !errors.As(err, &row) && !errors.As(err, &source) {
			t.Fatalf("an error of another kind: %v", err)
		}
		if row != nil && row.Ordinal != n+1 {
			t.Fatalf("row %d is refused after %d", row.Ordinal, n)
		}
		if out.Len() == 0 {
			if n != 0 {
				t.Fatalf("%d rows are counted, none is out", n)
			}
			return
		}
		rows, err := csv.NewReader(&out).ReadAll()
		if err != nil || int64(len(rows)) != n+1 {
			t.Fatalf("%d rows are counted, %d lines are out (%v)", n, len(rows), err)
		}
		for _, r := range rows[1:] {
			if !slices.Contains(o.Schema.Columns[0].Domain(), r[0]) || !slices.Contains(o.Schema.Columns[1].Domain(), r[1]) {
				t.Fatalf("%q is no row of the domain", r)
			}
		}
	})
}
