package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// paged returns a document of two data sets and an average, with so many lines in each
// table.
func paged(lines int, names ...string) *document {
	var rows [][]entry
	for i := range lines {
		rows = append(rows, []entry{{Text: fmt.Sprintf("line %d", i)}})
	}
	d := &document{Title: "t", Command: "make"}
	d.add(section{Title: "Average", Tables: []table{{Head: []string{"a"}, Rows: rows[:1]}}})
	for _, name := range names {
		for _, kind := range []string{"calibrated", "not calibrated"} {
			d.add(section{Title: name + " (" + kind + ")", Dataset: name, Tables: []table{{Head: []string{name}, Rows: rows}}})
		}
	}
	return d
}

// TestPages: a long report has a page for each data set, and nothing is lost or twice.
func TestPages(t *testing.T) {
	if short := paged(10, "car", "heart").pages(); len(short) != 1 || !bytes.Equal(short[MarkdownName], paged(10, "car", "heart").markdown()) {
		t.Fatalf("a short report has %d files", len(short))
	}
	if one := paged(10000, "car").pages(); len(one) != 1 {
		t.Fatalf("a report of one data set has %d files", len(one))
	}
	d := paged(3000, "car", "../etc/x")
	files := d.pages()
	if len(files) != 3 || len(files[MarkdownName]) > longest {
		t.Fatalf("%d files, the first has %d bytes", len(files), len(files[MarkdownName]))
	}
	for file, want := range map[string][]string{
		MarkdownName:     {"[car](dataset-car.md)", "(dataset_2.md)", "## Average", "## How it was made", "make"},
		"dataset-car.md": {"# t: car", "NOT PRIVATE", "## car (calibrated)", "## car (not calibrated)", "(README.md)"},
		"dataset_2.md":   {"## ../etc/x (calibrated)"},
	} {
		for _, w := range want {
			if strings.Count(string(files[file]), w) != 1 {
				t.Errorf("%s has %q %d times", file, w, strings.Count(string(files[file]), w))
			}
		}
	}
	lines := func(b ...byte) []string {
		var found []string
		for l := range strings.Lines(string(b)) {
			if strings.HasPrefix(l, "| ") {
				found = append(found, l)
			}
		}
		return found
	}
	var apart []string
	for _, file := range []string{MarkdownName, "dataset-car.md", "dataset_2.md"} {
		apart = append(apart, lines(files[file]...)...)
	}
	if !slices.Equal(apart, lines(d.markdown()...)) {
		t.Error("the lines of the tables are not those of one file")
	}
}
