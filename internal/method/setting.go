package method

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Type is the type of a setting's values.
type Type string

// The types there are.
const (
	Int    Type = "int"
	Float  Type = "float"
	Bool   Type = "bool"
	Choice Type = "choice"
	// Text is a word or a list that the method reads itself, Many several of them.
	Text Type = "text"
	Many Type = "list"
)

// Setting is a number or a word that changes what a method does.
type Setting struct {
	// Name is what plans' requests and suites call it; flags have dashes in it.
	Name string
	Type Type
	// Help says what it does, and Default in words what it is by default.
	Help, Default string
	// Choices of a [Choice]: the default is the first unless Default says another.
	Choices []string
	// Min and Max bound a positive number; 0 leaves a side open. Zero allows 0, Negative
	// also numbers below.
	Min, Max       float64
	Zero, Negative bool
	// Suites means that it is for suites and the library alone, and has no flag.
	Suites bool
}

// Flag returns the name of its flag.
func (s Setting) Flag() string { return strings.ReplaceAll(s.Name, "_", "-") }

// Parse brings a value into the setting's own type, and checks it. An error is to follow
// the name of the setting: "is 0, it should be positive".
func (s Setting) Parse(value any) (any, error) {
	v := reflect.ValueOf(value)
	number := s.Type == Int || s.Type == Float
	list, listed := value.([]string)
	switch {
	case s.Type == Bool && v.Kind() == reflect.Bool:
		return v.Bool(), nil
	case s.Type == Choice && v.Kind() == reflect.String && slices.Contains(s.Choices, v.String()):
		return v.String(), nil
	case s.Type == Text && v.Kind() == reflect.String:
		return v.String(), nil
	case s.Type == Many && listed:
		return list, nil
	case number && v.CanInt():
		return s.number(float64(v.Int()))
	case number && v.CanFloat():
		return s.number(v.Float())
	}
	return nil, fmt.Errorf("is %v, it should be %s", value, s.Bounds())
}

func (s Setting) number(x float64) (any, error) {
	ok := !math.IsNaN(x) && !math.IsInf(x, 0) && (s.Type == Float || x == math.Trunc(x) && math.Abs(x) <= 1<<53)
	switch {
	case x == 0:
		ok = ok && (s.Zero || s.Negative)
	case x < 0:
		ok = ok && s.Negative
	default:
		ok = ok && x >= s.Min && (s.Max == 0 || x <= s.Max)
	}
	if !ok {
		return nil, fmt.Errorf("is %v, it should be %s", x, s.Bounds())
	}
	if s.Type == Int {
		return int(x), nil
	}
	return x, nil
}

// ParseNumber reads a decimal such as 1e-6, or a fraction such as 1/30000.
func ParseNumber(text string) (float64, error) {
	over, under, fraction := strings.Cut(text, "/")
	v, err := strconv.ParseFloat(strings.TrimSpace(over), 64)
	if err == nil && fraction {
		var d float64
		if d, err = strconv.ParseFloat(strings.TrimSpace(under), 64); d == 0 {
			err = strconv.ErrRange
		}
		v /= d
	}
	if err != nil {
		return 0, fmt.Errorf("%q is not a number such as 1e-6 or 1/30000", text)
	}
	return v, nil
}

// Bounds says in words which values there are.
func (s Setting) Bounds() string {
	switch s.Type {
	case Bool:
		return "true or false"
	case Choice:
		return "one of " + strings.Join(s.Choices, ", ")
	case Text:
		return "a text"
	case Many:
		return "a list of texts"
	}
	out := map[Type]string{Int: "a whole number", Float: "a number"}[s.Type]
	switch {
	case s.Negative:
		return out
	case s.Min != 0 && s.Max != 0:
		out += fmt.Sprintf(" from %v to %v", s.Min, s.Max)
	case s.Min != 0:
		out += fmt.Sprintf(" of at least %v", s.Min)
	case s.Max != 0:
		out += fmt.Sprintf(" above 0, at most %v", s.Max)
	default:
		out += " above 0"
	}
	if s.Zero {
		out += ", or 0"
	}
	return out
}

// Values are settings by name: numbers, words and truths. What is not among them is left to
// the method.
type Values map[string]any

// Check brings values into the types of a method's settings. An error names a setting that
// the method does not have, and those that it has.
func (v Values) Check(s Spec) (Values, error) {
	out := Values{}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		one, ok := s.Setting(name)
		if !ok {
			has := "it has none"
			if len(s.Settings) > 0 {
				has = "it has " + strings.Join(s.SettingNames(), ", ")
			}
			return nil, Wrong("%s does not have the setting %s: %s", s.Name, name, has)
		}
		value, err := one.Parse(v[name])
		if err != nil {
			return nil, &InputError{Reason: fmt.Sprintf("%s %v", name, err), Option: name}
		}
		out[name] = value
	}
	return out, nil
}

// Given returns the values that are not zero: for callers whose own settings mean the
// default by it.
func (v Values) Given() Values {
	out := Values{}
	for name, value := range v {
		if !reflect.ValueOf(value).IsZero() {
			out[name] = value
		}
	}
	return out
}

// For returns the values of settings that a method has.
func (v Values) For(s Spec) Values {
	out := Values{}
	for name, value := range v {
		if _, ok := s.Setting(name); ok {
			out[name] = value
		}
	}
	return out
}

// Otherwise returns what the setting is by default, in words.
func (s Setting) Otherwise() string {
	if s.Default == "" && len(s.Choices) > 0 {
		return s.Choices[0]
	}
	return s.Default
}

// Int returns a whole number, or otherwise.
func (v Values) Int(name string, otherwise int) int { return get(v, name, otherwise) }

// Float returns a number, or otherwise.
func (v Values) Float(name string, otherwise float64) float64 { return get(v, name, otherwise) }

// List returns texts, or none.
func (v Values) List(name string) []string { return get[[]string](v, name, nil) }

// Word returns a choice or a text, or otherwise.
func (v Values) Word(name, otherwise string) string { return get(v, name, otherwise) }

// Is reports whether a truth is set.
func (v Values) Is(name string) bool { return get(v, name, false) }

// Has reports whether a setting has a value.
func (v Values) Has(name string) bool { _, ok := v[name]; return ok }

// get returns a value of checked settings.
func get[V any](v Values, name string, otherwise V) V {
	if value, ok := v[name].(V); ok {
		return value
	}
	return otherwise
}
