// Command links reports links between the repository's pages that lead nowhere: to a file, a folder
// or a heading that is not there.
//
//	links ROOT
//
// It reads Markdown as GitHub does. Addresses on the web are not opened.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "links: name the folder of the checkout")
		os.Exit(2)
	}
	if _, err := check(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// check reads all Markdown files that git knows, and returns the number of their links.
func check(root string) (int, error) {
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md")
	cmd.Dir = root
	names, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("git ls-files: %w", err)
	}
	pages := map[string]*page{}
	for name := range strings.SplitSeq(strings.TrimRight(string(names), "\x00"), "\x00") {
		source, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, os.ErrNotExist) || strings.Contains(name, "/testdata/") {
			continue // deleted and not yet committed, or no page
		} else if err != nil {
			return 0, err
		}
		pages[name] = read(source)
	}
	n := 0
	var all []error
	for name, p := range pages {
		for _, l := range p.links {
			n++
			if why := broken(root, pages, name, l.to); why != "" {
				all = append(all, fmt.Errorf("%s:%d: %s: %s", name, l.line, l.to, why))
			}
		}
	}
	return n, errors.Join(all...)
}

// page has the ids of its headings, and where it leads to.
type page struct {
	ids   anchors
	links []link
}

type link struct {
	to   string
	line int
}

var markdown = goldmark.New(goldmark.WithExtensions(extension.Table, extension.Linkify), goldmark.WithParserOptions(parser.WithAutoHeadingID()))

func read(source []byte) *page {
	p := &page{ids: anchors{}}
	tree := markdown.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(p.ids))))
	line := 1
	_ = ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		if n.Type() == ast.TypeBlock && n.Lines().Len() > 0 {
			line = 1 + bytes.Count(source[:n.Lines().At(0).Start], []byte("\n"))
		}
		switch n := n.(type) {
		case *ast.Link:
			p.links = append(p.links, link{string(n.Destination), line})
		case *ast.Image:
			p.links = append(p.links, link{string(n.Destination), line})
		}
		return ast.WalkContinue, nil
	})
	return p
}

// broken says what is wrong with a link, or "".
func broken(root string, pages map[string]*page, from, to string) string {
	u, err := url.Parse(to)
	if err != nil {
		return "it is no address"
	}
	if u.Scheme != "" {
		if u.Scheme != "mailto" && (u.Scheme != "https" && u.Scheme != "http" || u.Host == "") {
			return "it is no address of the web"
		}
		return ""
	}
	name := from
	if u.Path != "" {
		name = path.Join(path.Dir(from), u.Path)
	}
	if strings.HasPrefix(name, "..") || path.IsAbs(u.Path) {
		return "it leads out of the repository"
	}
	if _, err := os.Stat(filepath.Join(root, name)); err != nil {
		return name + " is not there"
	}
	p := pages[name]
	if p == nil {
		p = pages[path.Join(name, "README.md")]
	}
	if _, known := p.heading(u.Fragment); u.Fragment != "" && !known {
		return fmt.Sprintf("%s has no heading #%s", name, u.Fragment)
	}
	return ""
}

func (p *page) heading(id string) (int, bool) {
	if p == nil {
		return 0, false
	}
	n, ok := p.ids[id]
	return n, ok
}

// anchors makes the ids of headings as GitHub does: lower case, letters of any script and digits
// kept, blanks as hyphens, and a number where an id is taken.
type anchors map[string]int

// Generate implements [parser.IDs].
func (a anchors) Generate(value []byte, _ ast.NodeKind) []byte {
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
	n := a[id]
	a[id]++
	if n > 0 {
		id = fmt.Sprintf("%s-%d", id, n)
		a[id]++
	}
	return []byte(id)
}

// Put implements [parser.IDs].
func (anchors) Put([]byte) {}
