package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/sotto-dp/sotto/lm/models"
)

// contestant is one of the programs compared.
type contestant interface {
	label() string
	// tuned reports whether it looks for its best settings before a task.
	tuned() bool
	ask(task) (answer, error)
	// stop ends it. Stopping again does nothing.
	stop()
}

// side is a contestant that is a process which does tasks one at a time and waits in
// between.
type side struct {
	name string
	ours bool // it has no settings to try
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Scanner
}

func start(name string, command ...string) (*side, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<24)
	return &side{name: name, cmd: cmd, in: in, out: lines}, nil
}

// startSotto runs this program again as a worker, whose engine rounds activations to so many bits.
func startSotto(model string, threads, bits int) (*side, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s, err := start(fmt.Sprintf("Sotto, %d bits", bits), self, "-serve", model, "-threads", strconv.Itoa(threads), "-bits", strconv.Itoa(bits))
	if err == nil {
		s.ours = true
	}
	return s, err
}

func startPeer(name string, s settings, model string, repack bool) (*side, error) {
	command := []string{s.python, filepath.Join(s.folder, "peers.py"), "--model", model, "--threads", strconv.Itoa(s.threads)}
	if repack {
		command = append(command, "--repack")
	}
	return start(name, command...)
}

func startSentences(name string, s settings) (*side, error) {
	path, entry, err := models.Find("minilm")
	if err != nil {
		return nil, err
	}
	vocabulary := filepath.Join(filepath.Dir(path), entry.Files[1].Name)
	return start(name, s.sentences, filepath.Join(s.folder, "sentences.py"), "--weights", path, "--vocab", vocabulary, "--threads", strconv.Itoa(s.threads))
}

func (s *side) label() string { return s.name }

func (s *side) tuned() bool { return !s.ours }

func (s *side) ask(t task) (answer, error) {
	raw, err := json.Marshal(t)
	if err != nil {
		return answer{}, err
	}
	if _, err := s.in.Write(append(raw, '\n')); err != nil {
		return answer{}, fmt.Errorf("%s, %s: %w", s.name, t.Task, err)
	}
	if !s.out.Scan() {
		return answer{}, fmt.Errorf("%s ended at %s: %w", s.name, t.Task, errors.Join(s.out.Err(), s.cmd.Wait()))
	}
	var a answer
	if err := json.Unmarshal(s.out.Bytes(), &a); err != nil {
		return answer{}, fmt.Errorf("%s, %s: %w", s.name, t.Task, err)
	}
	if a.Error != "" {
		return answer{}, fmt.Errorf("%s, %s: %s", s.name, t.Task, a.Error)
	}
	return a, nil
}

func (s *side) stop() {
	if s.cmd == nil {
		return
	}
	s.in.Close()
	s.cmd.Wait()
	s.cmd = nil
}
