package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/settings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/ui"
)

// settingFlags are the settings of methods, as package method lists them.
type settingFlags struct {
	values  []*ui.SettingFlag `job:"*"`
	sampler string            `job:"sampler"`
	proof   string

	given func(name string) bool
	// rest are the verb's other settings, nil where those of methods are flags.
	rest *settings.Settings
}

// add takes the kinds of methods that a verb has.
func (s *settingFlags) add(cmd *cobra.Command, kinds ...method.Kind) {
	s.rest, s.values = settings.Of(cmd), ui.SettingFlags(kinds...)
	s.given = func(name string) bool { f := settings.Flag(cmd, name); return f != nil && f.Changed }
	flags := settings.Flags(cmd)
	for _, flag := range s.values {
		flags.Var(flag, flag.Flag(), flag.Usage)
		if flag.IsBoolFlag() {
			flags.Lookup(flag.Flag()).NoOptDefVal = "true"
		}
		_ = flags.SetAnnotation(flag.Flag(), settings.Choices, flag.Choices) // the flag exists
		complete(cmd, flag.Flag(), flag.Choices...)
	}
}

// called is how the command line has a flag, or a setting.
func (s *settingFlags) called(name string) string {
	if s.rest != nil && s.rest.Flags.Lookup(name) != nil {
		return "--set " + name
	}
	return "--" + name
}

// positive finds numbers that are given and mean the default.
func (s *settingFlags) positive(values map[string]float64) error {
	for name, n := range values {
		if s.given(name) && !(n > 0) {
			return usage("%s is %s, it should be positive; leave it out for the default", s.called(name), ui.Whole(n))
		}
	}
	return nil
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

// Values of the setting proof.
const (
	proofOurs      = "proven"
	proofPublished = "published"
)

// named is the method that --method and the setting proof name together.
func (s *settingFlags) named(name string) (string, error) {
	if s.proof == proofOurs {
		return name, nil
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
	return "", usage("--set proof=published is for --method %s: the proofs of the others hold as they were published", strings.Join(known, ", "))
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
		if flag.Value == nil {
			continue
		}
		used, wrong := false, error(nil)
		for _, name := range methods {
			spec, _ := method.Lookup(name)
			if one, ok := spec.Setting(flag.Name); ok {
				used = true
				if _, wrong = one.Parse(flag.Value); wrong == nil {
					break
				}
			}
		}
		if wrong != nil {
			return usage("%s %w; leave it out for the default", s.called(flag.Flag()), wrong)
		}
		if !used {
			return usage("%s is for %s, and would change nothing for %s: leave it out", s.called(flag.Flag()), strings.Join(having(flag.Name), ", "), strings.Join(methods, ", "))
		}
	}
	return nil
}

// having lists the methods that have a setting.
func having(setting string) []string {
	return method.Names(slices.DeleteFunc(method.List(), func(s method.Spec) bool { _, ok := s.Setting(setting); return !ok }))
}
