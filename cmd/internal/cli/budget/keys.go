package budget

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy/certificate"
)

func newKeysCommand(p *cli.Program) *cobra.Command {
	group := cli.NewGroup("keys", "The keys that sign certificates",
		`Keeps a ring of Ed25519 keys: one active key that signs, and those before it.
The ring is a directory that only its owner may write; it is named by --keys,
else by SOTTO_KEYS, else by "keys" in your configuration, else it is in the
user's data directory. Private keys never leave it and are never printed.

Rotate a key that is merely old: what it signed stays valid. Revoke a key that
someone may have stolen: nothing that it signed is valid any more.`,
		`  sotto keys generate
  sotto keys export > signer.pub.pem
  sotto keys rotate
  sotto keys revoke 3f2a90c1 --reason 'laptop stolen'`,
		newKeysGenerateCommand(p),
		newKeysListCommand(p),
		newKeysRotateCommand(p),
		newKeysRevokeCommand(p),
		newKeysExportCommand(p),
	)
	return group
}

// ring opens the key ring.
func ring(p *cli.Program) (*certificate.Ring, string, error) {
	dir, err := p.KeysDir()
	if err != nil {
		return nil, "", err
	}
	r, err := certificate.OpenRing(dir)
	return r, dir, err
}

// ringResult is the state of a key ring after a verb.
type ringResult struct {
	Ring string                `json:"ring"`
	Keys []certificate.KeyInfo `json:"keys"`
	// Active is the ID of the key that signs, Retired that of the one that a
	// rotation replaced, Revoked that of the one that was revoked.
	Active  string `json:"active,omitempty"`
	Retired string `json:"retired,omitempty"`
	Revoked string `json:"revoked,omitempty"`

	headline string
}

func newRingResult(dir string, r *certificate.Ring, headline string) *ringResult {
	res := &ringResult{Ring: dir, Keys: r.Keys(), headline: headline}
	for _, k := range res.Keys {
		if k.Status == certificate.Active {
			res.Active = k.ID
		}
	}
	return res
}

func (r *ringResult) Print(p *ui.Page) {
	if r.headline != "" {
		p.Line("%s\n", r.headline)
	}
	t := ui.NewTable("key", "status", "created", "until", "reason")
	for _, k := range r.Keys {
		until := cmp.Or(k.Revoked, k.Retired)
		t.Add(k.ID[:16], string(k.Status), cli.Date(k.Created), cli.Date(until), k.Reason)
	}
	p.Table(t)
	p.Line("\n  key ring %s", r.Ring)
}

func newKeysGenerateCommand(p *cli.Program) *cobra.Command {
	return &cobra.Command{
		Use:   "generate",
		Short: "Make a key, and a key ring if there is none",
		Long: `Makes a key ring with a new active key. In a ring that has no active key, as
after a revocation, it makes a new one there; no older key endorses it, so
verifiers have to get it from you.` + ui.JSONKeys(ringResult{}),
		Example: "  sotto keys generate --keys ./keys",
		RunE: func(*cobra.Command, []string) error {
			dir, err := p.KeysDir()
			if err != nil {
				return err
			}
			r, err := certificate.OpenRing(dir)
			if err == nil {
				if _, err = r.Generate(); err != nil {
					err = fmt.Errorf("%w (sotto keys rotate, sotto keys revoke)", err)
				}
			} else if missing(dir, "ring.json") {
				r, err = certificate.CreateRing(dir)
			}
			if err != nil {
				return err
			}
			return p.Emit(newRingResult(dir, r, "a new key is active; give verifiers its public half: sotto keys export"))
		},
	}
}

func newKeysListCommand(p *cli.Program) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "The keys of the ring and their status",
		Long:    `Lists all keys, oldest first.` + ui.JSONKeys(ringResult{}),
		Example: "  sotto keys list --json",
		RunE: func(*cobra.Command, []string) error {
			r, dir, err := ring(p)
			if err != nil {
				return err
			}
			return p.Emit(newRingResult(dir, r, ""))
		},
	}
}

