package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

func newServeAccountCommand(p *cli.Program) *cobra.Command {
	group := cli.NewGroup("account", "The people who use the dashboard",
		`Keeps the accounts of people who sign in to the dashboard of a service. A viewer
sees what was released and what it cost, an operator also looks after keys and
routes, and an owner also decides about the budgets of data sets that it owns.`,
		`  sotto serve account set owner-one --role owner
  sotto serve account own owner-one tickets
  sotto serve account link owner-one
  sotto serve account list`,
		newServeAccountSetCommand(p),
		newServeAccountListCommand(p),
		newServeAccountLinkCommand(p),
		newServeAccountOwnCommand(p),
	)
	return group
}

// accountsResult lists accounts.
type accountsResult struct {
	Accounts []store.Account `json:"accounts"`

	headline string
}

func (r *accountsResult) Print(p *ui.Page) {
	if r.headline != "" {
		p.Line("%s\n", r.headline)
	}
	if len(r.Accounts) == 0 {
		p.Line("there are no accounts: sotto serve account set makes one")
		return
	}
	t := ui.NewTable("account", "role", "signs in by", "owns", "made", "state")
	for _, a := range r.Accounts {
		by, state := "link", "-"
		if a.Issuer != "" {
			by = a.Issuer
		}
		if a.Disabled != nil {
			state = "disabled " + cli.Date(*a.Disabled)
		}
		var owns []string
		for _, f := range a.Owns {
			owns = append(owns, cli.Abridged(ledger.Fingerprint(f)))
		}
		t.Add(a.Name, string(a.Role), by, strings.Join(owns, ", "), cli.Date(a.Created), state)
	}
	p.Table(t)
}

// withAccounts makes a change and prints all accounts.
func withAccounts(p *cli.Program, cmd *cobra.Command, create bool, headline string, change func(context.Context, *store.Store) error) error {
	return withStore(cmd.Context(), p, create, func(s *store.Store) (ui.Result, error) {
		if err := change(cmd.Context(), s); err != nil {
			return nil, ui.AsUsage(err)
		}
		all, err := s.Accounts(cmd.Context())
		if all == nil {
			all = []store.Account{}
		}
		return &accountsResult{all, headline}, err
	})
}

