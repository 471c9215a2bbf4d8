package serve

import (
	"context"
	"fmt"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/internal/ui"
)

// actor is who changes the store by the command line: an account of this machine.
func actor() store.Actor {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return store.Actor(u.Username)
	}
	return "somebody"
}

func newServeKeyCommand(p *cli.Program) *cobra.Command {
	group := cli.NewGroup("key", "The keys that clients show",
		`Keeps the API keys of a service. Of a key the store has a hash; the key itself is
printed once, when it is made.`,
		`  sotto serve key add 'support team' --route tickets --per-minute 60
  sotto serve key list
  sotto serve key rotate 3fq2kx9a0b1c
  sotto serve key revoke 3fq2kx9a0b1c`,
		newServeKeyAddCommand(p),
		newServeKeyRotateCommand(p),
		newServeKeyRevokeCommand(p),
		newServeKeyListCommand(p),
	)
	return group
}

// keysResult lists keys, and has the secret of one that was made.
type keysResult struct {
	// Secret is the key that clients send. It is nowhere else.
	Secret string      `json:"secret,omitempty"`
	Keys   []store.Key `json:"keys"`

	headline string
}

func (r *keysResult) Print(p *ui.Page) {
	if r.headline != "" {
		p.Line("%s\n", r.headline)
	}
	if r.Secret != "" {
		p.Line("  %s\n\nKeep it: it cannot be shown again.\n", r.Secret)
	}
	if len(r.Keys) == 0 {
		p.Line("there are no keys: sotto serve key add makes one")
		return
	}
	t := ui.NewTable("key", "name", "routes", "a minute", "private answers", "made", "until")
	for _, k := range r.Keys {
		until, rate := "-", "-"
		if k.Expires != nil {
			until = cli.Date(*k.Expires)
		}
		if k.Revoked != nil {
			until = "revoked " + cli.Date(*k.Revoked)
		}
		if k.PerMinute > 0 {
			rate = fmt.Sprint(k.PerMinute)
		}
		may, had := strings.Join(k.Routes, ", "), ui.If(k.Asked > 0, fmt.Sprint(k.Asked))
		if k.Admin {
			may = "looks after the service"
		}
		if k.Answers > 0 {
			had = fmt.Sprintf("%d of %d", k.Asked, k.Answers)
		}
		t.Add(k.ID, k.Name, may, rate, had, cli.Date(k.Created), until)
	}
	p.Table(t)
}

// keys returns all keys.
func keys(ctx context.Context, s *store.Store, headline, secret string) (ui.Result, error) {
	all, err := s.Keys(ctx)
	if all == nil {
		all = []store.Key{}
	}
	return &keysResult{Keys: all, Secret: secret, headline: headline}, err
}

func newServeKeyAddCommand(p *cli.Program) *cobra.Command {
	var key store.Key
	var lives time.Duration
	cmd := &cobra.Command{
		Use:   "add NAME --route ROUTE…",
		Short: "Make a key",
		Long: `Makes a key for the client NAME, and prints it. It is not kept, only its hash.

--answers bounds how many answers from private records it gets in all, over all
routes and processes, and with the keys that it is rotated to. What they cost is
in the ledger, whose budgets no key can overspend. --admin makes a key for the
service's other address, by which keys and routes can be changed.` + ui.JSONKeys(keysResult{}),
		Example: `  sotto serve key add 'support team' --route tickets --expires 2160h
  sotto serve key add 'night shift' --route ask --answers 100`,
		Args: cli.Takes("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			key.Name = args[0]
			if len(key.Routes) == 0 && !key.Admin {
				return cli.Usage("--route is missing: a route that the key may use, or '*' for all; a key that looks after the service has --admin instead")
			}
			if lives < 0 {
				return cli.Usage("--expires is %v, it should be positive", lives)
			}
			if lives > 0 {
				end := time.Now().Add(lives)
				key.Expires = &end
			}
			return withStore(cmd.Context(), p, true, func(s *store.Store) (ui.Result, error) {
				made, secret, err := s.AddKey(cmd.Context(), actor(), key)
				if err != nil {
					return nil, ui.AsUsage(err)
				}
				return keys(cmd.Context(), s, "the key of "+made.Name, secret)
			})
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&key.Routes, "route", nil, "a `ROUTE` that it may use, or * for all; may be repeated")
	f.BoolVar(&key.Admin, "admin", false, "it looks after the service, and is for no route")
	f.Int64Var(&key.Answers, "answers", 0, "so many private answers in all (default: as many as budgets allow)")
	f.Int64Var(&key.PerMinute, "per-minute", 0, "so many requests a minute, in each process that serves (default: as many as come)")
	f.DurationVar(&lives, "expires", 0, "it counts for so long (default: until it is revoked)")
	return cmd
}

func newServeKeyRotateCommand(p *cli.Program) *cobra.Command {
	var overlap time.Duration
	cmd := &cobra.Command{
		Use:     "rotate KEY",
		Short:   "Make a new key in place of one",
		Long:    `Makes a new key that may do the same. The old one counts for --overlap longer.` + ui.JSONKeys(keysResult{}),
		Example: `  sotto serve key rotate 3fq2kx9a0b1c --overlap 1h`,
		Args:    cli.Takes("KEY"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if overlap < 0 {
				return cli.Usage("--overlap is %v, it should be 0 or more", overlap)
			}
			return withStore(cmd.Context(), p, false, func(s *store.Store) (ui.Result, error) {
				made, secret, err := s.RotateKey(cmd.Context(), actor(), args[0], overlap)
				if err != nil {
					return nil, ui.AsUsage(err)
				}
				return keys(cmd.Context(), s, "the new key of "+made.Name, secret)
			})
		},
	}
	cmd.Flags().DurationVar(&overlap, "overlap", 24*time.Hour, "the old key counts for so long")
	return cmd
}

func newServeKeyRevokeCommand(p *cli.Program) *cobra.Command {
	return &cobra.Command{
		Use:     "revoke KEY",
		Short:   "End a key",
		Long:    `Ends a key: within a second no process takes it.` + ui.JSONKeys(keysResult{}),
		Example: `  sotto serve key revoke 3fq2kx9a0b1c`,
		Args:    cli.Takes("KEY"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withStore(cmd.Context(), p, false, func(s *store.Store) (ui.Result, error) {
				if err := s.RevokeKey(cmd.Context(), actor(), args[0]); err != nil {
					return nil, ui.AsUsage(err)
				}
				return keys(cmd.Context(), s, "the key "+args[0]+" is revoked", "")
			})
		},
	}
}

func newServeKeyListCommand(p *cli.Program) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List keys",
		Long:    `Lists keys, the oldest first.` + ui.JSONKeys(keysResult{}),
		Example: `  sotto serve key list`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withStore(cmd.Context(), p, false, func(s *store.Store) (ui.Result, error) {
				return keys(cmd.Context(), s, "", "")
			})
		},
	}
}
