package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/sotto-dp/sotto/internal/ui"
)

// JsonLines is a file that gets a JSON object a line.
type JsonLines struct {
	Path  string
	File  *os.File // nil if nobody wants it
	Empty bool
}

// Add writes an answer.
func (f *JsonLines) Add(line any) error {
	if f.File == nil {
		return nil
	}
	data, err := ui.EncodeJSON(line, false)
	if err == nil {
		_, err = f.File.Write(data)
	}
	if err != nil {
		return fmt.Errorf("write the answers: %w", err)
	}
	f.Empty = false
	return nil
}

// Close closes the file, and removes one that is empty.
func (f *JsonLines) Close() error {
	if f.File == nil {
		return nil
	}
	err := f.File.Close()
	if f.Empty {
		err = errors.Join(err, os.Remove(f.Path))
	}
	return err
}

// Sentence makes one of a clause.
func Sentence(clause string) string { return strings.ToUpper(clause[:1]) + clause[1:] + "." }
