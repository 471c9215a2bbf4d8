package convert

import (
	"archive/zip"
	"encoding/xml"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxXML is how many bytes the parts of a workbook unfold to at most. They are read one
	// after the other, and are not kept.
	maxXML = 4 << 30
	// maxToken is the longest piece of XML: a cell has at most 32767 characters.
	maxToken = 4 << 20
	// maxText is the longest text of a cell, in bytes.
	maxText = 1 << 20
	// maxHeld is how many bytes of names and numbers of sheets, relations and formats are kept.
	maxHeld = 16 << 20
	// maxDepth is how deep XML is nested at most.
	maxDepth = 64
	// maxColumns a sheet has.
	maxColumns = 16384
)

// Workbook reads a sheet of an Excel workbook: the first that is not hidden, or the one with a
// name. The first row that has a value names the columns; rows without any are none. Formulas
// count as the value that was saved with them, errors as missing.
func (r *Rows) Workbook(in io.ReaderAt, size int64, sheet string) error {
	var head [8]byte
	if n, _ := in.ReadAt(head[:], 0); n == len(head) && string(head[:4]) == "\xd0\xcf\x11\xe0" {
		return refuse("the workbook is encrypted, or in the format of Excel before 2007: open it in Excel and save it as .xlsx without a password")
	}
	return calm("workbook", func() error {
		z, err := zip.NewReader(in, size)
		if err != nil {
			return err
		}
		b := &book{parts: map[string]*zip.File{}, left: maxXML}
		for _, f := range z.File {
			b.parts[strings.ToLower(strings.TrimPrefix(path.Clean("/"+f.Name), "/"))] = f
		}
		part, err := b.find(sheet)
		if err != nil {
			return err
		}
		if err := b.readStyles(); err != nil {
			return err
		}
		if err := b.readStrings(); err != nil {
			return err
		}
		return b.readSheet(part, r)
	})
}

// book is a workbook.
type book struct {
	parts   map[string]*zip.File
	left    int64
	held    int
	strings []string
	// dates says of each cell style whether numbers are dates (1), times (2) or both (3).
	dates []uint8
	since int64 // 1904 or 1900
}

// token is a start or an end of an element, or text within it.
type token struct {
	start, end string
	attr       []xml.Attr
	text       []byte
}

func (t token) get(name string) string {
	for _, a := range t.attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// each hands out the tokens of a part. A part that is missing has none.
func (b *book) each(name string, do func(t token) error) error {
	f := b.parts[strings.ToLower(name)]
	if f == nil {
		return nil
	}
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	guard := &limiter{in: in, left: &b.left, token: maxToken}
	d := xml.NewDecoder(guard)
	for depth := 0; ; {
		guard.token = maxToken
		raw, err := d.RawToken()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var t token
		switch raw := raw.(type) {
		case xml.StartElement:
			depth++
			t = token{start: raw.Name.Local, attr: raw.Attr}
		case xml.EndElement:
			depth--
			t.end = raw.Name.Local
		case xml.CharData:
			t.text = raw
		default:
			continue
		}
		if depth < 0 || depth > maxDepth {
			return damaged("workbook")
		}
		if err := do(t); err != nil {
			return err
		}
	}
}

var errUnfolds = refuse("the workbook unfolds to more than a workbook of this size would: save it again, or as .csv")

// limiter bounds what is unfolded: of all parts, and of one piece of XML.
type limiter struct {
	in    io.Reader
	left  *int64
	token int
}

func (g *limiter) Read(p []byte) (int, error) {
	if *g.left <= 0 || g.token <= 0 {
		return 0, errUnfolds
	}
	n, err := g.in.Read(p)
	*g.left -= int64(n)
	g.token -= n
	return n, err
}

// keep counts what is kept in memory of a workbook besides its cells.
func (b *book) keep(texts ...string) error {
	b.held += 64
	for _, s := range texts {
		b.held += len(s)
	}
	if b.held > maxHeld {
		return errUnfolds
	}
	return nil
}

// find returns the part that has a sheet.
func (b *book) find(want string) (string, error) {
	type sheet struct{ name, id string }
	var all []sheet
	hidden := map[string]bool{}
	err := b.each("xl/workbook.xml", func(t token) error {
		switch t.start {
		case "sheet":
			s := sheet{t.get("name"), t.get("id")}
			for _, a := range t.attr { // sheetId is another one
				if a.Name.Local == "id" && a.Name.Space != "" {
					s.id = a.Value
				}
			}
			hidden[s.id] = t.get("state") != "" && t.get("state") != "visible"
			all = append(all, s)
			return b.keep(s.name, s.id)
		case "workbookPr":
			if v := t.get("date1904"); v == "1" || v == "true" {
				b.since = 1904
			}
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	targets := map[string]string{}
	err = b.each("xl/_rels/workbook.xml.rels", func(t token) error {
		if t.start == "Relationship" {
			targets[t.get("Id")] = t.get("Target")
			return b.keep(t.get("Id"), t.get("Target"))
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(all, func(s sheet) bool {
		return want != "" && s.name == want || want == "" && !hidden[s.id]
	})
	switch {
	case len(all) == 0:
		return "", damaged("workbook")
	case i < 0 && want != "":
		return "", refuse("the workbook has %d sheets, and none is called %q: name one as FILE.xlsx#SHEET", len(all), want)
	case i < 0:
		return "", refuse("all sheets of the workbook are hidden: name one as FILE.xlsx#SHEET")
	}
	target := targets[all[i].id]
	if strings.HasPrefix(target, "/") {
		return path.Clean(target)[1:], nil
	}
	part := path.Join("xl", target)
	if b.parts[strings.ToLower(part)] == nil {
		return "", damaged("workbook")
	}
	return part, nil
}

// readStrings reads the texts that cells refer to.
func (b *book) readStrings() error {
	var text strings.Builder
	in, spoken, total := false, false, 0
	return b.each("xl/sharedStrings.xml", func(t token) error {
		switch {
		case t.start == "si":
			text.Reset()
		case t.start == "t":
			in = true
		case t.start == "rPh": // how a text is pronounced
			spoken = true
		case t.end == "rPh":
			spoken = false
		case t.end == "t":
			in = false
		case t.text != nil && in && !spoken:
			if total += len(t.text); total > Largest {
				return errLarge
			}
			if text.Len()+len(t.text) > maxText {
				return errUnfolds
			}
			text.Write(t.text)
		case t.end == "si":
			if total += 16; total > Largest {
				return errLarge
			}
			b.strings = append(b.strings, unescape(text.String()))
		}
		return nil
	})
}

// unescape reads characters that XML cannot hold, which are written _xHHHH_.
func unescape(s string) string {
	if !strings.Contains(s, "_x") {
		return s
	}
	var b strings.Builder
	for {
		at := strings.Index(s, "_x")
		if at < 0 || len(s) < at+7 {
			b.WriteString(s)
			return b.String()
		}
		code, err := strconv.ParseUint(s[at+2:at+6], 16, 16)
		if err != nil || s[at+6] != '_' {
			b.WriteString(s[:at+2])
			s = s[at+2:]
			continue
		}
		b.WriteString(s[:at])
		b.WriteRune(rune(code))
		s = s[at+7:]
	}
}
