package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// front and contents are the page that visitors see first, and the one that orders the others.
const (
	front    = "README.md"
	contents = "docs/README.md"
)

// book is all pages of a repository.
type book struct {
	root string
	// pages in the order of reading.
	pages    []*page
	byPath   map[string]*page
	sections []section
}

// section is a heading of the table of contents, and the pages under it.
type section struct {
	title string
	pages []*page
}

// open reads README.md and all Markdown files under docs/, and puts them in order.
func open(root string) (*book, error) {
	b := &book{root: root, byPath: map[string]*page{}}
	names := []string{front}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(name, ".md") {
			name, err = filepath.Rel(root, name)
			names = append(names, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		b.byPath[name] = read(name, text)
	}
	return b, b.order(names)
}

// order takes sections and pages from the table of contents, and puts each other page behind the
// index of its folder.
func (b *book) order(names []string) error {
	index := b.byPath[contents]
	if index == nil {
		return fmt.Errorf("%s is missing: its headings and links are the navigation", contents)
	}
	b.sections = []section{{title: "Sotto", pages: []*page{b.byPath[front], index}}}
	placed := map[*page]bool{b.byPath[front]: true, index: true}
	_ = ast.Walk(index.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			if n.Level == 2 {
				b.sections = append(b.sections, section{title: plain(n, index.text)})
			}
		case *ast.Link:
			to, _, ok := resolve(contents, string(n.Destination))
			if p := b.find(to); ok && p != nil && !placed[p] {
				placed[p] = true
				p.label = plain(n, index.text)
				last := &b.sections[len(b.sections)-1]
				last.pages = append(last.pages, p)
			}
		}
		return ast.WalkContinue, nil
	})
	for _, name := range names {
		p := b.byPath[name]
		if placed[p] {
			continue
		}
		if p.parent = b.indexOf(name); p.parent == nil {
			return fmt.Errorf("%s is in no list: link it from %s, or from a README.md of its folder that is linked there", name, contents)
		}
	}
	for i, s := range b.sections {
		for _, p := range s.pages {
			p.section = b.sections[i].title
			b.pages = append(b.pages, p)
			b.pages = append(b.pages, b.below(p, names)...)
		}
	}
	return nil
}

// below lists pages that stand under another, and those under them.
func (b *book) below(p *page, names []string) []*page {
	var list []*page
	for _, name := range names {
		if q := b.byPath[name]; q.parent == p {
			q.section = p.section
			list = append(append(list, q), b.below(q, names)...)
		}
	}
	return list
}

// indexOf returns the nearest README.md at or above the folder of a page, below docs/.
func (b *book) indexOf(name string) *page {
	for dir := path.Dir(name); dir != "docs" && dir != "."; dir = path.Dir(dir) {
		if p := b.byPath[path.Join(dir, "README.md")]; p != nil && p.path != name {
			return p
		}
	}
	return nil
}

// find returns the page of a path: of a folder, its README.md.
func (b *book) find(name string) *page {
	if p := b.byPath[name]; p != nil {
		return p
	}
	return b.byPath[path.Join(name, "README.md")]
}

// resolve returns the path and anchor in the repository that a link of a page leads to; ok is false
// for links that lead elsewhere.
func resolve(from, link string) (to, anchor string, ok bool) {
	if strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
		return "", "", false
	}
	to, anchor, _ = strings.Cut(link, "#")
	if to == "" {
		return from, anchor, true
	}
	return path.Join(path.Dir(from), to), anchor, true
}

// neighbours returns the pages before and after one in the order of reading. Pages that stand below
// an index are left out, unless the page is one of them.
func (b *book) neighbours(p *page) (before, after *page) {
	alike := slices.DeleteFunc(slices.Clone(b.pages), func(q *page) bool { return q.parent != p.parent })
	at := slices.Index(alike, p)
	if at > 0 {
		before = alike[at-1]
	}
	if at+1 < len(alike) {
		after = alike[at+1]
	}
	return before, after
}
