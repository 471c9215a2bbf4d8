package suite

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/sys/document"
	"github.com/sotto-dp/sotto/internal/sys/spell"
	"github.com/sotto-dp/sotto/prompt"
)

// Limits of what a suite may ask for: more is a slip of the finger.
const (
	maxSeeds = 10_000
	maxShots = 1_000
	maxCells = 100_000
	maxAsked = 1_000_000_000
)

// WithDefaults fills in what is not said. Check finds what is wrong.
func (s Suite) WithDefaults() Suite {
	if s.Seeds == 0 {
		s.Seeds = 1
	}
	fill(&s.Shots, 0)
	fill(&s.Models, "")
	fill(&s.Answerers, "same")
	fill(&s.Calibrate, !s.Form.Turns())
	fill(&s.Queries, 0)
	s.Datasets = slices.Clone(s.Datasets)
	for i := range s.Datasets {
		if s.Datasets[i].Task == "" && !s.Datasets[i].table() {
			s.Datasets[i].Task = s.Datasets[i].Name
		}
	}
	s.Methods = slices.Clone(s.Methods)
	for i := range s.Methods {
		m := &s.Methods[i]
		k := kinds[m.Method]
		if m.Name == "" {
			m.Name = m.Method
			if m.Online && !k.always() {
				m.Name += " online"
			}
		}
		m.Online = m.Online || k.always()
	}
	return s
}

func fill[V any](list *[]V, value V) {
	if len(*list) == 0 {
		*list = []V{value}
	}
}

// Check finds every problem at once, in the order of a suite file. Files that a suite
// names are not looked for.
func (s Suite) Check() []Problem {
	var found document.Problems
	s.WithDefaults().check(&found)
	return found.List
}

func (s Suite) check(found *document.Problems) {
	if s.Name == "" || strings.ContainsAny(s.Name, "/\\\n\r\x00") {
		found.Wrong("name", "it is missing or has a slash or a line break in it", "give the suite a short name")
	}
	if s.Seeds < 1 || s.Seeds > maxSeeds {
		found.Wrong("seeds", fmt.Sprintf("%d sets for each cell cannot be made", s.Seeds), "give a number from 1 to %d", maxSeeds)
	}
	if s.First > math.MaxInt64-maxSeeds {
		found.Wrong("first_seed", "it is too large", "give a smaller one")
	}
	checkItems(found, "items", s.Items)
	checkEpsilons(found, "epsilon", s.Epsilon, s.endless())
	checkShots(found, "shots", s.Shots)
	checkDelta(found, "delta", s.Delta)
	checkTwice(found, "models", s.Models)
	checkTwice(found, "answerers", s.Answerers)
	checkTwice(found, "calibrate", s.Calibrate)
	if s.Form != "" && s.Form != prompt.TextForm && s.Form != prompt.ChatForm {
		found.Wrong("form", fmt.Sprintf("%q is none", s.Form), "give %s or %s", prompt.ChatForm, prompt.TextForm)
	}
	if s.Form.Turns() && slices.Contains(s.Calibrate, true) {
		found.Wrong("calibrate", "answers in turns are what the model writes", "leave it out")
	}
	checkQueries(found, "queries", s.Queries)
	s.checkDatasets(found)
	s.checkMethods(found)
	s.checkPublished(found)
}

func checkItems(found *document.Problems, where string, n int) {
	if n < 0 {
		found.Wrong(where, fmt.Sprintf("%d test items cannot be used", n), "give a positive number, or 0 for all")
	}
}

func checkDelta(found *document.Problems, where string, d float64) {
	if !(d >= 0 && d < 1) {
		found.Wrong(where, fmt.Sprintf("%v is no δ", d), "give a small positive number such as 1e-6, or leave it out for the default")
	}
}

