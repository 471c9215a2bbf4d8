package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// accountTables are people's accounts, their links and sessions, which budgets they own, and what was asked
// of the owners.
const accountTables = `CREATE TABLE service_accounts (
	name TEXT PRIMARY KEY, role TEXT NOT NULL, issuer TEXT NOT NULL, subject TEXT NOT NULL,
	created BIGINT NOT NULL, disabled BIGINT NOT NULL
);
CREATE UNIQUE INDEX service_accounts_subject ON service_accounts (issuer, subject) WHERE issuer <> '';
CREATE TABLE service_sessions (
	hash BYTES PRIMARY KEY, account TEXT NOT NULL REFERENCES service_accounts (name),
	created BIGINT NOT NULL, used BIGINT NOT NULL, expires BIGINT NOT NULL
);
CREATE TABLE service_links (id TEXT PRIMARY KEY, hash BYTES NOT NULL, account TEXT NOT NULL REFERENCES service_accounts (name), expires BIGINT NOT NULL);
CREATE TABLE service_owners (
	dataset TEXT NOT NULL, account TEXT NOT NULL REFERENCES service_accounts (name), PRIMARY KEY (dataset, account)
);
CREATE TABLE service_approvals (dataset TEXT PRIMARY KEY, needed BIGINT NOT NULL);
CREATE TABLE service_grants (
	id TEXT PRIMARY KEY, dataset TEXT NOT NULL, name TEXT NOT NULL, budget TEXT NOT NULL,
	epsilon DOUBLE PRECISION NOT NULL, delta DOUBLE PRECISION NOT NULL, reason TEXT NOT NULL,
	account TEXT NOT NULL, created BIGINT NOT NULL, state TEXT NOT NULL, ended BIGINT NOT NULL, note TEXT NOT NULL
);
CREATE TABLE service_decisions (
	asked TEXT NOT NULL REFERENCES service_grants (id), account TEXT NOT NULL, approved BIGINT NOT NULL, at BIGINT NOT NULL,
	PRIMARY KEY (asked, account)
)`

// Role is what an account may do. Each may do what those before it may.
type Role string

// The roles: one sees what is public, one looks after keys and routes, and one decides about the
// budgets that it owns.
const (
	Viewer   Role = "viewer"
	Operator Role = "operator"
	Owner    Role = "owner"
)

var roles = []Role{Viewer, Operator, Owner}

// May reports whether a role includes another. A role that is unknown includes none.
func (r Role) May(required Role) bool {
	have, need := slices.Index(roles, r), slices.Index(roles, required)
	return need >= 0 && have >= need
}

// Account is a person's account.
type Account struct {
	Name string `json:"name"`
	Role Role   `json:"role"`
	// Issuer and Subject are those of OpenID Connect; "" for an account that signs in by links.
	Issuer   string     `json:"issuer,omitempty"`
	Subject  string     `json:"subject,omitempty"`
	Created  time.Time  `json:"created"`
	Disabled *time.Time `json:"disabled,omitempty"`
	// Owns are the fingerprints of the data sets whose budgets it decides about.
	Owns []string `json:"owns"`
}

// Actor is how the audit log names an account.
func (a Account) Actor() Actor { return Actor("account " + a.Name) }

// OwnerOf reports whether the account decides about a data set's budgets.
func (a Account) OwnerOf(dataset string) bool {
	return a.Role.May(Owner) && slices.Contains(a.Owns, dataset)
}

// accountName is as people sign in, also by an address of mail.
var accountName = regexp.MustCompile(`^[a-z0-9][a-z0-9._@+-]{0,99}$`)

func checkAccount(name string, role Role) error {
	if !accountName.MatchString(name) {
		return fmt.Errorf("an account cannot be called %q: take small letters, digits and . _ @ + -, at most 100", name)
	}
	if !role.May(Viewer) {
		return fmt.Errorf("there is no role %q: take %s, %s or %s", role, Viewer, Operator, Owner)
	}
	return nil
}

// AddAccount makes an account.
func (s *Store) AddAccount(ctx context.Context, by Actor, a Account) error {
	if err := checkAccount(a.Name, a.Role); err != nil {
		return err
	}
	if len(a.Owns) > 0 && !a.Role.May(Owner) {
		return errNoOwner
	}
	return s.write(ctx, by, "add account", a.Name, func(tx *sql.Tx) error { return s.insertAccount(ctx, tx, a) })
}

