package certificate

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/sys/bounded"
	"github.com/sotto-dp/sotto/internal/sys/durable"
)

// maxEntries bounds the walk over a release directory.
const maxEntries = 1_000_000

// HashFiles returns files below dir, named by slash-separated paths, as the subjects of a
// claim. Without names it takes every file except the certificate.
func HashFiles(dir string, names ...string) ([]Subject, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("release directory: %w", err)
	}
	defer root.Close()
	if len(names) == 0 {
		if names, err = listFiles(root.FS()); err != nil {
			return nil, err
		}
	}
	subjects := make([]Subject, 0, len(names))
	for _, name := range names {
		if err := checkName(name); err != nil {
			return nil, err
		}
		sum, err := hashFile(root.FS(), name)
		if err != nil {
			return nil, err
		}
		subjects = append(subjects, Subject{name, Digest{sum}})
	}
	return subjects, nil
}

// listFiles lists everything except directories and the certificate.
func listFiles(fsys fs.FS) ([]string, error) {
	var names []string
	entries := 0
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entries++; entries > maxEntries {
			return fmt.Errorf("the directory has more than %d entries", maxEntries)
		}
		if !d.IsDir() && name != FileName {
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the release: %w", err)
	}
	return names, nil
}

// openRegular opens a file without following a symbolic link anywhere on its
// path. Within an [os.Root] even a link put there meanwhile cannot lead outside.
func openRegular(fsys fs.FS, name string) (fs.File, error) {
	for i := range len(name) {
		if name[i] == '/' {
			if info, err := fs.Lstat(fsys, name[:i]); err != nil || !info.IsDir() {
				return nil, fmt.Errorf("%s: %w", name, orElse(err, "its folder %s is not a plain directory", name[:i]))
			}
		}
	}
	info, err := fs.Lstat(fsys, name)
	if err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w", name, orElse(err, "it is not a regular file"))
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	opened, err := f.Stat()
	if err != nil || !opened.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("%s: %w", name, orElse(err, "it changed while it was opened"))
	}
	return f, nil
}

// orElse returns err, or the message when there is no error.
func orElse(err error, format string, args ...any) error {
	if err != nil {
		return err
	}
	return fmt.Errorf(format, args...)
}

func hashFile(fsys fs.FS, name string) (string, error) {
	f, err := openRegular(fsys, name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// readCertificate reads the envelope of a release.
func readCertificate(fsys fs.FS) ([]byte, error) {
	f, err := openRegular(fsys, FileName)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxEnvelope+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", FileName, err)
	}
	return data, nil
}

// Write stores an envelope as the certificate of a release directory: whole or
// not at all. An existing certificate is kept, and an error, unless it is the
// same.
func Write(dir string, envelope []byte) error {
	if _, _, err := openEnvelope(envelope); err != nil {
		return err
	}
	name := filepath.Join(dir, FileName)
	switch old, err := os.ReadFile(name); {
	case err == nil && string(old) == string(envelope):
		return nil
	case err == nil:
		return fmt.Errorf("%s exists and is another certificate: choose a new directory for a new release", name)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("certificate: %w", err)
	}
	if err := durable.WriteFile(name, envelope, 0o644); err != nil {
		return fmt.Errorf("certificate: %w", err)
	}
	return nil
}

// unlisted names the files that no subject covers.
func unlisted(fsys fs.FS, subjects []Subject) ([]string, error) {
	names, err := listFiles(fsys)
	if err != nil {
		return nil, err
	}
	listed := make(map[string]bool, len(subjects))
	for _, s := range subjects {
		listed[path.Clean(s.Name)] = true
	}
	return slices.DeleteFunc(names, func(n string) bool { return listed[n] }), nil
}

// some quotes the first few of many names.
func some(names []string) string {
	const few = 5
	quoted := make([]string, 0, few)
	for _, n := range names[:min(few, len(names))] {
		quoted = append(quoted, fmt.Sprintf("%q", n))
	}
	s := strings.Join(quoted, ", ")
	if len(names) > few {
		s += fmt.Sprintf(" and %d more", len(names)-few)
	}
	return s
}

// ReadFile reads a file of a release whose certificate holds, if the certificate covers it and
// its bytes are those that were signed: files may change after they were verified.
func (r *Report) ReadFile(release fs.FS, name string) ([]byte, error) {
	if !r.OK {
		return nil, errors.New("the certificate does not hold")
	}
	f, err := release.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := bounded.Read(f, bounded.Large)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	if !slices.Contains(r.Subjects, Subject{Name: name, Digest: Digest{SHA256: hex.EncodeToString(sum[:])}}) {
		return nil, fmt.Errorf("the certificate does not cover %s: take it out of the folder, or use another release", name)
	}
	return data, nil
}
