package document_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/sys/bounded"
	"github.com/sotto-dp/sotto/internal/sys/document"
	"github.com/sotto-dp/sotto/internal/sys/expect"
)

type part struct {
	Name string `toml:"name"`
	Size int    `toml:"size"`
}

type commonSettings struct {
	Limit float64 `toml:"limit"`
}

type file struct {
	Title string            `toml:"title"`
	Parts []part            `toml:"part"`
	Extra map[string]part   `toml:"extra"`
	Lists map[string][]part `toml:"lists"`
	One   part              `toml:"one"`
	commonSettings
}

func TestDecode(t *testing.T) {
	var f file
	found, ok := document.Decode([]byte("\ufefftitle = \"a\"\nlimit = 3\n[[part]]\nname = \"x\"\n[extra.y]\nsize = 2\n[lists]\nz = [{ name = \"w\" }]\n"), &f)
	if !ok || len(found.List) > 0 {
		t.Fatal(found.List)
	}
	expect.Equal(t, "f.Title", f.Title, "a")
	expect.Equal(t, "f.Limit", f.Limit, 3)
	expect.Equal(t, "f.Parts[0].Name", f.Parts[0].Name, "x")
	expect.Equal(t, "f.Extra[\"y\"].Size", f.Extra["y"].Size, 2)
	expect.Equal(t, "f.Lists[\"z\"][0].Name", f.Lists["z"][0].Name, "w")
}

// TestUnknownKeys: wherever a key means nothing, it is reported, with its line and what may
// have been meant.
func TestUnknownKeys(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"near", "titel = \"a\"", "line 1, titel: there is no such key; did you mean title?"},
		{"far", "colour = 1", "line 1, colour: there is no such key; known are title, part, extra, lists, one, limit"},
		{"of a table", "size = 3", "line 1, size: there is no such key; it belongs under [[part]]"},
		{"above", "[[part]]\ntitle = \"a\"", "line 2, part[1].title: there is no such key; it belongs above the first [[part]]"},
		{"above a plain table", "[one]\ntitle = \"a\"", "line 2, one.title: there is no such key; it belongs above the first [table], not under [one]"},
		{"in a list, twice", "[[part]]\nsiez = 1\n[[part]]\nsiez = 2", "line 4, part[2].siez: there is no such key; did you mean size?"},
		{"in a map", "[extra.y]\nnaem = \"a\"", "line 2, extra.y.naem: there is no such key; did you mean name?"},
		{"in a map of lists", "[lists]\nz = [{ naem = \"a\" }]", "line 2, lists.z[1].naem: there is no such key; did you mean name?"},
		{"unknown table, reported once", "[nothing]\na = 1\nb = 2", "line 1, nothing: there is no such key; known are title, part, extra, lists, one, limit"},
		{"not fooled by a string", "title = \"\"\"\nsiez = 1\n[one]\n\"\"\"\nsiez = 2", "line 5, siez: there is no such key; known are title, part, extra, lists, one, limit"},
		{"not fooled by a literal", "title = '''a\nsiez = 1 '''\nsiez = 2", "line 3, siez: there is no such key; known are title, part, extra, lists, one, limit"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var f file
			found, ok := document.Decode([]byte(test.text), &f)
			if !ok || len(found.List) == 0 {
				t.Fatal("nothing was found")
			}
			if got := found.List[len(found.List)-1].String(); got != test.want {
				t.Errorf("%s", got)
			}
		})
	}
}

func TestUndecodable(t *testing.T) {
	for text, want := range map[string]string{
		"title = a":             `line 1, column 9: unexpected character U+0061 'a' at start of value; correct the line`,
		"\n\ntitle = 3":         "line 3, title: it is a whole number; give a string in quotes",
		"[[part]]\nsize = 1.5":  "line 2, part[1].size: it is a fraction; give a whole number",
		"part = 3":              "line 1, part",
		"title = \"a":           "line 1, column 10",
		"title=\"a\"\ntitle=''": "line 2, column 1",
	} {
		t.Run(text, func(t *testing.T) {
			var f file
			found, ok := document.Decode([]byte(text), &f)
			expect.Equal(t, "ok", ok, false)
			expect.Len(t, "found.List", found.List, 1)
			expect.Prefix(t, "found.List[0].String", found.List[0].String(), want)
		})
	}
}

