package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sotto-dp/sotto/internal/rows/convert"
	"github.com/sotto-dp/sotto/internal/sys/document"
	"github.com/sotto-dp/sotto/internal/ui"
)

// Absent says what is not there.
func Absent(path string) string {
	if dir := filepath.Dir(path); !Exists(dir) {
		return "there is no folder " + dir
	}
	return "there is no file " + path
}

// Exists reports whether there is such a file, or sqlite: before its name.
func Exists(path string) bool {
	path, _ = convert.Split(strings.TrimPrefix(path, "sqlite:"))
	_, err := os.Stat(path)
	return err == nil
}

// DocumentError makes what is wrong with a task or a schema an error of usage.
func DocumentError(err error) error {
	if ui.Is[*document.InvalidError](err) || ui.Is[*document.UnknownError](err) || ui.Is[*fs.PathError](err) {
		return ui.AsUsage(err)
	}
	return err
}

// FindDocument finds a task or a schema, and the text of its file.
func FindDocument[T any](ref string, find func(string) (T, error), source func(string) ([]byte, error)) (T, string, error) {
	doc, err := find(ref)
	if err != nil {
		return doc, "", DocumentError(err)
	}
	data, err := source(ref)
	return doc, string(data), DocumentError(err)
}

// Conclusion prints what is wrong with a document, and refuses one that cannot be used.
func (p *Program) Conclusion(ref string, ok bool, r ui.Result) error {
	if err := p.Emit(r); err != nil || ok {
		return err
	}
	return ui.AsUsage(ui.Reported("%s cannot be used until that is corrected", ref))
}
