package root

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/ui"
)

// verbGroups are the verbs of the program, in the order in which people need them.
var verbGroups = []struct{ title, verbs string }{
	{"Begin:", "demo init task model"},
	{"Plan and make:", "plan rehearse synth learn predict answer table"},
	{"Measure and check:", "eval verify audit account calibrate"},
	{"Budgets and keys:", "ledger keys"},
	{"Serve:", "serve mcp"},
	{"Other:", "version completion man"},
}

// verbGroup is some verbs, as help lists them.
type verbGroup struct {
	Title string
	Verbs []*cobra.Command
}

// groupsOfVerbs puts the verbs of a command into groups: those of the program by the table, others
// into one.
func groupsOfVerbs(cmd *cobra.Command) []verbGroup {
	rest := verbGroup{Title: "Verbs:"}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			rest.Verbs = append(rest.Verbs, c)
		}
	}
	if cmd.HasParent() {
		return []verbGroup{rest}
	}
	var out []verbGroup
	for _, g := range verbGroups {
		one := verbGroup{Title: g.title}
		for name := range strings.FieldsSeq(g.verbs) {
			if at := slices.IndexFunc(rest.Verbs, func(c *cobra.Command) bool { return c.Name() == name }); at >= 0 {
				one.Verbs = append(one.Verbs, rest.Verbs[at])
				rest.Verbs = slices.Delete(rest.Verbs, at, at+1)
			}
		}
		out = append(out, one)
	}
	if rest.Title = "More:"; len(rest.Verbs) > 0 {
		out = append(out, rest)
	}
	return out
}

// manyFlags is how many flags of a verb are read without groups.
const manyFlags = 12

// essentials are the flags without which verbs with many flags do nothing, and those that most
// people change, in the order of the usage line.
var essentials = map[string]string{
	"sotto synth":              "task data size epsilon out model shots",
	"sotto learn":              "task data size epsilon measurement-share out",
	"sotto init":               "data kind text label labels size epsilon out",
	"sotto answer":             "task data size epsilon input inputs out model",
	"sotto plan":               "task size epsilon method answers model",
	"sotto rehearse":           "task size epsilon stand-in out model",
	"sotto eval":               "task demos test limit model",
	"sotto eval private":       "task data size epsilon demos out model",
	"sotto mcp":                "tool task releases service allow-spending",
	"sotto serve":              "listen admin model url",
	"sotto serve route answer": "task data size epsilon answers model",
	"sotto table profile":      "schema data size epsilon groups out",
	"sotto table perturb":      "schema data epsilon out",
	"sotto table plan":         "schema size epsilon groups",
	"sotto ledger init":        "epsilon delta data task schema",
}

// flagGroups are the other flags, by what they are about. A flag is in the first group that has it.
// The settings of methods come last, in the order of the methods.
var flagGroups = []struct{ title, flags string }{
	{"What to make", "task method no-choose shots max-tokens answers as-many-as-fit plan set write settings cut labels discover-labels inputs label-size demos metric normalise encoder calibrate form compare limit items sets test stand-in invent predictions report plot dry-run yes force list methods datasets seeds cache columns groups group statistic histograms split paper copies secrets canaries scored trials tokens confidence out"},
	{"Data", "data input output column query table schema task text-column label-column unit size least on-error name fingerprint new-people private"},
	{"Budget, keys and guarantee", "epsilon delta budget adjacency ledger keys private label known composition schedule expect decided-beforehand key reason non-private seed rate rows-per-unit latency-quantum"},
	{"Model and machine", "model url dialect key-env threads activations parallel workers requests"},
	{"Service", "service service-key-env service-key-file listen admin admin-url open open-private store tls-cert tls-key tls-client-ca"},
	{"How records choose", "time from records evidence examples instruction pool-model"},
}

// Titles of the groups that are not in the table.
const (
	essentialFlags = "Essentials"
	methodFlags    = "Settings of methods"
	otherFlags     = "Others"
)

// flagGroup is some flags of a verb, in the order in which help lists them.
type flagGroup struct {
	title string
	flags []string
}

// flagGroupsOf puts the flags of a verb into groups; those of a verb with few flags, or without
// essentials, into none.
func flagGroupsOf(cmd *cobra.Command) []flagGroup {
	left := map[string]bool{}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { left[f.Name] = !f.Hidden && f.Name != "help" })
	first := essentials[cmd.CommandPath()]
	if len(left) <= manyFlags+1 || first == "" {
		return nil
	}
	var out []flagGroup
	add := func(title string, names []string) {
		g := flagGroup{title: title}
		for _, name := range names {
			if left[name] {
				delete(left, name)
				g.flags = append(g.flags, name)
			}
		}
		if len(g.flags) > 0 {
			out = append(out, g)
		}
	}
	add(essentialFlags, strings.Fields(first))
	for _, g := range flagGroups {
		add(g.title, strings.Fields(g.flags))
	}
	var ofMethods []string
	for _, spec := range method.List() {
		for _, one := range spec.Settings {
			ofMethods = append(ofMethods, one.Flag())
		}
	}
	add(methodFlags, ofMethods)
	add(otherFlags, slices.Sorted(maps.Keys(left)))
	return out
}

// brief annotates the root command where help is to be short.
const brief = "brief"

// flagHelp lists the flags of a verb, in groups where there are many; in short help the
// essentials alone.
func flagHelp(cmd *cobra.Command) string {
	short := cmd.Root().Annotations[brief] != ""
	groups := flagGroupsOf(cmd)
	if f := cmd.Flags().Lookup("help"); f != nil {
		f.Usage = "print help: --help all of it, -h a short form"
	}
	if groups == nil {
		return "Flags:\n" + wrapped(cmd.LocalFlags()) + ui.If(short && cmd.HasParent(), allHelp(cmd))
	}
	var b strings.Builder
	for _, g := range groups {
		if short && g.title != essentialFlags {
			break
		}
		set := &pflag.FlagSet{SortFlags: false}
		for _, name := range g.flags {
			set.AddFlag(cmd.LocalFlags().Lookup(name))
		}
		b.WriteString(g.title + ":\n" + wrapped(set) + "\n\n")
	}
	if short {
		b.WriteString(strings.TrimSpace(allHelp(cmd)))
	}
	return strings.TrimSpace(b.String())
}

// allHelp says where the rest of short help is.
func allHelp(cmd *cobra.Command) string {
	return "\n\nRun \"" + cmd.CommandPath() + " --help\" for what the verb does, and for all flags."
}

func wrapped(set *pflag.FlagSet) string {
	return strings.TrimRight(set.FlagUsagesWrapped(ui.Width), " \n")
}
