package bert

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestLoadedIsShared: encoders of the same files share the weights, each is closed by itself, and a file that
// was changed is read again.
func TestLoadedIsShared(t *testing.T) {
	weights, vocabulary := files(t)
	copied := filepath.Join(t.TempDir(), "vocab.txt")
	data, err := os.ReadFile(vocabulary)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(copied, data, 0o600); err != nil {
		t.Fatal(err)
	}
	open := func() *Encoder {
		t.Helper()
		e, err := Open(weights, copied)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		return e
	}
	a, b := open(), open()
	if a.shared != b.shared {
		t.Error("two encoders of the same files share nothing")
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(copied, later, later); err != nil {
		t.Fatal(err)
	}
	c := open()
	if c.shared == a.shared {
		t.Error("an encoder of a changed file shares what was read before")
	}
	for range 2 {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := a.Embed(t.Context(), []string{"text"}); err != ErrClosed {
		t.Errorf("after Close: got %v, want %v", err, ErrClosed)
	}
	if _, err := b.Embed(t.Context(), []string{"text"}); err != nil {
		t.Errorf("after another was closed: %v", err)
	}
	users := b.shared
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if users.users != 0 {
		t.Errorf("got %d users after the last was closed, want 0", users.users)
	}
	for _, l := range inUse.all {
		if l == users {
			t.Error("what nobody uses is kept")
		}
	}
}
