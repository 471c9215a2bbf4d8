package schema_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/schema"
)

// TestSkeleton: what is written is TOML that has the names and kinds, whatever they are
// called, and whose problems are only that things are missing.
func TestSkeleton(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.StringMatching(`[a-z]{1,6}`), rapid.SampledFrom([]string{`a"b`, `a\b`, "a\nb", "a'b", "a\u007fb", "ä ö", "a.b", "#", "", "\u2028"}))
		names := rapid.SliceOfN(name, 1, 5).Draw(t, "names")
		kinds := rapid.SliceOfN(rapid.SampledFrom([]schema.Kind{"", schema.Numeric, schema.Categorical}), 0, 6).Draw(t, "kinds")
		s, found := schema.Examine("x", schema.Infer(names, kinds).Skeleton())
		if len(s.Columns) != len(names) {
			t.Fatalf("%d columns of %d: %v", len(s.Columns), len(names), found)
		}
		for i, c := range s.Columns {
			if c.Name != names[i] || i < len(kinds) && c.Kind != kinds[i] {
				t.Fatalf("column %q became %q, %q", names[i], c.Name, c.Kind)
			}
		}
		for _, p := range found {
			if p.Where == "file" || strings.Contains(p.What, "no such key") {
				t.Fatal(p)
			}
		}
	})
}

// TestSkeletonFilledIn: with the comments taken away and the lists filled in, a skeleton is
// a schema.
func TestSkeletonFilledIn(t *testing.T) {
	text := string(schema.Infer([]string{"age", "sex", "repaid"}, []schema.Kind{schema.Numeric, schema.Categorical, schema.Categorical}).Skeleton())
	text = strings.NewReplacer("label = \"\"", "label = \"repaid\"", "title = \"\"", "title = \"Loans\"", "values = []", `values = ["a", "unknown"]`, " The repaid is {repaid}.", "").Replace(text)
	for _, key := range []string{"low", "high", "clamp", "missing", "edges", "aliases", "other", "template"} {
		text = strings.ReplaceAll(text, "# "+key+" = ", key+" = ")
	}
	s, err := schema.Parse("loans", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if got, want := s.Text(s.Example()), "The age is 50 or more. The sex is unknown. What is the repaid: a or unknown?"; got != want {
		t.Error(got)
	}
}

// TestSkeletonLabel: a label that is known is kept, has no sentence in the template, and needs values alone.
func TestSkeletonLabel(t *testing.T) {
	s := schema.Infer([]string{"age", "repaid"}, []schema.Kind{schema.Numeric})
	s.Label = "repaid"
	text := string(s.Skeleton())
	if strings.Contains(text, "{repaid}") || strings.Contains(text, "take the label's away") {
		t.Errorf("the template asks and tells:\n%s", text)
	}
	text = strings.NewReplacer("# low", "low", "# high", "high", "# missing", "missing", "values = []", `values = ["yes", "no"]`).Replace(text)
	got, err := schema.Parse("loans", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	expect.Equal(t, "got.Label", got.Label, "repaid")
	expect.Equal(t, "got.Columns[1].Kind", got.Columns[1].Kind, schema.Categorical)
	expect.Equal(t, "got.Columns[0].Missing", got.Columns[0].Missing, "0")
}
