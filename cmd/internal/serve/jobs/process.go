package jobs

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/sys/bounded"
	"github.com/sotto-dp/sotto/sys/fault"
)

// process is the program at work on a job.
type process struct {
	cmd *exec.Cmd
	// printed is the file that gets what it prints, and published what of that may be seen.
	printed   string
	published []string
	// ended is closed when it has, with err.
	ended chan struct{}
	err   error

	mu sync.Mutex
	// at is what it reported last.
	at []byte
	// said is what it wrote on standard error for people.
	said []byte
}

// start begins a process. It prints its result to a file in the job's folder, and reports
// progress on standard error. It holds the lock on the folder.
func start(command Command, env []string, j *store.Job, hold *folderLock) (*process, error) {
	args := command.Args
	p := &process{published: command.Published, printed: filepath.Join(j.Place, printedFile), ended: make(chan struct{})}
	out, err := os.OpenFile(p.printed, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make a file for the job's result: %w", err)
	}
	reading, writing, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, out.Close())
	}
	p.cmd = exec.Command(args[0], args[1:]...)
	p.cmd.Dir, p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = j.Dir, env, out, writing
	p.cmd.Stdin = bytes.NewReader(command.Input)
	if j.Dir == "" {
		p.cmd.Dir = j.Place
	}
	belongs(p.cmd, hold)
	began := make(chan error)
	go func() {
		defer fault.Watch()
		// A process that is to die with its worker dies with the thread that began it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		_, _ = out.Close(), writing.Close() // the process has its own
		began <- err
		if err != nil {
			return
		}
		p.read(reading)
		p.err = p.cmd.Wait()
		p.keepSaid(j.Place)
		close(p.ended)
	}()
	if err := <-began; err != nil {
		return nil, errors.Join(fmt.Errorf("begin the job's process: %w", err), reading.Close())
	}
	return p, nil
}

// steps are the fields of a report that anybody may see. Others, such as messages and numbers of
// tokens, may depend on the records that were drawn.
type steps struct {
	Event     string `json:"event"`
	Done      int64  `json:"done,omitempty"`
	Texts     int64  `json:"texts,omitempty"`
	Round     int64  `json:"round,omitempty"`
	Rounds    int64  `json:"rounds,omitempty"`
	Question  int64  `json:"question,omitempty"`
	Questions int64  `json:"questions,omitempty"`
}

// events are the kinds of reports that are passed on.
var events = map[string]bool{
	"reserved": true, "counted": true, "labels": true, "text": true, "round": true, "profile": true, "perturbed": true,
	"written": true, "committed": true, "certified": true, "completed": true, "resumed": true, "recharged": true,
}

// read reads reports until the process closes its end.
func (p *process) read(from *os.File) {
	defer func() { _ = from.Close() }() // it was read
	lines := bufio.NewReaderSize(from, 1<<16)
	for {
		line, err := lines.ReadSlice('\n')
		var s steps
		switch {
		case err != nil:
		case json.Unmarshal(line, &s) != nil:
			p.said = append(p.said, line...)
			p.said = p.said[max(0, len(p.said)-maxMessages):] // why it failed comes last
		case events[s.Event]:
			if at, err := json.Marshal(s); err == nil {
				p.mu.Lock()
				p.at = at
				p.mu.Unlock()
			}
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			_, _ = io.Copy(io.Discard, from) // else it would wait for a reader
			return
		}
	}
}

// progress is what the process reported last; nil for nothing yet.
func (p *process) progress() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return bytes.Clone(p.at)
}

// interrupt asks the process to end, and makes it if it does not.
func (p *process) interrupt(grace time.Duration) {
	if runtime.GOOS == "windows" || p.cmd.Process.Signal(os.Interrupt) != nil {
		p.kill()
		return
	}
	go func() {
		defer fault.Watch()
		select {
		case <-p.ended:
		case <-time.After(grace):
			p.kill()
		}
	}()
}

func (p *process) kill() { _ = p.cmd.Process.Kill() } // it may have ended

// printedFile is in a job's folder, and has what its process printed. saidFile has what it said to
// people, such as which records cannot be used: at most mostSaid bytes.
const (
	printedFile = "printed.json"
	saidFile    = "said.txt"
	maxMessages = 1 << 14
)

// keepSaid leaves what the process said to people in the job's folder, for who can read that.
func (p *process) keepSaid(place string) {
	// Without it, anyone who wants to know repeats the command.
	_ = os.WriteFile(filepath.Join(place, saidFile), p.said, 0o600)
}

// Said is what the process of a job that works in a folder said to people; "" if nothing is known
// of it. It may say which records cannot be used.
func Said(place string) string {
	data, err := bounded.ReadFile(filepath.Join(place, saidFile), maxMessages)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// Exit codes of the program.
const (
	codeWrong, codeRefused, codeUnverified = 2, 3, 4
)

// ending says how it ended. why is what the worker had in mind; below 0 for nothing.
func (p *process) ending(why outcome) ending {
	e := ending{outcome: why, progress: p.progress()}
	var exit *exec.ExitError
	code := 0
	if errors.As(p.err, &exit) {
		code = exit.ExitCode()
	}
	switch {
	case why == lost:
		return e
	case p.err == nil: // also if it was asked to end and had nothing left to do
		e.outcome, e.result = succeeded, p.result()
		return e
	case why >= 0:
		return e
	case code == codeWrong, code == codeRefused, code == codeUnverified:
		e.outcome = gaveUp
	default:
		e.outcome = stumbled
	}
	e.err = p.reason(code)
	return e
}

// reason says why the process failed. What it printed may say something of records, such as how
// many cannot be used, and where they are: only what a budget refuses is passed on.
func (p *process) reason(code int) string {
	const where = ". What it printed is in the job's folder (sotto job show, where that is)"
	switch said := p.failure(); {
	case code == codeRefused && said != "":
		return said
	case code == codeWrong:
		return "the command, or the records, cannot be used as they are" + where
	case code == codeUnverified:
		return "something signed or sealed is not what it should be" + where
	case code > 0:
		return "it failed" + where
	}
	return "the process ended with " + p.err.Error()
}

// maxResult is how long a result in the store may be.
const maxResult = 1 << 18

// result is what of the printed result may be seen; of many lines, their number.
func (p *process) result() []byte {
	data, err := bounded.ReadFile(p.printed, bounded.Large)
	if err != nil {
		return nil
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil || len(data) > maxResult {
		fields = map[string]json.RawMessage{"lines": fmt.Append(nil, bytes.Count(data, []byte{'\n'}))}
	}
	for name := range fields {
		if name != "lines" && !slices.Contains(p.published, name) {
			delete(fields, name)
		}
	}
	out, err := json.Marshal(fields)
	if err != nil {
		return nil
	}
	return out
}

func (p *process) failure() string { return Failure(filepath.Dir(p.printed)) }

// Failure is what the process of a job that works in a folder printed about why it failed, in its
// last line; "" if it did not.
func Failure(place string) string {
	data, err := bounded.ReadFile(filepath.Join(place, printedFile), bounded.Large)
	if err != nil {
		return ""
	}
	data = bytes.TrimSpace(data)
	if i := bytes.LastIndexByte(data, '\n'); i >= 0 && !json.Valid(data) {
		data = data[i+1:]
	}
	var said struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(data, &said) != nil {
		return ""
	}
	return said.Error
}
