package schema

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sotto-dp/sotto/internal/sys/document"
	"github.com/sotto-dp/sotto/internal/sys/spell"
)

// Limits that no table that fits the methods reaches.
const (
	maxColumns = 4096
	maxDigits  = 12
	maxGroups  = 1 << 16
)

// Check finds every problem at once, in the order of a schema file: what makes a schema
// unusable, and warnings.
func (s Schema) Check() []Problem {
	var found document.Problems
	s.WithDefaults().check(&found)
	return found.List
}

func (s Schema) check(found *document.Problems) {
	if what := document.Flaw(s.Name); what != "" || utf8.RuneCountInString(s.Name) > 64 {
		if what == "" {
			what = "it is longer than 64 characters"
		}
		found.Wrong("name", what, "give the schema a short name: it is printed in plans and certificates")
	}
	if what := document.Flaw(s.Title); s.Title != "" && what != "" {
		found.Wrong("title", what, "write it on one line")
	}
	switch n := len(s.Columns); {
	case n == 0:
		found.Wrong("column", "there is none", "add a [[column]] with name and kind for every column that is to be used")
		return
	case n > maxColumns:
		found.Wrong("column", fmt.Sprintf("%d are more than %d", n, maxColumns), "list those that are to be used: others are not read")
		return
	}
	s.checkLabel(found)
	s.checkTemplate(found)
	seen := map[string]int{}
	for i, c := range s.Columns {
		if j, twice := seen[c.Name]; twice && c.Name != "" {
			found.Wrong(where(i, "name"), fmt.Sprintf("column %d has the same name", j+1), "list each column of the data once")
		}
		seen[c.Name] = i
		c.check(found, i)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Groups)) {
		s.checkGroups(found, "groups."+name, s.Groups[name])
		s.checkGroupCount(found, name)
	}
}

func (s Schema) checkLabel(found *document.Problems) {
	if s.Label == "" {
		found.Warn("label", "it is missing", "name the column to predict, if rows are to serve as examples of questions with answers")
		return
	}
	i := s.LabelColumn()
	if i < 0 {
		found.Wrong("label", fmt.Sprintf("there is no column %q", document.Shorten(s.Label)), "%s", s.known(s.Label))
		return
	}
	c := s.Columns[i]
	if !c.Discrete() {
		found.Wrong("label", "the column has numbers without bins, and an answer is one of a list", "give the column edges, for example edges = [50000]")
		return
	}
	if len(c.Domain()) == 1 {
		found.Wrong("label", "the column has one value only, so there is nothing to predict", "list all its values")
	}
	said := map[string]string{}
	for _, v := range c.Domain() {
		p := c.phrase(v)
		if what := document.Flaw(p); what != "" {
			found.Wrong(where(i, "phrases"), fmt.Sprintf("the phrase of %q cannot be an answer: %s", document.Shorten(v), what), "write the answer, for example \"Yes\"")
		}
		key := strings.ToLower(oneLine(p))
		if other, twice := said[key]; twice && other != v {
			found.Wrong(where(i, "phrases"), fmt.Sprintf("%q and %q have the same phrase", document.Shorten(other), document.Shorten(v)), "give every label its own phrase; to make one label of two values, make one an alias of the other")
		}
		said[key] = v
	}
}

// known reports what columns there are.
func (s Schema) known(name string) string {
	var names []string
	for _, c := range s.Columns {
		names = append(names, c.Name)
	}
	if near := spell.Near(name, names); len(near) > 0 {
		return "did you mean " + strings.Join(near, " or ") + "?"
	}
	return "columns are " + document.Quote(names)
}

func (s Schema) checkTemplate(found *document.Problems) {
	if !utf8.ValidString(s.Template) || !utf8.ValidString(s.Question) {
		found.Wrong("template", "it or the question is not UTF-8", "save the file as UTF-8")
		return
	}
	pieces, err := s.parseTemplate()
	if err != nil {
		fix := "placeholders are {column} and {column.form}; write braces that are meant twice, as {{ and }}"
		var stray *strayError
		if errors.As(err, &stray) {
			fix = s.known(stray.name)
		}
		found.Wrong("template", err.Error(), "%s", fix)
		return
	}
	used := map[int]bool{}
	for _, p := range pieces {
		used[p.column] = true
	}
	label := s.LabelColumn()
	if label >= 0 && used[label] {
		found.Wrong("template", fmt.Sprintf("it has the label, {%s}", document.Shorten(s.Label)), "leave it out: it is what the question asks for")
	}
	var unused []string
	for i, c := range s.Columns {
		if !used[i] && i != label {
			unused = append(unused, c.Name)
		}
	}
	if len(unused) > 0 {
		found.Warn("template", "it does not say "+document.Quote(unused), "put it in, or leave the column out of the schema: it takes a share of the budget")
	}
	if strings.ContainsAny(s.Question, "{}") {
		found.Warn("question", "placeholders are not replaced in it", "put them in the template")
	}
	if s.Question != "" && s.Label == "" {
		found.Wrong("question", "there is no label that would answer it", "name the column that holds the answer, label = \"…\"")
	}
}

