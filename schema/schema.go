package schema

// Kind is the kind of a column's values.
type Kind string

// The kinds.
const (
	// Numeric columns have bounds; with Edges they have bins too, and can be used as
	// discrete ones.
	Numeric Kind = "numeric"
	// Categorical columns have a full list of values.
	Categorical Kind = "categorical"
)

// Column is a column of the data.
type Column struct {
	// Name of the column in the data. Required.
	Name string `json:"name"`
	Kind Kind   `json:"kind"`

	// Format is how a numeric column is written in data that has no types, if not as plain
	// numbers: "1,234.56", "1.234,56", "1 234,56" or "1'234.56" for thousands with separators,
	// where a currency or a percent sign does not count; or made of YYYY, MM and DD for dates,
	// such as "DD.MM.YYYY", whose numbers are days since 1970.
	Format string `json:"format,omitempty"`
	// Low and High bound a numeric column. Required for those: they are public knowledge,
	// and the noise is in proportion to the width.
	Low  float64 `json:"low,omitempty"`
	High float64 `json:"high,omitempty"`
	// Clamp: numbers outside the bounds count as the nearest bound. Otherwise they are
	// refused.
	Clamp bool `json:"clamp,omitempty"`
	// Digits after the point in words; 0 for whole numbers.
	Digits int `json:"digits,omitempty"`
	// Edges are where the bins of a numeric column meet, in increasing order, strictly
	// within the bounds: bin i holds Edges[i-1] ≤ x < Edges[i]. None: no bins.
	Edges []float64 `json:"edges,omitempty"`

	// Values are all values of a categorical column, or names of the bins of a numeric one
	// (default: "less than 40", "40 or more" and the like).
	Values []string `json:"values,omitempty"`
	// Aliases are spellings in the data, and the values they stand for.
	Aliases map[string]string `json:"aliases,omitempty"`
	// Other is the value that stands for whatever is not listed; "" refuses it.
	Other string `json:"other,omitempty"`
	// Missing is the value that stands for an empty field, NULL or NaN (a number in the
	// case of a numeric column); "" refuses it.
	Missing string `json:"missing,omitempty"`

	// Phrases are the words for values in the template; a value without one stands for
	// itself.
	Phrases map[string]string `json:"phrases,omitempty"`
	// Forms are further phrases for the same value, by name: {sex.subject} in a template.
	Forms map[string]map[string]string `json:"forms,omitempty"`
}

// Schema is a table, and how its rows read.
type Schema struct {
	// Name of the schema, as it appears in plans and certificates. Title is for people.
	Name  string `json:"name"`
	Title string `json:"title"`
	// Columns that are used, the label among them. Others of the data are not read.
	Columns []Column `json:"columns"`
	// Label is the column to predict: discrete. Required for templates.
	Label string `json:"label"`
	// Template puts a row into words, with {column} and {column.form} where values go. It
	// does not hold the label. Question follows it, and is what the label answers.
	Template string `json:"template"`
	Question string `json:"question"`
	// Groups are the ready-made partitions of profiles, by their number of groups.
	Groups map[string][]Group `json:"groups,omitempty"`
}

// Group is one column's part of a partition: rows belong to the class that lists their
// value. Profiles are made for every combination of classes. A partition is public.
type Group struct {
	Column string `json:"column" toml:"column"`
	// Classes are lists of values of a discrete column; the last may be empty and then
	// takes the rest. None: every value is a class.
	Classes [][]string `json:"classes,omitempty" toml:"classes"`
	// Cuts are for numeric columns: classes meet there, as at Edges.
	Cuts []float64 `json:"cuts,omitempty" toml:"cuts"`
}

// Value is a value of a row in words or in numbers: a code of a discrete column, or a number.
type Value struct {
	// Code is the index of the value in Column.Domain, used if Discrete.
	Code     int
	Number   float64
	Discrete bool
}

// Row is one row: a value for each of the schema's columns. Outside of package private it is
// one that may be shown, released or public.
type Row []Value
