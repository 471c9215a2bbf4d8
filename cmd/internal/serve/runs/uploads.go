package runs

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/cmd/internal/serve/jobs"
	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/cmd/internal/serve/web"
	"github.com/sotto-dp/sotto/internal/private/folder"
	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// uploadable are the ends of names of files that can be read where they are encrypted.
var uploadable = []string{".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet", ".xlsx", ".arrow", ".feather"}

// Upload implements [web.Runs].
func (r *Maker) Upload(ctx context.Context, by store.Actor, name string, content io.Reader) (u store.Upload, err error) {
	format := strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(name), ".gz"), ".zst")
	if !slices.Contains(uploadable, filepath.Ext(format)) {
		return u, web.Refuse("the name of the file does not show what it is: use %s, also with .gz or .zst", strings.Join(uploadable, ", "))
	}
	room, err := r.roomFor(ctx)
	if err != nil {
		return u, err
	}
	if err := os.MkdirAll(r.Dir, 0o700); err != nil {
		return u, err
	}
	u = store.Upload{ID: strings.ToLower(rand.Text()[:12]), Name: name}
	u.File = filepath.Join(r.Dir, u.ID+strings.ToLower(name)[len(format)-len(filepath.Ext(format)):]+folder.SealedExt)
	defer func() {
		if err != nil {
			_ = os.Remove(u.File) // the first error is the one to report
		}
	}()
	f, err := os.OpenFile(u.File, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return u, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	sealed, err := folder.Seal(r.Private, f)
	if err != nil {
		return u, err
	}
	if u.Size, err = io.Copy(sealed, io.LimitReader(content, room+1)); err != nil {
		return u, err
	}
	if u.Size > room {
		return u, web.Refuse("there is no room for so large a file: remove others")
	}
	if u.Size == 0 {
		return u, web.Refuse("the file is empty")
	}
	if err := errors.Join(sealed.Close(), f.Sync()); err != nil {
		return u, err
	}
	return r.Store.AddUpload(ctx, by, u)
}

// RemoveUpload implements [web.Runs].
func (r *Maker) RemoveUpload(ctx context.Context, by store.Account, id string) error {
	all, err := r.Store.Uploads(ctx)
	if err != nil {
		return err
	}
	for _, u := range all {
		if u.ID != id || !u.SeenBy(by) {
			continue
		}
		if u.State == store.UploadAssigning {
			return web.Refuse("the upload is being assigned: wait for that")
		}
		if err := r.unused(ctx, u); err != nil {
			return err
		}
		// The records go first: what is left can be removed again.
		if err := os.Remove(u.File); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return r.Store.RemoveUpload(ctx, by, id)
	}
	return web.Refuse("there is no such upload")
}

// ErrUnassigned is about every upload that waits, whatever is in it.
var ErrUnassigned = web.Refuse("this upload waits for an owner to assign it: runs can use it once the owners of the data sets have said whose records it holds")

// Identify implements [web.Runs].
func (r *Maker) Identify(ctx context.Context, u store.Upload) (id ledger.Identity, err error) {
	found, err := record.Identify(ctx, u.File, r.Private)
	if err != nil {
		return id, err
	}
	id = ledger.Identity{Sketch: found.Sketch, KeyID: found.KeyID, KeyPath: found.KeyPath}
	id.Fingerprint, err = ledger.NewFingerprint(found.Fingerprint[:])
	return id, err
}

// Assigned is the data set that owners assigned an upload to, by its file. A job that reads it is charged to
// that, and to no other: whatever the job says about its columns, the records are compared with no data set.
// A job whose upload waits, or is gone, is not carried out: what came of it would tell whose records the
// upload holds.
func Assigned(ctx context.Context, s *store.Store, file string) (dataset string, err error) {
	u, err := s.UploadAt(ctx, filepath.Clean(file))
	switch {
	case err != nil:
		return "", err
	case u.State != store.UploadAssigned:
		return "", ErrUnassigned
	}
	return u.Dataset, nil
}

// unused refuses to remove what a run needs.
func (r *Maker) unused(ctx context.Context, u store.Upload) error {
	all, err := r.Store.Jobs(ctx, 10000)
	if err != nil {
		return err
	}
	for _, j := range all {
		if !j.State.Ended() && reads(j.Work, u.File) {
			return web.Refuse("the run %s needs it: cancel that, or wait for its end", cmp.Or(j.Name, j.ID))
		}
	}
	return nil
}

// reads reports whether a job is of the records in a file.
func reads(work json.RawMessage, file string) bool {
	w, err := jobs.ReadWork(work)
	return err == nil && bytes.Equal(w.Request["data"], jobs.Quote(file))
}

// Uploads together may have so many bytes, and so many files.
const (
	maxUploadBytes = 64 << 30
	maxUploads     = 1000
)

// roomFor refuses an upload where there are too many.
func (r *Maker) roomFor(ctx context.Context) (int64, error) {
	all, err := r.Store.Uploads(ctx)
	if err != nil {
		return 0, err
	}
	room := int64(maxUploadBytes)
	for _, u := range all {
		room -= u.Size
	}
	if room <= 0 || len(all) >= maxUploads {
		return 0, web.Refuse("there is no room for more uploads: remove some")
	}
	return room, nil
}

// sweep removes what an upload left that was cut off: no process is at it any more.
func (r *Maker) sweep(ctx context.Context) error {
	all, err := r.Store.Uploads(ctx)
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(r.Dir, "*"+folder.SealedExt))
	if err != nil {
		return err
	}
	for _, path := range files {
		info, err := os.Stat(path)
		known := slices.ContainsFunc(all, func(u store.Upload) bool { return u.File == path })
		if err == nil && !known && time.Since(info.ModTime()) > 24*time.Hour {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	return nil
}
