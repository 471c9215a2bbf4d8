package schema_test

import (
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/schema"
)

// TestMadeUpRows: rows that are made up are within what the schema allows, have all answers
// as often, and are the same for the same seed.
func TestMadeUpRows(t *testing.T) {
	for _, name := range schema.Builtins() {
		s, err := schema.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		task, err := s.Task()
		if err != nil {
			t.Fatal(err)
		}
		const each = 50
		n := each * len(task.Labels)
		rows := s.RandomExamples(n, 1)
		count, texts := map[string]int{}, map[string]bool{}
		for _, e := range rows {
			count[e.Output]++
			texts[e.Input] = true
			if err := (prompt.Prompt{Examples: []prompt.Example{e}}).Check(task); err != nil {
				t.Errorf("%s: %q: %v", name, e.Input, err)
			}
		}
		for _, l := range task.Labels {
			if count[l] != each {
				t.Errorf("%s: %d rows with %q", name, count[l], l)
			}
		}
		if len(texts) < n/4 {
			t.Errorf("%s: only %d different rows of %d", name, len(texts), n)
		}
		if again := s.RandomExamples(n, 1); !slices.Equal(rows, again) || slices.Equal(rows, s.RandomExamples(n, 2)) {
			t.Errorf("%s: a seed does not decide", name)
		}
	}
	s, err := schema.Find("adult")
	if err != nil {
		t.Fatal(err)
	}
	age := regexp.MustCompile(`is a (\d+)-year-old`)
	for _, e := range s.RandomExamples(200, 3) {
		found := age.FindStringSubmatch(e.Input)
		if len(found) != 2 {
			t.Fatalf("%q", e.Input)
		}
		n, err := strconv.Atoi(found[1])
		at := expect.At(t, "an age of %s", found[1])
		expect.NoError(at, err)
		expect.Within(at, "n", n, 17, 90)
	}
}
