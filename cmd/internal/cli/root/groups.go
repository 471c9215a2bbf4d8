package root

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/settings"
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

// group puts the verbs of the program into their groups.
func group(root *cobra.Command) {
	cobra.EnableCommandSorting = false
	for _, g := range verbGroups {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for name := range strings.FieldsSeq(g.verbs) {
			if c, _, err := root.Find([]string{name}); err == nil && c != root {
				c.GroupID = g.title
			}
		}
	}
}

// manyFlags is how many flags of a verb are read without groups.
const manyFlags = 15

// essentials are the flags without which verbs with many flags do nothing, and those that most
// people change, in the order of the usage line.
var essentials = map[string]string{
	"sotto synth":              "task data size epsilon out shots",
	"sotto learn":              "task data size epsilon measurement-share out",
	"sotto init":               "data kind text label labels size epsilon out",
	"sotto answer":             "task data size epsilon input inputs out",
	"sotto plan":               "task size epsilon method answers",
	"sotto rehearse":           "task size epsilon stand-in out",
	"sotto eval":               "task demos test limit",
	"sotto eval private":       "task data size epsilon demos out",
	"sotto mcp":                "tool task releases service allow-spending",
	"sotto serve":              "listen admin",
	"sotto serve route answer": "task data size epsilon answers",
	"sotto table profile":      "schema data size epsilon groups out",
	"sotto table perturb":      "schema data epsilon out",
	"sotto table plan":         "schema size epsilon groups",
	"sotto ledger init":        "epsilon delta data task schema",
}

// flagGroups are the other flags, by what they are about. A flag is in the first group that has it.
var flagGroups = []struct{ title, flags string }{
	{"What to make", "task method shots max-tokens answers as-many-as-fit plan set write labels discover-labels inputs demos metric form limit test stand-in predictions plot dry-run yes force column group groups statistic histograms split model out"},
	{"Data", "data input output query table schema unit size fingerprint new-people"},
	{"Budget and guarantee", "proposal approved epsilon delta budget adjacency label composition expect reason non-private seed rate latency-quantum"},
	{"Service", "service-key-env service-key-file listen admin-url open open-private requests tls-cert tls-key tls-client-ca"},
	{"How records choose", "time from records examples instruction pool-model"},
}

// Titles of the groups that are not in the table.
const (
	essentialFlags = "Essentials"
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
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" {
			left[f.Name] = true
		}
	})
	first := essentials[cmd.CommandPath()]
	if len(left) <= manyFlags || first == "" {
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
	rest := ""
	if s := settings.Of(cmd); s != nil && !short {
		rest = "\n\nSettings, for --set NAME=VALUE:\n" + wrapped(s.Flags)
	}
	if groups == nil {
		return "Flags:\n" + wrapped(cmd.LocalFlags()) + rest + ui.If(short && cmd.HasParent(), allHelp(cmd))
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
	return strings.TrimSpace(b.String()) + rest
}

// allHelp says where the rest of short help is.
func allHelp(cmd *cobra.Command) string {
	return "\n\nRun \"" + cmd.CommandPath() + " --help\" for what the verb does, and for all flags."
}

func wrapped(set *pflag.FlagSet) string {
	return strings.TrimRight(set.FlagUsagesWrapped(ui.Width), " \n")
}
