package keys

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"filippo.io/age"

	"github.com/sotto-dp/sotto/internal/rows/convert"
	"github.com/sotto-dp/sotto/internal/rows/origin"
	"github.com/sotto-dp/sotto/sys/durable"
)

// SealKeyFile is the file in the private folder that has the key of sealed files, as age writes
// it.
const SealKeyFile = "uploads.key"

// Opener returns how to open a file: as given, if that is not nil; else one that is sealed with
// the key of the private folder, and any other as it is.
func Opener(path, private string, given func(string) (origin.File, error)) func(string) (origin.File, error) {
	if path, _ = convert.Split(path); given != nil || !origin.IsSealed(path) {
		return given
	}
	return func(path string) (origin.File, error) { return openSealed(path, private) }
}

// sealedFile is an encrypted file, of which only the parts that are asked for are decrypted, in
// memory. Its Stat is that of the file.
type sealedFile struct {
	*os.File
	content io.ReaderAt
	length  int64
}

// ReadAt reads what was encrypted.
func (s *sealedFile) ReadAt(p []byte, at int64) (int, error) {
	n, err := s.content.ReadAt(p, at)
	if err != nil && err != io.EOF {
		err = &origin.Error{Code: origin.Damaged, Msg: "the encrypted file is damaged: upload it again"}
	}
	return n, err
}

// Length is that of what was encrypted.
func (s *sealedFile) Length() int64 { return s.length }

func openSealed(path, private string) (origin.File, error) {
	identity, err := readSealKey(filepath.Join(private, SealKeyFile))
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	content, length, err := age.DecryptReaderAt(f, info.Size(), identity)
	var other *age.NoIdentityMatchError
	if errors.As(err, &other) {
		err = fmt.Errorf("%s is encrypted with another key than that of the private folder: name the folder that it was uploaded with", path)
	} else if err != nil {
		err = fmt.Errorf("%s is not encrypted as its name says, or it is damaged", path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &sealedFile{f, content, length}, nil
}

func readSealKey(path string) (age.Identity, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("the key of encrypted files is missing: %s. It is in the private folder that they were uploaded with", path)
	case err != nil:
		return nil, err
	case info.Mode().Perm()&0o077 != 0 && !ForeignModes:
		return nil, fmt.Errorf("the key of encrypted files %s can be read by others: chmod 600 it", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	all, err := age.ParseIdentities(f)
	if err := errors.Join(err, f.Close()); err != nil || len(all) != 1 {
		return nil, fmt.Errorf("the key of encrypted files %s is damaged: restore it", path) // err may quote it
	}
	return all[0], nil
}

// Seal returns a writer that encrypts for the key of a private folder, which the first use makes.
// What it writes is whole once it is closed.
func Seal(private string, to io.Writer) (io.WriteCloser, error) {
	path := filepath.Join(private, SealKeyFile)
	if err := os.MkdirAll(private, 0o700); err != nil {
		return nil, fmt.Errorf("make the private folder: %w", err)
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := makeSealKey(path); err != nil {
			return nil, err
		}
	}
	identity, err := readSealKey(path)
	if err != nil {
		return nil, err
	}
	own, ok := identity.(*age.X25519Identity)
	if !ok {
		return nil, fmt.Errorf("the key of encrypted files %s is of another kind than is made here", path)
	}
	return age.Encrypt(to, own.Recipient())
}

// makeSealKey writes a new key, unless another process was first.
func makeSealKey(path string) error {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		return err
	}
	if err := durable.LinkNew(path, []byte(identity.String()+"\n")); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make the key of encrypted files: %w", err)
	}
	return nil
}
