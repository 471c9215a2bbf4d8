package report

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/sotto-dp/sotto/internal/release"
)

// longest is the size in bytes beyond which the data sets of a Markdown file get files of
// their own.
const longest = 64 << 10

// pages returns the files of the Markdown: one, or one and another for each data set.
func (d *document) pages() map[string][]byte {
	whole := d.markdown()
	names := d.datasets()
	if len(whole) <= longest || len(names) < 2 {
		return map[string][]byte{MarkdownName: whole}
	}
	files := map[string][]byte{}
	var b strings.Builder
	p := printer(&b)
	d.opening(p)
	p("\n## Data sets\n\nEach has a page of its own:\n")
	for i, name := range names {
		file := datasetFile(name, i)
		p("- [%s](%s)", inline(name), file)
		files[file] = d.datasetPage(name)
	}
	for _, s := range d.Sections {
		if s.Dataset == "" {
			s.markdown(p)
		}
	}
	d.ending(p)
	files[MarkdownName] = []byte(b.String())
	return files
}

// datasets that have sections, in order.
func (d *document) datasets() []string {
	return distinct(d.Sections, func(s section) (string, bool) { return s.Dataset, s.Dataset != "" })
}

var plainName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,40}$`)

// datasetFile is named like the data set where that is a plain name, and by its place
// otherwise: a name could be a path.
func datasetFile(name string, place int) string {
	if plainName.MatchString(name) {
		return "dataset-" + name + ".md"
	}
	return fmt.Sprintf("dataset_%d.md", place+1)
}

// datasetPage returns the sections of one data set.
func (d *document) datasetPage(name string) []byte {
	var b strings.Builder
	p := printer(&b)
	p("# %s: %s\n", inline(d.Title), inline(name))
	p("> **%s**: %s.\n", release.Mark, why)
	p("[Summary, averages and comparisons](%s); plots are in [%s](%s).", MarkdownName, PageName, PageName)
	for _, s := range d.Sections {
		if s.Dataset == name {
			s.markdown(p)
		}
	}
	return []byte(b.String())
}
