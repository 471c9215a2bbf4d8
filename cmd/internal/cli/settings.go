package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/settings"
)

// SettingFlags are the settings of methods, as package method lists them.
type SettingFlags struct {
	Values  []*ui.SettingFlag
	sampler string
	proof   string

	Given func(name string) bool
	// Shown are settings of methods that are flags, where others are not.
	Shown []string
	// Rest are the verb's other settings, nil where those of methods are flags.
	Rest *settings.Settings
}

// Add takes the kinds of methods that a verb has.
func (s *SettingFlags) Add(cmd *cobra.Command, kinds ...method.Kind) {
	s.Rest, s.Values = settings.Of(cmd), ui.SettingFlags(kinds...)
	s.Given = settings.Given(cmd)
	for _, flag := range s.Values {
		flags := settings.Flags(cmd)
		if slices.Contains(s.Shown, flag.Flag()) {
			flags = cmd.Flags()
		}
		flags.Var(flag, flag.Flag(), flag.Usage)
		if flag.IsBoolFlag() {
			flags.Lookup(flag.Flag()).NoOptDefVal = "true"
		}
		_ = flags.SetAnnotation(flag.Flag(), settings.Choices, flag.Choices) // the flag exists
		Complete(cmd, flag.Flag(), flag.Choices...)
	}
}

// Called is how the command line has a flag, or a setting.
func (s *SettingFlags) Called(name string) string {
	if s.Rest != nil && s.Rest.Flags.Lookup(name) != nil {
		return "--set " + name
	}
	return "--" + name
}

// Positive finds numbers that are given and mean the default.
func (s *SettingFlags) Positive(values map[string]float64) error {
	for name, n := range values {
		if s.Given(name) && !(n > 0) {
			return Usage("%s is %s, it should be positive; leave it out for the default", s.Called(name), ui.Whole(n))
		}
	}
	return nil
}

// MethodHelp lists the methods of some kinds, for the help of a verb.
func MethodHelp(kinds ...method.Kind) string {
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

// Named is the method that --method and the setting proof name together.
func (s *SettingFlags) Named(name string) (string, error) {
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
	return "", Usage("--set proof=published is for --method %s: the proofs of the others hold as they were published", strings.Join(known, ", "))
}

// Claims reports whether the user asked for a guarantee that is claimed alone.
func (s *SettingFlags) Claims() bool { return s.proof == proofPublished }

// Explicit refuses flags that are given, and that none of the methods has, or with a value
// that none of them takes.
func (s *SettingFlags) Explicit(methods ...string) error {
	if _, known := method.Lookup(methods[0]); !known {
		return nil // which says so itself
	}
	for _, flag := range s.Values {
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
			return Usage("%s %w; leave it out for the default", s.Called(flag.Flag()), wrong)
		}
		if !used {
			return Usage("%s is for %s, and would change nothing for %s: leave it out", s.Called(flag.Flag()), strings.Join(having(flag.Name), ", "), strings.Join(methods, ", "))
		}
	}
	return nil
}

// having lists the methods that have a setting.
func having(setting string) []string {
	return method.Names(slices.DeleteFunc(method.List(), func(s method.Spec) bool { _, ok := s.Setting(setting); return !ok }))
}
