package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"database/sql"
	"errors"
	"strings"
	"time"
)

// LinkLives is how long a link to sign in counts.
const LinkLives = 15 * time.Minute

// AddLink makes a link by which an account signs in once, and returns its token. The token has 260 random
// bits and is nowhere else: the store keeps a hash. An earlier link of the account ends.
func (s *Store) AddLink(ctx context.Context, by Actor, account string) (token string, err error) {
	id := strings.ToLower(rand.Text()[:12])
	token = id + "-" + rand.Text() + rand.Text()
	hash := sha256.Sum256([]byte(token))
	err = s.changeAccount(ctx, by, "make link to sign in", account, func(tx *sql.Tx, a Account) error {
		switch {
		case a.Issuer != "":
			return errors.New("the account signs in by its organisation")
		case a.Disabled != nil:
			return errors.New("the account is disabled: let it in again first")
		}
		if err := endLinks(ctx, tx, account); err != nil {
			return err
		}
		return exec(ctx, tx, "INSERT INTO service_links (id, hash, account, expires) VALUES ($1, $2, $3, $4)", id, hash[:], account, s.now().Add(LinkLives).UnixMilli())
	})
	return token, err
}

// UseLink returns the account of a link, once, or [ErrDenied]. A wrong token does not use a link up.
func (s *Store) UseLink(ctx context.Context, token string) (a Account, err error) {
	type link struct {
		hash    []byte
		account string
		expires time.Time
	}
	id, _, _ := strings.Cut(token, "-")
	hash := sha256.Sum256([]byte(token))
	err = s.transact(ctx, func(tx *sql.Tx) error {
		found, err := list(ctx, tx, func(rows *sql.Rows, l *link) error { return rows.Scan(&l.hash, &l.account, instant(&l.expires)) },
			"SELECT hash, account, expires FROM service_links WHERE id = $1", id)
		if err != nil {
			return err
		}
		l := link{hash: nobody}
		if len(found) > 0 {
			l = found[0]
		}
		if subtle.ConstantTimeCompare(hash[:], l.hash) != 1 || !s.now().Before(l.expires) {
			return ErrDenied
		}
		// Of several that use it at the same time, one deletes it.
		n, err := changed(ctx, tx, "DELETE FROM service_links WHERE id = $1", id)
		if err := someRow(n, err, ErrDenied); err != nil {
			return err
		}
		account, err := s.account(ctx, tx, "name = $1", l.account)
		if err == nil && account.Disabled != nil {
			return ErrDenied
		}
		a = account
		return err
	})
	return a, err
}

func endLinks(ctx context.Context, tx *sql.Tx, account string) error {
	return exec(ctx, tx, "DELETE FROM service_links WHERE account = $1", account)
}
