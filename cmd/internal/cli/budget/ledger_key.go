package budget

import (
	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/private/folder"
	"github.com/sotto-dp/sotto/internal/ui"
)

func newLedgerKeyCommand(p *cli.Program) *cobra.Command {
	group := cli.NewGroup("key", "The fingerprint key, by which a ledger knows data again",
		`The private folder has a key, with which records are hashed before the ledger
sees anything of them. A ledger takes one key: with another, data that it knows
would look new. So everybody who uses a ledger needs the same key file. Keep it
as you keep the records: with it and the ledger, guesses at records can be
tested. It is copied from file to file and never printed.`,
		`  sotto ledger key export for-anna.key
  sotto ledger key import for-anna.key`,
		newKeyExportCommand(p),
		newKeyImportCommand(p),
	)
	return group
}

// keyResult is about the key of a private folder.
type keyResult struct {
	ID   string `json:"id"`
	File string `json:"file"`

	headline string
}

func (r *keyResult) Print(p *ui.Page) {
	p.Text(0, r.headline)
	p.Line("")
	p.Facts("key", r.ID, "file", r.File)
}

func newKeyExportCommand(p *cli.Program) *cobra.Command {
	return &cobra.Command{
		Use:   "export FILE",
		Short: "Copy the key to a new file, for somebody who shares the ledger",
		Long: `Copies the key of the private folder to a new file that only you can read. Bring
it to the other person in a safe way, and delete it then.` + ui.JSONKeys(keyResult{}),
		Example: "  sotto ledger key export for-anna.key",
		Args:    cli.Takes("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			return copyKey(p, folder.Export, args[0], func(string) *keyResult {
				return &keyResult{File: args[0], headline: "the key is in the file, which only you can read: bring it over in a safe way, and delete it then"}
			})
		},
	}
}

func newKeyImportCommand(p *cli.Program) *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE",
		Short: "Take over the key of a shared ledger",
		Long: `Gives the private folder the key of an exported file. A folder that has another
key keeps it: choose another folder with --private, and continue using that one
with the ledger of the new key.` + ui.JSONKeys(keyResult{}),
		Example: "  sotto ledger key import for-anna.key",
		Args:    cli.Takes("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			return copyKey(p, folder.Import, args[0], func(dir string) *keyResult {
				return &keyResult{File: folder.KeyPath(dir), headline: dir + " has the key now: delete the file that it came in"}
			})
		},
	}
}

// copyKey copies the key from or to a file, and prints what the folder's key is then.
func copyKey(p *cli.Program, copy func(dir, file string) (id string, err error), file string, result func(dir string) *keyResult) error {
	dir, err := p.PrivateDir()
	if err != nil {
		return err
	}
	id, err := copy(dir, file)
	if err != nil {
		return ui.AsUsage(err)
	}
	r := result(dir)
	r.ID = id
	return p.Emit(r)
}
