package record

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"path/filepath"

	"github.com/sotto-dp/sotto/internal/private/internal/keys"
	"github.com/sotto-dp/sotto/internal/private/internal/rowsketch"
	"github.com/sotto-dp/sotto/internal/rows"
	"github.com/sotto-dp/sotto/internal/rows/origin"
	"github.com/sotto-dp/sotto/privacy/sketch"
)

// Identity is what the ledger knows a source by; see [Data].
type Identity struct {
	Fingerprint    [sha256.Size]byte
	Sketch         sketch.Sketch
	KeyID, KeyPath string
}

// Identify returns what the ledger knows a file by, before anybody has said which of its
// columns are for what: all of its rows are read, in all columns, and nothing is kept. For
// anyone who is to decide whose records they are.
func Identify(ctx context.Context, location, private string) (id Identity, err error) {
	o := Options{Private: private, anyColumns: true}
	if private == "" {
		return id, origin.Refuse("no private folder: name a folder for the fingerprint key")
	}
	if err := o.detect(location); err != nil {
		return id, err
	}
	if o.format == origin.SQL {
		return id, origin.Refuse("the location is a database: this is for files")
	}
	k, err := folderKeys(private)
	if err != nil {
		return id, err
	}
	s, err := openSource(ctx, location, &o)
	if err != nil {
		return id, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	w := &witness{content: hmac.New(sha256.New, k.content), rows: rowsketch.New(k.folder)}
	count := 0
	if err := s.scan(ctx, w, func(*rows.Row) error { count++; return nil }); err != nil {
		return id, err
	}
	if count == 0 {
		return id, origin.Refuse("the source has no records")
	}
	id = Identity{Sketch: w.rows.Sketch(), KeyID: k.folder.ID(), KeyPath: filepath.Join(private, keys.KeyFile)}
	w.content.Sum(id.Fingerprint[:0])
	return id, nil
}