func (c Column) check(found *document.Problems, i int) {
	switch what := document.Flaw(c.Name); {
	case what != "":
		found.Wrong(where(i, "name"), what, "name the column as the data does")
	case strings.ContainsAny(c.Name, "{}"):
		found.Wrong(where(i, "name"), "it has a brace in it, which a template could not name", "rename the column in the data, or read it through a view")
	}
	switch c.Kind {
	case Numeric:
		c.checkNumeric(found, i)
	case Categorical:
		c.checkCategorical(found, i)
	default:
		what := fmt.Sprintf("%q is no kind of column", document.Shorten(string(c.Kind)))
		if c.Kind == "" {
			what = "it is missing"
		}
		found.Wrong(where(i, "kind"), what, "say \"numeric\" (with low and high) or \"categorical\" (with values)")
		return
	}
	c.checkWords(found, i)
}

func (c Column) checkNumeric(found *document.Problems, i int) {
	if !knownFormat(c.Format) {
		found.Wrong(where(i, "format"), fmt.Sprintf("%q is no format of numbers or dates", document.Shorten(c.Format)), `say one of "1,234.56", "1.234,56", "1 234,56", "1'234.56", or a date such as "YYYY-MM-DD", "DD.MM.YYYY" or "MM/DD/YYYY"`)
		return
	}
	switch {
	case c.Low == 0 && c.High == 0:
		found.Wrong(where(i, "low"), "the bounds are missing", "say low and high: what is publicly known about the column, not what the rows have")
		return
	case math.IsNaN(c.Low) || math.IsInf(c.Low, 0):
		found.Wrong(where(i, "low"), "it is missing or no finite number", "say the least value that counts")
		return
	case math.IsNaN(c.High) || math.IsInf(c.High, 0):
		found.Wrong(where(i, "high"), "it is missing or no finite number", "say the greatest value that counts")
		return
	case c.Low >= c.High:
		found.Wrong(where(i, "low"), fmt.Sprintf("%s is not below high, %s", exact(c.Low), exact(c.High)), "swap them; a column that has one value only says nothing")
		return
	case math.IsInf(c.High-c.Low, 0) || (c.High-c.Low)/2 == 0:
		found.Wrong(where(i, "low"), "the distance between the bounds is no number that can be computed with", "give bounds in another unit")
		return
	}
	if c.Digits < 0 || c.Digits > maxDigits {
		found.Wrong(where(i, "digits"), fmt.Sprintf("%d is not from 0 to %d", c.Digits, maxDigits), "say how many digits after the point are worth showing")
	}
	c.checkEdges(found, i)
	if c.Other != "" {
		found.Wrong(where(i, "other"), "it is for categorical columns", "numbers outside the bounds are refused, or count as the nearest bound with clamp = true")
	}
	if x, ok := c.Parse(c.Missing); c.Missing != "" && (!ok || !(x >= c.Low && x <= c.High)) {
		found.Wrong(where(i, "missing"), "it is no number within the bounds", "say which number an empty field counts as, such as missing = 0; spellings that mean a missing value go into aliases, as \"?\" = \"\"")
	}
	for _, from := range slices.Sorted(maps.Keys(c.Aliases)) {
		at := where(i, fmt.Sprintf("aliases.%q", document.Shorten(from)))
		x, ok := c.Parse(c.Aliases[from])
		n, number := c.Parse(from)
		number = number && (!math.IsNaN(n) || strings.EqualFold(from, "nan")) // NA and its like may count as anything
		code := c.Aliases[from] == "" && !c.isDate()                          // a number that means a missing value
		switch {
		case from == "" || trim(from) != from || !utf8.ValidString(from):
			found.Wrong(at, "it is empty, has spaces around it, or is not UTF-8", "write the spelling that the data has; for an empty field say missing = \"…\"")
		case number && !code:
			found.Wrong(at, "it is a number, which stands for itself", "leave it out; numbers outside the bounds are subject to clamp; one that means a missing value is written \"999\" = \"\"")
		case number && from != plain(n):
			found.Wrong(at, "it is a number that can be written in other ways", "write it as %q", plain(n))
		case c.Aliases[from] != "" && (!ok || !(x >= c.Low && x <= c.High)):
			found.Wrong(at, "it does not stand for a number within the bounds", "write spelling = \"number\", or spelling = \"\" for a missing value")
		}
	}
}

