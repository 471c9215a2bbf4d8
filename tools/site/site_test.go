package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// TestLinks: README.md and docs/ have no link that leads nowhere, and every page is in a list.
func TestLinks(t *testing.T) {
	b, err := open(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.check(); err != nil {
		t.Error(err)
	}
	if len(b.pages) < 50 || b.links() < 200 {
		t.Errorf("%d pages with %d links: the repository has more", len(b.pages), b.links())
	}
}

// folder writes files, and returns their folder.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestBrokenLinks: each kind of link that leads nowhere is found, and named with its line.
func TestBrokenLinks(t *testing.T) {
	for link, want := range map[string]string{
		"[x](b.md)":                      "",
		"[x](b.md#δ-and-more)":           "",
		"[x](b.md#twice-1)":              "",
		"[x](#here)":                     "",
		"[x](../main.go)":                "",
		"[x](..)":                        "",
		"![x](p.svg)":                    "",
		"[x](https://example.org/a?b=c)": "",
		"`[x](none.md)`":                 "",
		"[x](none.md)":                   "docs/a.md:3: none.md: docs/none.md is not there",
		"[x](b.md#none)":                 "docs/b.md has no heading #none",
		"[x](b.md#twice-2)":              "no heading #twice-2",
		"[x](#none)":                     "docs/a.md has no heading #none",
		"![x](none.svg)":                 "docs/none.svg is not there",
		"[x](../../etc/passwd)":          "leads out of the repository",
		"[x](https://)":                  "no address of the web",
		"[x](ftp://example.org/)":        "no address of the web",
		"[x](../main.go#L3)":             "has no headings",
		"| a |\n|---|\n| [in a table](none.md) |":      "docs/a.md:5: none.md",
		"- a list\n  - [within](none.md) and **bold**": "docs/a.md:4: none.md",
	} {
		dir := folder(t, map[string]string{
			"README.md":      "# Front\n",
			"docs/README.md": "# Contents\n\n## One\n\n- [A](a.md)\n- [B](b.md)\n",
			"docs/a.md":      "# Here\n\n" + link + "\n",
			"docs/b.md":      "# B\n\n## δ, and *more*\n\n## Twice\n\n## Twice\n",
			"docs/p.svg":     "<svg/>", "main.go": "package main\n",
		})
		b, err := open(dir)
		if err != nil {
			t.Fatal(err)
		}
		err = b.check()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", link, err, want)
		}
	}
}

// TestUnlistedPage: a page that no list has is an error, unless its folder has an index.
func TestUnlistedPage(t *testing.T) {
	files := map[string]string{
		"README.md": "# Front\n", "docs/README.md": "# Contents\n\n## One\n\n- [A](a.md)\n- [M](m/README.md)\n",
		"docs/a.md": "# A\n", "docs/m/README.md": "# M\n", "docs/m/deep/x.md": "# X\n",
	}
	b, err := open(folder(t, files))
	if err != nil {
		t.Fatal(err)
	}
	x := b.byPath["docs/m/deep/x.md"]
	if x.parent == nil || x.parent.path != "docs/m/README.md" {
		t.Errorf("parent: got %+v, want docs/m/README.md", x.parent)
	}
	if x.section != "One" {
		t.Errorf("section: got %q, want One", x.section)
	}
	files["docs/lost.md"] = "# Lost\n"
	if _, err := open(folder(t, files)); err == nil || !strings.Contains(err.Error(), "docs/lost.md is in no list") {
		t.Error(err)
	}
	delete(files, "docs/README.md")
	if _, err := open(folder(t, files)); err == nil || !strings.Contains(err.Error(), "docs/README.md is missing") {
		t.Error(err)
	}
}

var href = regexp.MustCompile(`(?:href|src)="([^"#]+)(#[^"]*)?"`)

// TestSite renders the repository: every link between its files leads to one that was written, and
// the search finds headings of it.
func TestSite(t *testing.T) {
	out := filepath.Join(t.TempDir(), "site")
	if err := run(root, out, "https://example.org/r"); err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(out, "*.html"))
	if err != nil || len(pages) < 20 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	below, err := filepath.Glob(filepath.Join(out, "*", "*.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, below...) {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(data, []byte("<nav id=\"nav\"")) {
			continue // a report that a page links to
		}
		for _, m := range href.FindAllStringSubmatch(string(data), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("%s links to %s: %v", filepath.Base(page), m[1], err)
			}
		}
	}
	index, err := os.ReadFile(filepath.Join(out, "assets", "index.js"))
	if err != nil || !bytes.Contains(index, []byte(`"h":"Intervals: two ends, both guaranteed","u":"privacy.html#intervals-two-ends-both-guaranteed"`)) {
		t.Errorf("the search does not know a heading: %v", err)
	}
	picture, err := os.ReadFile(filepath.Join(out, "architecture.html"))
	if err != nil || !bytes.Contains(picture, []byte(`<svg class="flow"`)) {
		t.Errorf("the picture of the architecture is not drawn: %v", err)
	}
}

