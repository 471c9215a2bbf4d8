package suite

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/prompt"
)

// Cell is one demonstration set and the model that answers with it; or, online, records
// that answer.
type Cell struct {
	Dataset Dataset
	Task    prompt.Task
	// View of a table: "local" or "global"; "" of other data sets.
	View string
	// Method with its Name and the Settings that hold on this data set.
	Method, Name string
	Settings     Settings
	// Epsilon is 0 where no record is used, nil where nothing protects them.
	Epsilon *float64
	Delta   float64
	// Online: Epsilon is for Queries answers together; 0: as many as there are items.
	Online  bool
	Queries int64
	// Shots and Seed of the set; both 0 without demonstrations, Shots also online.
	Shots int
	Seed  uint64
	// Model writes, Answerer answers; a name as users give it, "" for the default one.
	Model, Answerer string
	// Calibrate: whether labels are calibrated; one row for each.
	Calibrate []bool
	// Form in which prompts are judged and answered.
	Form prompt.Form
	// Items of the test file; 0: all.
	Items int
}

// String says which cell it is.
func (c Cell) String() string {
	parts := []string{c.Dataset.Name, c.Name}
	if c.Epsilon != nil && kinds[c.Method].Bounded() {
		parts = append(parts, "ε = "+strconv.FormatFloat(*c.Epsilon, 'g', -1, 64))
	}
	if c.Online && c.Queries > 0 {
		parts = append(parts, fmt.Sprintf("%d answers", c.Queries))
	}
	if c.Method != "zero" && !c.Online && !kinds[c.Method].learns {
		parts = append(parts, fmt.Sprintf("%d shots", c.Shots))
	}
	if c.Method != "zero" {
		parts = append(parts, fmt.Sprintf("seed %d", c.Seed))
	}
	for _, m := range slices.Compact([]string{c.Model, c.Answerer}) {
		if m != "" {
			parts = append(parts, m)
		}
	}
	return strings.Join(parts, ", ")
}

// Reads reports whether records are read for the set, or to answer.
func (c Cell) Reads() bool { return kinds[c.Method].Reads() }

// Encodes reports whether a trusted encoder is needed.
func (c Cell) Encodes() bool { return kinds[c.Method].Spec.Encodes || c.compares() }

// compares reports whether records are compared with what is public by their vectors: added up as evidence, or given the
// nearest examples.
func (c Cell) compares() bool {
	chooses := c.Settings.Values.Float("evidence", 0) > 0 || c.Settings.Values.Int("nearest", 0) > 0
	return c.Method == plan.Learns || c.Method == plan.Chooses && chooses
}

// Claims reports whether the ε is what a paper says and nobody has proven.
func (c Cell) Claims() bool { return kinds[c.Method].claims() }

// Cells lists what a suite asks for: seed by seed, so that a suite that is interrupted
// has something of everything. Methods without an ε are there once.
func Cells(s Suite) ([]Cell, error) {
	s = s.WithDefaults()
	if found := s.Check(); len(found) > 0 {
		return nil, &InvalidError{Kind: "suite", Name: s.Name, Problems: found}
	}
	tasks := map[string]prompt.Task{}
	for _, d := range s.Datasets {
		for view := range s.views(d) {
			t, err := s.taskOf(d, view)
			if err != nil {
				return nil, err
			}
			t.Limits.AnswerTokens = cmp.Or(d.AnswerTokens, t.Limits.AnswerTokens)
			tasks[d.Name+"\n"+view] = t
		}
	}
	var out []Cell
	for i := range s.Seeds {
		for _, model := range s.Models {
			for _, d := range s.Datasets {
				for _, m := range s.Methods {
					if !m.tried(d.Name) {
						continue
					}
					view := m.view(d)
					c := Cell{Dataset: d, View: view, Task: tasks[d.Name+"\n"+view], Method: m.Method, Name: m.Name, Online: m.Online, Model: model, Seed: s.First + uint64(i), Form: s.Form}
					some := s.expand(c, m)
					if i > 0 {
						some = slices.DeleteFunc(some, Cell.certain)
					}
					out = append(out, some...)
					// Every seed has about as many.
					if len(out)/(i+1)*s.Seeds > maxCells {
						return nil, fmt.Errorf("suite %s asks for more than %d demonstration sets: ask for fewer seeds or values", s.Name, maxCells)
					}
				}
			}
		}
	}
	return distinct(out), nil
}

// expand lists what belongs to a data set, a method, a seed and a model.
func (s Suite) expand(c Cell, m Method) []Cell {
	c.Settings = m.settings(c.Dataset.Name)
	c.Delta = cmp.Or(c.Dataset.Delta, s.Delta)
	c.Items = cmp.Or(c.Dataset.Items, s.Items)
	c.Calibrate = []bool{false}
	if !c.Task.Open() && !kinds[m.Method].learns {
		c.Calibrate = s.Calibrate
	}
	shots := first(c.Settings.Shots, c.Dataset.Shots, s.Shots)
	c.Settings.Shots = nil
	queries := []int64{0}
	if m.Online {
		queries, shots, c.Calibrate = s.queries(c.Dataset, m), []int{0}, []bool{false}
	}
	answerers := s.Answerers
	if kinds[m.Method].learns {
		// No model takes part.
		shots, answerers, c.Model = []int{0}, []string{"same"}, ""
	}
	none := 0.0
	epsilons := []*float64{nil}
	switch {
	case kinds[m.Method].Bounded():
		epsilons = nil
		for _, e := range s.epsilons(c.Dataset, m) {
			if math.IsInf(e, 1) {
				epsilons = append(epsilons, nil)
				continue
			}
			epsilons = append(epsilons, &e)
		}
	case !kinds[m.Method].Reads():
		epsilons = []*float64{&none}
	}
	var out []Cell
	for _, epsilon := range epsilons {
		for _, n := range shots {
			for _, c.Queries = range queries {
				for _, answerer := range answerers {
					c := c
					c.Epsilon, c.Shots, c.Answerer = epsilon, cmp.Or(n, c.Task.Limits.Shots), answerer
					if answerer == "same" {
						c.Answerer = c.Model
					}
					switch {
					case kinds[c.Method].learns:
						c.Shots = 0
					case c.Method == "zero":
						// Nobody writes: it is the same anyone who could have.
						c.Shots, c.Seed, c.Model = 0, 0, c.Answerer
					case c.Table():
						// Mechanisms write, and no model.
						c.Model = c.Answerer
					case c.Online:
						// Who sees the records answers.
						c.Shots, c.Answerer = 0, c.Model
					}
					out = append(out, c)
				}
			}
		}
	}
	return out
}

