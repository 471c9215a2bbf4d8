package record

import (
	"strings"
	"unicode/utf8"

	"github.com/sotto-dp/sotto/internal/rows"
	"github.com/sotto-dp/sotto/internal/rows/origin"
)

// maxRow is how long a record may be, in bytes.
const maxRow = rows.MaxRow

// The roles that a column can have.
const (
	roleText = iota
	roleCondition
	roleUnit
	numRoles
)

// entry is a row that can be used.
type entry struct {
	text, condition, unit string
	part                  int
}

// rowReader turns rows into entries.
type rowReader struct {
	condition, unit bool
	parts           map[string]int // nil: open
	aliases         map[string]string
	oneLine         bool
	// table, if not nil, puts rows of a table into words.
	table *wording
	// column is the one that the last row was refused for, if it was for one.
	column string
}

func newRowReader(o *Options, s source) *rowReader {
	r := &rowReader{condition: o.Condition != "", unit: o.Unit != "", aliases: o.Aliases, oneLine: o.OneLine}
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
func (d *rowReader) entry(r *rows.Row) (e entry, why origin.Reason) {
	d.column = ""
	if r.Bad != 0 {
		return e, r.Bad
	}
	if d.table != nil && !d.table.already(r) {
		if why, d.column = d.table.say(r); why != 0 {
			return e, why
		}
	}
	for role, v := range r.Values[:numRoles] {
		if role == roleCondition && !d.condition || role == roleUnit && !d.unit {
			continue
		}
		if why := judge(role, v); why != 0 {
			return e, why
		}
	}
	if e.text = r.Values[roleText].S; d.oneLine {
		e.text = clean(e.text, true)
	}
	if strings.TrimSpace(e.text) == "" {
		return e, origin.TextEmpty
	}
	if d.unit {
		e.unit = r.Values[roleUnit].S
	}
	if !d.condition {
		return e, 0
	}
	return e, d.label(&e, r.Values[roleCondition].S)
}

// label finds the condition and the part of an entry.
func (d *rowReader) label(e *entry, raw string) origin.Reason {
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
func judge(role int, v rows.Value) origin.Reason {
	missing := [numRoles]origin.Reason{origin.TextMissing, origin.ConditionMissing, origin.UnitMissing}[role]
	wrong := [numRoles]origin.Reason{origin.TextNotString, origin.ConditionNotScalar, origin.UnitNotScalar}[role]
	switch {
	case v.Kind == rows.Absent:
		return missing
	case v.Kind == rows.Compound, v.Kind == rows.Scalar && role == roleText:
		return wrong
	case v.S == "" && role == roleUnit:
		return missing
	case len(v.S) > maxRow:
		return origin.TooLong
	case !utf8.ValidString(v.S):
		return origin.NotUTF8
	case strings.IndexByte(v.S, 0) >= 0:
		return origin.HasNUL
	}
	return 0
}

// clean removes white space at the ends, and for one line makes all white space inside
// single spaces.
func clean(s string, oneLine bool) string {
	if oneLine && !isClean(s) {
		return strings.Join(strings.Fields(s), " ")
	}
	return strings.TrimSpace(s)
}

// isClean reports whether a text of ASCII is one line of words with single spaces between them, so that nothing is
// copied.
func isClean(s string) bool {
	before := byte(' ')
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f || s[i] == ' ' && before == ' ' {
			return false
		}
		before = s[i]
	}
	return before != ' '
}
