package answer

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/sotto-dp/sotto/internal/bounded"
	"github.com/sotto-dp/sotto/internal/durable"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// again lets a list of questions be asked a second time after a crash: the questions that
// were charged and whose answers were lost have the same charges and the same randomness, so
// that they get the same answers, and nobody sees anything new. It needs a model that
// repeats itself exactly; with another, what was lost is asked and charged anew.
type again struct {
	path string
	lock *flock.Flock
	// name of the list in the ledger, and the key of all its randomness; zero if the model does
	// not repeat itself.
	name string
	key  noise.Key
}

// keptKey is what the file of a list has, mode 0600, until all answers are there.
type keptKey struct {
	Name string `json:"name"`
	// Asked is a hash of all that answers depend on.
	Asked string `json:"asked"`
	Key   []byte `json:"key"`
}

// OtherListError says that a file belongs to other questions, or to the same ones asked of
// another plan, model or state of the data.
type OtherListError struct{ Path string }

// Error says what to do.
func (e *OtherListError) Error() string {
	return fmt.Sprintf("%s belongs to a list of questions that was begun otherwise: with other questions, another plan or model, or when the data was different. Name another file for the answers; what was charged for that list stays", e.Path)
}

// BusyError says that another process asks the same list.
type BusyError struct{ Path string }

// Error says what to do.
func (e *BusyError) Error() string {
	return fmt.Sprintf("%s: another process asks these questions; wait for it to end, or name another file for the answers", e.Path)
}

// Again makes the session's next call of [Session.All] one that can be repeated after a crash:
// path gets a key before anything is charged, and has it until [Session.Complete]. inputs are
// all questions of the list, the first done of which are answered already. It reports whether
// the list was begun before.
func (s *Session) Again(path string, inputs []string, done int) (begun bool, err error) {
	if s.again != nil {
		return false, errors.New("a session repeats one list of questions: open another")
	}
	asked, err := s.identity(inputs)
	if err != nil {
		return false, err
	}
	lock, err := lockKept(path)
	if err != nil {
		return false, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.Close())
		}
	}()
	kept, begun, err := settleKept(path, asked)
	defer clear(kept.Key)
	switch {
	case err != nil:
		return false, err
	case kept.Asked != asked:
		return false, &OtherListError{path}
	}
	a := &again{path: path, lock: lock}
	if info := s.Model.Info(); info.Deterministic && info.BatchInvariant && s.Seed == nil {
		a.name = kept.Name
		if a.key, err = noise.ImportKey(kept.Key); err != nil {
			return false, fmt.Errorf("%s: %w", path, err)
		}
	}
	s.mu.Lock()
	s.again, s.asked, s.begun = a, uint64(done), begun
	s.mu.Unlock()
	return begun, nil
}

// repeats reports whether what is lost comes again as it was.
func (a *again) repeats() bool { return a != nil && a.name != "" }

// identity is a hash of all that answers depend on, except the records' own noise.
func (s *Session) identity(inputs []string) (string, error) {
	all := struct {
		Plan   any
		Model  string
		Data   string
		Cut    bool
		Inputs []string
	}{s.Plan, s.Model.Info().Fingerprint, "", s.Cut, inputs}
	if s.Data != nil {
		sum := s.Data.Fingerprint()
		all.Data = hex.EncodeToString(sum[:])
	}
	data, err := json.Marshal(all)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// lockKept locks the file of a list, and makes it if it is not there.
func lockKept(path string) (*flock.Flock, error) {
	lock := flock.New(path, flock.SetFlag(os.O_RDWR|os.O_CREATE), flock.SetPermissions(0o600))
	ok, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock the key of the questions: %w", err)
	}
	if !ok {
		return nil, &BusyError{path}
	}
	// A lock on a file that whoever completed the list has removed excludes nobody.
	mine, err := lock.Stat()
	there, gone := os.Lstat(path)
	if err != nil || gone != nil || !os.SameFile(mine, there) {
		return nil, errors.Join(&BusyError{path}, lock.Close())
	}
	return lock, nil
}

// settleKept reads the file, or has a fresh name and key in it on disk. One that was not written
// to its end was written before anything was charged.
func settleKept(path, asked string) (k keptKey, begun bool, err error) {
	data, err := bounded.ReadFile(path, bounded.Small)
	if err != nil {
		return k, false, err
	}
	defer clear(data)
	if json.Unmarshal(data, &k) == nil && k.Name != "" {
		return k, true, nil
	}
	key, err := noise.NewKey()
	if err != nil {
		return k, false, err
	}
	defer key.Erase()
	k = keptKey{Name: rand.Text(), Asked: asked}
	if k.Key, err = key.Export(); err != nil {
		return k, false, err
	}
	fresh, err := json.Marshal(k)
	if err != nil {
		return k, false, err
	}
	defer clear(fresh)
	if err := errors.Join(rewrite(path, fresh), durable.SyncDir(filepath.Dir(path))); err != nil {
		return k, false, fmt.Errorf("keep the key of the questions: %w", err)
	}
	return k, false, nil
}

// rewrite writes over a file that is locked, so that it stays the same one.
func rewrite(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

// Complete erases the key: all answers are on disk.
func (s *Session) Complete() error {
	a := s.again
	if a == nil {
		return nil
	}
	info, err := os.Stat(a.path)
	if err == nil {
		err = overwrite(a.path, info.Size())
	}
	return errors.Join(err, os.Remove(a.path), s.Release())
}

// overwrite puts zeros in the place of a file's content.
func overwrite(path string, size int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, size))
	return errors.Join(err, f.Sync(), f.Close())
}

// Release lets others go on with the list. Its key stays.
func (s *Session) Release() error {
	a := s.again
	if a == nil || a.lock == nil {
		return nil
	}
	if a.repeats() {
		a.key.Erase()
	}
	lock := a.lock
	a.lock = nil
	return lock.Close()
}
