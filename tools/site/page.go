package main

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// page is one Markdown file.
type page struct {
	// path in the repository, with slashes.
	path string
	text []byte
	tree ast.Node
	// title is the first heading, label what the table of contents calls it.
	title, label string
	section      string
	// parent is the index that lists the page, if the table of contents does not.
	parent   *page
	headings []heading
}

// heading of a page.
type heading struct {
	level    int
	id, text string
}

// markdown reads and renders GitHub's Markdown, with its anchors.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.Linkify),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(html.WithUnsafe(), renderer.WithNodeRenderers(util.Prioritized(blocks{}, 1))),
)

func read(name string, source []byte) *page {
	p := &page{path: name, text: source}
	p.tree = markdown.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(&anchors{}))))
	_ = ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if h, ok := n.(*ast.Heading); ok && entering {
			id, _ := h.AttributeString("id")
			p.headings = append(p.headings, heading{h.Level, string(id.([]byte)), plain(h, source)})
		}
		return ast.WalkContinue, nil
	})
	p.title = strings.TrimSuffix(path.Base(name), ".md")
	if len(p.headings) > 0 {
		p.title = p.headings[0].text
	}
	return p
}

// name is what the navigation calls the page.
func (p *page) name() string {
	if p.label != "" {
		return p.label
	}
	return p.title
}

// file is the page's place in the site.
func (p *page) file() string {
	if p.path == front {
		return "index.html"
	}
	dir, base := path.Split(strings.TrimPrefix(p.path, "docs/"))
	if base == "README.md" {
		if dir == "" {
			return "contents.html"
		}
		return dir + "index.html"
	}
	return dir + strings.TrimSuffix(base, ".md") + ".html"
}

// plain is the text of a node without its marks.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(c ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch c := c.(type) {
		case *ast.Text:
			b.Write(c.Segment.Value(source))
			if c.SoftLineBreak() || c.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(c.Value)
		case *ast.AutoLink:
			b.Write(c.Label(source))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// anchors makes the ids of headings as GitHub does: lower case, letters of any script and digits
// kept, blanks as hyphens, and a number where an id is taken.
type anchors struct{ taken map[string]int }

// Generate implements [parser.IDs].
func (a *anchors) Generate(value []byte, _ ast.NodeKind) []byte {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(string(value))) {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_', unicode.Is(unicode.Mn, r):
			b.WriteRune(r)
		case r == ' ':
			b.WriteByte('-')
		}
	}
	id := b.String()
	if a.taken == nil {
		a.taken = map[string]int{}
	}
	n := a.taken[id]
	a.taken[id]++
	if n > 0 {
		id = fmt.Sprintf("%s-%d", id, n)
	}
	return []byte(id)
}

// Put implements [parser.IDs].
func (a *anchors) Put([]byte) {}

// blocks renders code so that commands can be distinguished from what they print.
type blocks struct{}

// RegisterFuncs implements [renderer.NodeRenderer].
func (blocks) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindFencedCodeBlock, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		block := n.(*ast.FencedCodeBlock)
		language := string(block.Language(source))
		code := block.Lines().Value(source)
		if language == "mermaid" {
			if picture, err := flowchart(string(code)); err == nil {
				_, _ = fmt.Fprintf(w, "<div class=\"wide\">%s</div>\n", picture)
				return ast.WalkSkipChildren, nil
			}
		}
		prompt := bytes.HasPrefix(code, []byte("$ ")) || bytes.Contains(code, []byte("\n$ "))
		wraps := language == "console" && !prompt
		class := language
		if wraps {
			class += " wraps"
		}
		_, _ = fmt.Fprintf(w, "<pre class=\"%s\"><code>", escape(class))
		for line := range bytes.Lines(code) {
			switch {
			case wraps:
				_, _ = fmt.Fprintf(w, "<span style=\"--at:%d\">%s</span>", comment(line), flags.ReplaceAllString(escape(string(line)), "<em>$0</em>"))
			case language == "console" && bytes.HasPrefix(line, []byte("$ ")):
				_, _ = fmt.Fprintf(w, "<b>%s</b>", escape(string(line)))
			case language == "console" && prompt:
				_, _ = fmt.Fprintf(w, "<i>%s</i>", escape(string(line)))
			default:
				_, _ = w.WriteString(escape(string(line)))
			}
		}
		_, _ = w.WriteString("</code></pre>\n")
		return ast.WalkSkipChildren, nil
	})
	r.Register(ast.KindCodeSpan, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		code := strings.ReplaceAll(plain(n, source), "\n", " ")
		if utf8.RuneCountInString(code) > longCode {
			_, _ = w.WriteString("<code class=\"long\">")
			for i, word := range strings.Fields(code) {
				if i > 0 {
					_ = w.WriteByte(' ')
				}
				if utf8.RuneCountInString(word) <= longCode {
					word = "<span>" + escape(word) + "</span>" // never broken: --flags would be after a hyphen
				} else {
					word = escape(word)
				}
				_, _ = w.WriteString(word)
			}
			_, _ = w.WriteString("</code>")
		} else {
			_, _ = w.WriteString("<code>" + escape(code) + "</code>")
		}
		return ast.WalkSkipChildren, nil
	})
	r.Register(extast.KindTable, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch {
		case !entering:
			_, _ = w.WriteString("</table></div>\n")
		case nameCells(n, source):
			_, _ = w.WriteString("<div class=\"wide\"><table class=\"prose\">\n")
		default:
			_, _ = w.WriteString("<div class=\"wide\"><table>\n")
		}
		return ast.WalkContinue, nil
	})
}

// flags of a command are not broken after their hyphens.
var flags = regexp.MustCompile(`--[a-z][a-z-]*`)

// longCode is how long code in a cell may be before it is broken, in characters.
const longCode = 22

// comment is the column where a command's comment begins: that is where its next lines begin if it has
// to be wrapped. Commands without one continue a little further right.
func comment(line []byte) int {
	if at := bytes.Index(line, []byte("# ")); at == 0 || at > 0 && line[at-1] == ' ' {
		return utf8.RuneCount(line[:at]) + 2
	}
	return 4
}

// nameCells gives each cell of a table the name of its column, and reports whether the table has
// sentences: a phone shows such a table row by row, and others as they are.
func nameCells(table ast.Node, source []byte) bool {
	var names []string
	sentences := false
	for row := table.FirstChild(); row != nil; row = row.NextSibling() {
		i := 0
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			words := plain(cell, source)
			if row.Kind() == extast.KindTableHeader {
				names = append(names, words)
				continue
			}
			if i < len(names) {
				cell.SetAttributeString("data-name", []byte(names[i]))
			}
			sentences = sentences || utf8.RuneCountInString(words) > 50
			i++
		}
	}
	return sentences && len(names) > 2
}

func escape(s string) string { return string(util.EscapeHTML([]byte(s))) }