func (s *Store) insertAccount(ctx context.Context, tx *sql.Tx, a Account) error {
	var there int
	if err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM service_accounts WHERE name = $1", a.Name).Scan(&there); err != nil {
		return failed(err)
	}
	if there > 0 {
		return fmt.Errorf("there is an account %s already: take another name", a.Name)
	}
	if err := exec(ctx, tx, "INSERT INTO service_accounts (name, role, issuer, subject, created, disabled) VALUES ($1, $2, $3, $4, $5, 0)",
		a.Name, string(a.Role), a.Issuer, a.Subject, s.now().UnixMilli()); err != nil {
		return err
	}
	for _, dataset := range a.Owns {
		if err := own(ctx, tx, dataset, a.Name); err != nil {
			return err
		}
	}
	return nil
}

var (
	errNoAccount = errors.New("there is no such account: sotto serve account list shows those there are")
	errNoOwner   = errors.New("only an account whose role is owner decides about budgets: give it that role first")
)

// changeAccount makes one change to one account.
func (s *Store) changeAccount(ctx context.Context, by Actor, action, name string, change func(*sql.Tx, Account) error) error {
	return s.write(ctx, by, action, name, func(tx *sql.Tx) error {
		a, err := s.account(ctx, tx, "name = $1", name)
		if err != nil {
			return err
		}
		return change(tx, a)
	})
}

// SetRole changes what an account may do.
func (s *Store) SetRole(ctx context.Context, by Actor, name string, role Role) error {
	if err := checkAccount(name, role); err != nil {
		return err
	}
	return s.changeAccount(ctx, by, "set role of account", name, func(tx *sql.Tx, _ Account) error {
		return exec(ctx, tx, "UPDATE service_accounts SET role = $1 WHERE name = $2", string(role), name)
	})
}

// DisableAccount ends an account and its sessions; undo lets it in again.
func (s *Store) DisableAccount(ctx context.Context, by Actor, name string, undo bool) error {
	action, at := "disable account", s.now().UnixMilli()
	if undo {
		action, at = "enable account", 0
	}
	return s.changeAccount(ctx, by, action, name, func(tx *sql.Tx, _ Account) error {
		if err := exec(ctx, tx, "UPDATE service_accounts SET disabled = $1 WHERE name = $2", at, name); err != nil {
			return err
		}
		if err := endLinks(ctx, tx, name); err != nil {
			return err
		}
		return endSessions(ctx, tx, name)
	})
}

// SetOwner has an account decide about a data set's budgets, or no longer.
func (s *Store) SetOwner(ctx context.Context, by Actor, name, dataset string, end bool) error {
	action := "add owner"
	if end {
		action = "end owner"
	}
	return s.write(ctx, by, action, name+" of "+dataset, func(tx *sql.Tx) error {
		a, err := s.account(ctx, tx, "name = $1", name)
		switch {
		case err != nil:
			return err
		case end:
			return exec(ctx, tx, "DELETE FROM service_owners WHERE dataset = $1 AND account = $2", dataset, name)
		case !a.Role.May(Owner):
			return errNoOwner
		}
		return own(ctx, tx, dataset, name)
	})
}

func own(ctx context.Context, tx *sql.Tx, dataset, account string) error {
	return exec(ctx, tx, "INSERT INTO service_owners (dataset, account) VALUES ($1, $2) ON CONFLICT DO NOTHING", dataset, account)
}

const accountColumns = "SELECT name, role, issuer, subject, created, disabled FROM service_accounts"

func scanAccount(rows *sql.Rows, a *Account) error {
	a.Owns = []string{}
	return rows.Scan(&a.Name, &a.Role, &a.Issuer, &a.Subject, instant(&a.Created), optional(&a.Disabled))
}

// account reads one account with what it owns.
func (s *Store) account(ctx context.Context, from querier, where string, args ...any) (Account, error) {
	a, err := first(ctx, from, errNoAccount, scanAccount, accountColumns+" WHERE "+where, args...)
	if err != nil {
		return Account{}, err
	}
	owns, err := list(ctx, from, func(rows *sql.Rows, dataset *string) error { return rows.Scan(dataset) },
		"SELECT dataset FROM service_owners WHERE account = $1 ORDER BY dataset", a.Name)
	a.Owns = append(a.Owns, owns...)
	return a, err
}

