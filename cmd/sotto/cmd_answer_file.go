package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/sotto-dp/sotto/internal/ui"
)

// answerFile is a file of answers, a JSON object a line. Answers are paid for, so that it is
// never written over, and each is on disk before the next is asked for.
type answerFile struct {
	path  string // "" if nobody wants it
	file  *os.File
	lines int
}

// openAnswerFile makes the file before anything is charged. One that is not for everybody is
// for its owner to read.
func openAnswerFile(path string, private bool) (answerFile, error) {
	if path == "" {
		return answerFile{}, nil
	}
	mode := os.FileMode(0o600)
	if private {
		mode = 0o644
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		return answerFile{}, usage("--out %s is there already, and answers cost too much to be written over: name another file", path)
	}
	if err != nil {
		return answerFile{}, usage("write the answers: %w", err)
	}
	return answerFile{path: path, file: f}, nil
}

// add writes an answer, and returns once it is on disk.
func (f *answerFile) add(line answerLine) error {
	if f.file == nil {
		return nil
	}
	data, err := ui.EncodeJSON(line, false)
	if err == nil {
		_, err = f.file.Write(data)
	}
	if err == nil {
		err = f.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	f.lines++
	return nil
}

// close closes the file, and removes one that is empty.
func (f *answerFile) close() error {
	if f.file == nil {
		return nil
	}
	err := f.file.Close()
	if f.lines == 0 {
		err = errors.Join(err, os.Remove(f.path))
	}
	return err
}
