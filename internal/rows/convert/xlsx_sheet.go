package convert

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// maxRow is the longest row, as for other formats.
const maxRow = 16 << 20

// cell is a value of a sheet as it is stored.
type cell struct {
	column int
	kind   string
	style  int
	value  []byte
}

// readSheet reads the rows of a part.
func (b *book) readSheet(part string, r *Rows) error {
	var row []string
	var c cell
	column, in, spoken, size := 0, false, false, 0
	return b.each(part, func(t token) error {
		switch {
		case t.start == "row":
			clear(row)
			row, column, size = row[:0], 0, 0
		case t.start == "c":
			at, ok := columnOf(t.get("r"))
			if !ok {
				at = column
			}
			if at >= maxColumns {
				return damaged("workbook")
			}
			column = at + 1
			style, _ := strconv.Atoi(t.get("s"))
			c = cell{column: at, kind: t.get("t"), style: style, value: c.value[:0]}
		case t.start == "rPh", t.end == "rPh":
			spoken = t.start != ""
		case t.start == "v", t.start == "t":
			in = !spoken
		case t.end == "v", t.end == "t":
			in = false
		case t.text != nil && in:
			if len(c.value)+len(t.text) > maxText {
				return errUnfolds
			}
			c.value = append(c.value, t.text...)
		case t.end == "c":
			if v := b.text(&c); v != "" {
				if size += len(v); size > maxRow { // rows are no longer elsewhere
					return errUnfolds
				}
				for len(row) <= c.column {
					row = append(row, "")
				}
				row[c.column] = v
			}
		case t.end == "row":
			return r.sheetRow(row)
		}
		return nil
	})
}

// sheetRow adds a row, unless it has no value.
func (r *Rows) sheetRow(row []string) error {
	if len(row) == 0 {
		return nil
	}
	if r.Names == nil {
		return r.Header(append([]string{}, row...))
	}
	for i := range max(len(row), len(r.Names)) {
		if i < len(row) {
			r.Cell([]byte(row[i]))
		} else {
			r.Cell(nil)
		}
	}
	return r.End()
}

// columnOf reads the letters of a place such as B3.
func columnOf(ref string) (int, bool) {
	n := 0
	for i := range len(ref) {
		c := ref[i] &^ 0x20
		if c < 'A' || c > 'Z' {
			return n - 1, n > 0
		}
		if n = n*26 + int(c-'A') + 1; n > maxColumns {
			return maxColumns, true
		}
	}
	return 0, false
}

// text is what a cell shows, in the form that is the same everywhere.
func (b *book) text(c *cell) string {
	v := string(c.value)
	switch c.kind {
	case "s":
		n, err := strconv.Atoi(strings.TrimSpace(v))
		if err != nil || n < 0 || n >= len(b.strings) {
			return ""
		}
		return b.strings[n]
	case "str", "inlineStr":
		return unescape(v)
	case "b":
		return map[string]string{"1": "TRUE", "0": "FALSE"}[v]
	case "e":
		return ""
	case "d":
		return v
	}
	x, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
	if err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
		return ""
	}
	if c.style >= 0 && c.style < len(b.dates) && b.dates[c.style] != 0 {
		if s := moment(x, b.dates[c.style], b.since); s != "" {
			return s
		}
	}
	if abs := math.Abs(x); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return string(Number(strconv.AppendFloat(nil, x+0, 'f', -1, 64)))
}

const isDate, isTime = 1, 2

// moment is a date as Excel counts days, in the form of ISO 8601; "" if it is none.
func moment(days float64, format uint8, since int64) string {
	if days < 0 || days >= 2958466 { // the year 10000
		return ""
	}
	if format == isTime && days < 1 {
		return time.Unix(0, 0).UTC().Add(seconds(days)).Format("15:04:05")
	}
	first := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	switch {
	case since == 1904:
		first = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	case days < 60: // Excel has a 29th of February 1900
		first = first.AddDate(0, 0, 1)
	}
	whole := math.Floor(days)
	clock := seconds(days - whole)
	day := first.AddDate(0, 0, int(whole)).Add(clock)
	if clock == 0 && format&isTime == 0 {
		return day.Format(time.DateOnly)
	}
	return day.Format("2006-01-02T15:04:05.999")
}

// seconds is a share of a day, to milliseconds: a float64 of days has no more.
func seconds(share float64) time.Duration {
	return time.Duration(math.Round(share*24*60*60*1000)) * time.Millisecond
}

// readStyles finds out which styles of cells are dates.
func (b *book) readStyles() error {
	own := map[int]uint8{}
	within := false
	return b.each("xl/styles.xml", func(t token) error {
		switch {
		case t.start == "numFmt":
			if id, err := strconv.Atoi(t.get("numFmtId")); err == nil {
				own[id] = dateFormat(t.get("formatCode"))
				return b.keep()
			}
		case t.start == "cellXfs":
			within = true
		case t.end == "cellXfs":
			within = false
		case t.start == "xf" && within:
			id, _ := strconv.Atoi(t.get("numFmtId"))
			kind, ok := own[id]
			if !ok {
				kind = builtinFormat(id)
			}
			if len(b.dates) > 1<<16 {
				return damaged("workbook")
			}
			b.dates = append(b.dates, kind)
		}
		return nil
	})
}

// builtinFormat says what formats of numbers that every workbook has are about.
func builtinFormat(id int) uint8 {
	switch {
	case id >= 14 && id <= 17, id >= 27 && id <= 31, id == 36, id >= 50 && id <= 54, id >= 57 && id <= 58:
		return isDate
	case id == 22:
		return isDate | isTime
	case id >= 18 && id <= 21, id >= 32 && id <= 35, id >= 45 && id <= 47, id >= 55 && id <= 56:
		return isTime
	}
	return 0
}

// dateFormat says whether a format of numbers shows dates or times, by its letters outside of
// quotes and brackets.
func dateFormat(code string) (kind uint8) {
	code, _, _ = strings.Cut(code, ";")
	for i := 0; i < len(code); i++ {
		switch c := code[i] | 0x20; {
		case code[i] == '"':
			for i++; i < len(code) && code[i] != '"'; i++ {
			}
		case code[i] == '\\' || code[i] == '_' || code[i] == '*':
			i++
		case code[i] == '[':
			end := strings.IndexByte(code[i:], ']')
			if end < 0 {
				return kind
			}
			if inside := strings.ToLower(code[i+1 : i+end]); strings.Trim(inside, "h") == "" || strings.Trim(inside, "m") == "" || strings.Trim(inside, "s") == "" {
				kind |= isTime
			}
			i += end
		case c == 'y' || c == 'd':
			kind |= isDate
		case c == 'h' || c == 's':
			kind |= isTime
		case c == 'e' || c == 'g': // E+00 of scientific numbers, General
			return kind
		}
	}
	return kind
}
