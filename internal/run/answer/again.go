package answer

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/gofrs/flock"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// again lets a list of questions be asked a second time after a crash: the questions that
// were charged and whose answers were lost have the same charges and the same randomness, so
// that they get the same answers, and nobody sees anything new. It needs a model that
// repeats itself exactly; with another, what was lost is asked and charged anew.
type again struct {
	file *keyFile
	lock *flock.Flock
	// inputs of the whole list: a place in it belongs to one question.
	inputs []string
	// name of the list in the ledger; "" if the model does not repeat itself.
	name string
}

// blockSize is how many questions have randomness from one key. Once they are answered the key
// is gone from the file, which then has the next one: who finds it can undo the noise of these
// few answers, and of none before.
const blockSize = 8

// OtherListError says that a file belongs to other questions, or to the same ones asked of
// another plan, model or state of the data.
type OtherListError struct{ Path string }

// Error says what to do.
func (e *OtherListError) Error() string {
	return fmt.Sprintf("%s belongs to a list of questions that was begun otherwise: with other questions, another plan, model or version of the program, or when the data was different. Name another file for the answers; what was charged for that list stays", e.Path)
}

// BusyError says that another process asks the same list.
type BusyError struct{ Path string }

// Error says what to do.
func (e *BusyError) Error() string {
	return fmt.Sprintf("%s: another process asks these questions; wait for it to end, or name another file for the answers", e.Path)
}

// ListState is where a list of questions stands.
type ListState struct {
	// Begun: it was begun before. Complete: nothing is left to do.
	Begun, Complete bool
}

// ResumeFrom makes the session's next call of [Session.All] one that can be repeated after a crash. path
// gets a name and a key before anything is charged. inputs are all questions of the list;
// answered is called when nobody else has the list, and says how many of them, from the first,
// have an answer: All and Answer then take the rest in their order, and nothing else.
func (s *Session) ResumeFrom(path string, inputs []string, answered func(begun bool) (int, error)) (ListState, error) {
	if s.again != nil {
		return ListState{}, errors.New("a session repeats one list of questions: open another")
	}
	asked, err := s.identity(inputs)
	if err != nil {
		return ListState{}, err
	}
	lock, err := lockKept(path)
	if err != nil {
		return ListState{}, err
	}
	standing, err := s.settleList(path, asked, inputs, lock, answered)
	if err != nil || standing.Complete {
		return standing, errors.Join(err, lock.Close())
	}
	return standing, nil
}

func (s *Session) settleList(path, asked string, inputs []string, lock *flock.Flock, answered func(bool) (int, error)) (ListState, error) {
	f := &keyFile{path: path}
	found, err := f.read()
	if err != nil {
		return ListState{}, err
	}
	standing := ListState{Begun: found, Complete: f.state.Complete}
	if found && f.state.Asked != asked {
		return standing, &OtherListError{path}
	}
	if !found {
		if err := f.begin(asked); err != nil {
			return standing, err
		}
	}
	done, err := answered(found)
	if err != nil || standing.Complete {
		return standing, err
	}
	if err := f.reach(done); err != nil {
		return standing, err
	}
	a := &again{file: f, lock: lock, inputs: inputs}
	if info := s.options.Env.Model.Info(); info.Deterministic && info.BatchInvariant && info.Fingerprint != "" && s.options.Env.Seed == nil {
		a.name = f.state.Name
	}
	s.mu.Lock()
	s.again, s.asked, s.begun = a, uint64(done), found
	s.mu.Unlock()
	return standing, nil
}

// repeats reports whether what is lost comes again as it was.
func (a *again) repeats() bool { return a != nil && a.name != "" }

// fits refuses a question that is not the one of its place: it would have the charge and the
// randomness of another.
func (a *again) fits(index uint64, input string) error {
	if a == nil || index < uint64(len(a.inputs)) && a.inputs[index] == input {
		return nil
	}
	return &plan.InputError{Reason: "the session asks a list of questions, and this is not the one that comes next: open another session for others"}
}

// group is how many of the questions from an index on may be answered together: those of a
// block have one key.
func (a *again) group(index uint64, limit int) int {
	if !a.repeats() {
		return limit
	}
	return min(limit, blockSize-int(index%blockSize))
}

// key is that of a block.
func (a *again) key(index uint64) (noise.Key, error) { return a.file.key(int(index) / blockSize) }

// kept notes that the answers before an index are on disk.
func (a *again) kept(index uint64) error {
	if a == nil {
		return nil
	}
	return a.file.reach(int(index))
}

// identity is a hash of all that answers depend on, except the noise.
func (s *Session) identity(inputs []string) (string, error) {
	all := struct {
		Plan                          any
		Model                         [4]string
		Encoder, Data, Program        string
		Deterministic, Invariant, Cut bool
		Inputs                        []string
	}{Plan: s.options.Plan, Program: s.options.Env.Version, Cut: s.options.Cut, Inputs: inputs}
	info := s.options.Env.Model.Info()
	all.Model = [4]string{info.Name, info.Backend, info.Fingerprint, info.Version}
	all.Deterministic, all.Invariant = info.Deterministic, info.BatchInvariant
	if s.options.Encoder.Valid() {
		all.Encoder = s.options.Encoder.Name()
	}
	if s.options.Data != nil {
		sum := s.options.Data.Fingerprint()
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
	return lock, nil
}

// Complete erases the key: all answers that there will be are on disk. The file stays, and says
// of which list they are.
func (s *Session) Complete() error {
	if s.again == nil {
		return nil
	}
	return errors.Join(s.again.file.complete(), s.Release())
}

// Abandon removes the file of a list of which nothing was charged.
func (s *Session) Abandon() error {
	if s.again == nil {
		return nil
	}
	return errors.Join(s.again.file.complete(), os.Remove(s.again.file.path), s.Release())
}

// Release lets others continue with the list. Its key stays.
func (s *Session) Release() error {
	a := s.again
	if a == nil || a.lock == nil {
		return nil
	}
	a.file.forget()
	lock := a.lock
	a.lock = nil
	return lock.Close()
}

// newName names a list in the ledger.
func newName() string { return rand.Text() }
