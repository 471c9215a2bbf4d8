package rowsketch

import (
	"crypto/hmac"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/sotto-dp/sotto/internal/private/internal/keys"
	"github.com/sotto-dp/sotto/internal/rows/origin"
	"github.com/sotto-dp/sotto/internal/sys/bounded"
	"github.com/sotto-dp/sotto/internal/sys/durable"
	"github.com/sotto-dp/sotto/privacy/sketch"
)

// Cache keeps sketches of files in a private folder, by what is in the files: so one is
// found again only for the content that it is of.
type Cache struct {
	Folder string
	Key    keys.Key
	// Of is the fingerprint and what else the sketch depends on; nothing is kept without.
	Of []string
}

// sealSize is the size of the HMAC that begins a file.
const sealSize = 32

func (c Cache) path() string {
	name := keys.NewMAC(c.Key.For("sketch name")).Of(c.Of...)
	return filepath.Join(c.Folder, "index", hex.EncodeToString(name[:16])+".sketch")
}

func (c Cache) seal(encoded []byte) [sealSize]byte {
	return keys.NewMAC(c.Key.For("sketch seal")).Of(string(encoded))
}

// Get returns a sketch that was kept, unless there is none that can be trusted.
func (c Cache) Get() (s sketch.Sketch, ok bool) {
	if c.Of == nil {
		return s, false
	}
	data, err := os.ReadFile(c.path())
	if err != nil || len(data) < sealSize {
		return s, false
	}
	want := c.seal(data[sealSize:])
	if !hmac.Equal(want[:], data[:sealSize]) || bounded.UnmarshalJSON(data[sealSize:], bounded.Small, &s) != nil {
		return s, false
	}
	fresh := sketch.New(c.Key.ID())
	return s, s.Validate() == nil && s.KeyID == fresh.KeyID && s.Version == fresh.Version
}

// Put keeps a sketch.
func (c Cache) Put(s sketch.Sketch) error {
	if c.Of == nil {
		return nil
	}
	fail := func(err error) error {
		return &origin.Error{Code: origin.Unusable, Msg: "keeping the sketch in the private folder", Err: err}
	}
	encoded, err := json.Marshal(s)
	if err != nil {
		return fail(err)
	}
	path := c.path()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fail(err)
	}
	mark := c.seal(encoded)
	if err := durable.Replace(path, 0o600, durable.Bytes(append(mark[:], encoded...))); err != nil {
		return fail(err)
	}
	return nil
}
