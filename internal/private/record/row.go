package record

import (
	"strings"
	"unicode/utf8"

	"github.com/sotto-dp/sotto/internal/private/internal/csvrows"
	"github.com/sotto-dp/sotto/internal/private/internal/origin"
)

// maxRow is how long a record may be, in bytes.
const maxRow = csvrows.MaxRow

// The roles that a column can have.
const (
	roleText = iota
	roleCondition
	roleUnit
	numRoles
)

// kind is what a value was in its source.
type kind uint8

const (
	absent   kind = iota // no such column, or null
	text                 // a string
	scalar               // a number or boolean, as text
	compound             // anything else
)

type value struct {
	kind kind
	s    string
}

// row is what a source reads: the values of the columns asked for, or why they cannot
// be had. Place is where the source finds the row again.
type row struct {
	place  int64
	values [numRoles]value
	// cells are the values of a schema's columns, which have roles from numRoles on. None
	// without a schema.
	cells []value
	bad   origin.Reason
}

// set gives a value to a role.
func (r *row) set(role int, v value) {
	if role < numRoles {
		r.values[role] = v
		return
	}
	r.cells[role-numRoles] = v
}

// entry is a row that can be used.
type entry struct {
	text, condition, unit string
	part                  int
}

// reading turns rows into entries.
type reading struct {
	condition, unit bool
	parts           map[string]int // nil: open
	aliases         map[string]string
	oneLine         bool
	// table, if not nil, puts rows of a table into words.
	table *wording
	// column is the one that the last row was refused for, if it was for one.
	column string
}

func newReading(o *Options, s source) *reading {
	r := &reading{condition: o.Condition != "", unit: o.Unit != "", aliases: o.Aliases, oneLine: o.OneLine}
	if o.Schema != nil {
		r.table = newWording(o, s)
	}
	if o.Labels != nil {
		r.parts = make(map[string]int, len(o.Labels))
		for i, l := range o.Labels {
			r.parts[l] = i
			if o.Together {
				r.parts[l] = 0
			}
		}
	}
	return r
}

// entry judges a row: the reason is 0 if it can be used.
func (d *reading) entry(r *row) (e entry, why origin.Reason) {
	d.column = ""
	if r.bad != 0 {
		return e, r.bad
	}
	if d.table != nil && !d.table.already(r) {
		if why, d.column = d.table.say(r); why != 0 {
			return e, why
		}
	}
	for role, v := range r.values {
		if role == roleCondition && !d.condition || role == roleUnit && !d.unit {
			continue
		}
		if why := judge(role, v); why != 0 {
			return e, why
		}
	}
	if e.text = r.values[roleText].s; d.oneLine {
		e.text = clean(e.text, true)
	}
	if strings.TrimSpace(e.text) == "" {
		return e, origin.TextEmpty
	}
	if d.unit {
		e.unit = r.values[roleUnit].s
	}
	if !d.condition {
		return e, 0
	}
	return e, d.label(&e, r.values[roleCondition].s)
}

// label finds the condition and the part of an entry.
func (d *reading) label(e *entry, raw string) origin.Reason {
	e.condition = raw
	if d.parts != nil || d.oneLine {
		e.condition = clean(raw, d.oneLine)
	}
	for _, spelling := range []string{raw, e.condition} {
		if alias, ok := d.aliases[spelling]; ok {
			e.condition = alias
			break
		}
	}
	if strings.TrimSpace(e.condition) == "" {
		return origin.ConditionMissing
	}
	if d.parts == nil {
		return 0
	}
	part, known := d.parts[e.condition]
	if !known {
		return origin.LabelUnknown
	}
	e.part = part
	return 0
}

// judge looks at the value of one role.
func judge(role int, v value) origin.Reason {
	missing := [numRoles]origin.Reason{origin.TextMissing, origin.ConditionMissing, origin.UnitMissing}[role]
	wrong := [numRoles]origin.Reason{origin.TextNotString, origin.ConditionNotScalar, origin.UnitNotScalar}[role]
	switch {
	case v.kind == absent:
		return missing
	case v.kind == compound, v.kind == scalar && role == roleText:
		return wrong
	case v.s == "" && role == roleUnit:
		return missing
	case len(v.s) > maxRow:
		return origin.TooLong
	case !utf8.ValidString(v.s):
		return origin.NotUTF8
	case strings.IndexByte(v.s, 0) >= 0:
		return origin.HasNUL
	}
	return 0
}

// clean removes white space at the ends, and for one line makes all white space inside
// single spaces.
func clean(s string, oneLine bool) string {
	if oneLine {
		return strings.Join(strings.Fields(s), " ")
	}
	return strings.TrimSpace(s)
}
