package convert_test

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/rows/convert"
	"github.com/sotto-dp/sotto/internal/sys/expect"
)

const twins = "../../private/testdata/twins"

// rowsOf reads rows with the standard library's reader.
func rowsOf(t *testing.T, r *convert.Rows) [][]string {
	t.Helper()
	c := csv.NewReader(bytes.NewReader(r.Bytes()))
	c.FieldsPerRecord = -1
	rows, err := c.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func lines(t *testing.T, text string) ([][]string, error) {
	t.Helper()
	r := convert.NewRows()
	if err := r.Lines(strings.NewReader(text)); err != nil {
		return nil, err
	}
	return rowsOf(t, r), nil
}

// TestLines: every record is read by itself, whatever the others are like.
func TestLines(t *testing.T) {
	for text, want := range map[string][][]string{
		`[{"a":1,"b":"x"},{"b":null,"c":[1, 2]}]`: {{"a", "b", "c"}, {"1", "x", ""}, {"", "", "[1,2]"}},
		"{\"a\":\"1\"}\n\n{\"a\":\"\"}\n":         {{"a"}, {"1"}, {""}},
		`[{"a":1},7,{"a":2,"a":3}]`:               {{"a"}, {"1"}, {"", ""}, {"", ""}},

		`{"messages":[{"role":"system","content":"Be kind."},{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello"}]}`:                                                                                {{"input", "output", "system"}, {"Hi", "Hello", "Be kind."}},
		`{"messages":[{"role":"user","content":"One"},{"role":"assistant","content":"Two","weight":0},{"role":"user","content":[{"type":"text","text":"Three"}]},{"role":"assistant","content":"Four"}],"tools":[]}`: {{"tools", "input", "output"}, {"[]", "User: One\nAssistant: Two\nUser: Three", "Four"}},
		`{"messages":"plain","text":"t"}`: {{"messages", "text"}, {"plain", "t"}},
	} {
		t.Run(text, func(t *testing.T) {
			got, err := lines(t, text)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s is %q, want %q: %v", text, got, want, err)
			}
		})
	}
	for _, text := range []string{"", "[]", "7", `[{"a":1}`, `[1,2]`, strings.Repeat("[", 100), `{"a":` + strings.Repeat("[", 100)} {
		if got, err := lines(t, text); err == nil || strings.Contains(err.Error(), text) && text != "" {
			t.Errorf("%q is %q: %v", text, got, err)
		}
	}
}

// sheet makes a workbook of XML.
func sheet(t testing.TB, parts map[string]string) *bytes.Reader {
	t.Helper()
	base := map[string]string{
		"xl/workbook.xml":            `<workbook><sheets><sheet name="H" sheetId="1" state="hidden" r:id="r1"/><sheet name="One" sheetId="2" r:id="r2"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="r1" Target="worksheets/sheet1.xml"/><Relationship Id="r2" Target="/xl/worksheets/sheet2.xml"/></Relationships>`,
		"xl/styles.xml":              `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="yyyy\-mm\-dd"/><numFmt numFmtId="165" formatCode="0.00&quot; days&quot;"/><numFmt numFmtId="166" formatCode="[$-409]d/m/yy h:mm"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="166"/><xf numFmtId="21"/></cellXfs></styleSheet>`,
		"xl/sharedStrings.xml":       `<sst><si><t>name</t></si><si><r><t>a </t></r><r><t>b_x000D_</t></r><rPh><t>no</t></rPh></si></sst>`,
		"xl/worksheets/sheet1.xml":   `<worksheet><sheetData><row><c t="inlineStr"><is><t>hidden</t></is></c></row></sheetData></worksheet>`,
	}
	for name, text := range parts {
		base[name] = text
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range base {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(b.Bytes())
}

const someRows = `<worksheet><sheetData>
<row r="1"/>
<row r="2"><c r="A2" t="s"><v>0</v></c><c r="B2" t="inlineStr"><is><t>day</t></is></c><c r="D2" t="str"><v>n</v></c></row>
<row r="3"><c r="A3" t="s"><v>1</v></c><c r="B3" s="1"><v>45356</v></c><c r="C3" t="e"><v>#N/A</v></c><c r="D3"><f>1+1</f><v>0.10000000000000001</v></c></row>
<row r="4"><c r="B4" s="2"><v>45356.25</v></c><c t="b"><v>1</v></c><c s="3"><v>54013</v></c></row>
<row r="5"><c r="B5" s="4"><v>45356.5</v></c><c r="D5" s="5"><v>0.5</v></c></row>
<row r="6"><c r="A6"/></row>
<row r="7"><c r="A7"><v>1.5E+20</v></c><c r="B7" s="1"><v>59</v></c><c r="E7"><v>3</v></c></row>
</sheetData></worksheet>`

// TestWorkbook: what Excel stores is written as its own CSV has it, dates as ISO 8601.
func TestWorkbook(t *testing.T) {
	in := sheet(t, map[string]string{"xl/worksheets/sheet2.xml": someRows})
	r := convert.NewRows()
	if err := r.Workbook(in, in.Size(), ""); err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"name", "day", "", "n"},
		{"a b\r", "2024-03-05", "", "0.1"},
		{"", "2024-03-05T06:00:00", "TRUE", "54013"},
		{"", "2024-03-05T12:00:00", "", "12:00:00"},
		{"150000000000000000000", "1900-02-28", "", "", "3"},
	}
	got := rowsOf(t, r)
	got[1][0] = strings.ReplaceAll(got[1][0], "\n", "\r") // encoding/csv reads \r\n as \n only
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	r = convert.NewRows()
	if err := r.Workbook(in, in.Size(), "H"); err != nil || len(r.Names) != 1 {
		t.Errorf("the hidden sheet by its name: %v", err)
	}
}

