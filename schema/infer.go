package schema

import (
	"bytes"
	"fmt"

	"github.com/sotto-dp/sotto/internal/sys/document"
)

// Infer starts a schema from the names and kinds of columns, as a header or the catalogue
// of a database has them. Everything else is knowledge about the subject and is left to be
// filled in: it must not be looked up in private rows. An unknown kind is "".
// [Schema.Skeleton] writes it out.
func Infer(names []string, kinds []Kind) Schema {
	var s Schema
	for i, name := range names {
		c := Column{Name: name}
		if i < len(kinds) {
			c.Kind = kinds[i]
		}
		s.Columns = append(s.Columns, c)
	}
	return s
}

const skeletonHead = `# What a table is, and how its rows read. A schema is public: fill it in from what is known
# about the subject, such as the form that was filled in or a code book. What is looked up in
# the rows instead (their least and greatest, their mean, the values that occur) is published,
# and no guarantee covers it. "sotto table schema check FILE" says what is missing.
title = %s

# The column to predict. It is categorical, or numeric with edges.
label = %s

# How a row reads. {column} is a value's phrase, {column.form} another form of it, such as
# forms.subject = { Male = "He", Female = "She" }. Left out, every column but the label gets a
# sentence, as here%s.
# template = %s
# question = "…? Yes or No?"

# A column is numeric:
#   low, high     the least and the greatest value that count: noise is in proportion to the
#                 distance between them
#   clamp = true  what is outside counts as the nearest bound; otherwise it is refused
#   missing       the number that an empty field, NA or nan counts as; otherwise it is refused
#   aliases       spellings and codes that mean a missing value: aliases = { "?" = "", "-9" = "" }
#   format        how it is written, if not as plain numbers: "1,234.56" for 54,013 and $58,370
#                 ("1.234,56" too), or a date: "YYYY-MM-DD", "DD.MM.YYYY", "MM/DD/YYYY"
#   digits        after the point, in words
#   edges         where bins meet; local privacy and labels need bins
# or categorical:
#   values        every value that there can be, as the data spells it
#   aliases       other spellings, and the values they stand for
#   other         what any other value counts as; otherwise it is refused
#   missing       what an empty field counts as; otherwise it is refused
#   phrases       how values read
# Columns that are of no use can be deleted: they are not read, and take no share of the budget.
`

const skeletonUnknown = `kind = "" # numeric or categorical
`

const skeletonLabel = `kind = "categorical" # numeric, with low, high and edges, if it is a number
values = []
`

const skeletonNumeric = `# low = 0
# high = 100
# clamp = true
# missing = 0
# edges = [50]
`

const skeletonCategorical = `values = []
# aliases = { "?" = "unknown" }
# other = "unknown"
`

// Skeleton returns a schema file to be filled in: it has title, label, names and kinds of the
// columns, and comments that explain once what is missing and where it may come from, and nothing
// else of the schema.
func (s Schema) Skeleton() []byte {
	var b bytes.Buffer
	away := ""
	if s.LabelColumn() < 0 {
		away = "; take the label's away"
	}
	fmt.Fprintf(&b, skeletonHead, document.TOML(s.Title), document.TOML(s.Label), away, document.TOML(s.defaultTemplate()))
	for _, c := range s.Columns {
		fmt.Fprintf(&b, "\n[[column]]\nname = %s\n", document.TOML(c.Name))
		switch c.Kind {
		case Numeric:
			fmt.Fprintf(&b, "kind = %q\n%s", Numeric, skeletonNumeric)
		case Categorical:
			fmt.Fprintf(&b, "kind = %q\n%s", Categorical, skeletonCategorical)
		default:
			if c.Name == s.Label && s.Label != "" {
				b.WriteString(skeletonLabel)
				continue
			}
			b.WriteString(skeletonUnknown)
		}
	}
	return b.Bytes()
}