// fingerprints finds data sets of the ledger by their names.
func fingerprints(ctx context.Context, p *cli.Program, names []string) (found []string, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	address, err := p.LedgerAddress()
	if err != nil {
		return nil, err
	}
	l, err := ledger.Open(ctx, address, ledger.Options{})
	if err != nil {
		return nil, cli.ExplainMissing(err, address)
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	for _, name := range names {
		set, err := l.Balance(ctx, name)
		if err != nil {
			return nil, err
		}
		found = append(found, string(set.Fingerprint))
	}
	return found, nil
}

// accountChange holds the flags of "account set".
type accountChange struct {
	role            string
	disable, enable bool
}

func newServeAccountSetCommand(p *cli.Program) *cobra.Command {
	var c accountChange
	cmd := &cobra.Command{
		Use:   "set NAME --role ROLE",
		Short: "Make an account, or change one",
		Long: `Makes an account, or gives one another role: viewer, operator or owner. It
counts with its next request. Where claims of your organisation give roles, they
count again when it signs in next.

--disable signs an account out everywhere and lets it in no more. What it
decided stays, and its approvals of requests that are open no longer count.
--enable lets it in again.` + ui.JSONKeys(accountsResult{}),
		Example: `  sotto serve account set owner-one --role owner
  sotto serve account set operator-one --disable`,
		Args: cli.Takes("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case c == (accountChange{}):
				return cli.Usage("say what to change: --role, --disable or --enable")
			case c.disable && c.enable:
				return cli.Usage("--disable and --enable exclude each other")
			}
			return withAccounts(p, cmd, c.role != "", "the account "+args[0]+" is set", func(ctx context.Context, s *store.Store) error {
				return c.apply(ctx, s, args[0])
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.role, "role", "", "its `ROLE`: viewer, operator or owner")
	f.BoolVar(&c.disable, "disable", false, "let it in no more")
	f.BoolVar(&c.enable, "enable", false, "let it in again")
	return cmd
}

func (c accountChange) apply(ctx context.Context, s *store.Store, name string) error {
	if c.role != "" {
		all, err := s.Accounts(ctx)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(all, func(a store.Account) bool { return a.Name == name }) {
			err = s.SetRole(ctx, actor(), name, store.Role(c.role))
		} else {
			err = s.AddAccount(ctx, actor(), store.Account{Name: name, Role: store.Role(c.role)})
		}
		if err != nil {
			return err
		}
	}
	if c.disable || c.enable {
		return s.DisableAccount(ctx, actor(), name, c.enable)
	}
	return nil
}

// linkResult is a link to sign in.
type linkResult struct {
	// Link signs the account in, once, until Expires. It is nowhere else.
	Link    string    `json:"link"`
	Account string    `json:"account"`
	Expires time.Time `json:"expires"`
}

func (r *linkResult) Print(p *ui.Page) {
	p.Line("%s\n", r.Link)
	p.Line("signs %s in to the dashboard, once, within %v", r.Account, store.LinkLives)
}

func newServeAccountLinkCommand(p *cli.Program) *cobra.Command {
	var at string
	cmd := &cobra.Command{
		Use:   "link NAME",
		Short: "Make a link that signs an account in, once",
		Long: `Prints a link that signs an account in to the dashboard: once, and within ` + fmt.Sprint(int(store.LinkLives/time.Minute)) + `
minutes. Who has the link is the account: send it as you would send a password.
An earlier link of the account no longer counts. The store has a hash of it.

Accounts of your organisation ([oidc] in your configuration) need none.` + ui.JSONKeys(linkResult{}),
		Example: `  sotto serve account link owner-one
  sotto serve account link owner-one --admin-url https://sotto.example.com`,
		Args: cli.Takes("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			settings, err := p.Configured()
			if err != nil {
				return err
			}
			if at == "" && settings.OIDC != nil {
				at = settings.OIDC.URL
			}
			if at, err = pageAddress(cmp.Or(at, "http://"+defaultAdmin)); err != nil {
				return err
			}
			return withStore(cmd.Context(), p, false, func(s *store.Store) (ui.Result, error) {
				token, err := s.AddLink(cmd.Context(), actor(), args[0])
				if err != nil {
					return nil, ui.AsUsage(err)
				}
				return &linkResult{at + "/sign-in?link=" + token, args[0], time.Now().Add(store.LinkLives).UTC().Truncate(time.Second)}, nil
			})
		},
	}
	cmd.Flags().StringVar(&at, "admin-url", "", "people reach the dashboard at `URL` (default: that of [oidc] in your configuration, or http://"+defaultAdmin+")")
	return cmd
}

func newServeAccountListCommand(p *cli.Program) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List accounts",
		Long:    `Lists accounts by name.` + ui.JSONKeys(accountsResult{}),
		Example: `  sotto serve account list`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withAccounts(p, cmd, false, "", func(context.Context, *store.Store) error { return nil })
		},
	}
}

func newServeAccountOwnCommand(p *cli.Program) *cobra.Command {
	var end bool
	var approvals int
	cmd := &cobra.Command{
		Use:   "own NAME DATASET",
		Short: "Have an account decide about a data set's budgets",
		Long: `Makes an account, whose role is owner, an owner of a data set of the ledger. The
owners decide about requests to raise its budgets that operators make in the
dashboard. --approvals 2 has two different owners approve each of them.

On the command line anyone who may write to the ledger needs nobody's approval.` + ui.JSONKeys(accountsResult{}),
		Example: `  sotto serve account own owner-two tickets --approvals 2
  sotto serve account own owner-two tickets --end`,
		Args: cli.Takes("NAME", "DATASET"),
		RunE: func(cmd *cobra.Command, args []string) error {
			found, err := fingerprints(cmd.Context(), p, args[1:])
			if err != nil {
				return err
			}
			headline := fmt.Sprintf("the account %s owns %s", args[0], args[1])
			if end {
				headline = fmt.Sprintf("the account %s no longer owns %s", args[0], args[1])
			}
			return withAccounts(p, cmd, false, headline, func(ctx context.Context, s *store.Store) error {
				if err := s.SetOwner(ctx, actor(), args[0], found[0], end); err != nil || approvals == 0 {
					return err
				}
				return s.SetApprovals(ctx, actor(), found[0], approvals)
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&end, "end", false, "it owns the data set no longer")
	f.IntVar(&approvals, "approvals", 0, "`N` owners, 1 or 2, have to approve a grant of the data set (default: as it was, 1 at first)")
	return cmd
}
