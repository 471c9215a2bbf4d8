package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// book is a file of answers, a JSON object a line. Answers are paid for, so that it is
// never written over, and each is on disk before the next is asked for.
type book struct {
	path  string // "" if nobody wants it
	file  *os.File
	lines int
}

// openBook makes the file before anything is charged. One that is not for everybody is
// for its owner to read.
func openBook(path string, private bool) (book, error) {
	if path == "" {
		return book{}, nil
	}
	mode := os.FileMode(0o600)
	if private {
		mode = 0o644
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		return book{}, usage("--out %s is there already, and answers cost too much to be written over: name another file", path)
	}
	if err != nil {
		return book{}, usage("write the answers: %w", err)
	}
	return book{path: path, file: f}, nil
}

func (b *book) add(line answerLine) error {
	if b.file == nil {
		return nil
	}
	var data bytes.Buffer
	e := json.NewEncoder(&data)
	e.SetEscapeHTML(false)
	if err := e.Encode(line); err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	_, err := b.file.Write(data.Bytes())
	if err == nil {
		err = b.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	b.lines++
	return nil
}

// close leaves no file that is empty.
func (b *book) close() error {
	if b.file == nil {
		return nil
	}
	err := b.file.Close()
	if b.lines == 0 {
		err = errors.Join(err, os.Remove(b.path))
	}
	return err
}
