package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// destination is a link or the source of a picture, and where in the page it stands.
type destination struct {
	to   string
	line int
	set  func(string)
	// picture is nil for links.
	picture *ast.Image
}

// destinations lists the links and pictures of a page.
func (p *page) destinations() []destination {
	var all []destination
	at := 1
	_ = ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		if n.Type() == ast.TypeBlock && n.Lines().Len() > 0 {
			at = 1 + bytes.Count(p.text[:n.Lines().At(0).Start], []byte("\n"))
		}
		switch n := n.(type) {
		case *ast.Link:
			all = append(all, destination{string(n.Destination), at, func(s string) { n.Destination = []byte(s) }, nil})
		case *ast.Image:
			all = append(all, destination{string(n.Destination), at, func(s string) { n.Destination = []byte(s) }, n})
		}
		return ast.WalkContinue, nil
	})
	return all
}

// links counts them.
func (b *book) links() (n int) {
	for _, p := range b.pages {
		n += len(p.destinations())
	}
	return n
}

// check returns an error for each link that leads nowhere: to a file, a folder or a heading that is
// not there. Of addresses elsewhere it checks the form.
func (b *book) check() error {
	var all []error
	for _, p := range b.pages {
		for _, d := range p.destinations() {
			if why := b.broken(p, d.to); why != "" {
				all = append(all, fmt.Errorf("%s:%d: %s: %s", p.path, d.line, d.to, why))
			}
		}
	}
	return errors.Join(all...)
}

// broken says what is wrong with a link, or "".
func (b *book) broken(from *page, link string) string {
	to, anchor, here := resolve(from.path, link)
	if !here {
		u, err := url.Parse(link)
		switch {
		case err != nil:
			return "it is no address"
		case u.Scheme == "mailto":
			return ""
		case u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
			return "it is no address of the web"
		}
		return ""
	}
	to, err := url.PathUnescape(to)
	if err != nil || strings.HasPrefix(to, "..") || path.IsAbs(to) {
		return "it leads out of the repository"
	}
	if p := b.find(to); p != nil {
		if anchor != "" && !p.has(anchor) {
			return fmt.Sprintf("%s has no heading #%s", p.path, anchor)
		}
		return ""
	}
	if _, err := os.Stat(filepath.Join(b.root, filepath.FromSlash(to))); err != nil {
		return to + " is not there"
	}
	if anchor != "" && !strings.HasSuffix(to, ".html") && !strings.HasSuffix(to, ".md") {
		return to + " has no headings"
	}
	return ""
}

// has reports whether a page has a heading with an id.
func (p *page) has(id string) bool {
	if plain, err := url.PathUnescape(id); err == nil {
		id = plain
	}
	return slices.ContainsFunc(p.headings, func(h heading) bool { return h.id == id })
}
