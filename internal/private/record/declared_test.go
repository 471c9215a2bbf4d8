package record

import (
	"fmt"
	"strings"
	"testing"
)

// TestDeclaredSizes: anyone who runs it learns of sizes that are far off, in either
// direction, and by label; not of others. What is said has no number of records, and none
// of their content.
func TestDeclaredSizes(t *testing.T) {
	var many []sample
	for i := range 100 {
		many = append(many, sample{marker, "World", fmt.Sprint(marker, i%10)})
	}
	for i := range 7 {
		many = append(many, sample{marker, "Sports", fmt.Sprint(marker, i)})
	}
	path := write(t, "a.jsonl", encodeJSONL(t, many))
	both := Options{Labels: []string{"World", "Sports"}}
	for _, c := range []struct {
		o     Options
		sizes []int64
		want  string
	}{
		{Options{}, []int64{107}, ""},
		{Options{}, []int64{321}, ""},
		{Options{}, []int64{322}, "less than 1/3 "},
		{Options{}, []int64{36}, ""},
		{Options{}, []int64{35}, "more than 3 times"},
		{Options{}, []int64{1}, "more than 100 times"},
		{Options{}, []int64{107_000}, "less than 1/100 "},
		{Options{}, []int64{1_070_000}, "less than 1/1000 "},
		{Options{Unit: "user"}, []int64{10}, ""},
		{Options{Unit: "user"}, []int64{107}, "107 values of \"user\" are declared, and the data has less than 1/10 "},
		{both, []int64{100, 7}, ""},
		{both, []int64{54, 53}, `of "Sports" the data has less than 1/3`},
		{both, []int64{54_000, 53_000}, "less than 1/100 "},
		{Options{Labels: both.Labels, Together: true}, []int64{107}, ""},
		{both, []int64{1}, ""}, // another number of parts is refused elsewhere
	} {
		c.o.Condition, c.o.Private = "label", t.TempDir()
		d := open(t, path, c.o)
		got := d.Declared(c.sizes)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%v of %+v: %q, want %q", c.sizes, c.o.Labels, got, c.want)
		}
		if strings.Contains(got, marker) || len(c.sizes) == 1 && c.sizes[0] != 107 && strings.Contains(got, "107 ") {
			t.Errorf("%v: content, or a number of records: %q", c.sizes, got)
		}
	}
}
