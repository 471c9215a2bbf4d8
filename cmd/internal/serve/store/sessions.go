package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
)

// ErrDenied means that name and password, or a session, do not count. It does not say why.
var ErrDenied = errors.New("name or password is wrong, or the account is disabled")

// hashCost is what a hash of a password takes: argon2id as RFC 9106 (section 4) recommends it where
// memory is scarce.
var hashCost = cost{time: 3, memory: 64 << 10, lanes: 4}

type cost struct {
	time, memory uint32 // passes, and KiB
	lanes        uint8
}

const (
	hashSize = 32
	saltSize = 16
)

// scheme begins a hash, so that one of another cost is recognised.
func (c cost) scheme() string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$", argon2.Version, c.memory, c.time, c.lanes)
}

// derive is for the one who has a place of the [queue].
func (c cost) derive(password string, salt []byte) []byte {
	return argon2.IDKey([]byte(password), salt, c.time, c.memory, c.lanes, hashSize)
}

// hashPassword checks a password and hashes it with a salt of its own.
func hashPassword(ctx context.Context, password string) (string, error) {
	switch {
	case utf8.RuneCountInString(password) < 12:
		return "", errors.New("a password has at least 12 characters: some words in a row are easy to keep")
	case len(password) > 1000:
		return "", errors.New("a password has at most 1000 bytes")
	}
	if err := hashing.take(ctx, "", true); err != nil {
		return "", err
	}
	defer hashing.give()
	salt := make([]byte, saltSize)
	_, _ = rand.Read(salt) // it never fails
	return hashCost.scheme() + base64.RawStdEncoding.EncodeToString(salt) + "$" + base64.RawStdEncoding.EncodeToString(hashCost.derive(password, salt)), nil
}

// samePassword compares a password with a hash. It takes as long for a hash that is none.
func samePassword(password, hash string) bool {
	rest, known := strings.CutPrefix(hash, hashCost.scheme())
	text, sum, _ := strings.Cut(rest, "$")
	salt, err1 := base64.RawStdEncoding.DecodeString(text)
	want, err2 := base64.RawStdEncoding.DecodeString(sum)
	if !known || err1 != nil || err2 != nil || len(want) != hashSize {
		salt, want, known = make([]byte, saltSize), make([]byte, hashSize), false
	}
	same := subtle.ConstantTimeCompare(hashCost.derive(password, salt), want) == 1
	return same && known
}

// Attempts to sign in before anyone who tries has to wait, and for how long at most.
const (
	attemptsOfAccount = 5
	attemptsOfAddress = 20
	maxWait           = 15 * time.Minute
)

// WaitError means that too many attempts to sign in failed.
type WaitError struct{ For time.Duration }

// Error says when to try again.
func (e *WaitError) Error() string {
	return fmt.Sprintf("too many attempts failed: try again in %v", max(e.For.Round(time.Second), time.Second))
}

// waits reports how long to wait before the next attempt, and how many failed.
func (s *Store) waits(ctx context.Context, from querier, of counter) (failures int64, wait time.Duration, err error) {
	var until int64
	err = from.QueryRowContext(ctx, "SELECT failures, until FROM service_attempts WHERE who = $1", of.who).Scan(&failures, &until)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, 0, failed(err)
	}
	if failures >= of.free {
		wait = max(0, time.UnixMilli(until).Sub(s.now()))
	}
	return failures, wait, nil
}

// counter counts attempts of somebody, of which some are free.
type counter struct {
	who  string
	free int64
}

// attempt counts an attempt before it is made, so that many at a time count too, and reports how
// long to wait instead.
func (s *Store) attempt(ctx context.Context, tx *sql.Tx, of counter) (time.Duration, error) {
	failures, wait, err := s.waits(ctx, tx, of)
	if wait > 0 || err != nil {
		return wait, err
	}
	failures++
	pause := maxWait
	if over := failures - of.free; over < 10 {
		pause = min(maxWait, time.Second<<max(over, 0))
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO service_attempts (who, failures, until) VALUES ($1, $2, $3) ON CONFLICT (who) DO UPDATE SET failures = excluded.failures, until = excluded.until",
		of.who, failures, s.now().Add(pause).UnixMilli())
	return 0, err
}