// checkEpsilons finds what is no ε. endless: some method can do without noise.
func checkEpsilons(found *document.Problems, where string, list []float64, endless bool) {
	for _, e := range list {
		switch {
		case math.IsInf(e, 1) && endless:
		case e == 0:
			found.Wrong(where, "it is 0, at which no record may be used", "leave 0 out and compare with a method that uses none: zero or public")
		case math.IsInf(e, 1):
			found.Wrong(where, "it is infinite, which has no privacy guarantee", "leave it out and compare with a method that has no privacy guarantee: nonprivate or real")
		case !(e > 0):
			found.Wrong(where, fmt.Sprintf("%v is no ε", e), "give positive numbers such as 0.3 or 1")
		}
	}
	checkTwice(found, where, list)
}

func checkShots(found *document.Problems, where string, list []int) {
	for _, n := range list {
		if n < 0 || n > maxShots {
			found.Wrong(where, fmt.Sprintf("%d demonstrations cannot be given", n), "give numbers from 1 to %d, or 0 for the task's; without any there is the method zero", maxShots)
		}
	}
	checkTwice(found, where, list)
}

func checkQueries(found *document.Problems, where string, list []int64) {
	for _, n := range list {
		if n < 0 || n > maxAsked {
			found.Wrong(where, fmt.Sprintf("an ε cannot be for %d answers", n), "give numbers from 1 to %d, or 0 for as many as there are items", maxAsked)
		}
	}
	checkTwice(found, where, list)
}

func checkTwice[V comparable](found *document.Problems, where string, list []V) {
	seen := map[V]bool{}
	for _, v := range list {
		if seen[v] {
			found.Wrong(where, fmt.Sprintf("%v is in the list twice", v), "list it once")
		}
		seen[v] = true
	}
}

func (s Suite) checkDatasets(found *document.Problems) {
	if len(s.Datasets) == 0 {
		found.Wrong("dataset", "there is none", "add a table [[dataset]] with name, train, test and size")
	}
	reads := slices.ContainsFunc(s.Methods, func(m Method) bool { return kinds[m.Method].Reads() })
	seen := map[string]bool{}
	for i, d := range s.Datasets {
		at := func(key string) string { return fmt.Sprintf("dataset[%d].%s", i+1, key) }
		if d.Name == "" || seen[d.Name] {
			found.Wrong(at("name"), "it is missing, or another data set has it", "give each data set a name of its own")
		}
		seen[d.Name] = true
		if d.table() {
			s.checkTable(found, at, d)
		} else if d.Test == "" {
			found.Wrong(at("test"), "it is missing", "name the file with test items")
		}
		if reads && d.Train == "" && !d.table() {
			found.Wrong(at("train"), "it is missing", "name the file with records, which methods read")
		}
		if reads && d.Size == 0 && len(d.Sizes) == 0 {
			found.Wrong(at("size"), "it is missing", "declare the number of records: sampling rates follow from it")
		}
		if d.Size < 0 || slices.ContainsFunc(slices.Collect(maps.Values(d.Sizes)), func(n int64) bool { return n < 1 }) {
			found.Wrong(at("size"), "sizes are numbers of records", "give positive numbers")
		}
		for key, n := range map[string]int{"tokens": d.Tokens, "answer_tokens": d.AnswerTokens} {
			if n < 0 {
				found.Wrong(at(key), fmt.Sprintf("texts of %d tokens cannot be written", n), "give a positive number, or leave it out for the task's")
			}
		}
		if d.Inputs != "" && len(d.Conditions) > 0 {
			found.Wrong(at("inputs"), "conditions are given too", "leave one of them out")
		}
		checkQueries(found, at("queries"), d.Queries)
		checkItems(found, at("items"), d.Items)
		checkDelta(found, at("delta"), d.Delta)
		checkEpsilons(found, at("epsilon"), d.Epsilon, s.endless())
		checkShots(found, at("shots"), d.Shots)
		checkTwice(found, at("conditions"), d.Conditions)
		if !document.IsPath(d.Task) && !slices.Contains(prompt.Builtins(), d.Task) && d.Task != "" {
			unknown(found, at("task"), "there is no task", d.Task, prompt.Builtins(), "built in are "+strings.Join(prompt.Builtins(), ", ")+"; or give the path of a task file")
		}
	}
}