func (c Column) checkEdges(found *document.Problems, i int) {
	for j, e := range c.Edges {
		at := where(i, fmt.Sprintf("edges[%d]", j+1))
		switch {
		case !(e > c.Low && e < c.High):
			found.Wrong(at, fmt.Sprintf("%s is not between low and high", exact(e)), "bins meet strictly within the bounds")
		case j > 0 && !(e > c.Edges[j-1]):
			found.Wrong(at, fmt.Sprintf("%s does not come after %s", exact(e), exact(c.Edges[j-1])), "list edges in increasing order, each once")
		}
	}
	if len(c.Edges) == 0 {
		if len(c.Values) > 0 {
			found.Wrong(where(i, "values"), "a numeric column has no list of values", "leave it out; with edges, values are names of the bins")
		}
		return
	}
	if len(c.Values) != len(c.Edges)+1 {
		found.Wrong(where(i, "values"), fmt.Sprintf("%d names for %d bins", len(c.Values), len(c.Edges)+1), "name every bin, or leave values out for \"less than …\" and \"… or more\"")
	}
	c.checkDomain(found, i)
}

func (c Column) checkDomain(found *document.Problems, i int) {
	if len(c.Values) > maxValues {
		found.Wrong(where(i, "values"), fmt.Sprintf("%d are more than %d", len(c.Values), maxValues), "group them into fewer; aliases and other can map them")
		return
	}
	seen := map[string]bool{}
	for j, v := range c.Values {
		at := where(i, fmt.Sprintf("values[%d]", j+1))
		if what := document.Flaw(v); what != "" {
			found.Wrong(at, what, "write the value as the data does; for an empty field say missing = \"…\"")
		} else if seen[v] {
			found.Wrong(at, fmt.Sprintf("%q is listed twice", document.Shorten(v)), "list each value once")
		}
		seen[v] = true
	}
}

func (c Column) checkCategorical(found *document.Problems, i int) {
	if c.Low != 0 || c.High != 0 || c.Clamp || c.Digits != 0 || len(c.Edges) > 0 || c.Format != "" {
		found.Wrong(where(i, "kind"), "a categorical column has no format, low, high, clamp, digits or edges", "leave them out, or say kind = \"numeric\"")
	}
	if len(c.Values) == 0 {
		found.Wrong(where(i, "values"), "the list is missing", "list every value that the column can have, from public knowledge, not from the rows")
		return
	}
	c.checkDomain(found, i)
	if len(c.Values) == 1 {
		found.Warn(where(i, "values"), "there is one value only", "leave the column out: it says nothing")
	}
	for _, rule := range []struct{ key, value string }{{"other", c.Other}, {"missing", c.Missing}} {
		if rule.value != "" && !slices.Contains(c.Values, rule.value) {
			found.Wrong(where(i, rule.key), fmt.Sprintf("%q is not one of the values", document.Shorten(rule.value)), "name one of %s, or add it to values", document.Quote(c.Values))
		}
	}
	for _, from := range slices.Sorted(maps.Keys(c.Aliases)) {
		at := where(i, fmt.Sprintf("aliases.%q", document.Shorten(from)))
		switch to := c.Aliases[from]; {
		case from == "" || trim(from) != from || !utf8.ValidString(from):
			found.Wrong(at, "it is empty, has spaces around it, or is not UTF-8", "write the spelling that the data has; for an empty field say missing = \"…\"")
		case !slices.Contains(c.Values, to):
			found.Wrong(at, fmt.Sprintf("%q is not one of the values", document.Shorten(to)), "write spelling-in-the-data = value; values are %s", document.Quote(c.Values))
		case slices.Contains(c.Values, from) && from != to:
			found.Wrong(at, "it is a value itself", "remove it from values or from aliases")
		}
	}
}

func (c Column) checkWords(found *document.Problems, i int) {
	domain := c.Domain()
	if !c.Discrete() && (len(c.Phrases) > 0 || len(c.Forms) > 0) {
		found.Wrong(where(i, "phrases"), "numbers have no phrases", "give the column edges, and phrases for the bins; or leave them out")
		return
	}
	phrases(found, where(i, "phrases"), domain, c.Phrases)
	for _, name := range slices.Sorted(maps.Keys(c.Forms)) {
		at := where(i, "forms."+name)
		if what := document.Flaw(name); what != "" || strings.ContainsAny(name, "{}.") {
			found.Wrong(at, "the name of a form is one word without braces and points", "rename it; templates use it as {column.form}")
		}
		phrases(found, at, domain, c.Forms[name])
		for _, v := range domain {
			if _, ok := c.Forms[name][v]; !ok {
				found.Wrong(at, fmt.Sprintf("%q is missing", document.Shorten(v)), "say how it reads in this form; it may be empty")
			}
		}
	}
}

func phrases(found *document.Problems, at string, domain []string, list map[string]string) {
	for _, v := range slices.Sorted(maps.Keys(list)) {
		if !slices.Contains(domain, v) {
			found.Wrong(at, fmt.Sprintf("%q is not one of the values", document.Shorten(v)), "values are %s", document.Quote(domain))
		}
		if p := list[v]; p != "" && document.Flaw(p) != "" {
			found.Wrong(at, fmt.Sprintf("the phrase of %q: %s", document.Shorten(v), document.Flaw(p)), "write it on one line, without spaces around it")
		}
	}
}
