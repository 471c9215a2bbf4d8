package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"errors"
	"time"
)

// ErrDenied means that a link or a session does not count. It does not say why.
var ErrDenied = errors.New("the link or the session does not count, or the account is disabled")

// How long a session lasts without use, and at most.
const (
	SessionIdle = 30 * time.Minute
	SessionMax  = 12 * time.Hour
)

// AddSession signs an account in and returns a token, which is nowhere else.
func (s *Store) AddSession(ctx context.Context, account string) (token string, err error) {
	token = rand.Text() + rand.Text()
	hash := sha256.Sum256([]byte(token))
	now := s.now()
	err = s.write(ctx, Account{Name: account}.Actor(), "sign in", account, func(tx *sql.Tx) error {
		a, err := s.account(ctx, tx, "name = $1", account)
		if err != nil || a.Disabled != nil {
			return errors.Join(err, ErrDenied)
		}
		if err := exec(ctx, tx, "DELETE FROM service_sessions WHERE expires <= $1 OR used <= $2", now.UnixMilli(), now.Add(-SessionIdle).UnixMilli()); err != nil {
			return err
		}
		return exec(ctx, tx, "INSERT INTO service_sessions (hash, account, created, used, expires) VALUES ($1, $2, $3, $3, $4)",
			hash[:], account, now.UnixMilli(), now.Add(SessionMax).UnixMilli())
	})
	return token, err
}

// Session returns the account of a session that counts, or [ErrDenied]. It uses the session.
func (s *Store) Session(ctx context.Context, token string) (Account, error) {
	hash := sha256.Sum256([]byte(token))
	now := s.now()
	var used, expires int64
	var name string
	err := s.db.QueryRowContext(ctx, "SELECT account, used, expires FROM service_sessions WHERE hash = $1", hash[:]).Scan(&name, &used, &expires)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return Account{}, ErrDenied
	case err != nil:
		return Account{}, failed(err)
	case now.UnixMilli() >= expires || now.Sub(time.UnixMilli(used)) >= SessionIdle:
		return Account{}, ErrDenied
	}
	a, err := s.account(ctx, s.db, "name = $1", name)
	if err != nil {
		return Account{}, err
	}
	if a.Disabled != nil {
		return Account{}, ErrDenied
	}
	if now.Sub(time.UnixMilli(used)) > time.Minute {
		if _, err := s.db.ExecContext(ctx, "UPDATE service_sessions SET used = $1 WHERE hash = $2", now.UnixMilli(), hash[:]); err != nil {
			return Account{}, failed(err)
		}
	}
	return a, nil
}

// EndSession signs out.
func (s *Store) EndSession(ctx context.Context, account, token string) error {
	hash := sha256.Sum256([]byte(token))
	return s.write(ctx, Account{Name: account}.Actor(), "sign out", account, func(tx *sql.Tx) error {
		return exec(ctx, tx, "DELETE FROM service_sessions WHERE hash = $1", hash[:])
	})
}

func endSessions(ctx context.Context, tx *sql.Tx, account string) error {
	return exec(ctx, tx, "DELETE FROM service_sessions WHERE account = $1", account)
}
