package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/sys/bounded"
)

func newServeAccountCommand(p *cli.Program) *cobra.Command {
	group := cli.NewGroup("account", "The people who use the dashboard",
		`Keeps the accounts of people who sign in to the dashboard of a service. A viewer
sees what was released and what it cost, an operator also looks after runs, keys
and routes, and an owner also decides about the budgets of data sets that it
owns. Of a password the store has a slow hash.`,
		`  sotto serve account add owner-one --role owner --owns tickets
  sotto serve account own owner-two tickets --approvals 2
  sotto serve account list`,
		newServeAccountAddCommand(p),
		newServeAccountListCommand(p),
		newServeAccountPasswordCommand(p),
		newServeAccountRoleCommand(p),
		newServeAccountDisableCommand(p),
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
		p.Line("there are no accounts: sotto serve account add makes one")
		return
	}
	t := ui.NewTable("account", "role", "signs in by", "owns", "made", "state")
	for _, a := range r.Accounts {
		by, state := "password", "-"
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

// readPassword reads a password from a file, from the keyboard without showing it, or from standard
// input.
func readPassword(p *cli.Program, name, file string) (string, error) {
	if file != "" {
		data, err := bounded.ReadFile(file, longestPassword)
		if err != nil {
			return "", cli.Usage("the file of the password: %w", err)
		}
		return strings.TrimRight(string(data), "\r\n"), nil
	}
	if !p.Keyboard {
		line, err := bufio.NewReader(io.LimitReader(p.Stdin, longestPassword)).ReadString('\n')
		if line = strings.TrimRight(line, "\r\n"); line == "" || err != nil && !errors.Is(err, io.EOF) {
			return "", cli.Usage("a password is missing: give it on standard input, or name a file with --password-file")
		}
		return line, nil
	}
	ask := func(what string) (string, error) {
		fmt.Fprintf(p.Stderr, "%s of %s: ", what, name)
		typed, err := term.ReadPassword(int(os.Stdin.Fd()))
		fmt.Fprintln(p.Stderr)
		return string(typed), err
	}
	first, err := ask("password")
	if err != nil {
		return "", err
	}
	again, err := ask("the same password again")
	if err == nil && first != again {
		err = cli.Usage("the two passwords differ: nothing was changed")
	}
	return first, err
}

const longestPassword = 4096

func newServeAccountAddCommand(p *cli.Program) *cobra.Command {
	var role, file string
	var owns []string
	cmd := &cobra.Command{
		Use:   "add NAME --role ROLE",
		Short: "Make an account",
		Long: `Makes an account. The password is asked for, or read as a line of standard
input, or from a file; it is never an argument, which other programs could see.

The role is viewer, operator or owner. --owns names data sets of the ledger
whose budgets the account decides about.` + ui.JSONKeys(accountsResult{}),
		Example: `  sotto serve account add operator-one --role operator
  sotto serve account add owner-one --role owner --owns tickets`,
		Args: cli.Takes("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			a := store.Account{Name: args[0], Role: store.Role(role)}
			var err error
			if a.Owns, err = fingerprints(cmd.Context(), p, owns); err != nil {
				return err
			}
			password, err := readPassword(p, a.Name, file)
			if err != nil {
				return err
			}
			return withAccounts(p, cmd, true, "the account "+a.Name+" is made", func(ctx context.Context, s *store.Store) error {
				return s.AddAccount(ctx, actor(), a, password)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&role, "role", string(store.Viewer), "its `ROLE`: viewer, operator or owner")
	f.StringArrayVar(&owns, "owns", nil, "a `DATASET` of the ledger that it owns; may be repeated")
	f.StringVar(&file, "password-file", "", "read the password from `FILE`")
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

func newServeAccountPasswordCommand(p *cli.Program) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:     "password NAME",
		Short:   "Give an account another password",
		Long:    `Gives an account another password, and signs it out everywhere.` + ui.JSONKeys(accountsResult{}),
		Example: `  sotto serve account password owner-one`,
		Args:    cli.Takes("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			password, err := readPassword(p, args[0], file)
			if err != nil {
				return err
			}
			return withAccounts(p, cmd, false, "the account "+args[0]+" has another password", func(ctx context.Context, s *store.Store) error {
				return s.SetPassword(ctx, actor(), args[0], password)
			})
		},
	}
	cmd.Flags().StringVar(&file, "password-file", "", "read the password from `FILE`")
	return cmd
}

func newServeAccountRoleCommand(p *cli.Program) *cobra.Command {
	return &cobra.Command{
		Use:   "role NAME ROLE",
		Short: "Give an account another role",
		Long: `Makes an account a viewer, an operator or an owner. It counts with its next
request. Where claims of your organisation give roles, they count again when it
signs in next.` + ui.JSONKeys(accountsResult{}),
		Example: `  sotto serve account role operator-one owner`,
		Args:    cli.Takes("NAME", "ROLE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withAccounts(p, cmd, false, "the account "+args[0]+" is "+args[1], func(ctx context.Context, s *store.Store) error {
				return s.SetRole(ctx, actor(), args[0], store.Role(args[1]))
			})
		},
	}
}

func newServeAccountDisableCommand(p *cli.Program) *cobra.Command {
	var undo bool
	cmd := &cobra.Command{
		Use:   "disable NAME",
		Short: "Let an account in no more",
		Long: `Signs an account out everywhere and lets it in no more. What it decided stays,
and its approvals of requests that are open no longer count.` + ui.JSONKeys(accountsResult{}),
		Example: `  sotto serve account disable operator-one
  sotto serve account disable operator-one --undo`,
		Args: cli.Takes("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			headline := "the account " + args[0] + " is disabled"
			if undo {
				headline = "the account " + args[0] + " counts again"
			}
			return withAccounts(p, cmd, false, headline, func(ctx context.Context, s *store.Store) error {
				return s.DisableAccount(ctx, actor(), args[0], undo)
			})
		},
	}
	cmd.Flags().BoolVar(&undo, "undo", false, "let it in again")
	return cmd
}

func newServeAccountOwnCommand(p *cli.Program) *cobra.Command {
	var end bool
	var approvals int
	cmd := &cobra.Command{
		Use:   "own NAME DATASET",
		Short: "Have an account decide about a data set's budgets",
		Long: `Makes an account, whose role is owner, an owner of a data set of the ledger. The
owners decide about requests to raise its budgets that operators make in the
dashboard. --approvals 2 has two different owners approve each of them. They
also say of every upload whether it has people of the data set: until the owners
of all data sets have, no run can use it.

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