func (s Suite) names() []string {
	var out []string
	for _, d := range s.Datasets {
		out = append(out, d.Name)
	}
	return out
}

func (s Suite) checkMethods(found *document.Problems) {
	if len(s.Methods) == 0 {
		found.Wrong("method", "there is none", "add a table [[method]] with method = one of %s", strings.Join(methodNames(), ", "))
	}
	known := s.names()
	taken := map[string]bool{}
	for i, m := range s.Methods {
		at := func(key string) string { return fmt.Sprintf("method[%d].%s", i+1, key) }
		k, ok := kinds[m.Method]
		if !ok {
			unknown(found, at("method"), "there is no method", m.Method, methodNames(), "known are "+strings.Join(methodNames(), ", "))
			continue
		}
		checkEpsilons(found, at("epsilon"), m.Epsilon, k.endless)
		if len(m.Epsilon) > 0 && !k.Bounded() {
			found.Wrong(at("epsilon"), fmt.Sprintf("%s has none", m.Method), "leave it out")
		}
		checkQueries(found, at("queries"), m.Queries)
		if m.Online && !k.online() {
			found.Wrong(at("online"), fmt.Sprintf("%s does not answer online", m.Method), "leave it out; those that do are %s", strings.Join(onlineNames(), ", "))
		}
		if len(m.Queries) > 0 && !m.Online {
			found.Wrong(at("queries"), fmt.Sprintf("%s is not online: demonstrations serve any number of answers", m.Name), "leave it out, or say online = true")
		}
		checkTwice(found, at("datasets"), m.Datasets)
		for _, name := range m.Datasets {
			checkName(found, at("datasets"), name, known)
		}
		m.check(found, at(""), m.Settings)
		for _, name := range slices.Sorted(maps.Keys(m.On)) {
			checkName(found, at("on."+name), name, known)
			m.check(found, at("on."+name+"."), m.On[name])
		}
		for _, d := range s.Datasets {
			if !m.tried(d.Name) || !s.checkFits(found, at, d, m) {
				continue
			}
			for _, id := range s.labels(d, m) {
				if taken[id] {
					found.Wrong(at("name"), fmt.Sprintf("two methods are called %q on %s", m.Name, id[strings.IndexByte(id, '\n')+1:]), "give each a name of its own, or values of epsilon of its own: reports distinguish them by these")
				}
				taken[id] = true
			}
			if k.Bounded() && len(s.epsilons(d, m)) == 0 {
				found.Wrong(at("epsilon"), fmt.Sprintf("%s needs one on %s", m.Method, d.Name), "list values of epsilon for the suite, the data set or the method")
			}
		}
	}
}

// labels are what reports call a method on a data set: by its name, and the ε and the
// number of answers if it has them, so that settings may depend on these under one name.
func (s Suite) labels(d Dataset, m Method) []string {
	out := []string{m.Name + "\n" + d.Name}
	if kinds[m.Method].Bounded() {
		out = each(out, s.epsilons(d, m), func(label string, e float64) string { return fmt.Sprintf("%s at ε = %v", label, e) })
	}
	if m.Online {
		out = each(out, s.queries(d, m), func(label string, n int64) string {
			if n == 0 {
				return label
			}
			return fmt.Sprintf("%s for %d answers", label, n)
		})
	}
	return out
}

// each combines labels with values.
func each[V any](labels []string, values []V, with func(string, V) string) []string {
	var out []string
	for _, label := range labels {
		for _, v := range values {
			out = append(out, with(label, v))
		}
	}
	return out
}

// unknown reports a name that nothing has, with those that may be meant, or else what there is.
func unknown(found *document.Problems, where, what, name string, known []string, otherwise string) {
	if close := spell.Near(name, known); len(close) > 0 {
		otherwise = "did you mean " + strings.Join(close, " or ") + "?"
	}
	found.Wrong(where, fmt.Sprintf("%s %q", what, name), "%s", otherwise)
}

func checkName(found *document.Problems, where, name string, known []string) {
	if !slices.Contains(known, name) {
		unknown(found, where, "there is no data set", name, known, "data sets are "+strings.Join(known, ", "))
	}
}