// TestHostileWorkbooks: what unfolds without end, nests without end or is no workbook is refused,
// and takes little memory.
func TestHostileWorkbooks(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"no sheet":  {"", "cannot be read"},
		"deep":      {strings.Repeat("<a>", 1000), "cannot be read"},
		"long name": {"<worksheet><sheetData><row><c t=\"str\"><v>" + strings.Repeat("x", 8<<20), "unfolds"},
		"far":       {`<row><c r="ZZZZZZ1"><v>1</v></c></row>`, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			parts := map[string]string{"xl/worksheets/sheet2.xml": c.text}
			if c.text == "" {
				parts = map[string]string{"xl/workbook.xml": "<workbook/>"}
			}
			in := sheet(t, parts)
			err := convert.NewRows().Workbook(in, in.Size(), "")
			if known := (*convert.Error)(nil); !errors.As(err, &known) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v", err)
			}
		})
	}
	// What is kept of a workbook is little, however it is cut into pieces.
	piece := strings.Repeat("x", 500<<10)
	many := func(format string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for name, parts := range map[string]map[string]string{
		"value in pieces":  {"xl/worksheets/sheet2.xml": `<row><c t="str"><v>` + strings.Repeat(piece+"<!-- -->", 3) + `</v></c></row>`},
		"string in pieces": {"xl/sharedStrings.xml": `<sst><si>` + strings.Repeat("<r><t>"+piece+"</t></r>", 3) + `</si></sst>`},
		"long row":         {"xl/worksheets/sheet2.xml": `<row>` + strings.Repeat(`<c t="str"><v>`+piece+`</v></c>`, 40) + `</row>`},
		"sheets":           {"xl/workbook.xml": `<workbook><sheets>` + many(`<sheet name="%d" r:id="r2"/>`, 300000) + `</sheets></workbook>`},
		"long names":       {"xl/workbook.xml": `<workbook><sheets>` + strings.Repeat(`<sheet name="`+piece+`" r:id="r2"/>`, 40) + `</sheets></workbook>`},
		"relations":        {"xl/_rels/workbook.xml.rels": `<Relationships>` + many(`<Relationship Id="r%d" Target="/xl/worksheets/sheet2.xml"/>`, 300000) + `</Relationships>`},
		"formats":          {"xl/styles.xml": `<styleSheet><numFmts>` + many(`<numFmt numFmtId="%d" formatCode="0"/>`, 300000) + `</numFmts></styleSheet>`},
	} {
		t.Run(name, func(t *testing.T) {
			if parts["xl/worksheets/sheet2.xml"] == "" {
				parts["xl/worksheets/sheet2.xml"] = someRows
			}
			in := sheet(t, parts)
			if err := convert.NewRows().Workbook(in, in.Size(), ""); err == nil || !strings.Contains(err.Error(), "unfolds") {
				t.Errorf("got %v", err)
			}
		})
	}
	for head, says := range map[string]string{"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 rest": "encrypted", "PK nothing more": "cannot be read"} {
		t.Run(head, func(t *testing.T) {
			in := strings.NewReader(head)
			if err := convert.NewRows().Workbook(in, in.Size(), ""); err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%v", err)
			}
		})
	}
	in := sheet(t, map[string]string{"xl/worksheets/sheet2.xml": someRows})
	if err := convert.NewRows().Workbook(in, in.Size(), "Two"); err == nil || !strings.Contains(err.Error(), "FILE.xlsx#SHEET") {
		t.Errorf("no such sheet: %v", err)
	}
}