// distinct leaves out cells that are there already: without demonstrations, all numbers of
// them and all who would have written them are one; online, all who would have answered; of
// tables, all who would have written.
func distinct(cells []Cell) []Cell {
	seen := map[string]bool{}
	return slices.DeleteFunc(cells, func(c Cell) bool {
		if c.Method != "zero" && !c.Online && !c.Table() {
			return false
		}
		id := fmt.Sprintf("%q %q %q %s %d %d %d", c.Dataset.Name, c.Name, c.Answerer, epsilonText(c.Epsilon), c.Shots, c.Queries, c.Seed)
		there := seen[id]
		seen[id] = true
		return there
	})
}

// epsilons that a method is tried with: its own, or those of the data set, or the suite's.
func (s Suite) epsilons(d Dataset, m Method) []float64 {
	list := first(m.Epsilon, d.Epsilon, s.Epsilon)
	if kinds[m.Method].endless {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(e float64) bool { return math.IsInf(e, 1) })
}

// queries that a method which answers online is tried with, likewise.
func (s Suite) queries(d Dataset, m Method) []int64 {
	return first(m.Queries, d.Queries, s.Queries)
}

// first returns the first list that has something in it.
func first[V any](lists ...[]V) []V {
	for _, list := range lists {
		if len(list) > 0 {
			return list
		}
	}
	return nil
}

func (m Method) tried(dataset string) bool {
	return len(m.Datasets) == 0 || slices.Contains(m.Datasets, dataset)
}

// settings that hold on a data set: its own, and the others.
func (m Method) settings(dataset string) Settings {
	s, own := m.Settings, m.On[dataset]
	to, from := reflect.ValueOf(&s).Elem(), reflect.ValueOf(own)
	for i := range from.NumField() {
		if f := from.Field(i); !f.IsZero() && !(f.Kind() == reflect.Slice && f.Len() == 0) {
			to.Field(i).Set(f)
		}
	}
	s.Values = m.Values.Given()
	maps.Copy(s.Values, own.Values.Given())
	return s
}

// Request is what a cell asks package plan for. It is not for cells without
// demonstrations.
func (c Cell) Request() plan.Request {
	s := c.Settings
	r := plan.Request{
		Task: c.Task, Method: c.Method, Delta: c.Delta, Size: c.Dataset.Size, Sizes: c.Dataset.Sizes, Shots: c.Shots,
		Tokens: cmp.Or(s.Tokens, c.Dataset.Tokens), Conditions: c.Dataset.Conditions, Discover: s.Discover,
		Settings: s.Values.Given(),
	}
	if n, ok := r.Settings["candidates"].(int); ok && n < 0 {
		r.Settings["candidates"] = 0
	}
	if kinds[c.Method].Bounded() && c.Epsilon != nil {
		r.Epsilon = *c.Epsilon
	}
	if c.Method == plan.Learns {
		return r.By(plan.Learns)
	}
	if c.Method == plan.Chooses {
		r.Method, r.Choosing, r.Settings = "", plan.ChoosingOf(s.Values), r.Settings.For(writing())
		r.Choosing.Instructions = s.Instructions
		if r.Choosing.Form == "" {
			r.Choosing.Form = c.Form
		}
	}
	if s.Discover {
		r.Conditions = nil
	}
	if !c.Reads() && r.Size == 0 && len(r.Sizes) == 0 {
		r.Size = int64(max(1, len(c.Task.Labels))) // a plan wants one, and nothing depends on it
	}
	if s.Penalty != nil || s.NoRepeat != nil || s.MinTokens != nil {
		rules := plan.DefaultRules(c.Task)
		if c.Online {
			rules = plan.DefaultAnswerRules(c.Task)
		}
		if s.Penalty != nil {
			rules.Penalty = *s.Penalty
		}
		if s.NoRepeat != nil {
			rules.NoRepeat = *s.NoRepeat
		}
		if s.MinTokens != nil {
			rules.MinTokens = *s.MinTokens
		}
		r.Rules = &rules
	}
	if c.Online {
		// Without a number, and all of the items, only who has counted these knows it.
		r.Answers = max(1, cmp.Or(c.Queries, int64(c.Items)))
		r.Shots, r.Conditions, r.Tokens = 0, nil, s.Tokens
	}
	return r
}

// settings of a cell as rows hold them.
func (c Cell) settings() map[string]string {
	out := map[string]string{}
	for name, value := range c.Settings.all() {
		out[name] = fmt.Sprint(value)
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func epsilonText(epsilon *float64) string {
	if epsilon == nil {
		return "none"
	}
	return fmt.Sprint(*epsilon)
}
