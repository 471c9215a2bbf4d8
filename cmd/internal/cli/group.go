package cli

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// Needs marks flags without which a verb does nothing.
func Needs(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		_ = cmd.MarkFlagRequired(name) // the flag exists
	}
}

// Require is Needs for flags that other flags decide about, when a verb runs.
func Require(cmd *cobra.Command, names ...string) error {
	Needs(cmd, names...)
	if err := cmd.ValidateRequiredFlags(); err != nil {
		return Usage("%w: %s", err, strings.TrimSuffix(cmd.UseLine(), " [flags]"))
	}
	return nil
}

// tooMany refuses an argument that a verb does not take, and names the flag that it may belong to.
func tooMany(cmd *cobra.Command, arg string, takes ...string) error {
	for _, name := range takes {
		if strings.HasPrefix(name, "EXPR") {
			return Usage("there is one argument too many, %q: an expression with spaces or parentheses goes in quotes, as in sotto %s 'repeat(100, gaussian(3))'", arg, cmd.Name())
		}
	}
	flags := []string{"data", "test", "input", "demos", "estimate"}
	if filepath.Ext(arg) == ".toml" {
		flags = []string{"task", "schema"}
	}
	for _, flag := range flags {
		if f := cmd.Flags().Lookup(flag); f != nil && !f.Changed {
			return Usage("there is one argument too many, %q: if it is what --%s names, write --%s %s", arg, flag, flag, arg)
		}
	}
	return Usage("there is one argument too many, %q: %s", arg, cmd.UseLine())
}

// NoneBut refuses arguments of a command that has verbs: they are verbs with a mistake.
func NoneBut(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return UnknownVerb(cmd, args[0])
	}
	return nil
}

// TakesNothing makes verbs refuse arguments unless they say what they take.
func TakesNothing(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		TakesNothing(c)
		if c.Args == nil {
			c.Args = Takes()
		}
	}
}

// RunsItself annotates a command that has verbs and does something without one.
const RunsItself = "runs"

// NewGroup makes a command that only holds others.
func NewGroup(use, short, long, example string, verbs ...*cobra.Command) *cobra.Command {
	group := &cobra.Command{
		Use: use, Short: short, Long: long, Example: example,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return UnknownVerb(cmd, args[0])
			}
			var names []string
			for _, c := range cmd.Commands() {
				if c.IsAvailableCommand() {
					names = append(names, c.Name())
				}
			}
			return Usage("%s needs a verb: one of %s", cmd.CommandPath(), strings.Join(names, ", "))
		},
	}
	group.AddCommand(verbs...)
	return group
}

// UnknownVerb is about a word that is no verb of a command, with those that are spelt like it.
func UnknownVerb(cmd *cobra.Command, name string) error {
	hint := ""
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(name); len(near) > 0 {
		hint = fmt.Sprintf("; did you mean %s?", strings.Join(near, " or "))
	}
	return Usage("%s has no verb %q%s", cmd.CommandPath(), name, hint)
}

// UpTo allows one argument at most.
func UpTo(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return Usage("there is one argument too many, %q: %s; a %s with spaces goes in quotes", args[1], cmd.UseLine(), name)
		}
		return nil
	}
}

// Takes checks the number of a verb's arguments, which are called as in names.
func Takes(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return Usage("%s is missing: %s", names[len(args)], cmd.UseLine())
		case len(args) > len(names):
			return tooMany(cmd, args[len(names)], names...)
		}
		return nil
	}
}
