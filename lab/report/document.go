package report

import (
	"slices"
	"strings"
)

// document is a report before it is set in Markdown.
type document struct {
	Title, About string
	Reading      []string
	Sections     []section
	Facts        []fact
	Command      string
}

type fact struct{ Name, Value string }

// section has its text first, then its tables.
type section struct {
	Title  string
	Text   []string
	Tables []table
}

type table struct {
	Caption string
	Head    []string
	Rows    [][]entry
	Notes   []string
}

// entry of a table. Strong ones are the highest of their column, or more than chance.
type entry struct {
	Text   string
	Small  []string
	Strong bool
	Left   bool
}

// report is the state of composing one.
type report struct {
	in        Input
	groups    []*group
	reference string
}

// compose computes everything.
func compose(in Input) (*document, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	r := &report{in: in, groups: in.groups()}
	r.reference = r.chooseReference()
	d := &document{Title: in.Title, About: in.About, Command: in.Command, Facts: r.facts()}
	d.Reading = slices.Clone(reading)
	if slices.ContainsFunc(r.groups, (*group).online) {
		d.Reading = append(d.Reading, readingOnline...)
	}
	if words := r.modelWords(); words != "" {
		d.Reading = append(d.Reading, words)
	}
	for _, b := range r.blocks() {
		d.add(r.averageSection(b))
	}
	shown, costs := map[string]bool{}, map[string]bool{}
	for _, g := range r.groups {
		at := g.dataset + "\x00" + g.block.model + "\x00" + g.block.answerer
		if g.fixed && shown[at] {
			continue
		}
		shown[at] = true
		d.add(r.datasetSection(g, costs[at]))
		costs[at] = true
	}
	for _, b := range r.blocks() {
		d.add(r.comparisonSection(b))
	}
	return d, nil
}

// cellsOf lists the cells of groups.
func cellsOf(groups []*group) (cells []*cell) {
	for _, g := range groups {
		cells = append(cells, g.cells...)
	}
	return cells
}

// add leaves out what has nothing to show.
func (d *document) add(s section) {
	if len(s.Tables) > 0 {
		d.Sections = append(d.Sections, s)
	}
}

// blocks that occur, in order.
func (r *report) blocks() []block {
	return distinct(r.groups, func(g *group) (block, bool) { return g.block, true })
}

// of returns the groups of a block.
func (r *report) of(b block) []*group {
	return slices.DeleteFunc(slices.Clone(r.groups), func(g *group) bool { return g.block != b })
}

// chooseReference takes the one that is named, or clipped, or else the first whose ε is
// more than a claim.
func (r *report) chooseReference() string {
	there := distinct(cellsOf(r.groups), func(c *cell) (string, bool) { return c.name, guaranteed(c.epsilon) && !c.claimed })
	for _, name := range []string{r.in.Reference, "clipped"} {
		if slices.Contains(there, name) {
			return name
		}
	}
	if len(there) > 0 {
		return there[0]
	}
	return ""
}

// modelName reports which models a block is of, where they vary.
func (r *report) modelName(b block) string {
	blocks := r.blocks()
	models := slices.ContainsFunc(blocks, func(o block) bool { return o.model != b.model })
	answerers := slices.ContainsFunc(blocks, func(o block) bool { return o.answerer != b.answerer })
	switch {
	case !models && !answerers:
		return ""
	case b.model == b.answerer:
		return b.answerer
	case !models:
		return "answered by " + b.answerer
	case !answerers:
		return "written by " + b.model
	}
	return "written by " + b.model + ", answered by " + b.answerer
}

func calibration(yes bool) string {
	if yes {
		return "calibrated"
	}
	return "not calibrated"
}

// split reports whether there are blocks of both calibrations.
func (r *report) split() bool {
	blocks := r.blocks()
	return slices.ContainsFunc(blocks, func(b block) bool { return b.calibrated != blocks[0].calibrated })
}

// titled adds to a title what distinguishes its block.
func (r *report) titled(title string, b block) string {
	var parts []string
	if name := r.modelName(b); name != "" {
		parts = append(parts, name)
	}
	if r.split() {
		parts = append(parts, calibration(b.calibrated))
	}
	return bracketed(title, parts...)
}

// groupTitle returns the title of a data set, without a calibration that it does not have.
func (r *report) groupTitle(g *group) string {
	if !g.fixed {
		return r.titled(g.dataset, g.block)
	}
	return bracketed(g.dataset, r.modelName(g.block))
}

func bracketed(title string, parts ...string) string {
	if inside := strings.Join(parts, ", "); inside != "" {
		return title + " (" + inside + ")"
	}
	return title
}
