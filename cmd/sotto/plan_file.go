package main

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
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/sys/bounded"
	"github.com/sotto-dp/sotto/sys/document"
	"github.com/sotto-dp/sotto/sys/spell"
)

// settings of a verb are what few people change about a run. They have the types of flags, and are not on the
// command line: --set NAME=VALUE gives one a value, or a line of a plan file. It is the value of --set.
type settings struct {
	flags *pflag.FlagSet
	file  string
}

// addSettings gives a verb settings. What adds others asks for [settingsOf] the verb.
func addSettings(cmd *cobra.Command) *settings {
	s := &settings{flags: pflag.NewFlagSet(cmd.Name(), pflag.ContinueOnError)}
	s.flags.SortFlags = false
	f := cmd.Flags()
	f.Var(s, "set", "give a setting a value, over that of --plan, as `NAME=VALUE`; may be repeated; \"sotto plan --settings\" lists all")
	f.StringVar(&s.file, "plan", "", "take settings from the plan `FILE`, which \"sotto plan --write\" makes")
	_ = cmd.MarkFlagFilename("plan", "toml") // the flags exist
	_ = cmd.RegisterFlagCompletionFunc("set", s.complete)
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return s.read(cmd) }
	return s
}

// settingsOf are those of a verb, nil for none.
func settingsOf(cmd *cobra.Command) *settings {
	if f := cmd.Flags().Lookup("set"); f != nil {
		s, _ := f.Value.(*settings)
		return s
	}
	return nil
}

// expertFlags are where a verb takes what few people change: its settings, or its flags if it has none.
func expertFlags(cmd *cobra.Command) *pflag.FlagSet {
	if s := settingsOf(cmd); s != nil {
		return s.flags
	}
	return cmd.Flags()
}

// flagOf finds a flag of a verb, or a setting; nil for none.
func flagOf(cmd *cobra.Command, name string) *pflag.Flag {
	f := cmd.Flags().Lookup(name)
	if s := settingsOf(cmd); f == nil && s != nil {
		f = s.flags.Lookup(name)
	}
	return f
}

// settingFlag is how a verb is given a value: as a setting, or as a flag where it is one.
func settingFlag(cmd *cobra.Command, name, value string) string {
	if cmd.Flags().Lookup(name) != nil {
		return "--" + name + " " + value
	}
	return "--set " + name + "=" + value
}

// visitAll calls a function with all flags and settings of a verb, but not with --set and --plan, which only
// give settings values.
func visitAll(cmd *cobra.Command, each func(*pflag.Flag)) {
	s := settingsOf(cmd)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if s == nil || f.Name != "set" && f.Name != "plan" {
			each(f)
		}
	})
	if s != nil {
		s.flags.VisitAll(each)
	}
}

// Annotations of settings.
const (
	settingGroup   = "group"
	settingChoices = "choices"
)

// group puts settings that have no group yet into one.
func (s *settings) group(title string) {
	s.flags.VisitAll(func(f *pflag.Flag) {
		if f.Annotations[settingGroup] == nil {
			_ = s.flags.SetAnnotation(f.Name, settingGroup, []string{title}) // the flag exists
		}
	})
}

// movedFlag is the setting that a verb has for what was a flag of it, as --set takes it; "" for none.
func movedFlag(cmd *cobra.Command, flag string) string {
	s := settingsOf(cmd)
	if s == nil {
		return ""
	}
	switch flag {
	case "no-measure":
		return "measurement-share=0"
	case "most":
		flag = "max-lambda"
	case "least":
		flag = "min-size"
	}
	if f := s.flags.Lookup(flag); f != nil {
		return f.Name + "=" + placeholder(f)
	}
	return ""
}

// Set implements [pflag.Value].
func (s *settings) Set(text string) error {
	name, value, has := strings.Cut(text, "=")
	f := s.flags.Lookup(strings.TrimSpace(name))
	switch {
	case f == nil && has:
		return s.unknown(name)
	case f == nil:
		return errors.New("it should be NAME=VALUE, such as rounds=3; \"sotto plan --settings\" lists all names")
	case !has && f.NoOptDefVal == "":
		return fmt.Errorf("%s needs a value: --set %s=%s", f.Name, f.Name, placeholder(f))
	case !has:
		value = f.NoOptDefVal
	}
	return setTo(f, strings.TrimSpace(value))
}

// String implements [pflag.Value].
func (s *settings) String() string { return "" }

// Type implements [pflag.Value].
func (s *settings) Type() string { return "setting" }

func (s *settings) unknown(name string) error {
	near := spell.Near(name, s.names())
	return fmt.Errorf("there is no setting %q here%s; \"sotto plan --settings\" lists all", name, ui.If(len(near) > 0, "; did you mean "+strings.Join(near, " or ")+"?"))
}

func (s *settings) names() (all []string) {
	s.flags.VisitAll(func(f *pflag.Flag) { all = append(all, f.Name) })
	return all
}

