package record

import (
	"bytes"
	"io/fs"
	"os"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/internal/private/internal/keys"
	"github.com/sotto-dp/sotto/internal/rows/origin"
	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// sameStat is a file that says of itself what another one said.
type sameStat struct {
	origin.File
	info fs.FileInfo
}

func (s sameStat) Stat() (fs.FileInfo, error) { return s.info, nil }

// TestSwappedFile: a file with other records is found out although its size and the time of
// its last change are those of the file that was enrolled: by what the system knows besides,
// and, where all that is the same too, by the records that are checked again.
func TestSwappedFile(t *testing.T) {
	for name, pack := range map[string]func(testing.TB, []byte) []byte{
		"a.jsonl": func(_ testing.TB, b []byte) []byte { return b }, "a.jsonl.gz": gzipBytes,
	} {
		t.Run(name, func(t *testing.T) {
			data := pack(t, bytes.Repeat([]byte(`{"text": "an earlier text"}`+"\n"), 200))
			other := pack(t, bytes.Repeat([]byte(`{"text": "another,   text"}`+"\n"), 200))
			if len(other) != len(data) {
				t.Fatalf("%d bytes, not %d", len(other), len(data))
			}
			for _, hide := range []bool{false, true} {
				path := write(t, name, data)
				info, err := os.Stat(path)
				if err != nil {
					t.Fatal(err)
				}
				o := Options{Private: t.TempDir()}
				before := open(t, path, o).Fingerprint()
				if err := os.WriteFile(path, other, 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Chtimes(path, time.Time{}, info.ModTime()); err != nil {
					t.Fatal(err)
				}
				if hide {
					o.open = func(path string) (origin.File, error) {
						f, err := os.Open(path)
						return sameStat{f, info}, err
					}
				}
				if open(t, path, o).Fingerprint() == before {
					t.Errorf("the index of other records was used (stamp hidden: %v)", hide)
				}
			}
		})
	}
}

// TestStamp: a file that was replaced, or changed and given its old time again, has another
// stamp.
func TestStamp(t *testing.T) {
	path := write(t, "a.jsonl", []byte("first"))
	stamp := func() (string, fs.FileInfo) {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return origin.Stamp(info), info
	}
	before, info := stamp()
	if again, _ := stamp(); again != before {
		t.Error("the stamp changes by itself")
	}
	if keys.ForeignModes {
		return // what the system keeps besides is not known
	}
	time.Sleep(20 * time.Millisecond) // the clock of a file system is coarse
	if err := os.WriteFile(path, []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, time.Time{}, info.ModTime()); err != nil {
		t.Fatal(err)
	}
	after, now := stamp()
	at := expect.At(t, "the stamp is the same")
	expect.True(at, "after is not before", after != before, after)
	expect.True(at, "now.ModTime().Equal(info.ModTime())", now.ModTime().Equal(info.ModTime()), info.ModTime())
	expect.Equal(at, "now.Size", now.Size(), info.Size())
}
