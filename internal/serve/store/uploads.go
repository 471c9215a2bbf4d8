package store

import (
	"context"
	"database/sql"
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
}

// AddUpload notes a file that is there.
func (s *Store) AddUpload(ctx context.Context, by Actor, u Upload) (Upload, error) {
	u.Name = strings.TrimSpace(u.Name)
	if u.ID == "" || u.File == "" || u.Name == "" || len(u.Name) > 200 || strings.ContainsFunc(u.Name, unicode.IsControl) {
		return Upload{}, Refuse("an upload needs a name, of at most 200 letters in one line")
	}
	u.Created, u.By = s.now().UTC().Truncate(time.Millisecond), by
	err := s.write(ctx, by, "upload", u.ID, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO service_uploads (id, name, file, size, created, actor, removed) VALUES ($1, $2, $3, $4, $5, $6, 0)",
			u.ID, u.Name, u.File, u.Size, u.Created.UnixMilli(), string(by)); err != nil {
			return failed(err)
		}
		return nil
	})
	return u, err
}

// Uploads returns those that are there, the newest first.
func (s *Store) Uploads(ctx context.Context) ([]Upload, error) {
	return list(ctx, s, func(rows *sql.Rows, u *Upload) error {
		var at int64
		err := rows.Scan(&u.ID, &u.Name, &u.File, &u.Size, &at, &u.By)
		u.Created = time.UnixMilli(at).UTC()
		return err
	}, "SELECT id, name, file, size, created, actor FROM service_uploads WHERE removed = 0 ORDER BY created DESC, id")
}

// RemoveUpload forgets a file. Whoever calls it removes the file itself.
func (s *Store) RemoveUpload(ctx context.Context, by Actor, id string) error {
	return s.write(ctx, by, "remove upload", id, func(tx *sql.Tx) error {
		r, err := tx.ExecContext(ctx, "UPDATE service_uploads SET removed = $1 WHERE id = $2 AND removed = 0", s.now().UnixMilli(), id)
		if err != nil {
			return failed(err)
		}
		if n, err := r.RowsAffected(); err != nil {
			return failed(err)
		} else if n == 0 {
			return Refuse("there is no such upload")
		}
		return nil
	})
}