// complete is what shells complete --set with.
func (s *settings) complete(_ *cobra.Command, _ []string, begun string) (all []string, _ cobra.ShellCompDirective) {
	if name, _, has := strings.Cut(begun, "="); has {
		if f := s.flags.Lookup(name); f != nil {
			for _, choice := range f.Annotations[settingChoices] {
				all = append(all, name+"="+choice)
			}
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	}
	s.flags.VisitAll(func(f *pflag.Flag) {
		_, help := pflag.UnquoteUsage(f)
		all = append(all, f.Name+"=\t"+help)
	})
	return all, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// setTo gives a setting a value.
func setTo(f *pflag.Flag, text string) error {
	choices := f.Annotations[settingChoices]
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
}

// placeholder is a value that a setting could have.
func placeholder(f *pflag.Flag) string {
	if choices := f.Annotations[settingChoices]; len(choices) > 0 {
		return choices[0]
	}
	return strings.Trim(placeholders[f.Value.Type()].value, `"`)
}

// read takes the plan file's settings for those that --set does not give, and its method if --method does not.
func (s *settings) read(cmd *cobra.Command) error {
	if s.file == "" {
		return nil
	}
	data, err := bounded.ReadFile(s.file, bounded.Small)
	if err != nil {
		return usage("--plan: %w", err)
	}
	if found := s.fill(cmd, data); !document.Valid(found) {
		return ui.AsUsage(&document.InvalidError{Kind: "plan", Name: s.file, Problems: found})
	}
	return nil
}

// fill reads the text of a plan file. A struct with a field for each setting has it read as strictly as other
// files of people.
func (s *settings) fill(cmd *cobra.Command, data []byte) []document.Problem {
	fields := []reflect.StructField{{Name: "Method", Type: reflect.TypeFor[string](), Tag: `toml:"method"`}}
	s.flags.VisitAll(func(f *pflag.Flag) {
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
		f, value := s.flags.Lookup(name), into.Elem().Field(i+1)
		if value.IsNil() || f.Changed {
			continue
		}
		if err := setTo(f, fmt.Sprint(value.Elem())); err != nil {
			found.Wrong(name, err.Error(), "leave it out for the default")
		}
	}
	return found.List
}

// method takes the method of a plan file.
func (s *settings) method(cmd *cobra.Command, name string, found *document.Problems) {
	f := cmd.Flags().Lookup("method")
	_, known := method.Lookup(name)
	switch {
	case !known && name != methodChoose:
		found.Wrong("method", fmt.Sprintf("there is no method %q", name), "sotto plan lists them")
	case f == nil && name != methodChoose:
		found.Wrong("method", cmd.CommandPath()+" writes no texts by "+name, "leave it out")
	case f != nil && !f.Changed && !cmd.Flags().Changed("no-choose"):
		if err := cmd.Flags().Set("method", name); err != nil {
			found.Wrong("method", err.Error(), "leave it out for the default")
		}
	}
}

// write is a plan file: a method, and a line for each setting that it has. Those without a value of their own are
// comments, with what the plan comes to where that is a number or a word.
func (s *settings) write(about, name string, answers bool, planned map[string]any) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Settings for %s.\n# Use them with --plan FILE: sotto synth, choose, rehearse, answer and plan read it, and --set\n# NAME=VALUE goes over it. A line that begins with \"#\" has the default.\n\n", about)
	fmt.Fprintf(&b, "method = %s\n", document.TOML(name))
	for _, group := range settingGroups {
		heading := "\n## " + group + "\n"
		s.flags.VisitAll(func(f *pflag.Flag) {
			if f.Annotations[settingGroup][0] != group || !settingFor(f, name, answers) {
				return
			}
			b.WriteString(heading + "\n")
			heading = ""
			for _, line := range ui.Fold(settingHelp(f, name), ui.Width-2) {
				fmt.Fprintf(&b, "# %s\n", line)
			}
			value := placeholders[f.Value.Type()].value
			if choices := f.Annotations[settingChoices]; len(choices) > 0 {
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
	case ofMethod:
		_, has := writes(name).Setting(s.Name)
		return has || f.Changed
	case group == choosingSettings:
		return name == methodChoose
	default:
		return group != textSettings || !answers
	}
}

// writes is the method by which texts are written where this one is named.
func writes(name string) method.Spec {
	if name == methodChoose {
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
	_, help := pflag.UnquoteUsage(f)
	return help
}

// Groups of settings.
const (
	textSettings     = "What to make"
	choosingSettings = "How records choose"
	machineSettings  = "Model, machine and data"
	methodSettings   = "Methods"
)

var settingGroups = []string{textSettings, choosingSettings, methodSettings, machineSettings}

// settingsResult is all settings there are.
type settingsResult struct {
	Settings []settingRow `json:"settings"`
}

type settingRow struct {
	Name    string   `json:"name"`
	Group   string   `json:"group"`
	Type    string   `json:"type"`
	Help    string   `json:"help"`
	Choices []string `json:"choices,omitempty"`
}

func (s *settings) result() *settingsResult {
	r := &settingsResult{}
	s.flags.VisitAll(func(f *pflag.Flag) {
		_, help := pflag.UnquoteUsage(f)
		r.Settings = append(r.Settings, settingRow{f.Name, f.Annotations[settingGroup][0], placeholders[f.Value.Type()].words, help, f.Annotations[settingChoices]})
	})
	slices.SortStableFunc(r.Settings, func(a, b settingRow) int {
		return slices.Index(settingGroups, a.Group) - slices.Index(settingGroups, b.Group)
	})
	return r
}

func (r *settingsResult) Print(p *ui.Page) {
	p.Head("settings, for --set NAME=VALUE and plan files")
	group := ""
	for i, s := range r.Settings {
		if s.Group != group {
			group = s.Group
			p.Line("%s%s:", ui.If(i > 0, "\n"), group)
		}
		p.Hanging("  "+ui.Pad(s.Name, 17)+"  ", s.Help, ui.Width-21)
	}
}
