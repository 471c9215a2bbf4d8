// Package settings is what few people change about a run: settings of methods and of choosing, which a verb takes
// by --set NAME=VALUE and from plan files instead of as flags.
package settings

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/sys/bounded"
	"github.com/sotto-dp/sotto/internal/sys/document"
	"github.com/sotto-dp/sotto/internal/sys/spell"
	"github.com/sotto-dp/sotto/internal/ui"
)

// Settings of a verb are what few people change about a run. They have the types of flags, and are not on the
// command line: --set NAME=VALUE gives one a value, or a line of a plan file. It is the value of --set.
type Settings struct {
	Flags *pflag.FlagSet
	file  string
}

// Add gives a verb settings, and plan files. What adds others asks for [Of] the verb.
func Add(cmd *cobra.Command) *Settings {
	s := AddSet(cmd)
	cmd.Flags().StringVar(&s.file, "plan", "", "take settings from the plan `FILE`, which \"sotto plan --write\" makes")
	_ = cmd.MarkFlagFilename("plan", "toml") // the flag exists
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return s.Read(cmd) }
	return s
}

// AddSet gives a verb settings that no plan file has.
func AddSet(cmd *cobra.Command) *Settings {
	s := &Settings{Flags: pflag.NewFlagSet(cmd.Name(), pflag.ContinueOnError)}
	s.Flags.SortFlags = false
	cmd.Flags().Var(s, "set", "give a setting a value, as `NAME=VALUE`; may be repeated; --help lists all")
	_ = cmd.RegisterFlagCompletionFunc("set", s.Complete) // the flag exists
	return s
}

// Of are those of a verb, nil for none.
func Of(cmd *cobra.Command) *Settings {
	if f := cmd.Flags().Lookup("set"); f != nil {
		s, _ := f.Value.(*Settings)
		return s
	}
	return nil
}

// Flags are where a verb takes what few people change: its settings, or its flags if it has none.
func Flags(cmd *cobra.Command) *pflag.FlagSet {
	if s := Of(cmd); s != nil {
		return s.Flags
	}
	return cmd.Flags()
}

// Choice adds a setting, or a flag where the verb has no settings, with values that shells complete.
func Choice(cmd *cobra.Command, to *string, name, value, help string, values ...string) {
	flags := Flags(cmd)
	flags.StringVar(to, name, value, help)
	_ = flags.SetAnnotation(name, Choices, values) // the flag exists
	// The error is for settings, which --set completes.
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// Flag finds a flag of a verb, or a setting; nil for none.
func Flag(cmd *cobra.Command, name string) *pflag.Flag {
	f := cmd.Flags().Lookup(name)
	if s := Of(cmd); f == nil && s != nil {
		f = s.Flags.Lookup(name)
	}
	return f
}

// Given reports whether a flag of a verb, or a setting, was given.
func Given(cmd *cobra.Command) func(name string) bool {
	return func(name string) bool { f := Flag(cmd, name); return f != nil && f.Changed }
}

// Named is how a verb is given a value: as a setting, or as a flag where it is one.
func Named(cmd *cobra.Command, name, value string) string {
	if cmd.Flags().Lookup(name) != nil {
		return "--" + name + " " + value
	}
	return "--set " + name + "=" + value
}

// Visit calls a function with all flags and settings of a verb, but not with --set and --plan, which only
// give settings values.
func Visit(cmd *cobra.Command, each func(*pflag.Flag)) {
	s := Of(cmd)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if s == nil || f.Name != "set" && f.Name != "plan" {
			each(f)
		}
	})
	if s != nil {
		s.Flags.VisitAll(each)
	}
}

// Annotations of settings.
const (
	settingGroup = "group"
	Choices      = "choices"
)

// group puts settings that have no group yet into one.
func (s *Settings) Group(title string) {
	s.Flags.VisitAll(func(f *pflag.Flag) {
		if f.Annotations[settingGroup] == nil {
			_ = s.Flags.SetAnnotation(f.Name, settingGroup, []string{title}) // the flag exists
		}
	})
}

// Set implements [pflag.Value].
func (s *Settings) Set(text string) error {
	name, value, has := strings.Cut(text, "=")
	f := s.Flags.Lookup(strings.TrimSpace(name))
	switch {
	case f == nil && has:
		return s.unknown(name)
	case f == nil:
		return errors.New("it should be NAME=VALUE, such as rounds=3; --help lists all names")
	case !has && f.NoOptDefVal == "":
		return fmt.Errorf("%s needs a value: --set %s=%s", f.Name, f.Name, placeholder(f))
	case !has:
		value = f.NoOptDefVal
	}
	return SetTo(f, strings.TrimSpace(value))
}

