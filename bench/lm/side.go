package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
)

// side is one of the programs compared: a process that does tasks one at a time
// and waits in between.
type side struct {
	name string
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
	lines.Buffer(nil, 1<<20)
	return &side{name, cmd, in, lines}, nil
}

// startSotto runs this program again as a worker.
func startSotto(name, model string, threads int) (*side, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return start(name, self, "-serve", model, "-threads", strconv.Itoa(threads))
}

func startPeer(name, python, script, model string, threads int, repack bool) (*side, error) {
	command := []string{python, script, "--model", model, "--threads", strconv.Itoa(threads)}
	if repack {
		command = append(command, "--repack")
	}
	return start(name, command...)
}

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
	s.in.Close()
	s.cmd.Wait()
}