// check finds settings that the method does not have, or that are out of range.
func (m Method) check(found *document.Problems, where string, s Settings) {
	k := kinds[m.Method]
	allowed := slices.Concat(k.more, k.SettingNames())
	switch {
	case k.always() || m.Method == "zero" || k.learns:
	case k.table:
		allowed = append([]string{"shots"}, allowed...)
	case m.Online:
		allowed = append(slices.Clone(sharedOnline), allowed...)
	default:
		allowed = append(slices.Clone(shared), allowed...)
	}
	for name, value := range s.all() {
		if !slices.Contains(allowed, name) {
			fix := "leave it out"
			if len(allowed) > 0 {
				fix += "; settings of it are " + strings.Join(allowed, ", ")
			}
			found.Wrong(where+name, fmt.Sprintf("%s does not have it", m.Method), "%s", fix)
			continue
		}
		known := choices[name]
		one, own := k.Setting(name)
		if own {
			known = one.Choices
		}
		v := reflect.ValueOf(value)
		switch {
		case len(known) > 0:
			if !slices.Contains(known, fmt.Sprint(value)) {
				found.Wrong(where+name, fmt.Sprintf("%q is none that there is", value), "say %s", strings.Join(known, " or "))
			}
		case own && !(name == "candidates" && v.CanInt() && v.Int() < 0):
			if _, err := one.Parse(value); err != nil {
				found.Wrong(where+name, fmt.Sprintf("it is %v", value), "give %s, or leave it out for the default", one.Bounds())
			}
		case !own && (v.CanInt() && v.Int() < 0 || v.CanFloat() && !(v.Float() >= 0 && v.Float() <= math.MaxFloat64)):
			found.Wrong(where+name, fmt.Sprintf("it is %v", value), "give a positive number, or leave it out for the default")
		}
	}
	checkShots(found, where+"shots", s.Shots)
	if s.Discover && m.Method != "zero" && (!k.Bounded() || k.claims()) {
		found.Wrong(where+"discover", fmt.Sprintf("%s has no ε to pay for it", m.Method), "leave it out; a public list of conditions serves")
	}
}

// all returns the settings that are not left open, by name.
func (s Settings) all() func(yield func(string, any) bool) {
	return func(yield func(string, any) bool) {
		v := reflect.ValueOf(s)
		for i := range v.NumField() {
			field, name := v.Field(i), v.Type().Field(i).Tag.Get("toml")
			if field.IsZero() || name == "-" {
				continue
			}
			if field.Kind() == reflect.Pointer {
				field = field.Elem()
			}
			if !yield(name, field.Interface()) {
				return
			}
		}
		values := s.Values.Given()
		for _, name := range slices.Sorted(maps.Keys(values)) {
			if !yield(name, values[name]) {
				return
			}
		}
	}
}

// checkReference is about the file: who runs a part of a suite may leave the reference out.
func (s Suite) checkReference(found *document.Problems) {
	var names []string
	for _, m := range s.Methods {
		if k := kinds[m.Method]; k.Bounded() && !k.claims() {
			names = append(names, m.Name)
		}
	}
	if s.Reference != "" && !slices.Contains(names, s.Reference) {
		unknown(found, "reference", "no method with an ε is called", s.Reference, names, "names of methods with an ε are "+strings.Join(names, ", "))
	}
}

func (s Suite) checkPublished(found *document.Problems) {
	known := s.names()
	for i, p := range s.Published {
		at := func(key string) string { return fmt.Sprintf("published[%d].%s", i+1, key) }
		checkName(found, at("dataset"), p.Dataset, known)
		if math.IsNaN(p.Value) || math.IsInf(p.Value, 0) || math.IsNaN(p.Std) || math.IsInf(p.Std, 0) {
			found.Wrong(at("value"), "it is not a number", "give the value of the paper, or leave the entry out")
		}
		if p.Source == "" {
			found.Wrong(at("source"), "it is missing", "name the paper and its table")
		}
	}
}
