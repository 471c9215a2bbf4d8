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

	hash []byte
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
	k.ID = strings.ToLower(rand.Text()[:12])
	secret := prefix + k.ID + "-" + rand.Text() + rand.Text()
	hash := sha256.Sum256([]byte(secret))
	k.hash, k.Created = hash[:], s.now().UTC().Truncate(time.Millisecond)
	routes, err := json.Marshal(k.Routes)
	if err != nil {
		return Key{}, "", err
	}
	err = s.write(ctx, by, "add key", k.ID, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO keys (id, name, hash, routes, per_minute, created, expires, revoked)
			VALUES ($1, $2, $3, $4, $5, $6, $7, 0)`,
			k.ID, k.Name, k.hash, string(routes), k.PerMinute, k.Created.UnixMilli(), millis(k.Expires))
		return err
	})
	return k, secret, err
}

// RotateKey gives a key a new secret. The old one counts for a while longer.
func (s *Store) RotateKey(ctx context.Context, by Actor, id string, overlap time.Duration) (Key, string, error) {
	old, err := s.key(ctx, id)
	if err != nil {
		return Key{}, "", err
	}
	if old.Revoked != nil {
		return Key{}, "", errors.New("the key is revoked: add another")
	}
	fresh, secret, err := s.AddKey(ctx, by, Key{Name: old.Name, Routes: old.Routes, PerMinute: old.PerMinute, Expires: old.Expires})
	if err != nil {
		return Key{}, "", err
	}
	end := s.now().Add(overlap)
	if old.Expires == nil || end.Before(*old.Expires) {
		err = s.write(ctx, by, "expire key", id, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "UPDATE keys SET expires = $1 WHERE id = $2", end.UnixMilli(), id)
			return err
		})
	}
	return fresh, secret, err
}

// RevokeKey ends a key.
func (s *Store) RevokeKey(ctx context.Context, by Actor, id string) error {
	return s.write(ctx, by, "revoke key", id, func(tx *sql.Tx) error {
		r, err := tx.ExecContext(ctx, "UPDATE keys SET revoked = $1 WHERE id = $2 AND revoked = 0", s.now().UnixMilli(), id)
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

const keyColumns = "SELECT id, name, hash, routes, per_minute, created, expires, revoked FROM keys"

func scanKey(rows *sql.Rows, k *Key) error {
	var routes string
	var created, expires, revoked int64
	if err := rows.Scan(&k.ID, &k.Name, &k.hash, &routes, &k.PerMinute, &created, &expires, &revoked); err != nil {
		return err
	}
	k.Created, k.Expires, k.Revoked = time.UnixMilli(created).UTC(), moment(expires), moment(revoked)
	if err := json.Unmarshal([]byte(routes), &k.Routes); err != nil {
		return fmt.Errorf("the routes of key %s: %w", k.ID, err)
	}
	return nil
}

// Keys returns all keys, the oldest first.
func (s *Store) Keys(ctx context.Context) ([]Key, error) {
	return list(ctx, s, scanKey, keyColumns+" ORDER BY created, id")
}

func (s *Store) key(ctx context.Context, id string) (Key, error) {
	found, err := list(ctx, s, scanKey, keyColumns+" WHERE id = $1", id)
	if err == nil && len(found) == 0 {
		err = errNoKey
	}
	if err != nil {
		return Key{}, err
	}
	return found[0], nil
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