// TestSplit: a part follows the last #, unless that is in the name of a file.
func TestSplit(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a#b.csv")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for location, want := range map[string][2]string{
		"a.csv": {"a.csv", ""}, "a.csv#;": {"a.csv", ";"}, file: {file, ""}, file + "#tab": {file, "tab"},
		"postgres://u:p@h/d#x": {"postgres://u:p@h/d#x", ""},
	} {
		t.Run(location, func(t *testing.T) {
			if path, part := convert.Split(location); [2]string{path, part} != want {
				t.Errorf("%s is %q and %q", location, path, part)
			}
		})
	}
}

// TestUTF8: text of two bytes a character is read in either order.
func TestUTF8(t *testing.T) {
	const text = "naïve 😀,\n"
	for name, in := range map[string]string{
		"little": "\xff\xfen\x00a\x00\xef\x00v\x00e\x00 \x00\x3d\xd8\x00\xde,\x00\n\x00",
		"big":    "\xfe\xff\x00n\x00a\x00\xef\x00v\x00e\x00 \xd8\x3d\xde\x00\x00,\x00\n",
		"bare":   "n\x00a\x00\xef\x00v\x00e\x00 \x00\x3d\xd8\x00\xde,\x00\n\x00",
	} {
		t.Run(name, func(t *testing.T) {
			got, err := convert.UTF8(strings.NewReader(in))
			expect.NoError(t, err)
			expect.Equal(t, "string(got)", string(got), text)
			expect.True(t, "convert.Wide([]byte(in))", convert.Wide([]byte(in)), []byte(in))
		})
	}
	for _, in := range []string{"\xff\xfea", "\xff\xfe\x3d\xd8a\x00"} {
		if _, err := convert.UTF8(strings.NewReader(in)); err == nil {
			t.Errorf("%q is read", in)
		}
	}
	at := expect.At(t, "text of one byte is taken for UTF-16")
	expect.True(at, "not convert.Wide([]byte(\"ab\"))", !convert.Wide([]byte("ab")), []byte("ab"))
	expect.True(at, "not convert.Wide([]byte(\"\\x00\\x00\"))", !convert.Wide([]byte("\x00\x00")), []byte("\x00\x00"))
	expect.True(at, "not convert.Wide([]byte(\"é\"))", !convert.Wide([]byte("é")), []byte("é"))
}

// FuzzWorkbook and FuzzLines: no file makes the readers panic, and what they make is
// comma-separated values with at least a header.
func FuzzWorkbook(f *testing.F) {
	f.Add(someRows)
	f.Add(`<worksheet><sheetData><row><c t="inlineStr"><is><t>a</t></is></c></row></sheetData></worksheet>`)
	f.Fuzz(func(t *testing.T, text string) {
		in := sheet(t, map[string]string{"xl/worksheets/sheet2.xml": text, "xl/sharedStrings.xml": text, "xl/styles.xml": text})
		r := convert.NewSmallRows()
		sane(t, r, r.Workbook(in, in.Size(), ""))
	})
}

func FuzzLines(f *testing.F) {
	seeds(f, "*.json", "*.jsonl")
	f.Add([]byte(`{"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := convert.NewSmallRows()
		sane(t, r, r.Lines(bytes.NewReader(data)))
	})
}

func seeds(f *testing.F, patterns ...string) {
	for _, p := range patterns {
		files, err := filepath.Glob(filepath.Join(twins, p))
		if err != nil || len(files) == 0 {
			f.Fatalf("%s: %v", p, err)
		}
		for _, name := range files {
			data, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
}

func sane(t *testing.T, r *convert.Rows, err error) {
	t.Helper()
	if known := (*convert.Error)(nil); err != nil && !errors.As(err, &known) {
		t.Fatalf("an error that may quote content: %v", err)
	}
	if err != nil || r.Names == nil {
		return
	}
	if !bytes.HasSuffix(r.Bytes(), []byte("\n")) {
		t.Fatal("the last row does not end")
	}
}
