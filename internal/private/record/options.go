package record

import (
	"encoding/json"
	"regexp"

	"github.com/sotto-dp/sotto/internal/rows/origin"
	"github.com/sotto-dp/sotto/schema"
)

// The ways to treat malformed records: to refuse a source that has any, or to leave them out
// and count them.
const (
	Fail = origin.OnErrorFail
	Skip = origin.OnErrorSkip
)

// Options say what is read from a source.
type Options struct {
	// Query selects the rows of an SQL source. It needs an ORDER BY that leaves no
	// ties: records are found again by their place.
	Query string
	// Text is the column of what a synthetic text looks like. Required.
	Text string
	// Condition is the column of what a text is generated for: its label, or the
	// input of a generation task. Empty: texts have none.
	Condition string
	// Schema, if set, is of a table: its rows are put into words as the schema says, one
	// record each, and Text and Condition name what comes out. Rows that are in words already
	// (they have a column Text, and not all columns of the schema) are read as they are. Values
	// that the schema does not allow make a record malformed.
	Schema *schema.Schema
	// Unit is the column whose values name the unit of privacy; empty for records.
	Unit string
	// Labels is a closed public list: one part for each, in this order, and a record
	// with another label is malformed. nil: conditions are free, and there is one part.
	Labels []string
	// Together makes one part of all labels: of what is drawn from all records, and shows
	// those of the list.
	Together bool
	// Aliases maps spellings in the data to labels or conditions.
	Aliases map[string]string
	// OneLine makes every run of white space in texts and conditions one space, and
	// removes it at the ends.
	OneLine bool
	// OnError is Fail by default.
	OnError origin.OnError
	// Private is the private folder: the fingerprint key and cached indexes. It is
	// made if it does not exist. Required.
	Private string
	// Progress, if not nil, is called with how many bytes of how many were read; total is 0
	// when it is not known. It is called from the goroutine that opens.
	Progress func(read, total int64)

	format origin.Format
	// anyColumns: no column is asked for, and the first row of a file is its header.
	anyColumns bool
	open       func(string) (origin.File, error) // for tests
	memory     int                               // records sorted at once; for tests
}

func (o *Options) check() error {
	switch {
	case o.Text == "":
		return origin.Refuse("no text column: name the column that holds the texts")
	case o.Private == "":
		return origin.Refuse("no private folder: name a folder for the fingerprint key and the index")
	case o.Schema != nil && (o.Condition == "" || o.Schema.LabelColumn() < 0):
		return origin.Refuse("rows of a table are put into words with their label: name the label, of the schema and of what comes out")
	case o.Labels != nil && o.Condition == "":
		return origin.Refuse("there is a list of labels but no column that holds them: name the label column")
	case o.Labels != nil && len(o.Labels) == 0:
		return origin.Refuse("the list of labels is empty: name at least one, or leave the list out")
	}
	if err := o.OnError.Check(); err != nil {
		return err
	}
	seen := map[string]bool{}
	for i, l := range o.Labels {
		switch {
		case l == "" || l != clean(l, o.OneLine):
			return origin.Refuse("label %d of the list is empty or has white space around it: correct the list", i+1)
		case seen[l]:
			return origin.Refuse("label %q is twice in the list: remove one", l)
		}
		seen[l] = true
	}
	for from, to := range o.Aliases {
		if o.Labels != nil && !seen[to] {
			return origin.Refuse("the alias %q stands for %q, which is not in the list of labels", from, to)
		}
	}
	return nil
}

// identity is what an index depends on besides the file.
func (o *Options) identity() string {
	encoded, err := json.Marshal(struct {
		Format                       origin.Format
		Query, Text, Condition, Unit string
		Closed                       bool
		Labels                       []string
		Aliases                      map[string]string
		OneLine                      bool
		Together                     bool           `json:",omitempty"`
		Schema                       *schema.Schema `json:",omitempty"`
	}{o.format, o.Query, o.Text, o.Condition, o.Unit, o.Labels != nil, o.Labels, o.Aliases, o.OneLine, o.Together, o.Schema})
	if err != nil {
		panic(err) // strings, booleans and maps of strings always encode
	}
	return string(encoded)
}

// columns are the names of the three roles, an unused one is empty, and of the schema's
// columns.
func (o *Options) columns() []string {
	out := []string{roleText: o.Text, roleCondition: o.Condition, roleUnit: o.Unit}
	if o.Schema != nil {
		for _, c := range o.Schema.Columns {
			out = append(out, c.Name)
		}
	}
	return out
}

// detect finds the format of a location.
func (o *Options) detect(location string) error {
	switch o.format = origin.FormatOf(location); {
	case o.format == "":
		return origin.NoFormat(location)
	case o.format == origin.SQL && o.Query == "":
		return origin.Refuse("an SQL source needs a query that selects the columns, with an ORDER BY that leaves no ties")
	case o.format == origin.SQL && !orderBy.MatchString(o.Query):
		return origin.Refuse("the query has no ORDER BY: add one that leaves no ties, for example by a key; records are found again by their place")
	case o.format != origin.SQL && o.Query != "":
		return origin.Refuse("there is a query, but the format is %s: leave the query out, or give a database", o.format)
	}
	return nil
}

var orderBy = regexp.MustCompile(`(?i)\border\s+by\b`)
