package budget

import (
	"context"
	"errors"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/private/folder"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

func newLedgerKeyCommand(p *cli.Program) *cobra.Command {
	group := cli.NewGroup("key", "The fingerprint key, by which a ledger knows data again",
		`The private folder has a key, with which records are hashed before the ledger
sees anything of them. A ledger takes one key: with another, data that it knows
would look new. So everybody who uses a ledger needs the same key file. Keep it
as you keep the records: with it and the ledger, guesses at records can be
tested. It is copied from file to file and never printed.`,
		`  sotto ledger key show
  sotto ledger key export for-anna.key
  sotto ledger key import for-anna.key`,
		newKeyShowCommand(p),
		newKeyExportCommand(p),
		newKeyImportCommand(p),
	)
	return group
}

// keyResult is about the key of a private folder.
type keyResult struct {
	ID   string `json:"id,omitempty"`
	File string `json:"file"`
	// Ledger and LedgerID are a ledger and the id of the key that it knows data by.
	Ledger   string `json:"ledger,omitempty"`
	LedgerID string `json:"ledger_key_id,omitempty"`

	headline string
}

func (r *keyResult) Print(p *ui.Page) {
	p.Text(0, r.headline)
	p.Line("")
	p.Facts("key", r.ID, "file", r.File, "ledger", r.Ledger, "its key", r.LedgerID)
}

func newKeyShowCommand(p *cli.Program) *cobra.Command {
	return &cobra.Command{
		Use:   "show",
		Short: "The id of the key, and that of the ledger's",
		Long: `Shows the id of the key of the private folder and of the key that the ledger
knows its data by. The id is public: it reveals nothing else about the key.` + ui.JSONKeys(keyResult{}),
		Example: "  sotto ledger key show",
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := showKey(cmd.Context(), p)
			if err != nil {
				return err
			}
			return p.Emit(r)
		},
	}
}

func showKey(ctx context.Context, p *cli.Program) (*keyResult, error) {
	dir, err := p.PrivateDir()
	if err != nil {
		return nil, err
	}
	r := &keyResult{File: folder.KeyPath(dir)}
	if r.ID, err = folder.KeyID(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	address, err := p.LedgerAddress()
	if err != nil {
		return nil, err
	}
	l, err := ledger.Open(ctx, address, ledger.Options{})
	if err != nil && !errors.Is(err, ledger.ErrMissing) {
		return nil, err
	}
	if err == nil {
		r.Ledger = config.Redact(address)
		r.LedgerID, err = l.KeyID(ctx)
		if err := errors.Join(err, l.Close()); err != nil {
			return nil, err
		}
	}
	switch {
	case r.ID == "":
		r.headline = "the private folder has no key yet: the first use of data makes one"
	case r.LedgerID == "":
		r.headline = "the private folder has a key, which no ledger here knows data by yet"
	case r.ID == r.LedgerID:
		r.headline = "the ledger knows its data by the key of the private folder"
	default:
		r.headline = "the ledger knows its data by another key: data cannot be used with it until you import that key"
	}
	return r, nil
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