// Accounts returns all accounts, by name.
func (s *Store) Accounts(ctx context.Context) ([]Account, error) {
	all, err := list(ctx, s.db, scanAccount, accountColumns+" ORDER BY name")
	if err != nil {
		return nil, err
	}
	type owner struct{ dataset, account string }
	owners, err := list(ctx, s.db, func(rows *sql.Rows, o *owner) error { return rows.Scan(&o.dataset, &o.account) },
		"SELECT dataset, account FROM service_owners ORDER BY dataset")
	for _, o := range owners {
		if i := slices.IndexFunc(all, func(a Account) bool { return a.Name == o.account }); i >= 0 {
			all[i].Owns = append(all[i].Owns, o.dataset)
		}
	}
	return all, err
}

// Person is who an issuer of OpenID Connect says somebody is.
type Person struct {
	Issuer, Subject string
	// Name is what they like to be called; an account takes it if nobody has it.
	Name string
	// Role is what the issuer's claims give them; "" leaves an account's own, and makes a new one
	// a viewer.
	Role Role
}

// Welcome returns the account of a person, and makes it if there is none. An account that was made here
// never becomes a person's, whatever it is called.
func (s *Store) Welcome(ctx context.Context, p Person) (Account, error) {
	if p.Issuer == "" || p.Subject == "" {
		return Account{}, errors.New("an issuer has to say who somebody is")
	}
	a, err := s.account(ctx, s.db, "issuer = $1 AND subject = $2", p.Issuer, p.Subject)
	switch {
	case err == nil && a.Disabled != nil:
		return Account{}, ErrDenied
	case err == nil && (p.Role == "" || p.Role == a.Role):
		return a, nil
	case err == nil:
		a.Role, err = p.Role, s.reassign(ctx, p, a, p.Role)
		return a, err
	case !errors.Is(err, errNoAccount):
		return Account{}, err
	}
	a = Account{Role: cmp.Or(p.Role, Viewer), Issuer: p.Issuer, Subject: p.Subject, Owns: []string{}}
	wanted := spelled(cmp.Or(p.Name, p.Subject))
	err = s.write(ctx, "issuer "+Actor(p.Issuer), "add account", wanted, func(tx *sql.Tx) error {
		for n := 1; n < 100; n++ {
			a.Name = wanted
			if n > 1 {
				a.Name = fmt.Sprintf("%s-%d", wanted, n)
			}
			if _, err := s.account(ctx, tx, "name = $1", a.Name); errors.Is(err, errNoAccount) {
				return s.insertAccount(ctx, tx, a)
			} else if err != nil {
				return err
			}
		}
		return errors.New("too many accounts have this name")
	})
	return a, err
}

// reassign gives an account the role that the issuer's claims give it now. If that is less than
// before, sessions that began with more end.
func (s *Store) reassign(ctx context.Context, p Person, a Account, role Role) error {
	return s.changeAccount(ctx, "issuer "+Actor(p.Issuer), "set role of account", a.Name, func(tx *sql.Tx, before Account) error {
		if err := exec(ctx, tx, "UPDATE service_accounts SET role = $1 WHERE name = $2", string(role), a.Name); err != nil {
			return err
		}
		if role.May(before.Role) {
			return nil
		}
		return endSessions(ctx, tx, a.Name)
	})
}

// Dismiss is for a person whom the issuer's claims do not let in, or no longer: sessions of their
// account end, and it keeps the least role. Without an account there is nothing to do.
func (s *Store) Dismiss(ctx context.Context, p Person) error {
	a, err := s.account(ctx, s.db, "issuer = $1 AND subject = $2", p.Issuer, p.Subject)
	if errors.Is(err, errNoAccount) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.changeAccount(ctx, "issuer "+Actor(p.Issuer), "dismiss account", a.Name, func(tx *sql.Tx, _ Account) error {
		if err := exec(ctx, tx, "UPDATE service_accounts SET role = $1 WHERE name = $2", string(Viewer), a.Name); err != nil {
			return err
		}
		return endSessions(ctx, tx, a.Name)
	})
}

// spelled makes a name of an account from what an issuer says.
func spelled(name string) string {
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || strings.ContainsRune("._@+-", r) {
			return r
		}
		return '-'
	}, strings.ToLower(name))
	if name = strings.TrimLeft(name, "._@+-"); name == "" {
		return "somebody"
	}
	return name[:min(len(name), 90)]
}
