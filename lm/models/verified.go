package models

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sotto-dp/sotto/internal/sys/bounded"
	"github.com/sotto-dp/sotto/internal/sys/durable"
)

// stamp distinguishes states of a file without reading it. Anyone who puts another
// file in a model's place can give it the same size and time of change, but not the same
// time of the inode's change.
type stamp struct {
	Path     string `json:"path"`
	Size     int64  `json:"size"`
	Modified int64  `json:"modified"`
	// Device, Inode and Changed are 0 where the system does not say.
	Device  uint64 `json:"device"`
	Inode   uint64 `json:"inode"`
	Changed int64  `json:"changed"`
}

// record states that a file in a state has a hash. It is in the user's own cache: anyone who
// may write to a shared folder of models may not write there.
type record struct {
	stamp
	SHA256 string `json:"sha256"`
}

func stampOf(path string, info fs.FileInfo) stamp {
	s := stamp{Path: path, Size: info.Size(), Modified: info.ModTime().UnixNano()}
	s.system(info)
	return s
}

// verified checks the content of a file of a model: by its hash, once for each
// state of the file.
func verified(path string, info fs.FileInfo, model string, f File) error {
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	now, place := stampOf(path, info), recordPath(path)
	if place != "" && now.Changed != 0 {
		var known record
		if data, err := bounded.ReadFile(place, bounded.Small); err == nil && json.Unmarshal(data, &known) == nil && known == (record{now, f.SHA256}) {
			return nil
		}
	}
	got, err := hashFile(context.Background(), path)
	if err != nil {
		return err
	}
	if got != f.SHA256 {
		return &HashError{Path: path, Want: f.SHA256, Got: got, Done: "it is damaged or another file: move it away and fetch the model again with `sotto model pull " + model + "`"}
	}
	// A file that was replaced while it was hashed has another stamp now.
	if again, err := os.Stat(path); place != "" && err == nil && stampOf(path, again) == now {
		_ = writeRecord(place, record{now, got}) // without one it is hashed again
	}
	return nil
}

// recordPath returns where the record of a file is, "" if there is no place for it.
func recordPath(path string) string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	name := sha256.Sum256([]byte(path))
	return filepath.Join(cache, "sotto", "verified", hex.EncodeToString(name[:16])+".json")
}

func writeRecord(place string, r record) error {
	if err := os.MkdirAll(filepath.Dir(place), 0o700); err != nil {
		return err
	}
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return durable.Replace(place, 0o600, durable.Bytes(data))
}
