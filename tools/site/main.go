// Command site renders README.md and docs/ into a static site that needs no server and no network:
// pages, a search over them, and the files that they link to.
//
// docs/README.md is the table of contents. Its headings are the sections of the
// navigation, its links the pages, in order; a page that it leaves out stands below the index of its
// own folder. Before anything is written every link is checked.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	out := flag.String("out", "", "write the site into `DIR`; without it links are only checked")
	repository := flag.String("repository", "https://github.com/sotto-dp/sotto", "the `URL` where files that are no pages can be read")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "site: name the folder of the repository: go -C tools run ./site -out dist/site \"$PWD\"")
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *out, *repository); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

func run(root, out, repository string) error {
	b, err := open(root)
	if err != nil {
		return err
	}
	if err := b.check(); err != nil {
		return err
	}
	if out == "" {
		fmt.Printf("%d pages, %d links: none is broken\n", len(b.pages), b.links())
		return nil
	}
	if err := b.write(out, repository); err != nil {
		return err
	}
	fmt.Printf("%d pages in %s: open %s/index.html\n", len(b.pages), out, out)
	return nil
}