// TestSearchIsDeep: the words of a section are in the index however long it is, each once where the
// text is cut, and the index stays small enough for a page.
func TestSearchIsDeep(t *testing.T) {
	long := strings.Repeat("begin ", 400) + "deep, `--flag-x` (DEEP) 0.125 UTF-16 begin"
	b, err := open(folder(t, map[string]string{
		"README.md": "# Front\n", "docs/README.md": "# Contents\n\n## One\n\n- [A](a.md)\n",
		"docs/a.md": "# A\n\n" + long + "\n\n## Next\n\nshort\n",
	}))
	if err != nil {
		t.Fatal(err)
	}
	var rest []string
	for _, f := range b.index() {
		rest = append(rest, f.Rest)
		if len(f.Text) > longest+100 {
			t.Errorf("%s shows %d characters", f.To, len(f.Text))
		}
	}
	if got := strings.Join(rest, "|"); !strings.Contains(got, "|deep --flag-x utf-16|") {
		t.Errorf("of what was cut the index has %q", got)
	}

	if b, err = open(root); err != nil {
		t.Fatal(err)
	}
	size := 0
	index := b.index()
	for _, f := range index {
		size += len(f.Text) + len(f.Rest)
	}
	if size > 1_500_000 {
		t.Errorf("the index has %d bytes", size)
	}
	for word, page := range map[string]string{
		"iconv": "data.html", "utf-16": "data.html", "semicolon": "data.html", "--time": "text.html",
	} {
		if !slices.ContainsFunc(index, func(f searchEntry) bool {
			file, _, _ := strings.Cut(f.To, "#")
			return file == page && strings.Contains(strings.ToLower(f.Text+" "+f.Rest), word)
		}) {
			t.Errorf("the search does not find %s on %s", word, page)
		}
	}
}

// TestNarrow: what a phone and dark colours need is in the page: cells with the names of their columns,
// commands whose comments wrap, code that may break, and whether a picture has dark colours of its own.
func TestNarrow(t *testing.T) {
	sentence := strings.Repeat("many words ", 6)
	out := filepath.Join(t.TempDir(), "site")
	if err := run(folder(t, map[string]string{
		"README.md": "# Front\n", "docs/README.md": "# Contents\n\n## One\n\n- [A](a.md)\n",
		"docs/own.svg": "<svg><style>@media (prefers-color-scheme:dark){}</style></svg>", "docs/white.svg": "<svg/>",
		"docs/a.md": "# A\n\n![x](own.svg)\n\n![y](white.svg)\n\n" +
			"| one | two | \"three\" |\n|---|---|---|\n| a | b | " + sentence + "|\n\n" +
			"| four | five | six |\n|---|---|---|\n| 1 | 2 | `AVeryLongNameThatIsOneWord --flag` |\n\n" +
			"```console\nmake x --y-z  # why <\n```\n\n```console\n$ make y\ndone\n```\n",
	}), out, "https://example.org/r"); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(out, "a.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`<img src="own.svg" alt="x" class="drawn">`, `<img src="white.svg" alt="y" class="drawn on-white">`,
		`<table class="prose">`, `<td data-name="two">b</td>`, `<td data-name="&quot;three&quot;">many`,
		"<table>\n<thead>\n<tr>\n<th>four", `<code class="long">AVeryLongNameThatIsOneWord <span>--flag</span></code>`,
		"<pre class=\"console wraps\"><code><span style=\"--at:16\">make x <em>--y-z</em>  # why &lt;\n</span></code></pre>",
		"<pre class=\"console\"><code><b>$ make y\n</b><i>done\n</i></code></pre>",
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

// TestFlowchart: boxes stand below what leads to them, and what cannot be drawn is an error.
func TestFlowchart(t *testing.T) {
	boxes, err := parseFlow("flowchart TD\n a[\"A<br>what it is\"]\n b[\"B\"]\n c[\"C\"]\n a --> b\n b --> c\n a --> c\n")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := layers(boxes)
	if err != nil || len(rows) != 3 {
		t.Fatalf("rows: got %v, error %v, want 3", rows, err)
	}
	if got := rows[2][0].id; got != "c" {
		t.Errorf("last box: got %s, want c", got)
	}
	if got := boxes[0].lines; len(got) != 2 {
		t.Errorf("lines of the first box: got %q, want 2", got)
	}
	for _, wrong := range []string{"a -.-> b", "a[\"A\"]\na --> b", "a[\"A\"]\nb[\"B\"]\na --> b\nb --> a"} {
		if _, err := flowchart(wrong); err == nil {
			t.Errorf("drawn: %s", wrong)
		}
	}
}
