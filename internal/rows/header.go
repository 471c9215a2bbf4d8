package rows

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sotto-dp/sotto/internal/rows/origin"
)

// Head is what the first row of a file shows.
type Head struct {
	Names []string
	// Start is where the next row begins.
	Start int64
	// Comma is the byte that separates fields.
	Comma byte
}

// separators are the bytes that a header row is looked through for.
const separators = ",;\t|"

// Header reads the first row of a file. Fields are separated by comma; 0 finds out which byte
// does, from the first row alone: the one that gives most of the columns that are wanted, or
// else the one that is in it most often.
func Header(in io.Reader, comma byte, wanted []string) (h Head, err error) {
	r := NewSplitter(in, 0, BlockSize, ',')
	r.mark = true
	var b Block
	if err := r.start(&b); err != nil {
		return h, origin.Fail(err)
	}
	start := bytes.Clone(b.Data)
	if comma == 0 {
		line, _, _ := bytes.Cut(bytes.TrimLeft(bytes.TrimPrefix(start, []byte(byteOrderMark)), "\r\n"), []byte("\n"))
		if comma, err = separator(line, wanted); err != nil {
			return h, err
		}
	}
	r.comma, r.rest = comma, start
	switch err := r.Fill(&b, 1); {
	case err != nil && err != io.EOF:
		return h, origin.Fail(err)
	case len(b.Lines) == 0:
		return h, origin.Refuse("the file has no header row: the first row names the columns")
	}
	names, flaw := namesIn(b.Data, b.Lines[0], comma)
	switch {
	case flaw != 0:
		return h, origin.Refuse("the header row cannot be read: %v", flaw)
	case slices.ContainsFunc(names, func(n string) bool { return !utf8.ValidString(n) || strings.IndexByte(n, 0) >= 0 }):
		return h, origin.Refuse("the header row is not text in UTF-8: convert the file, for example with iconv -f WINDOWS-1252 -t UTF-8")
	}
	return Head{Names: names, Start: r.taken, Comma: comma}, nil
}

func namesIn(data []byte, row Line, comma byte) (names []string, flaw origin.Reason) {
	fields := Fields{Comma: comma}
	flaw = fields.Each(data, row, func(_ int, text []byte) { names = append(names, string(text)) })
	return names, flaw
}

// start reads as much as the first line needs, and leaves it for the rows.
func (r *Splitter) start(b *Block) error {
	for !r.ended && len(b.Data) < MaxRow && bytes.IndexByte(bytes.TrimLeft(b.Data, "\r\n"), '\n') < 0 {
		if err := r.more(b); err != nil {
			return err
		}
	}
	return nil
}

// separator finds what separates the fields of a line.
func separator(line []byte, wanted []string) (byte, error) {
	best, matched := byte(0), 0
	for _, comma := range []byte(separators) {
		row, _, _ := findRow(line, 0, true, comma)
		names, flaw := namesIn(line, row, comma)
		found := 0
		for _, w := range wanted {
			if w != "" && slices.Contains(names, w) {
				found++
			}
		}
		if flaw == 0 && found > matched {
			best, matched = comma, found
		}
	}
	if best != 0 {
		return best, nil
	}
	return frequent(line)
}

// frequent is what is in a line most often, outside of quotes.
func frequent(line []byte) (byte, error) {
	var times [len(separators)]int
	quoted := false
	for _, c := range line {
		if c == '"' {
			quoted = !quoted
		} else if at := strings.IndexByte(separators, c); at >= 0 && !quoted {
			times[at]++
		}
	}
	best, tie := 0, false
	for i, n := range times[1:] {
		switch {
		case n > times[best]:
			best, tie = i+1, false
		case n == times[best] && n > 0:
			tie = true
		}
	}
	if tie {
		return 0, origin.Refuse("the header row has several characters that may separate its fields, equally often: name the right one after the file, as in FILE#; or FILE#tab")
	}
	return separators[best], nil
}
