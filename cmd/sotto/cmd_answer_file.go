package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// keyOf is where the key of a list of questions is until all of it is answered.
func keyOf(out string) string { return out + ".key" }

// jsonLines is a file of answers, a JSON object a line.
type jsonLines struct {
	path  string // "" if nobody wants it
	file  *os.File
	empty bool
	// before is how many answers it had, of a list that goes on; resumes: it can go on later.
	before  int
	resumes bool
}

// openAnswerFile makes the file before anything is charged. Answers are paid for, so that it is
// never written over. One that is not for everybody is for its owner to read.
func openAnswerFile(path string, private bool) (*jsonLines, error) {
	if path == "" {
		return &jsonLines{}, nil
	}
	mode := os.FileMode(0o600)
	if private {
		mode = 0o644
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		return nil, usage("--out %s is there already, and answers cost too much to be written over: name another file", path)
	}
	if err != nil {
		return nil, usage("write the answers: %w", err)
	}
	return &jsonLines{path: path, file: f, empty: true}, nil
}

// reopenAnswerFile opens the file of a list that was begun and has a key. A line that was not
// written to its end was not there.
func reopenAnswerFile(path string, private bool) (*jsonLines, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return openAnswerFile(path, private)
	}
	if err != nil {
		return nil, usage("write the answers: %w", err)
	}
	lines, size, err := readAnswers(f)
	if err == nil {
		err = f.Truncate(size)
	}
	if err == nil {
		_, err = f.Seek(size, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(usage("go on with the answers in %s: %w", path, err), f.Close())
	}
	return &jsonLines{path: path, file: f, empty: len(lines) == 0, before: len(lines)}, nil
}

// readAnswers reads whole lines, and how many bytes they have.
func readAnswers(r io.Reader) (lines []answerLine, size int64, err error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, 0, err
	}
	for line := range bytes.Lines(data) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		var one answerLine
		if err := json.Unmarshal(line, &one); err != nil || one.Input == "" {
			return nil, 0, fmt.Errorf("line %d is no answer", len(lines)+1)
		}
		lines, size = append(lines, one), size+int64(len(line))
	}
	return lines, size, nil
}

// answered reports whether a file has the answers to all questions, by what the plan says, and
// returns them: then nothing is left to do.
func (o *answerOptions) answered(questions []string, t answerTerms) ([]answerLine, bool) {
	if _, err := os.Lstat(keyOf(o.out)); o.out == "" || !errors.Is(err, fs.ErrNotExist) {
		return nil, false
	}
	f, err := os.Open(o.out)
	if err != nil {
		return nil, false
	}
	defer func() { _ = f.Close() }() // it was read
	lines, _, err := readAnswers(f)
	if err != nil || len(lines) != len(questions) || len(lines) == 0 {
		return nil, false
	}
	want := t.line(&sotto.Answer{})
	return lines, !slices.ContainsFunc(lines, func(l answerLine) bool {
		return l.Event != want.Event || l.Method != want.Method || l.Delta != want.Delta
	}) && slices.EqualFunc(lines, questions, func(l answerLine, q string) bool { return o.cut || l.Input == q })
}

// keepAnswers opens the file of answers: for many of them one that can be gone on with.
func (o *answerOptions) keepAnswers(s *sotto.Answers, questions []string, private bool) (*jsonLines, error) {
	if o.out == "" || !o.given("inputs") {
		return openAnswerFile(o.out, private)
	}
	open := reopenAnswerFile
	_, there := os.Lstat(o.out)
	if _, err := os.Lstat(keyOf(o.out)); errors.Is(err, fs.ErrNotExist) && there == nil {
		open = openAnswerFile // which refuses it
	}
	f, err := open(o.out, private)
	if err != nil {
		return nil, err
	}
	if f.before > len(questions) {
		return nil, errors.Join(usage("--out %s has more answers than there are questions: name another file", o.out), f.close())
	}
	if _, err = s.Again(keyOf(o.out), questions, f.before); err != nil {
		return nil, errors.Join(ui.AsUsage(err), f.close())
	}
	f.resumes = true
	return f, nil
}

// settle ends a list: its key goes if nothing is left to do, or if nothing was charged.
func (f *jsonLines) settle(s *sotto.Answers, done int, err error) error {
	if !f.resumes {
		return nil
	}
	var wrong *sotto.InputError
	if err == nil || done == 0 && (errors.Is(err, ledger.ErrBudget) || errors.As(err, &wrong)) {
		return s.Complete()
	}
	return nil
}

// add writes an answer.
func (f *jsonLines) add(line any) error {
	if f.file == nil {
		return nil
	}
	data, err := ui.EncodeJSON(line, false)
	if err == nil {
		_, err = f.file.Write(data)
	}
	if err != nil {
		return fmt.Errorf("write the answers: %w", err)
	}
	f.empty = false
	return nil
}

// keep writes an answer, and returns once it is on disk.
func (f *jsonLines) keep(line answerLine) error {
	err := f.add(line)
	if err == nil && f.file != nil {
		err = f.file.Sync()
	}
	return err
}

// close closes the file, and removes one that is empty.
func (f *jsonLines) close() error {
	if f.file == nil {
		return nil
	}
	err := f.file.Close()
	if f.empty {
		err = errors.Join(err, os.Remove(f.path))
	}
	return err
}
