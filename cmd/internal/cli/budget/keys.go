package budget

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy/certificate"
)

func newKeysCommand(p *cli.Program) *cobra.Command {
	group := cli.NewGroup("keys", "The key that signs certificates, and the keys that are trusted",
		`Keeps one Ed25519 key that signs, which the first certificate makes, and a trust
file with other public keys and with those that ended. They are in a folder that
only its owner may write; it is named by --keys, else by SOTTO_KEYS, else by
"keys" in your configuration, else it is in the user's data directory. The
private key never leaves it and is never printed.

Give verifiers signer.pub.pem of the folder, and trust.json when it changed.
Replace a key that is merely old (new): what it signed stays valid. Revoke a key
that someone may have stolen: nothing that it signed is valid any more.`,
		`  sotto keys list
  sotto keys new
  sotto keys trust partner.pub.pem --until 2027-12-31
  sotto keys revoke 3f2a90c1 --reason 'laptop stolen'`,
		newKeysListCommand(p),
		newKeysNewCommand(p),
		newKeysTrustCommand(p),
		newKeysRevokeCommand(p),
	)
	return group
}

// keysResult is the state of a folder of keys after a verb.
type keysResult struct {
	Folder string `json:"folder"`
	// Signer is the ID of the key that signs.
	Signer string            `json:"signer,omitempty"`
	Keys   []certificate.Key `json:"keys"`

	headline string
}

// emitKeys prints the keys of a folder below a headline.
func emitKeys(p *cli.Program, dir, format string, args ...any) error {
	r := &keysResult{Folder: dir, Keys: []certificate.Key{}, headline: fmt.Sprintf(format, args...)}
	trust, err := certificate.LoadTrust(dir)
	if err != nil {
		return cli.Usage("%w: sotto keys new makes one, and so does the first certificate", err)
	}
	r.Keys = trust.Keys()
	own, err := certificate.SignerKey(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil {
		r.Signer = own.ID()
	}
	return p.Emit(r)
}

func (r *keysResult) Print(p *ui.Page) {
	if r.headline != "" {
		p.Line("%s\n", r.headline)
	}
	t := ui.NewTable("key", "status", "until", "reason")
	for _, k := range r.Keys {
		status, until := "trusted", k.ValidUntil
		switch {
		case !k.Revoked.IsZero():
			status, until = "revoked", k.Revoked
		case k.ID == r.Signer:
			status = "signs"
		case !until.IsZero() && until.Before(certificate.Day(time.Now())):
			status = "expired"
		}
		t.Add(k.ID[:16], status, cli.Date(until), k.Reason)
	}
	p.Table(t)
	p.Line("\n  folder %s", r.Folder)
}

func newKeysListCommand(p *cli.Program) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "The key that signs, and the keys that are trusted",
		Long:    `Lists the key that signs and those of the trust file.` + ui.JSONKeys(keysResult{}),
		Example: "  sotto keys list --json",
		RunE: func(*cobra.Command, []string) error {
			dir, err := p.KeysDir()
			if err != nil {
				return err
			}
			return emitKeys(p, dir, "")
		},
	}
}

func newKeysNewCommand(p *cli.Program) *cobra.Command {
	return &cobra.Command{
		Use:   "new",
		Short: "Make another key that signs",
		Long: `Makes the key that signs from now on, and erases the private half of the one
before. What that one signed until today stays valid: the trust file lists it
with its last day. Give verifiers the new signer.pub.pem.` + ui.JSONKeys(keysResult{}),
		Example: "  sotto keys new --keys ./keys",
		RunE: func(*cobra.Command, []string) error {
			dir, err := p.KeysDir()
			if err != nil {
				return err
			}
			k, err := certificate.NewKey(dir)
			if err != nil {
				return err
			}
			return emitKeys(p, dir, "key %s signs from now on; give verifiers %s", k.ID()[:16], filepath.Join(dir, "signer.pub.pem"))
		},
	}
}

func newKeysTrustCommand(p *cli.Program) *cobra.Command {
	var until string
	cmd := &cobra.Command{
		Use:   "trust FILE [--until DAY]",
		Short: "Trust the keys of other signers",
		Long: `Adds the public keys in FILE to the trust file, by which "sotto verify" then
knows them. FILE has keys in PEM form, or is a trust file: its revocations and
last days are taken over, and nothing in it extends the trust in a key that is
listed already.` + ui.JSONKeys(keysResult{}),
		Example: `  sotto keys trust partner.pub.pem --until 2027-12-31
  sotto keys trust partner-trust.json`,
		Args: cli.Takes("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			last, err := instant("until", until)
			if err != nil {
				return err
			}
			dir, err := p.KeysDir()
			if err != nil {
				return err
			}
			from, err := certificate.LoadTrust(args[0])
			if err != nil {
				return ui.AsUsage(err)
			}
			if err := certificate.AddTrust(dir, from, last); err != nil {
				return err
			}
			return emitKeys(p, dir, "the trust file has the keys of %s", args[0])
		},
	}
	cmd.Flags().StringVar(&until, "until", "", "trust them for certificates until this `DAY` (default: no end)")
	return cmd
}

func newKeysRevokeCommand(p *cli.Program) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "revoke ID --reason TEXT",
		Short: "Withdraw trust from a key, for the past too",
		Long: `Revokes a key, named by its ID or at least the first 8 digits of it; the private
half of the key that signs is erased. Nothing that it ever signed verifies any
more for those who get the new trust file. The reason is shown to them.` + ui.JSONKeys(keysResult{}),
		Example: "  sotto keys revoke 3f2a90c1 --reason 'laptop stolen'",
		Args:    cli.Takes("ID"),
		RunE: func(_ *cobra.Command, args []string) error {
			if reason == "" {
				return cli.Usage("--reason is missing: say why, verifiers will see it")
			}
			dir, err := p.KeysDir()
			if err != nil {
				return err
			}
			k, err := certificate.Revoke(dir, args[0], reason)
			if err != nil {
				return ui.AsUsage(err)
			}
			return emitKeys(p, dir, "key %s is revoked; give verifiers %s", k.ID[:16], filepath.Join(dir, certificate.TrustFile))
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, in words; required")
	return cmd
}
