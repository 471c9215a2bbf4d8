package suite

import (
	"slices"

	"github.com/sotto-dp/sotto/internal/method"
)

// kind is a method as suites see it: one of package method, or a baseline of their own.
type kind struct {
	method.Spec
	// table: for tables, both: also for them. view is the schema that it sees, if it has no
	// choice. learns: it answers by itself, without a language model. endless: an infinite
	// ε is the same without noise.
	table, both, learns, endless bool
	view                         string
	// more are fields of [Settings] that change something.
	more []string
}

// always reports whether a kind only answers online, each test item from records.
func (k kind) always() bool { return k.Kind == method.Answers }

// online reports whether a kind can.
func (k kind) online() bool { return k.always() || k.writes() && k.Kind == method.Texts }

// writes reports whether the model writes demonstrations.
func (k kind) writes() bool {
	return !k.table && !k.Copies && (k.Kind == method.Texts || k.Kind == method.Choosing)
}

// claims reports whether the ε is what a paper says and nobody has proven.
func (k kind) claims() bool { return k.Guarantee == method.Claimed }

// Settings that all with demonstrations have, and all that write answers token by token.
var (
	shared       = []string{"tokens", "shots", "discover", "penalty", "no_repeat", "min_tokens"}
	sharedOnline = []string{"tokens", "penalty", "no_repeat", "min_tokens"}
)

// profileNoise is a setting of profiles.
var profileNoise = method.Setting{Name: "noise", Type: method.Choice, Choices: []string{"laplace", "gaussian"}}

// baselines are what suites compare with and what no release has a method for, and the
// methods of tables.
var baselines = []kind{
	{Spec: free("zero"), both: true, more: []string{"view"}},
	{Spec: proven("local"), table: true, endless: true, view: viewLocal, more: []string{"reconstruct", "split", "near"}},
	{Spec: proven("drawn", profileNoise), table: true, endless: true, view: viewLocal, more: []string{"near"}},
	{Spec: proven("global", profileNoise), table: true, endless: true, view: viewGlobal, more: []string{"rate"}},
	{Spec: proven("global-published"), table: true, endless: true, view: viewGlobal, more: []string{"rate"}},
	{Spec: unprotected("majority"), table: true, learns: true, more: []string{"view"}},
	{Spec: unprotected("lr"), table: true, learns: true, more: []string{"view"}},
	{Spec: unprotected("gnb"), table: true, learns: true, more: []string{"view"}},
	{Spec: unprotected("nb"), table: true, learns: true, more: []string{"view"}},
	{Spec: proven("lr-local"), table: true, learns: true, endless: true, view: viewLocal, more: []string{"reconstruct", "split"}},
	{Spec: proven("gnb-local"), table: true, learns: true, endless: true, view: viewLocal, more: []string{"reconstruct", "split"}},
	{Spec: proven("lr-private"), table: true, learns: true, view: viewGlobal},
	{Spec: proven("nb-private"), table: true, learns: true, view: viewGlobal},
}

func free(name string) method.Spec { return method.Spec{Name: name, Guarantee: method.Free} }

func unprotected(name string) method.Spec { return method.Spec{Name: name, Guarantee: method.None} }

func proven(name string, settings ...method.Setting) method.Spec {
	return method.Spec{Name: name, Guarantee: method.Proven, Settings: settings}
}

// kindList has all kinds, as people read them.
var kindList = func() []kind {
	list := []kind{baselines[0]}
	for _, s := range method.List(method.Choosing, method.Learning, method.Texts, method.Answers) {
		k := kind{Spec: s, both: s.Copies, learns: s.Kind == method.Learning}
		switch {
		case s.Copies:
			k.more = []string{"view", "near"}
		case s.Kind == method.Choosing:
			k.more = []string{"instructions"}
			k.Settings = append(slices.Clone(s.Settings), writing().Settings...)
		case s.Kind == method.Answers && !s.Labels:
			k.more = []string{"tokens"}
		}
		list = append(list, k)
	}
	return append(list, baselines[1:]...)
}()

// writing describes how pools are written without records, whose settings choosing has too.
func writing() method.Spec {
	s, _ := method.Lookup("public")
	return s
}

// kinds has them by name.
var kinds = func() map[string]kind {
	out := map[string]kind{}
	for _, k := range kindList {
		out[k.Name] = k
	}
	return out
}()

// Learned reports whether a method answers without a language model, a baseline of tables or a classifier of
// texts: it belongs beside whatever models wrote and answered.
func Learned(name string) bool { return kinds[name].learns }

// The views of a table.
const (
	viewLocal  = "local"
	viewGlobal = "global"
)

// methodNames lists them as people read them.
func methodNames() []string {
	names := make([]string, len(kindList))
	for i, k := range kindList {
		names[i] = k.Name
	}
	return names
}

// choices are what fields of [Settings] in words may be.
var choices = map[string][]string{
	"view":        {viewGlobal, viewLocal},
	"reconstruct": {"ibu", "inverse"},
	"split":       {"equal", "optimal"},
}

// onlineNames lists methods that can answer online.
func onlineNames() []string {
	return slices.DeleteFunc(methodNames(), func(name string) bool { return !kinds[name].online() })
}
