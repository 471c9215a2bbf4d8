package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

//go:embed assets
var assets embed.FS

var layout = template.Must(template.ParseFS(assets, "assets/page.html"))

// view is what the template of a page shows.
type view struct {
	Title, Section string
	// Up leads from the page to the top of the site.
	Up            string
	Body          template.HTML
	Headings      []entry
	Nav           []group
	Before, After *entry
	Source        string
}

type group struct {
	Title string
	// Open is set where the page is one of the group.
	Open  bool
	Pages []entry
}

type entry struct {
	Name, To string
	Here     bool
	Level    int
}

// write renders all pages into a folder that it empties first.
func (b *book) write(out, repository string) error {
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	files := map[string][]byte{}
	for _, p := range b.pages {
		if err := b.relink(p, repository, files); err != nil {
			return err
		}
		data, err := b.render(p, repository)
		if err != nil {
			return fmt.Errorf("%s: %w", p.path, err)
		}
		files[p.file()] = data
	}
	index, err := json.Marshal(b.index())
	if err != nil {
		return err
	}
	files["assets/index.js"] = append(append([]byte("window.sottoIndex = "), index...), ";\n"...)
	for _, name := range []string{"assets/style.css", "assets/site.js"} {
		if files[name], err = assets.ReadFile(name); err != nil {
			return err
		}
	}
	for name, data := range files {
		to := filepath.Join(out, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// relink turns links of the repository into links of the site, and takes files of docs/ along. What
// is elsewhere in the repository is linked where it can be read.
func (b *book) relink(p *page, repository string, files map[string][]byte) error {
	for _, d := range p.destinations() {
		to, anchor, here := resolve(p.path, d.to)
		if !here {
			continue
		}
		if anchor != "" {
			anchor = "#" + anchor
		}
		if q := b.find(to); q != nil {
			d.set(p.to(q.file()) + anchor)
			continue
		}
		info, err := os.Stat(filepath.Join(b.root, filepath.FromSlash(to)))
		if err != nil {
			return err
		}
		name, inDocs := strings.CutPrefix(to, "docs/")
		switch {
		case info.IsDir():
			d.set(repository + "/tree/main/" + to)
		case !inDocs || strings.HasSuffix(name, ".parquet"):
			d.set(repository + "/blob/main/" + to + anchor)
		default:
			if files[name], err = os.ReadFile(filepath.Join(b.root, filepath.FromSlash(to))); err != nil {
				return err
			}
			d.set(p.to(name) + anchor)
			if d.picture != nil && strings.HasSuffix(name, ".svg") {
				kind := "drawn on-white" // the style turns it dark
				if bytes.Contains(files[name], []byte("prefers-color-scheme")) {
					kind = "drawn"
				}
				d.picture.SetAttributeString("class", []byte(kind))
			}
		}
	}
	return nil
}

// to is a relative link from the page to a file of the site.
func (p *page) to(file string) string {
	return strings.Repeat("../", strings.Count(p.file(), "/")) + file
}

func (b *book) render(p *page, repository string) ([]byte, error) {
	var body, out bytes.Buffer
	if err := markdown.Renderer().Render(&body, p.text, p.tree); err != nil {
		return nil, err
	}
	v := view{
		Title: p.title, Section: p.section, Up: p.to(""), Body: template.HTML(body.String()), //nolint:gosec // the repository's own pages
		Nav: b.nav(p), Source: repository + "/blob/main/" + p.path,
	}
	for _, h := range p.headings {
		if h.level == 2 || h.level == 3 && len(p.headings) < 40 {
			v.Headings = append(v.Headings, entry{Name: h.text, To: "#" + h.id, Level: h.level})
		}
	}
	before, after := b.neighbours(p)
	if before != nil {
		v.Before = &entry{Name: before.name(), To: p.to(before.file())}
	}
	if after != nil {
		v.After = &entry{Name: after.name(), To: p.to(after.file())}
	}
	err := layout.Execute(&out, v)
	return out.Bytes(), err
}

// nav is the navigation as a page shows it: all sections, and below an index its pages where one of
// them is shown.
func (b *book) nav(p *page) []group {
	var all []group
	for _, s := range b.sections {
		g := group{Title: s.title, Open: s.title == p.section}
		for _, q := range s.pages {
			g.Pages = append(g.Pages, entry{Name: q.name(), To: p.to(q.file()), Here: q == p})
			if q != p && !within(p, q) {
				continue
			}
			for _, r := range b.pages {
				if r.parent == q {
					g.Pages = append(g.Pages, entry{Name: r.name(), To: p.to(r.file()), Here: r == p, Level: 1})
				}
			}
		}
		all = append(all, g)
	}
	return all
}

// within reports whether a page stands below another.
func within(p, above *page) bool {
	for ; p != nil; p = p.parent {
		if p == above {
			return true
		}
	}
	return false
}

// searchEntry is a section of a page, for the search.
type searchEntry struct {
	// Page and Heading are titles, To the place, Text what it says.
	Page    string `json:"p"`
	Heading string `json:"h"`
	To      string `json:"u"`
	Text    string `json:"t"`
	// Rest are the words that a long section has after Text and not in it, each once: they are found,
	// and not shown.
	Rest string `json:"r,omitempty"`
}

// longest is how much of a section's text the search can show.
const longest = 1500

// index splits every page at its headings.
func (b *book) index() []searchEntry {
	var all []searchEntry
	for _, p := range b.pages {
		at := searchEntry{Page: p.title, To: p.file()}
		var words strings.Builder
		flush := func() {
			at.Text, at.Rest = cut(strings.Fields(words.String()))
			all = append(all, at)
			words.Reset()
		}
		for n := p.tree.FirstChild(); n != nil; n = n.NextSibling() {
			if h, ok := n.(*ast.Heading); ok && h.Level > 1 {
				flush()
				id, _ := h.AttributeString("id")
				at = searchEntry{Page: p.title, Heading: plain(h, p.text), To: p.file() + "#" + string(id.([]byte))}
				continue
			}
			collect(&words, n, p.text)
		}
		flush()
	}
	return all
}

// cut returns the beginning of a text, and of what follows the words that the beginning does not have.
// Numbers there are left out, since most are cells of tables.
func cut(words []string) (text, rest string) {
	n, length := 0, 0
	for n < len(words) && length <= longest {
		length += len(words[n]) + 1
		n++
	}
	seen := map[string]bool{}
	for _, w := range words[:n] {
		seen[bare(w)] = true
	}
	var more []string
	for _, w := range words[n:] {
		w = bare(w)
		if strings.ContainsFunc(w, unicode.IsLetter) && !seen[w] {
			seen[w] = true
			more = append(more, w)
		}
	}
	return strings.Join(words[:n], " "), strings.Join(more, " ")
}

// bare is a word as it is searched: in lower case, without marks around it. The hyphens of a flag stay.
func bare(w string) string {
	w = strings.TrimLeft(strings.ToLower(w), `"'“”‘’()[]{},.;:!?`)
	return strings.TrimRight(w, `"'“”‘’()[]{},.;:!?`)
}

// collect adds the text of a block, cells and lines apart.
func collect(to *strings.Builder, n ast.Node, source []byte) {
	switch n.Kind() {
	case ast.KindHeading:
		return
	case ast.KindFencedCodeBlock, ast.KindCodeBlock:
		to.Write(n.Lines().Value(source))
		return
	case ast.KindParagraph, ast.KindTextBlock, extast.KindTableCell:
		to.WriteString(plain(n, source) + " ")
		return
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		collect(to, c, source)
	}
}
