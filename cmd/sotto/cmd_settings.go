package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/ui"
)

// settingFlags are the settings of methods, as package method lists them.
type settingFlags struct {
	values  []*ui.SettingFlag `job:"*"`
	sampler string            `job:"sampler"`
	proof   string

	given func(flag string) bool
}

// add takes the kinds of methods that a verb has.
func (s *settingFlags) add(cmd *cobra.Command, kinds ...method.Kind) {
	s.given, s.values = cmd.Flags().Changed, ui.SettingFlags(kinds...)
	for _, flag := range s.values {
		cmd.Flags().Var(flag, flag.Flag(), flag.Usage)
		if flag.IsBoolFlag() {
			cmd.Flags().Lookup(flag.Flag()).NoOptDefVal = "true"
		}
		complete(cmd, flag.Flag(), flag.Choices...)
	}
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
			return usage("--%s %w; leave it out for the default", flag.Flag(), wrong)
		}
		if !used {
			return usage("--%s is for %s, and would change nothing for %s: leave it out", flag.Flag(), strings.Join(having(flag.Name), ", "), strings.Join(methods, ", "))
		}
	}
	return nil
}

// having lists the methods that have a setting.
func having(setting string) []string {
	return method.Names(slices.DeleteFunc(method.List(), func(s method.Spec) bool { _, ok := s.Setting(setting); return !ok }))
}
