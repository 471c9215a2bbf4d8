package main

import (
	"fmt"
	"os"

	"github.com/sotto-dp/sotto/eval/worth"
	"github.com/sotto-dp/sotto/internal/ui"
)

// predictions are all answers, a JSON object a line, in a file for the owner to read:
// questions are in it, and answers may repeat demonstrations.
type predictions struct {
	file *os.File // nil if nobody wants them
}

// openPredictions makes the file before anything is asked, so that a path that cannot be
// written costs no work. Inputs are files that it must not be.
func openPredictions(path string, inputs ...string) (predictions, error) {
	if path == "" {
		return predictions{}, nil
	}
	for _, input := range inputs {
		if sameFile(path, input) {
			return predictions{}, usage("--predictions %s would write over what is read: name another file", path)
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return predictions{}, usage("write the answers: %w", err)
	}
	return predictions{f}, nil
}

// sameFile reports whether two paths are of one file that is there.
func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// add writes the answers with one set.
func (b predictions) add(lines []worth.Prediction) error {
	if b.file == nil {
		return nil
	}
	for _, line := range lines {
		data, err := ui.EncodeJSON(line, false)
		if err == nil {
			_, err = b.file.Write(data)
		}
		if err != nil {
			return fmt.Errorf("write the answers: %w", err)
		}
	}
	return nil
}

func (b predictions) close() error {
	if b.file == nil {
		return nil
	}
	return b.file.Close()
}
