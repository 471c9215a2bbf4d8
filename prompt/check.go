package prompt

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/sotto-dp/sotto/internal/sys/document"
)

// Check finds every problem at once, in the order of a task file: what makes a task
// unusable, and warnings.
func (t Task) Check() []Problem {
	var found document.Problems
	t.check(&found)
	return found.List
}

func (t Task) check(found *document.Problems) {
	said := t
	t = t.WithDefaults()
	t.checkName(found)
	if !slices.Contains(Kinds(), t.Kind) {
		what := fmt.Sprintf("%q is no kind of task", document.Shorten(string(t.Kind)))
		if t.Kind == "" {
			what = "it is missing"
		}
		found.Wrong("kind", what, "say \"classify\" (a label of a list), \"extract\" (a phrase) or \"generate\" (a text)")
		return // the rest depends on it
	}
	t.checkColumns(found)
	t.checkLabels(found)
	t.checkAliases(found)
	t.checkConditions(found)
	t.checkStop(found)
	t.checkGeneration(found, said.Generate)
	t.checkAnswering(found, said.Answer)
	t.checkLimits(found)
}

func (t Task) checkName(found *document.Problems) {
	if what := document.Flaw(t.Name); what != "" {
		found.Wrong("name", what, "give the task a short name: it is printed in plans and certificates")
	} else if utf8.RuneCountInString(t.Name) > 64 {
		found.Wrong("name", "it is longer than 64 characters", "give the task a shorter name: it is printed in plans and certificates")
	}
	if t.Title != "" {
		if what := document.Flaw(t.Title); what != "" {
			found.Wrong("title", what, "write it on one line")
		}
	}
}

func (t Task) checkColumns(found *document.Problems) {
	text, label := "text", "label"
	if t.Kind == Generate {
		text, label = "output", "input"
	}
	for _, c := range []struct{ key, column string }{{text, t.Text}, {label, t.Label}} {
		if c.column == "" {
			found.Wrong(c.key, "it is missing", "name the column of the data that holds it, for example %s = %q", c.key, c.key)
		} else if !utf8.ValidString(c.column) || strings.IndexFunc(c.column, unicode.IsControl) >= 0 {
			found.Wrong(c.key, "the name of the column has a control character in it", "name the column as the data does")
		}
	}
	if t.Text != "" && t.Text == t.Label {
		found.Wrong(text, fmt.Sprintf("it is the same column as %s", label), "name two columns of the data")
	}
}

// maxLabels is far beyond what a prompt can name and a budget can serve.
const maxLabels = 1000

func (t Task) checkLabels(found *document.Problems) {
	if t.Kind == Generate {
		if len(t.Labels) > 0 {
			found.Wrong("labels", "a generation task has none", "leave them out; inputs to write outputs for are called conditions")
		}
		return
	}
	if len(t.Labels) == 0 {
		if t.Kind == Classify {
			found.Warn("labels", "there is no list, so labels are open", "list the labels if they are publicly known: then records with different labels share no budget, and answers are one of them")
		}
		return
	}
	if len(t.Labels) > maxLabels {
		found.Wrong("labels", fmt.Sprintf("%d are more than %d", len(t.Labels), maxLabels), "list fewer, or leave the list out: then labels are open")
		return
	}
	if len(t.Labels) == 1 {
		found.Wrong("labels", "there is only one", "list all labels that the data can have")
	}
	seen := map[string]int{}
	for i, l := range t.Labels {
		where := fmt.Sprintf("labels[%d]", i+1)
		if what := document.Flaw(l); what != "" {
			found.Wrong(where, what, "write the label as it is to be answered")
		}
		if j, ok := seen[fold(l)]; ok && t.Labels[j] == l {
			found.Wrong(where, fmt.Sprintf("%q is listed twice", document.Shorten(l)), "list each label once")
		} else if ok {
			found.Wrong(where, fmt.Sprintf("%q is the same as %q except for capitals or spaces", document.Shorten(l), document.Shorten(t.Labels[j])), "keep one, and write the other as an alias: aliases = { %q = %q }", l, t.Labels[j])
		} else {
			seen[fold(l)] = i
		}
	}
	t.checkBeginnings(found)
}

// checkBeginnings warns of labels that a model cannot tell apart by their first word.
func (t Task) checkBeginnings(found *document.Problems) {
	first := map[string][]string{}
	var order []string
	for _, l := range t.Labels {
		words := strings.Fields(fold(l))
		if len(words) == 0 {
			continue
		}
		if first[words[0]] == nil {
			order = append(order, words[0])
		}
		if !slices.Contains(first[words[0]], l) {
			first[words[0]] = append(first[words[0]], l)
		}
	}
	for _, w := range order {
		if same := first[w]; len(same) > 1 && fold(same[0]) != fold(same[1]) {
			found.Warn("labels", fmt.Sprintf("%s begin with the same word", document.Quote(same)), "rename them so that the first word tells them apart, and keep the old spelling as an alias: a label's first word decides most of its score")
		}
	}
}

func (t Task) checkAliases(found *document.Problems) {
	for _, a := range slices.Sorted(maps.Keys(t.Aliases)) {
		where := fmt.Sprintf("aliases.%q", document.Shorten(a))
		switch to := t.Aliases[a]; {
		case len(t.Labels) == 0:
			found.Wrong(where, "there is no list of labels that it could stand for", "list the labels, or leave the aliases out")
			return
		case a == "" || !utf8.ValidString(a):
			found.Wrong(where, "it is empty or not UTF-8", "write the spelling that the data has")
		case !slices.Contains(t.Labels, to):
			found.Wrong(where, fmt.Sprintf("%q is not on the list of labels", document.Shorten(to)), "write spelling-in-the-data = label; labels are %s", document.Quote(t.Labels))
		case slices.Contains(t.Labels, a) && a != to:
			found.Wrong(where, "it is a label itself", "remove it from labels or from aliases")
		}
	}
}

func (t Task) checkConditions(found *document.Problems) {
	if len(t.Conditions) > 0 && len(t.Labels) > 0 {
		found.Wrong("conditions", "texts are written for the labels already", "leave out conditions, or leave out labels if they are open")
	}
	seen := map[string]bool{}
	for i, c := range t.Conditions {
		where := fmt.Sprintf("conditions[%d]", i+1)
		what := document.Flaw(c)
		if t.Kind == Generate { // an input may have several lines
			what = document.Flaw(strings.Join(strings.Fields(c), " "))
		}
		if what != "" {
			found.Wrong(where, what, "write what a text is to be written for")
		} else if seen[c] {
			found.Wrong(where, fmt.Sprintf("%q is listed twice", document.Shorten(c)), "list each condition once")
		}
		seen[c] = true
	}
}

func (t Task) checkStop(found *document.Problems) {
	for i, s := range t.Stop {
		if s == "" || !utf8.ValidString(s) {
			found.Wrong(fmt.Sprintf("stop[%d]", i+1), "it is empty or not UTF-8", "write a string that ends a text, such as \"\\n\"")
		}
	}
	// What follows a text in a prompt is what the model writes when it continues.
	next := "\n" + t.GenerationHead("x")
	if !slices.ContainsFunc(t.Stop, func(s string) bool { return strings.Contains(next, s) }) {
		found.Warn("stop", "none of the strings follows a text in the prompt", "add \"\\n\", or the beginning of the template: otherwise texts run on into further examples")
	}
}

// fold makes texts equal that differ in capitals, spaces or Unicode spelling only.
func fold(s string) string {
	return strings.Join(strings.Fields(cases.Fold().String(norm.NFKC.String(s))), " ")
}
