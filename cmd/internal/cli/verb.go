package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// LiteralPrivate makes "sotto eval private" of "sotto eval --private" where that is followed
// by another flag, or by nothing: the flag of that name takes a folder.
func LiteralPrivate(args []string) []string {
	if len(args) == 0 || args[0] != "eval" {
		return args
	}
	for i, a := range args {
		if a == "--private" && (i+1 == len(args) || strings.HasPrefix(args[i+1], "-")) {
			return slices.Concat([]string{"eval", "private"}, args[1:i], args[i+1:])
		}
	}
	return args
}

// Asks says what a verb's flags are read into, for jobs.
func (p *Program) Asks(cmd *cobra.Command, request any) {
	if p.Requests == nil {
		p.Requests = map[*cobra.Command]any{}
	}
	p.Requests[cmd] = request
}

// FindVerb finds the verb that words begin with, for jobs. Its flags are read into a request of its own, and p
// stays as it is.
func (p *Program) FindVerb(words []string) (cmd *cobra.Command, request any, rest []string, err error) {
	places, printing, verbose := p.Places, p.JSON, p.Verbose
	cmd, rest, err = p.Root(p).Find(LiteralPrivate(words))
	p.Places, p.JSON, p.Verbose = places, printing, verbose
	return cmd, p.Requests[cmd], rest, err
}
