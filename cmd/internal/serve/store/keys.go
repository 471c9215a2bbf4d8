package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
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
	// Admin: it may look after the service, and is for no route.
	Admin bool `json:"admin,omitempty"`
	// PerMinute bounds requests, and Answers all private answers; 0 does not.
	PerMinute int64 `json:"per_minute,omitempty"`
	Answers   int64 `json:"answers,omitempty"`
	// Asked is how many private answers it has had, with those of the keys that it was rotated
	// from.
	Asked int64 `json:"asked"`

	Created time.Time  `json:"created"`
	Expires *time.Time `json:"expires,omitempty"`
	Revoked *time.Time `json:"revoked,omitempty"`

	hash    []byte
	rotated bool   // another took its place
	origin  string // the first of those that it was rotated from
}

// prefix of secrets, by which people and scanners know them.
const prefix = "sk-sotto-"

// AddKey makes a key and returns its secret, which is nowhere else: a hash of it is kept. The
// secret has 260 random bits, so that the hash needs no salt and no slowness.
func (s *Store) AddKey(ctx context.Context, by Actor, k Key) (Key, string, error) {
	k.Name = strings.TrimSpace(k.Name)
	switch {
	case k.Name == "" || !oneLine(k.Name, 200):
		return Key{}, "", errors.New("a key needs a name, of at most 200 letters in one line: who uses it")
	case k.Admin && (len(k.Routes) > 0 || k.PerMinute > 0 || k.Answers > 0):
		return Key{}, "", errors.New("a key that looks after the service is for no route: make another for those")
	case len(k.Routes) == 0 && !k.Admin:
		return Key{}, "", errors.New(`a key needs routes that it may use, or "*" for all`)
	case slices.ContainsFunc(k.Routes, func(r string) bool { return r != "*" && CheckName(r) != nil }):
		return Key{}, "", errors.New(`a route that a key may use is none: give names of routes, or "*" for all`)
	case k.PerMinute < 0 || k.Answers < 0:
		return Key{}, "", errors.New("the numbers of requests a minute and of private answers should not be negative")
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
	k.origin = cmp.Or(k.origin, k.ID)
	return k, secret
}

func insertKey(ctx context.Context, tx *sql.Tx, k Key) error {
	routes, err := json.Marshal(k.Routes)
	if err != nil {
		return err
	}
	return exec(ctx, tx, `INSERT INTO service_keys (id, name, hash, routes, per_minute, created, expires, revoked, rotated, answers, admin, origin)
		VALUES ($1, $2, $3, $4, $5, $6, $7, 0, 0, $8, $9, $10)`,
		k.ID, k.Name, k.hash, string(routes), k.PerMinute, k.Created.UnixMilli(), millis(k.Expires), k.Answers, bit(k.Admin), k.origin)
}

// RotateKey gives a key a new secret, which lives as long as the old one was meant to. The old
// one counts for a while longer; it can be rotated once.
func (s *Store) RotateKey(ctx context.Context, by Actor, id string, overlap time.Duration) (fresh Key, secret string, err error) {
	err = s.write(ctx, by, "rotate key", id, func(tx *sql.Tx) error {
		old, err := first(ctx, tx, errNoKey, scanKey, keyColumns+" WHERE k.id = $1", id)
		now := s.now()
		switch {
		case err != nil:
			return err
		case !old.Counts(now):
			return errors.New("the key does not count any more: add another")
		case old.rotated:
			return errors.New("the key was rotated already: rotate the one that took its place")
		}
		fresh, secret = s.mint(Key{Name: old.Name, Routes: old.Routes, Admin: old.Admin, PerMinute: old.PerMinute, Answers: old.Answers, Expires: old.Expires, origin: old.origin})
		if err := insertKey(ctx, tx, fresh); err != nil {
			return err
		}
		end := now.Add(overlap)
		if old.Expires != nil && old.Expires.Before(end) {
			end = *old.Expires
		}
		return exec(ctx, tx, "UPDATE service_keys SET expires = $1, rotated = 1 WHERE id = $2", end.UnixMilli(), id)
	})
	if err != nil {
		return Key{}, "", err
	}
	return fresh, secret, nil
}

// RevokeKey ends a key.
func (s *Store) RevokeKey(ctx context.Context, by Actor, id string) error {
	return s.write(ctx, by, "revoke key", id, func(tx *sql.Tx) error {
		n, err := changed(ctx, tx, "UPDATE service_keys SET revoked = $1 WHERE id = $2 AND revoked = 0", s.now().UnixMilli(), id)
		return someRow(n, err, errNoKey)
	})
}

var errNoKey = errors.New("there is no such key, or it is revoked already: sotto serve key list shows them")

const keyColumns = `SELECT k.id, k.name, k.hash, k.routes, k.per_minute, k.created, k.expires, k.revoked, k.rotated, k.answers, k.admin, k.origin, COALESCE(a.answers, 0)
	FROM service_keys k LEFT JOIN service_asked a ON a.origin = k.origin`

func scanKey(rows *sql.Rows, k *Key) error {
	var routes string
	if err := rows.Scan(&k.ID, &k.Name, &k.hash, &routes, &k.PerMinute, instant(&k.Created), optional(&k.Expires), optional(&k.Revoked), &k.rotated, &k.Answers, &k.Admin, &k.origin, &k.Asked); err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(routes), &k.Routes); err != nil {
		return fmt.Errorf("the routes of key %s: %w", k.ID, err)
	}
	return nil
}

// Keys returns all keys, the oldest first.
func (s *Store) Keys(ctx context.Context) ([]Key, error) {
	return list(ctx, s.db, scanKey, keyColumns+" ORDER BY k.created, k.id")
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
	if !ok || !known || !right || !k.Counts(r.now()) {
		return Key{}, false
	}
	return k, true
}

// Named returns the key of an ID, if it counts now.
func (r *Ring) Named(id string) (Key, bool) {
	k, known := r.keys[id]
	return k, known && k.Counts(r.now())
}

// Count is how many keys count now.
func (r *Ring) Count() (n int) {
	for _, k := range r.keys {
		if k.Counts(r.now()) {
			n++
		}
	}
	return n
}

// Counts reports whether the key is neither revoked nor expired.
func (k Key) Counts(now time.Time) bool {
	return k.Revoked == nil && (k.Expires == nil || now.Before(*k.Expires))
}

// Family is the first of the keys that it was rotated from: limits are of all of them.
func (k Key) Family() string { return k.origin }

// TakeAnswer counts a private answer of a key, before it is asked for, and reports whether the
// key may have it.
func (s *Store) TakeAnswer(ctx context.Context, k Key) (bool, error) {
	n, err := changed(ctx, s.db, `INSERT INTO service_asked (origin, answers) VALUES ($1, 1)
		ON CONFLICT (origin) DO UPDATE SET answers = service_asked.answers + 1 WHERE service_asked.answers < $2`, k.origin, cmp.Or(k.Answers, math.MaxInt64))
	return n > 0, err
}

// GiveAnswer takes the count back, of an answer that was not charged.
func (s *Store) GiveAnswer(ctx context.Context, k Key) error {
	return exec(ctx, s.db, "UPDATE service_asked SET answers = answers - 1 WHERE origin = $1 AND answers > 0", k.origin)
}

// May reports whether the key may use a route.
func (k Key) May(route string) bool {
	return !k.Admin && (slices.Contains(k.Routes, "*") || slices.Contains(k.Routes, route))
}