// String implements [pflag.Value].
func (s *Settings) String() string { return "" }

// Type implements [pflag.Value].
func (s *Settings) Type() string { return "setting" }

func (s *Settings) unknown(name string) error {
	near := spell.Near(name, s.names())
	return fmt.Errorf("there is no setting %q here%s; --help lists all", name, ui.If(len(near) > 0, "; did you mean "+strings.Join(near, " or ")+"?"))
}

func (s *Settings) names() (all []string) {
	s.Flags.VisitAll(func(f *pflag.Flag) { all = append(all, f.Name) })
	return all
}

// complete is what shells complete --set with.
func (s *Settings) Complete(_ *cobra.Command, _ []string, begun string) (all []string, _ cobra.ShellCompDirective) {
	if name, _, has := strings.Cut(begun, "="); has {
		if f := s.Flags.Lookup(name); f != nil {
			for _, choice := range f.Annotations[Choices] {
				all = append(all, name+"="+choice)
			}
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	}
	s.Flags.VisitAll(func(f *pflag.Flag) {
		all = append(all, f.Name+"=\t"+usageOf(f))
	})
	return all, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// SetTo gives a setting a value.
func SetTo(f *pflag.Flag, text string) error {
	choices := f.Annotations[Choices]
	if _, ours := f.Value.(*ui.SettingFlag); len(choices) > 0 && !ours && !slices.Contains(choices, text) {
		return fmt.Errorf("%s is %q, it should be one of %s", f.Name, text, strings.Join(choices, ", "))
	}
	if err := f.Value.Set(text); err != nil {
		if is := (*strconv.NumError)(nil); errors.As(err, &is) {
			return fmt.Errorf("%s is %q, it should be %s", f.Name, text, placeholders[f.Value.Type()].words)
		}
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	f.Changed = true
	return nil
}

// placeholders say what values of a type are, and stand for them in files.
var placeholders = map[string]struct {
	value, words string
	of           reflect.Type
}{
	"int":    {"N", "a whole number", reflect.TypeFor[*int64]()},
	"int64":  {"N", "a whole number", reflect.TypeFor[*int64]()},
	"number": {"X", "a number", reflect.TypeFor[*float64]()},
	"bool":   {"true", "true or false", reflect.TypeFor[*bool]()},
	"string": {`"…"`, "a text", reflect.TypeFor[*string]()},
	"unit":   {`"…"`, "a column", reflect.TypeFor[*string]()},

	"stringArray": {`["…"]`, "texts", reflect.TypeFor[*[]string]()},
}

// placeholder is a value that a setting could have.
func placeholder(f *pflag.Flag) string {
	if choices := f.Annotations[Choices]; len(choices) > 0 {
		return choices[0]
	}
	return strings.Trim(placeholders[f.Value.Type()].value, `"`)
}

// read takes the plan file's settings for those that --set does not give, and its method if --method does not.
func (s *Settings) Read(cmd *cobra.Command) error {
	if s.file == "" {
		return nil
	}
	data, err := bounded.ReadFile(s.file, bounded.Small)
	if err != nil {
		return ui.Usage("--plan: %w", err)
	}
	if found := s.fill(cmd, data); !document.Valid(found) {
		return ui.AsUsage(&document.InvalidError{Kind: "plan", Name: s.file, Problems: found})
	}
	return nil
}

// fill reads the text of a plan file. A struct with a field for each setting has it read as strictly as other
// files of people.
func (s *Settings) fill(cmd *cobra.Command, data []byte) []document.Problem {
	fields := []reflect.StructField{{Name: "Method", Type: reflect.TypeFor[string](), Tag: `toml:"method"`}}
	s.Flags.VisitAll(func(f *pflag.Flag) {
		fields = append(fields, reflect.StructField{
			Name: "F" + strconv.Itoa(len(fields)), Type: placeholders[f.Value.Type()].of, Tag: reflect.StructTag(`toml:"` + f.Name + `"`),
		})
	})
	into := reflect.New(reflect.StructOf(fields))
	found, ok := document.Decode(data, into.Interface())
	if !ok {
		return found.List
	}
	if method := into.Elem().Field(0).String(); method != "" {
		s.method(cmd, method, found)
	}
	for i, name := range s.names() {
		f, value := s.Flags.Lookup(name), into.Elem().Field(i+1)
		if value.IsNil() || f.Changed {
			continue
		}
		texts := []string{fmt.Sprint(value.Elem())}
		if list, several := value.Elem().Interface().([]string); several {
			texts = list
		}
		for _, text := range texts {
			if err := SetTo(f, text); err != nil {
				found.Wrong(name, err.Error(), "leave it out for the default")
			}
		}
	}
	return found.List
}

// method takes the method of a plan file.
func (s *Settings) method(cmd *cobra.Command, name string, found *document.Problems) {
	f := cmd.Flags().Lookup("method")
	_, known := method.Lookup(name)
	switch {
	case !known && name != plan.Chooses:
		found.Wrong("method", fmt.Sprintf("there is no method %q", name), "sotto plan lists them")
	case f == nil && name != plan.Chooses:
		found.Wrong("method", cmd.CommandPath()+" writes no texts by "+name, "leave it out")
	case f != nil && !f.Changed:
		if err := cmd.Flags().Set("method", name); err != nil {
			found.Wrong("method", err.Error(), "leave it out for the default")
		}
	}
}

// write is a plan file: a method, and a line for each setting that it has. Those without a value of their own are
// comments, with what the plan comes to where that is a number or a word.
func (s *Settings) Write(about, name string, answers bool, planned map[string]any) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Settings for %s.\n# Use them with --plan FILE: sotto synth, rehearse, answer and plan read it, and --set\n# NAME=VALUE goes over it. A line that begins with \"#\" has the default.\n\n", about)
	fmt.Fprintf(&b, "method = %s\n", document.TOML(name))
	for _, group := range settingGroups {
		heading := "\n## " + group + "\n"
		s.Flags.VisitAll(func(f *pflag.Flag) {
			if f.Annotations[settingGroup][0] != group || !settingFor(f, name, answers) {
				return
			}
			b.WriteString(heading + "\n")
			heading = ""
			for _, line := range ui.Fold(settingHelp(f, name), ui.Width-2) {
				fmt.Fprintf(&b, "# %s\n", line)
			}
			value := placeholders[f.Value.Type()].value
			if choices := f.Annotations[Choices]; len(choices) > 0 {
				value = document.TOML(choices[0])
			}
			if v, has := planned[strings.ReplaceAll(f.Name, "-", "_")]; has {
				value = tomlOf(fmt.Sprint(v), f)
			}
			if f.Changed {
				value = tomlOf(f.Value.String(), f)
			}
			fmt.Fprintf(&b, "%s%s = %s\n", ui.If(!f.Changed, "# "), f.Name, value)
		})
	}
	return b.String()
}

// tomlOf is a value of a setting in a plan file.
func tomlOf(text string, f *pflag.Flag) string {
	if list, several := f.Value.(pflag.SliceValue); several {
		var out []string
		for _, one := range list.GetSlice() {
			out = append(out, document.TOML(one))
		}
		return "[" + strings.Join(out, ", ") + "]"
	}
	if f.Value.Type() == "string" {
		return document.TOML(text)
	}
	return text
}

// settingFor reports whether a method has a setting. Where records choose, the model writes by the method public,
// or with generation-share the default method does.
func settingFor(f *pflag.Flag, name string, answers bool) bool {
	s, ofMethod := f.Value.(*ui.SettingFlag)
	switch group := f.Annotations[settingGroup][0]; {
	case f.Name == "proof":
		return slices.ContainsFunc(method.List(), func(s method.Spec) bool { return s.Of == name })
	case ofMethod:
		_, has := writes(name).Setting(s.Name)
		return has || f.Changed
	case group == Choosing:
		return name == plan.Chooses
	default:
		return group != Texts || !answers
	}
}

// writes is the method by which texts are written where this one is named.
func writes(name string) method.Spec {
	if name == plan.Chooses {
		name = "public"
	}
	spec, _ := method.Lookup(name)
	return spec
}

// settingHelp says what a setting is for a method, and its default.
func settingHelp(f *pflag.Flag, name string) string {
	if s, ofMethod := f.Value.(*ui.SettingFlag); ofMethod {
		if one, has := writes(name).Setting(s.Name); has {
			return strings.ReplaceAll(one.Help, "`", "") + ui.If(one.Otherwise() != "", " (default: "+one.Otherwise()+")")
		}
	}
	return usageOf(f)
}

// usageOf says what a setting is, and its default.
func usageOf(f *pflag.Flag) string {
	_, help := pflag.UnquoteUsage(f)
	otherwise := f.DefValue
	if f.Value.Type() == "bool" {
		otherwise = "false"
	}
	return help + ui.If(otherwise != "" && !strings.Contains(help, "(default"), " (default: "+otherwise+")")
}

// Groups of settings.
const (
	Texts    = "What to make"
	Choosing = "How records choose"
	Machine  = "Model, machine and data"
	Methods  = "Methods"
)

var settingGroups = []string{Texts, Choosing, Methods, Machine}