// TestBounded: a file that would take all memory or hours to decode is refused, and of a
// file with many keys that mean nothing only some are listed.
func TestBounded(t *testing.T) {
	var unknown, known strings.Builder
	known.WriteString("[extra]\n")
	for i := range 50_000 {
		fmt.Fprintf(&unknown, "x%d = 1\n", i)
		fmt.Fprintf(&known, "x%d.size = 1\n", i)
	}
	for text, want := range map[string]string{
		"title = \"a\"\n" + strings.Repeat("a.", 20_000) + "a = 1":         "line 2, file: it is nested more than 32 deep",
		"one = " + strings.Repeat("{ one = ", 10_000):                      "line 1, column 80006",
		"one = " + strings.Repeat("{ one = ", 100_000):                     "line 1, column 8",
		"title = " + strings.Repeat("[", 1<<19) + strings.Repeat("]", 100): "line 1, column 1",
		"title = \"" + strings.Repeat("a", 1<<20) + "\"":                   "file: it is larger than 1048576 bytes",
		"[[part]]\nname = " + strings.Repeat("[", 50):                      "line 2, column 5",
		"title = 'a' # " + strings.Repeat("[", 50) + "\n[[part]]\nsize=''": "line 3, part[1].size: it is a string in quotes",
		known.String(): "line 10001, file: it has more than 20000 keys",
	} {
		t.Run(text, func(t *testing.T) {
			var f file
			found, ok := document.Decode([]byte(text), &f)
			at := expect.At(t, "%.30q", text)
			expect.Equal(at, "ok", ok, false)
			expect.Len(at, "found.List", found.List, 1)
			expect.Prefix(at, "found.List[0].String", found.List[0].String(), want)
		})
	}
	var f file
	if found, ok := document.Decode([]byte(unknown.String()), &f); ok || len(found.List) != 20 {
		t.Errorf("%v, %d problems", ok, len(found.List))
	}
}

// deep are documents of a depth, in every way that TOML has to nest.
func deep(n int) map[string]string {
	return map[string]string{
		"dotted key":       strings.Repeat("a.", n-1) + "a = 1",
		"quoted keys":      strings.Repeat(`"a" . 'b'.`, n/2-1) + `"a"."b" = 1`,
		"header":           "[" + strings.Repeat("a.", n-2) + "a]\nb = 1",
		"list of tables":   "[[" + strings.Repeat("a.", n-2) + "a]]\nb = 1",
		"lists":            "a = " + strings.Repeat("[", n-1) + "1" + strings.Repeat("]", n-1),
		"lists of lines":   "a = " + strings.Repeat("[ # [\n", n-1) + "1" + strings.Repeat("]\n", n-1),
		"inline tables":    strings.Repeat("a = {", n-1) + "b = 1" + strings.Repeat("}", n-1),
		"all together":     "[a.b]\nc.d = [{ e.f = " + strings.Repeat("[", n-8) + "1" + strings.Repeat("]", n-8) + "}]",
		"after a string":   "s = \"\"\"\n[ ' \\\"\"\" [[ \"\"\"\"\"\nt = '''[ \" '''\nu = '\\'\n" + strings.Repeat("a.", n-1) + "a = 1",
		"key after header": "[" + strings.Repeat("a.", n/2-1) + "a]\n" + strings.Repeat("b.", n/2-1) + "b = 1",
	}
}

// TestDepth: what is nested too deep is refused, in every way there is to nest, and what
// is not is accepted.
func TestDepth(t *testing.T) {
	for name, text := range deep(bounded.Depth) {
		var v map[string]any
		if found, ok := document.Decode([]byte(text), &v); !ok || len(found.List) > 0 {
			t.Errorf("%s of %d levels: %v", name, bounded.Depth, found.List)
		}
	}
	for name, text := range deep(4 * bounded.Depth) {
		var v map[string]any
		found, ok := document.Decode([]byte(text), &v)
		at := expect.At(t, "%s", name)
		expect.Equal(at, "ok", ok, false)
		expect.Len(at, "found.List", found.List, 1)
		expect.Contains(at, "found.List[0].What", found.List[0].What, "nested more than")
	}
}

// FuzzTOML: text that is accepted decodes to nothing deep, whatever it is.
func FuzzTOML(f *testing.F) {
	for _, n := range []int{12, bounded.Depth, 2 * bounded.Depth} {
		for _, text := range deep(n) {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		var v map[string]any
		// A list of tables, [[a]], is one level of the text and two of the value.
		if _, ok := document.Decode([]byte(text), &v); ok && depthOf(v) > 2*bounded.Depth {
			t.Errorf("accepted at depth %d", depthOf(v))
		}
	})
}

// depthOf returns how deep a decoded value is nested.
func depthOf(v any) int {
	deepest := 0
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			deepest = max(deepest, 1+depthOf(e))
		}
	case []any:
		for _, e := range v {
			deepest = max(deepest, 1+depthOf(e))
		}
	}
	return deepest
}