// attempts are counted by hashes: what somebody typed for a name may be a password.
func attempts(kind, who string) string {
	sum := sha256.Sum256([]byte(kind + "\x00" + who))
	return kind + " " + hex.EncodeToString(sum[:])
}

// Attempt is somebody who signs in.
type Attempt struct {
	Name, Password string
	// Address is where they come from. Addresses of one [Network] count together.
	Address string
	// Device is a token of [Account.Device]; "" if there is none. Attempts of a known device count
	// by themselves, and it comes before strangers.
	Device string
}

// SignIn checks a name and a password. How long it takes does not depend on whether there is such
// an account. Too many failures are a [*WaitError], and too many who wait at this moment a
// [*BusyError].
func (s *Store) SignIn(ctx context.Context, by Attempt) (Account, error) {
	a, err := s.account(ctx, s.db, "name = $1", by.Name)
	if err != nil && !errors.Is(err, errNoAccount) {
		return Account{}, err
	}
	id, known := a.device(by.Device)
	account, from := counter{attempts("account", by.Name), attemptsOfAccount}, counter{attempts("address", Network(by.Address)), attemptsOfAddress}
	counters := []counter{from, account}
	if known {
		account = counter{attempts("device", by.Name+"\x00"+id), attemptsOfAccount}
		counters = []counter{account}
	}
	for _, c := range counters { // anyone who has to wait takes no place
		if _, wait, err := s.waits(ctx, s.db, c); wait > 0 || err != nil {
			return Account{}, cmp.Or(err, error(&WaitError{wait}))
		}
	}
	if err := hashing.take(ctx, neighbourhood(by.Address), known); err != nil {
		return Account{}, err
	}
	defer hashing.give()
	if err := s.count(ctx, counters); err != nil {
		return Account{}, err
	}
	// It may have changed in the meantime.
	if a, err = s.account(ctx, s.db, "name = $1", by.Name); err != nil && !errors.Is(err, errNoAccount) {
		return Account{}, err
	}
	if !samePassword(by.Password, a.hash) || a.Disabled != nil || len(by.Password) > 1000 {
		return Account{}, ErrDenied
	}
	// This one was no failure. Others from the same network stay counted: anyone who has an account
	// could try those of others in between.
	return a, s.transact(ctx, func(tx *sql.Tx) error {
		if err := exec(ctx, tx, "DELETE FROM service_attempts WHERE who = $1", account.who); err != nil {
			return err
		}
		if known {
			return nil
		}
		return exec(ctx, tx, "UPDATE service_attempts SET failures = failures - 1 WHERE who = $1 AND failures > 0", from.who)
	})
}

// count counts an attempt, unless it has to wait.
func (s *Store) count(ctx context.Context, of []counter) error {
	return s.transact(ctx, func(tx *sql.Tx) error {
		// One at a time; SQLite's transactions are.
		if s.postgres {
			if err := exec(ctx, tx, "LOCK TABLE service_attempts IN SHARE ROW EXCLUSIVE MODE"); err != nil {
				return err
			}
		}
		// Those that are long over count no more.
		if err := exec(ctx, tx, "DELETE FROM service_attempts WHERE until < $1", s.now().Add(-maxWait).UnixMilli()); err != nil {
			return err
		}
		for _, c := range of {
			if wait, err := s.attempt(ctx, tx, c); wait > 0 || err != nil {
				return cmp.Or(err, error(&WaitError{wait}))
			}
		}
		return nil
	})
}

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

// Session returns the account of a session that counts, or [ErrDenied]. Looking does not use it
// unless use says so.
func (s *Store) Session(ctx context.Context, token string, use bool) (Account, error) {
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
	if use && now.Sub(time.UnixMilli(used)) > time.Minute {
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
