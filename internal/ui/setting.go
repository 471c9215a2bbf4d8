package ui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-dp/sotto/internal/method"
)

// SettingFlag is the flag of a setting, for package flag and for pflag. Methods share it where
// their settings have one name.
type SettingFlag struct {
	method.Setting
	// Usage is the help of the flag.
	Usage string
	// Value is what was given, nil for nothing.
	Value any
}

// SettingFlags returns a flag for each setting that methods of some kinds have.
func SettingFlags(kinds ...method.Kind) []*SettingFlag {
	var out []*SettingFlag
	for _, spec := range method.List(kinds...) {
		for _, one := range spec.Settings {
			if !one.Suites && !slices.ContainsFunc(out, func(f *SettingFlag) bool { return f.Name == one.Name }) {
				out = append(out, &SettingFlag{Setting: one, Usage: settingHelp(one.Name, kinds...)})
			}
		}
	}
	return out
}

// SettingValues returns the settings that were given.
func SettingValues(flags []*SettingFlag) method.Values {
	out := method.Values{}
	for _, f := range flags {
		if f.Value != nil {
			out[f.Name] = f.Value
		}
	}
	return out
}

// Set implements [flag.Value].
func (f *SettingFlag) Set(text string) (err error) {
	switch f.Setting.Type {
	case method.Int:
		if f.Value, err = strconv.Atoi(text); err != nil {
			return fmt.Errorf("%q is not a whole number", text)
		}
	case method.Float:
		f.Value, err = method.ParseNumber(text)
	case method.Bool:
		f.Value, err = strconv.ParseBool(text)
	case method.Many:
		list, _ := f.Value.([]string)
		f.Value = append(list, text)
	default:
		f.Value = text
	}
	return err
}

// String implements [flag.Value].
func (f *SettingFlag) String() string {
	if f.Value == nil {
		return ""
	}
	return fmt.Sprint(f.Value)
}

// Type implements pflag.Value.
func (f *SettingFlag) Type() string {
	switch f.Setting.Type {
	case method.Choice, method.Text, method.Many:
		return "string"
	case method.Float:
		return "number"
	}
	return string(f.Setting.Type)
}

// IsBoolFlag reports to package flag whether the flag needs no value.
func (f *SettingFlag) IsBoolFlag() bool { return f.Setting.Type == method.Bool }

// settingHelp says what a setting does and what its default is, and for which methods, if there
// are several.
func settingHelp(name string, kinds ...method.Kind) string {
	type meaning struct {
		help     string
		methods  []string
		defaults []string
	}
	var all []*meaning
	specs := method.List(kinds...)
	for _, spec := range specs {
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
		text := If(len(specs) > 1, strings.Join(m.methods, ", ")+": ") + m.help
		text += If(len(m.defaults) > 0, " (default "+strings.Join(m.defaults, "; ")+")")
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}
