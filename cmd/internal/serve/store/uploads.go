package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"strings"
	"time"
	"unicode"
)

// Upload is a file of records that somebody sent to the service. Its content is encrypted, in a
// file that the store names.
type Upload struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// File is where it is.
	File string `json:"-"`
	// Size is that of what was sent.
	Size    int64     `json:"size"`
	Created time.Time `json:"created"`
	By      Actor     `json:"by"`
	// State is whether owners have said whose records it holds, and Dataset the fingerprint of the
	// data set that it is then.
	State   UploadState `json:"state"`
	Dataset string      `json:"dataset,omitempty"`
	// First is its budget, should it be of people whom no data set has; nil if nobody gave one.
	First *FirstBudget `json:"-"`
}

// AddUpload notes a file that is there.
func (s *Store) AddUpload(ctx context.Context, by Actor, u Upload) (Upload, error) {
	u.Name = strings.TrimSpace(u.Name)
	if u.ID == "" || u.File == "" || u.Name == "" || len(u.Name) > 200 || strings.ContainsFunc(u.Name, unicode.IsControl) {
		return Upload{}, Refuse("an upload needs a name, of at most 200 letters in one line")
	}
	u.Created, u.By, u.State = s.now().UTC().Truncate(time.Millisecond), by, UploadWaiting
	err := s.write(ctx, by, "upload", u.ID, func(tx *sql.Tx) error {
		return exec(ctx, tx, "INSERT INTO service_uploads (id, name, file, size, created, actor, removed) VALUES ($1, $2, $3, $4, $5, $6, 0)",
			u.ID, u.Name, u.File, u.Size, u.Created.UnixMilli(), string(by))
	})
	return u, err
}

// Uploads returns those that are there, the newest first.
func (s *Store) Uploads(ctx context.Context) ([]Upload, error) {
	return list(ctx, s.db, scanUpload, uploadColumns+" WHERE removed = 0 ORDER BY created DESC, id")
}

const uploadColumns = "SELECT id, name, file, size, created, actor, state, dataset, first FROM service_uploads"

func scanUpload(rows *sql.Rows, u *Upload) error {
	var first json.RawMessage
	if err := rows.Scan(&u.ID, &u.Name, &u.File, &u.Size, instant(&u.Created), &u.By, &u.State, &u.Dataset, document(&first)); err != nil || first == nil {
		return err
	}
	return json.Unmarshal(first, &u.First)
}

// errNoUpload is also what somebody is told who may not see one.
var errNoUpload = Refuse("there is no such upload")

// Upload returns one that is there.
func (s *Store) Upload(ctx context.Context, id string) (Upload, error) {
	return s.upload(ctx, s.db, id)
}

func (s *Store) upload(ctx context.Context, from querier, id string) (Upload, error) {
	return first(ctx, from, errNoUpload, scanUpload, uploadColumns+" WHERE removed = 0 AND id = $1", id)
}

// UploadAt returns the one whose content is in a file; [*Refusal] if there is none.
func (s *Store) UploadAt(ctx context.Context, file string) (Upload, error) {
	return first(ctx, s.db, errNoUpload, scanUpload, uploadColumns+" WHERE removed = 0 AND file = $1 ORDER BY created DESC, id", file)
}

// RemoveUpload forgets a file, for the one who sent it or for an owner. Anyone who calls it removes the
// file itself, before.
func (s *Store) RemoveUpload(ctx context.Context, by Account, id string) error {
	return s.write(ctx, by.Actor(), "remove upload", id, func(tx *sql.Tx) error {
		u, err := s.upload(ctx, tx, id)
		switch {
		case err != nil:
			return err
		case !u.SeenBy(by):
			return errNoUpload
		case u.State == UploadAssigning:
			return Refuse("the upload is being assigned: wait for that")
		}
		return exec(ctx, tx, "UPDATE service_uploads SET removed = $1 WHERE id = $2", s.now().UnixMilli(), id)
	})
}