func newKeysRotateCommand(p *cli.Program) *cobra.Command {
	return &cobra.Command{
		Use:   "rotate",
		Short: "Retire the active key and make a new one",
		Long: `Makes a new active key, which the old one endorses in a rotation statement,
and erases the old private key. What the old key signed before stays valid.
Verifiers who have the old public key follow with "sotto verify --rotation
FILE", where FILE is the new key's ID.rotation.json in the ring or in an
export.` + ui.JSONKeys(ringResult{}),
		Example: "  sotto keys rotate",
		RunE: func(*cobra.Command, []string) error {
			r, dir, err := ring(p)
			if err != nil {
				return err
			}
			retired, active, err := r.Rotate()
			if err != nil {
				return err
			}
			res := newRingResult(dir, r, fmt.Sprintf("key %s is retired, key %s is active", retired.ID[:16], active.ID[:16]))
			res.Retired = retired.ID
			return p.Emit(res)
		},
	}
}

func newKeysRevokeCommand(p *cli.Program) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "revoke ID --reason TEXT",
		Short: "Withdraw trust from a key, for the past too",
		Long: `Revokes a key, named by its ID or at least the first 8 digits of it, and
erases its private half. Nothing that it ever signed verifies any more for
those who get the ring's new export. The reason is shown to them.` + ui.JSONKeys(ringResult{}),
		Example: "  sotto keys revoke 3f2a90c1 --reason 'laptop stolen'",
		Args:    cli.Takes("ID"),
		RunE: func(_ *cobra.Command, args []string) error {
			if reason == "" {
				return cli.Usage("--reason is missing: say why, verifiers will see it")
			}
			r, dir, err := ring(p)
			if err != nil {
				return err
			}
			if _, err := r.Lookup(args[0]); err != nil {
				return ui.AsUsage(err)
			}
			info, err := r.Revoke(args[0], reason)
			if err != nil {
				return err
			}
			res := newRingResult(dir, r, fmt.Sprintf("key %s is revoked; give verifiers a new export: sotto keys export --out DIR", info.ID[:16]))
			res.Revoked = info.ID
			return p.Emit(res)
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, in words; required")
	return cmd
}

func newKeysExportCommand(p *cli.Program) *cobra.Command {
	var out, id string
	cmd := &cobra.Command{
		Use:   "export [--id ID] [--out DIR]",
		Short: "The public keys, for verifiers",
		Long: `Prints the public half of the active key, or of the one that --id names, in
PEM form. With --out, copies the public part of the whole ring into a new
directory instead: all public keys, what was retired and revoked, and the
rotation statements.` + ui.JSONKeys(publicResult{}, "With --out: "+ui.KeyList(exportResult{})+"."),
		Example: `  sotto keys export > signer.pub.pem
  sotto keys export --out signer-keys/`,
		RunE: func(*cobra.Command, []string) error {
			r, _, err := ring(p)
			if err != nil {
				return err
			}
			if out != "" {
				if id != "" {
					return cli.Usage("--id and --out exclude each other: --out exports all keys")
				}
				if err := r.Export(out); err != nil {
					return err
				}
				return p.Emit(&exportResult{out, r.Keys()})
			}
			k, err := r.Public(id)
			if err != nil {
				return ui.AsUsage(err)
			}
			return p.Emit(&publicResult{k.ID(), string(k.PEM())})
		},
	}
	cmd.Flags().StringVar(&id, "id", "", "the `ID` of the key, or at least its first 8 digits (default: the active key)")
	cli.AddDir(cmd, &out, "out", "export all public keys into this new or empty `DIR`")
	return cmd
}

type publicResult struct {
	ID  string `json:"id"`
	PEM string `json:"pem"`
}

func (r *publicResult) Print(p *ui.Page) { p.File(r.PEM) }

type exportResult struct {
	Out  string                `json:"out"`
	Keys []certificate.KeyInfo `json:"keys"`
}

func (r *exportResult) Print(p *ui.Page) {
	p.Line("%d public keys are in %s; verifiers use it with: sotto verify RELEASE --key %s", len(r.Keys), r.Out, r.Out)
}
