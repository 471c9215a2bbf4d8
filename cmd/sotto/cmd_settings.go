package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/scheme"
	"github.com/sotto-dp/sotto/internal/ui"
)

// settingFlags are the settings of methods, as package method lists them.
type settingFlags struct {
	kinds   []method.Kind
	values  []*settingFlag
	sampler string
	proof   string

	given func(flag string) bool
}

// settingFlag is the flag of a setting. Methods share it where their settings have one name.
type settingFlag struct {
	name, flag string
	kind       method.Type
	value      any
}

// Set implements [pflag.Value].
func (s *settingFlag) Set(text string) (err error) {
	switch s.kind {
	case method.Int:
		if s.value, err = strconv.Atoi(text); err != nil {
			return fmt.Errorf("%q is not a whole number", text)
		}
	case method.Float:
		var n number
		err = n.Set(text)
		s.value = n.value
	case method.Bool:
		s.value, err = strconv.ParseBool(text)
	default:
		s.value = text
	}
	return err
}

// String implements [pflag.Value].
func (s *settingFlag) String() string {
	if s.value == nil {
		return ""
	}
	return fmt.Sprint(s.value)
}

// Type implements [pflag.Value].
func (s *settingFlag) Type() string {
	return map[method.Type]string{method.Int: "int", method.Float: "number", method.Bool: "bool", method.Choice: "string"}[s.kind]
}

// add takes the kinds of methods that a verb has.
func (s *settingFlags) add(cmd *cobra.Command, kinds ...method.Kind) {
	f := cmd.Flags()
	s.given, s.kinds = f.Changed, kinds
	addChoice(cmd, &s.sampler, "sampler", "", "how to draw: poisson, fixed-size or disjoint (default: the method's, mostly poisson)", string(scheme.Poisson), string(scheme.FixedSize), string(scheme.Disjoint))
	for _, spec := range method.List(kinds...) {
		for _, one := range spec.Settings {
			if one.Suites || f.Lookup(one.Flag()) != nil {
				continue
			}
			flag := &settingFlag{name: one.Name, flag: one.Flag(), kind: one.Type}
			s.values = append(s.values, flag)
			f.Var(flag, flag.flag, settingHelp(one.Name, kinds...))
			if one.Type == method.Bool {
				f.Lookup(flag.flag).NoOptDefVal = "true"
			}
			complete(cmd, flag.flag, one.Choices...)
		}
	}
	addChoice(cmd, &s.proof, "proof", proofOurs, "mixing: proven, or published: the paper's rule, whose guarantee is claimed and NOT PROVEN", proofOurs, proofPublished)
}

// settingHelp says which methods have a setting, what it does, and what it is unless told.
func settingHelp(name string, kinds ...method.Kind) string {
	type meaning struct {
		help     string
		methods  []string
		defaults []string
	}
	var all []*meaning
	for _, spec := range method.List(kinds...) {
		one, ok := spec.Setting(name)
		if !ok {
			continue
		}
		at := slices.IndexFunc(all, func(m *meaning) bool { return m.help == one.Help })
		if at < 0 {
			at = len(all)
			all = append(all, &meaning{help: one.Help})
		}
		m, otherwise := all[at], one.Otherwise()
		m.methods = append(m.methods, spec.Name)
		switch {
		case otherwise == "" || slices.Contains(m.defaults, otherwise):
		case len(m.defaults) > 0:
			m.defaults = append(m.defaults, spec.Name+": "+otherwise)
		default:
			m.defaults = []string{otherwise}
		}
	}
	var out []string
	for _, m := range all {
		text := strings.Join(m.methods, ", ") + ": " + m.help
		text += ui.If(len(m.defaults) > 0, " (default "+strings.Join(m.defaults, "; ")+")")
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// methodHelp lists the methods of some kinds, for the help of a verb.
func methodHelp(kinds ...method.Kind) string {
	var out strings.Builder
	for _, spec := range method.List(kinds...) {
		for i, line := range ui.Fold(spec.Summary, ui.Width-20) {
			name := spec.Name
			if i > 0 {
				name = ""
			}
			fmt.Fprintf(&out, "\n  %-16s  %s", name, line)
		}
	}
	return out.String()
}

// Values of --proof.
const (
	proofOurs      = "proven"
	proofPublished = "published"
)

// named is the method that --method and --proof name together.
func (s *settingFlags) named(name string) (string, error) {
	switch {
	case s.proof == proofOurs:
		return name, nil
	case s.proof != proofPublished:
		return "", usage("--proof is %q, it should be proven or published", s.proof)
	}
	var known []string
	for _, spec := range method.List() {
		if spec.Guarantee != method.Claimed {
			continue
		}
		if name == "" || name == spec.Of || name == spec.Name {
			return spec.Name, nil
		}
		known = append(known, spec.Of)
	}
	return "", usage("--proof published is for --method %s: the proofs of the others hold as they were published", strings.Join(known, ", "))
}

// claims reports whether the user asked for a guarantee that is claimed alone.
func (s *settingFlags) claims() bool { return s.proof == proofPublished }

// explicit refuses flags that are given, and that none of the methods has, or with a value
// that none of them takes.
func (s *settingFlags) explicit(methods ...string) error {
	if _, known := method.Lookup(methods[0]); !known {
		return nil // which says so itself
	}
	for _, flag := range s.values {
		if !s.given(flag.flag) {
			continue
		}
		used, wrong := false, error(nil)
		for _, name := range methods {
			spec, _ := method.Lookup(name)
			if one, ok := spec.Setting(flag.name); ok {
				_, err := one.Parse(flag.value)
				if err == nil {
					wrong = nil
					used = true
					break
				}
				used, wrong = true, err
			}
		}
		if wrong != nil {
			return usage("--%s %w; leave it out for the default", flag.flag, wrong)
		}
		if !used {
			return usage("--%s is for %s, and would change nothing for %s: leave it out", flag.flag, strings.Join(having(flag.name), ", "), strings.Join(methods, ", "))
		}
	}
	return nil
}

// having lists the methods that have a setting.
func having(setting string) []string {
	return method.Names(slices.DeleteFunc(method.List(), func(s method.Spec) bool { _, ok := s.Setting(setting); return !ok }))
}

// settings fills them in.
func (s *settingFlags) settings(q *plan.Request) {
	q.Sampler, q.Settings = scheme.Kind(s.sampler), method.Values{}
	for _, flag := range s.values {
		if s.given(flag.flag) {
			q.Settings[flag.name] = flag.value
		}
	}
}
