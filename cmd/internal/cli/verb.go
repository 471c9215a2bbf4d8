package cli

import (
	"slices"
	"strings"
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
