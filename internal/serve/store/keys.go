package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Key is an API key, without its secret.
type Key struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Routes that it may use; "*" is every one.
	Routes []string `json:"routes"`
	// PerMinute bounds requests; 0 does not.
	PerMinute int64 `json:"per_minute,omitempty"`

	Created time.Time  `json:"created"`
	Expires *time.Time `json:"expires,omitempty"`
	Revoked *time.Time `json:"revoked,omitempty"`

	hash    []byte
	rotated bool // another took its place
}

// prefix of secrets, by which people and scanners know them.
const prefix = "sk-sotto-"

// AddKey makes a key and returns its secret, which is nowhere else: a hash of it is kept. The
// secret has 260 random bits, so that the hash needs no salt and no slowness.
func (s *Store) AddKey(ctx context.Context, by Actor, k Key) (Key, string, error) {
	k.Name = strings.TrimSpace(k.Name)
	switch {
	case k.Name == "" || len(k.Name) > 200:
		return Key{}, "", errors.New("a key needs a name, of at most 200 letters: who uses it")
	case len(k.Routes) == 0:
		return Key{}, "", errors.New(`a key needs routes that it may use, or "*" for all`)
	case k.PerMinute < 0:
		return Key{}, "", errors.New("the number of requests a minute should not be negative")
	}
	k, secret := s.mint(k)
	err := s.write(ctx, by, "add key", k.ID, func(tx *sql.Tx) error { return insertKey(ctx, tx, k) })
	return k, secret, err
}

// mint gives a key an identity and a secret.
func (s *Store) mint(k Key) (Key, string) {
	k.ID = strings.ToLower(rand.Text()[:12])
	secret := prefix + k.ID + "-" + rand.Text() + rand.Text()
	hash := sha256.Sum256([]byte(secret))
	k.hash, k.Created = hash[:], s.now().UTC().Truncate(time.Millisecond)
	return k, secret
}

func insertKey(ctx context.Context, tx *sql.Tx, k Key) error {
	routes, err := json.Marshal(k.Routes)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO service_keys (id, name, hash, routes, per_minute, created, expires, revoked, rotated)
		VALUES ($1, $2, $3, $4, $5, $6, $7, 0, 0)`,
		k.ID, k.Name, k.hash, string(routes), k.PerMinute, k.Created.UnixMilli(), millis(k.Expires))
	return err
}

// RotateKey gives a key a new secret, which lives as long as the old one was meant to. The old
// one counts for a while longer; it can be rotated once.
func (s *Store) RotateKey(ctx context.Context, by Actor, id string, overlap time.Duration) (fresh Key, secret string, err error) {
	err = s.write(ctx, by, "rotate key", id, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, keyColumns+" WHERE id = $1", id)
		if err != nil {
			return err
		}
		found, err := collect(rows, scanKey)
		now := s.now()
		switch {
		case err != nil:
			return err
		case len(found) == 0:
			return errNoKey
		case found[0].Revoked != nil || found[0].Expires != nil && !now.Before(*found[0].Expires):
			return errors.New("the key does not count any more: add another")
		case found[0].rotated:
			return errors.New("the key was rotated already: rotate the one that took its place")
		}
		old := found[0]
		fresh, secret = s.mint(Key{Name: old.Name, Routes: old.Routes, PerMinute: old.PerMinute, Expires: old.Expires})
		if err := insertKey(ctx, tx, fresh); err != nil {
			return err
		}
		end := now.Add(overlap)
		if old.Expires != nil && old.Expires.Before(end) {
			end = *old.Expires
		}
		_, err = tx.ExecContext(ctx, "UPDATE service_keys SET expires = $1, rotated = 1 WHERE id = $2", end.UnixMilli(), id)
		return err
	})
	if err != nil {
		return Key{}, "", err
	}
	return fresh, secret, nil
}

// RevokeKey ends a key.
func (s *Store) RevokeKey(ctx context.Context, by Actor, id string) error {
	return s.write(ctx, by, "revoke key", id, func(tx *sql.Tx) error {
		r, err := tx.ExecContext(ctx, "UPDATE service_keys SET revoked = $1 WHERE id = $2 AND revoked = 0", s.now().UnixMilli(), id)
		if err != nil {
			return err
		}
		if n, err := r.RowsAffected(); err != nil || n == 0 {
			return errors.Join(errNoKey, err)
		}
		return nil
	})
}

var errNoKey = errors.New("there is no such key, or it is revoked already: sotto serve key list shows them")

const keyColumns = "SELECT id, name, hash, routes, per_minute, created, expires, revoked, rotated FROM service_keys"

func scanKey(rows *sql.Rows, k *Key) error {
	var routes string
	var created, expires, revoked, rotated int64
	if err := rows.Scan(&k.ID, &k.Name, &k.hash, &routes, &k.PerMinute, &created, &expires, &revoked, &rotated); err != nil {
		return err
	}
	k.Created, k.Expires, k.Revoked, k.rotated = time.UnixMilli(created).UTC(), moment(expires), moment(revoked), rotated != 0
	if err := json.Unmarshal([]byte(routes), &k.Routes); err != nil {
		return fmt.Errorf("the routes of key %s: %w", k.ID, err)
	}
	return nil
}

// Keys returns all keys, the oldest first.
func (s *Store) Keys(ctx context.Context) ([]Key, error) {
	return list(ctx, s, scanKey, keyColumns+" ORDER BY created, id")
}

// Ring is all keys at a moment, for looking secrets up without the store.
type Ring struct {
	keys map[string]Key
	now  func() time.Time
}

// Ring reads the keys.
func (s *Store) Ring(ctx context.Context) (*Ring, error) {
	all, err := s.Keys(ctx)
	if err != nil {
		return nil, err
	}
	r := &Ring{keys: map[string]Key{}, now: s.now}
	for _, k := range all {
		r.keys[k.ID] = k
	}
	return r, nil
}

// nobody's hash is compared with where there is no key, so that this takes as long.
var nobody = make([]byte, sha256.Size)

// Find returns the key of a secret, if it is one and counts now. How long it takes does not
// depend on how much of the secret is right.
func (r *Ring) Find(secret string) (Key, bool) {
	rest, ok := strings.CutPrefix(secret, prefix)
	id, _, _ := strings.Cut(rest, "-")
	k, known := r.keys[id]
	want := nobody
	if known {
		want = k.hash
	}
	hash := sha256.Sum256([]byte(secret))
	right := subtle.ConstantTimeCompare(hash[:], want) == 1
	if !ok || !known || !right || k.Revoked != nil || k.Expires != nil && !r.now().Before(*k.Expires) {
		return Key{}, false
	}
	return k, true
}

// May reports whether the key may use a route.
func (k Key) May(route string) bool {
	return slices.Contains(k.Routes, "*") || slices.Contains(k.Routes, route)
}

// millis is a moment as the store has it, 0 for none.
func millis(t *time.Time) int64 {
	if t == nil {
		return 0
	}
	return t.UnixMilli()
}

func moment(ms int64) *time.Time {
	if ms == 0 {
		return nil
	}
	t := time.UnixMilli(ms).UTC()
	return &t
}
