package texts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/run/answer"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// askedOf is the file beside answers that has the key of their list until all of it is answered, and
// says of which list they are after that.
func askedOf(out string) string { return out + ".asked" }

// answerFile is a file of answers.
type answerFile struct {
	cli.JsonLines
	// before are answers that it had, of a list that continues; resumes: it can continue later.
	before  []answerLine
	resumes bool
}

// openAnswerFile makes the file before anything is charged. Answers are paid for, so that it is
// never written over. One that is not for everybody is for its owner to read.
func openAnswerFile(path string, private bool) (*answerFile, error) {
	if path == "" {
		return &answerFile{}, nil
	}
	mode := os.FileMode(0o600)
	if private {
		mode = 0o644
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		return nil, answersExist(path)
	}
	if err != nil {
		return nil, cli.Usage("write the answers: %w", err)
	}
	return &answerFile{JsonLines: cli.JsonLines{Path: path, File: f, Empty: true}}, nil
}

func answersExist(path string) error {
	return cli.Usage("--out %s is there already, and answers cost too much to be written over: name another file", path)
}

// reopenAnswerFile opens the file of a list that was begun. A line that was not written to its end
// was not there.
func reopenAnswerFile(path string, private bool) (*answerFile, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return openAnswerFile(path, private)
	}
	if err != nil {
		return nil, cli.Usage("write the answers: %w", err)
	}
	lines, size, err := readAnswers(f)
	if err == nil {
		err = f.Truncate(size)
	}
	if err == nil {
		_, err = f.Seek(size, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(cli.Usage("continue with the answers in %s: %w", path, err), f.Close())
	}
	return &answerFile{JsonLines: cli.JsonLines{Path: path, File: f, Empty: len(lines) == 0}, before: lines}, nil
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

// keepAnswers opens the file of answers: for many of them one that can be continued with. Nobody
// touches it before the list is locked. It reports whether the list is complete.
func (o *answerOptions) keepAnswers(s *sotto.AnswerSession, questions []string, private bool) (f *answerFile, complete bool, err error) {
	if o.out == "" || !o.Given("inputs") {
		f, err = openAnswerFile(o.out, private)
		return f, false, err
	}
	_, there := os.Lstat(o.out)
	if _, err := os.Lstat(askedOf(o.out)); errors.Is(err, fs.ErrNotExist) && there == nil {
		return nil, false, answersExist(o.out)
	}
	standing, err := s.ResumeFrom(askedOf(o.out), questions, func(begun bool) (int, error) {
		open := openAnswerFile
		if begun {
			open = reopenAnswerFile
		}
		if f, err = open(o.out, private); err != nil {
			return 0, err
		}
		if len(f.before) > len(questions) {
			return 0, cli.Usage("--out %s has more answers than there are questions: name another file", o.out)
		}
		return len(f.before), nil
	})
	if err != nil {
		if f != nil {
			err = errors.Join(err, f.File.Close())
		}
		if !ui.Is[*answer.BusyError](err) { // which may pass
			err = ui.AsUsage(err)
		}
		return nil, false, err
	}
	f.resumes = !standing.Complete
	return f, standing.Complete, nil
}

// settle ends a list: its key goes if nothing is left to do, and its file if nothing was charged.
func (f *answerFile) settle(s *sotto.AnswerSession, done int, err error) error {
	var wrong *sotto.InputError
	switch {
	case !f.resumes:
		return nil
	case err == nil:
		return s.Complete()
	case done == 0 && (errors.Is(err, ledger.ErrBudget) || errors.As(err, &wrong)):
		return s.Abandon()
	}
	return nil
}

// keep writes an answer, and returns once it is on disk.
func (f *answerFile) keep(line answerLine) error {
	err := f.Add(line)
	if err == nil && f.File != nil {
		err = f.File.Sync()
	}
	return err
}

// close closes the file. It keeps no time but the day: when the last answer was there shows how
// long they took, which depends on who was drawn.
func (f *answerFile) close() error {
	err := f.JsonLines.Close()
	if f.File == nil || f.Empty {
		return err
	}
	day := certificate.Day(time.Now())
	for _, name := range []string{f.Path, askedOf(f.Path)} {
		_ = os.Chtimes(name, day, day) // there may be none, or its times may be the file system's
	}
	return err
}
