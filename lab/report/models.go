package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/lab/result"
)

// noModel is what suites call the model of papers' baselines.
const noModel = "no language model"

// modelWords reports which model made which number.
func (r *report) modelWords() string {
	s := ""
	if models := r.modelList(); len(models) > 0 {
		s = "Our numbers: " + strings.Join(models, "; ") + "."
	}
	models := map[string]bool{}
	for _, g := range r.groups {
		for _, p := range slices.Concat(r.published(g, g.metric), r.published(g, likeness)) {
			models[p.Model] = p.Model != noModel
		}
	}
	maps.DeleteFunc(models, func(_ string, there bool) bool { return !there })
	if len(models) > 0 {
		s += fmt.Sprintf(" The papers' numbers are of %s: look at the order of the methods and at differences, not at the heights.", list(slices.Sorted(maps.Keys(models))))
	}
	return s
}

func (r *report) modelList() []string {
	var models []string
	for _, b := range r.blocks() {
		if b.answerer == "" {
			continue // nobody was asked
		}
		m := "answered by " + b.answerer
		switch {
		case b.model == b.answerer && !r.writes():
		case b.model == b.answerer:
			m = "written and answered by " + b.model
		case b.model != "":
			m = "written by " + b.model + ", answered by " + b.answerer
		}
		if !slices.Contains(models, m) {
			models = append(models, m)
		}
	}
	return models
}

// writes reports whether a model wrote something, rather than a mechanism for tables.
func (r *report) writes() bool {
	return slices.ContainsFunc(r.in.Rows, func(row result.Row) bool { return row.WriteTokens > 0 || row.Online })
}