// TestMessages: warnings do not make a file unusable, and are not in the message.
func TestMessages(t *testing.T) {
	var f file
	found, _ := document.Decode([]byte("title = \"a\"\n[[part]]\nsize = 1"), &f)
	found.Warn("title", "it is short", "write more than %d letters", 1)
	if !document.Valid(found.List) {
		t.Error("a warning counts")
	}
	found.Wrong("part[1].size", "it is odd", "give an even one")
	found.Wrong("part[1].name", "it is missing", "give it")
	if document.Valid(found.List) {
		t.Error("nothing counts")
	}
	want := "thing x: line 3, part[1].size: it is odd; give an even one\n  and line 2, part[1].name: it is missing; give it"
	if got := (&document.InvalidError{Kind: "thing", Name: "x", Problems: found.List}).Error(); got != want {
		t.Error(got)
	}
	if found.List[0].Fix != "write more than 1 letters" || found.List[0].Line != 1 {
		t.Errorf("%+v", found.List[0])
	}
}

func TestCollection(t *testing.T) {
	c := document.Collection[string]{
		Kind: "thing", Folder: "things",
		Files: fstest.MapFS{
			"things/red.toml": {Data: []byte("r")}, "things/blue.toml": {Data: []byte("b")}, "things/read.me": {}, "red.toml": {},
		},
		Examine: func(name string, data []byte) (string, []document.Problem) {
			if string(data) == "bad" {
				return "", []document.Problem{{Where: "a", What: "b", Fix: "c"}}
			}
			return name + " " + string(data), []document.Problem{{Warning: true}}
		},
	}
	if got := strings.Join(c.Names(), " "); got != "blue red" {
		t.Error(got)
	}
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"mine": "m", "red": "not me", "bad.toml": "bad", "large.toml": strings.Repeat("x", 2<<20)} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		})
	}
	for ref, want := range map[string]string{"red": "red r", "mine": "mine m", "./red": "red not me"} {
		t.Run(ref, func(t *testing.T) {
			if got, err := c.Find(ref); got != want || err != nil {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	if got, err := c.Builtin("blue"); got != "blue b" || err != nil {
		t.Error(got, err)
	}
	for ref, want := range map[string]string{
		"rad":         `there is no thing "rad"; did you mean red?; built in are blue, red; a thing of your own is a file that ends in .toml`,
		"bad.toml":    "thing bad.toml: a: b; c",
		"large.toml":  "larger than 1048576 bytes, so it is no thing file",
		t.TempDir():   "not a file",
		"absent.toml": "no such file",
	} {
		t.Run(ref, func(t *testing.T) {
			if got, err := c.Find(ref); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	if _, err := c.Load("red.toml"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if got := document.NameOf(filepath.Join("a", "b.toml")); got != "b" {
		t.Error(got)
	}
}

// TestNoPanic: no file makes it fall over, and what it finds has a place and a remedy.
func TestNoPanic(t *testing.T) {
	line := rapid.SampledFrom([]string{"title = \"a\"", "[[part]]", "[part]", "[extra.\"x y\"]", "size = 1", "size = nan", "a.b.c = 1", "[", "\"\"\"", "'''", "x = '''", "[lists]", "z = [{}]", "\xff", "one = {}", "[one]", "limit = 1e400"})
	rapid.Check(t, func(t *rapid.T) {
		var f file
		found, _ := document.Decode([]byte(strings.Join(rapid.SliceOfN(line, 0, 8).Draw(t, "lines"), "\n")), &f)
		for _, p := range found.List {
			at := expect.At(t, "%+v", p)
			expect.True(at, "p.Where != \"\"", p.Where != "")
			expect.True(at, "p.What != \"\"", p.What != "")
			expect.True(at, "p.Fix != \"\"", p.Fix != "")
			expect.Min(at, "p.Line", p.Line, 0)
		}
	})
}

func TestText(t *testing.T) {
	for s, want := range map[string]string{"": "missing", " ": "blank", " a": "spaces", "a\nb": "line break", "a\tb": "control", "\xff": "UTF-8", "a b": ""} {
		t.Run(s, func(t *testing.T) {
			if got := document.Flaw(s); (got == "") != (want == "") || !strings.Contains(got, want) {
				t.Errorf("%s", got)
			}
		})
	}
	if got := document.Quote(strings.Split("a b c d e f g h i j", " ")); got != `"a", "b", "c", "d", "e", "f", "g", "h" and 2 more` {
		t.Error(got)
	}
	if got := document.Shorten(strings.Repeat("é", 50)); got != strings.Repeat("é", 39)+"…" {
		t.Error(got)
	}
}
