package rows

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sotto-dp/sotto/internal/rows/origin"
	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// splitAll reads all rows of a text: fields, or why a row is malformed.
func splitAll(in io.Reader) (rows [][]string, bad []origin.Reason, err error) {
	c := NewSplitter(in, 0, 16, ',')
	c.mark = true
	fields := Fields{Comma: ','}
	for {
		var b Block
		err := c.Fill(&b, 3)
		for _, row := range b.Lines {
			var list []string
			why := fields.Each(b.Data, row, func(_ int, text []byte) { list = append(list, string(text)) })
			if why != 0 {
				list = nil
			}
			rows, bad = append(rows, list), append(bad, why)
		}
		if err == io.EOF {
			return rows, bad, nil
		}
		if err != nil {
			return rows, bad, err
		}
	}
}

func TestCSVRows(t *testing.T) {
	for text, want := range map[string][][]string{
		"":                         nil,
		"\n\r\n\n":                 nil,
		"a,b":                      {{"a", "b"}},
		"a,b\r\nc,d\r\n":           {{"a", "b"}, {"c", "d"}},
		"\ufeffa\nb":               {{"a"}, {"b"}},
		`"a,b",c`:                  {{"a,b", "c"}},
		"\"a\nb\",\"c\"\"d\"\r\ne": {{"a\nb", `c"d`}, {"e"}},
		`""`:                       {{""}},
		"\"\"\r":                   {{""}},
		",\n,,":                    {{"", ""}, {"", "", ""}},
		"a\"b,c\nd":                {nil, {"d"}},
		"\"a\"b\nc":                {nil, {"c"}},
		"x,\"a\nb\nc":              {nil, {"b"}, {"c"}},
		"\"a\nb\nx,\"c,d\",e\nf":   {nil, {"b"}, {"x", "c,d", "e"}, {"f"}},
		"a\n\"b\nc\"d\ne":          {{"a"}, nil, nil, {"e"}},
		"\"a\"\rb\nc":              {nil, {"c"}},
		"a\rb\n":                   {{"a\rb"}},
	} {
		t.Run(text, func(t *testing.T) {
			got, _, err := splitAll(strings.NewReader(text))
			if err != nil || !slices.EqualFunc(got, want, slices.Equal[[]string]) {
				t.Errorf("%q is %q, want %q: %v", text, got, want, err)
			}
		})
	}
}

// TestRefusedLines: a line that is put between others, whatever its quotes are like, takes
// none of them along.
func TestRefusedLines(t *testing.T) {
	lines := []string{"1,plain", `2,"in, quotes"`, `3,"twice ""quoted"""`, "4,plain", `5,"two` + "\n" + `lines"`, "6,plain"}
	want, _, err := splitAll(strings.NewReader(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{`"`, `x,"y`, `"x"y`, `x"y`, `"x""`, `"""`, `,"`} {
		for at := range len(lines) + 1 {
			got, why, err := splitAll(strings.NewReader(strings.Join(slices.Insert(slices.Clone(lines), at, bad), "\n")))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.EqualFunc(slices.Delete(got, at, at+1), want, slices.Equal[[]string]) || why[at] != origin.BadQuotes {
				t.Errorf("%q before line %d: the others are %q", bad, at+1, got)
			}
		}
	}
}

// TestLongRows end with their line, wherever reading stops in between.
func TestLongRows(t *testing.T) {
	long := strings.Repeat("x", MaxRow+10)
	for name, text := range map[string]string{
		"plain":       long + "\nb\n",
		"quoted":      "\"" + long + "\nb\"\nb\n",
		"late quote":  long + ",\"c\nb\n",
		"at the end":  "b\n" + long,
		"just enough": strings.Repeat("x", MaxRow-1) + "\nb\n",
	} {
		t.Run(name, func(t *testing.T) {
			a, badA, err := splitAll(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			in := io.Reader(strings.NewReader(text))
			if strings.Contains(name, "quote") {
				in = iotest.HalfReader(in)
			}
			b, badB, err := splitAll(in)
			expect.NoError(t, err)
			expect.Len(t, "a", a, len(b))
			expect.True(t, "badA equal to badB", slices.Equal(badA, badB), badA, badB)
			if name == "just enough" == slices.Contains(badA, origin.TooLong) {
				t.Errorf("%v", badA)
			}
		})
	}
}

// FuzzCSV compares with the standard library where that takes a text, and with itself for
// every way in which the text arrives.
func FuzzCSV(f *testing.F) {
	for _, seed := range []string{"a,b\n1,2\n", "\"a\"\"b\",c\r\n", "a\n\n\"b\nc\"", "\"", "a\"b\n", ",\n\"\",\r\n", "\ufeffx\n", "\"a\"\r\n\"b\"\rc"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		rows, bad, err := splitAll(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		slowly, badSlowly, err := splitAll(iotest.OneByteReader(bytes.NewReader(text)))
		expect.NoError(t, err)
		expect.True(t, "the same rows byte by byte", slices.EqualFunc(rows, slowly, slices.Equal[[]string]), rows, slowly)
		expect.True(t, "bad equal to badSlowly", slices.Equal(bad, badSlowly), bad, badSlowly)
		std := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
		std.FieldsPerRecord = -1
		want, err := std.ReadAll()
		if err != nil || bytes.ContainsRune(text, '\r') {
			return // it takes other line ends within quotes
		}
		if slices.ContainsFunc(bad, func(f origin.Reason) bool { return f != 0 }) || !slices.EqualFunc(rows, want, slices.Equal[[]string]) {
			t.Fatalf("%q, want %q", rows, want)
		}
	})
}

var errDisk = errors.New("disk")

func TestCSVReadError(t *testing.T) {
	in := io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(errDisk))
	if _, _, err := splitAll(in); !errors.Is(err, errDisk) {
		t.Errorf("got %v", err)
	}
}
