// Package cli is what the verbs of the program share: the terminal, where ledger, keys and configuration are,
// flags that several verbs have, and results that several print. Groups of verbs are packages below it, none of
// which imports another.
package cli

import (
	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/flags"
)

// Program is what all verbs share.
type Program struct {
	ui.Terminal
	// Places has what flags say of ledger, keys, private folder, store and configuration.
	Places config.Places

	// Chosen is the model that flags of every verb name.
	Chosen flags.Model

	// MadeKey: the fingerprint key of the private folder, if there is one, is of this command.
	MadeKey bool

	// Root makes the command of the whole program.
	Root func(*Program) *cobra.Command
}

// Usage returns an error about the command line, or what it names.
func Usage(format string, args ...any) error { return ui.Usage(format, args...) }

// AsUsage makes an error about the command line of one of type T.
func AsUsage[T error](err error) error {
	if ui.Is[T](err) {
		return ui.AsUsage(err)
	}
	return err
}
