package torch

import (
	"bufio"
	"embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/sotto-dp/sotto/lm"
)

//go:embed worker.py weights.py kernels.py head.py
var scripts embed.FS

// hello is what a worker says of itself when it is ready.
type hello struct {
	Page       int    `json:"page"`
	Pages      int    `json:"pages"`
	Vocabulary int    `json:"vocabulary"`
	Context    int    `json:"context"`
	Device     string `json:"device"`
	Torch      string `json:"torch"`
	DType      string `json:"dtype"`
}

// worker is a process that computes, and the queue before it.
type worker struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	folder  string
	hello   hello
	books   *books
	grace   time.Duration

	queue   chan *request
	stop    chan struct{} // closed by close
	stopped chan struct{} // closed when the queue is served no more
	room    *room
}

// start runs a worker and waits until it has loaded the model.
func start(path string, o Options) (*worker, error) {
	folder, err := os.MkdirTemp("", "sotto-torch-")
	if err != nil {
		return nil, err
	}
	w := &worker{folder: folder, grace: o.Grace, queue: make(chan *request), stop: make(chan struct{}), stopped: make(chan struct{}), room: newRoom()}
	if err := w.launch(path, o); err != nil {
		w.end()
		return nil, err
	}
	w.books = newBooks(w.hello.Page, w.hello.Pages)
	w.books.freed = w.room.freed
	go w.serve()
	return w, nil
}

func (w *worker) launch(path string, o Options) error {
	files, err := scripts.ReadDir(".")
	if err != nil {
		return err
	}
	for _, f := range files {
		data, err := scripts.ReadFile(f.Name())
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(w.folder, f.Name()), data, 0o600); err != nil {
			return err
		}
	}
	w.command = exec.Command(o.Python, append([]string{filepath.Join(w.folder, "worker.py"), path}, o.arguments()...)...)
	w.command.Stderr = o.Log
	if w.in, err = w.command.StdinPipe(); err != nil {
		return err
	}
	out, err := w.command.StdoutPipe()
	if err != nil {
		return err
	}
	w.out = bufio.NewReaderSize(out, 1<<20)
	if err := w.command.Start(); err != nil {
		return fmt.Errorf("cannot start the worker: %w: name a Python that has PyTorch", err)
	}
	reply, err := w.receive()
	if err != nil {
		return fmt.Errorf("the worker did not load the model: %w: what it printed says why (a Python without PyTorch, a model it does not run, too little memory)", err)
	}
	return json.Unmarshal(reply, &w.hello)
}

// receive reads a reply.
func (w *worker) receive() ([]byte, error) {
	var head [12]byte
	if _, err := io.ReadFull(w.out, head[:]); err != nil {
		return nil, fmt.Errorf("the worker ended: %w", err)
	}
	reply := make([]byte, binary.LittleEndian.Uint64(head[4:]))
	if _, err := io.ReadFull(w.out, reply); err != nil {
		return nil, fmt.Errorf("the worker ended: %w", err)
	}
	if binary.LittleEndian.Uint32(head[:]) != 0 {
		return nil, fmt.Errorf("the worker failed: %s", reply)
	}
	return reply, nil
}

// do sends a request through the worker and waits for its answer.
func (w *worker) do(r *request) error {
	r.done = make(chan struct{})
	select {
	case w.queue <- r:
	case <-w.stop:
		return lm.ErrClosed
	}
	<-r.done
	return r.err
}

// serve answers requests until the worker is closed.
func (w *worker) serve() {
	defer close(w.stopped)
	for {
		select {
		case r := <-w.queue:
			w.exchange(w.gather(r))
		case <-w.stop:
			return
		}
	}
}

// gather takes all that waits, and what comes until the queue was quiet for a moment:
// sessions in lockstep meet in one message.
func (w *worker) gather(first *request) []*request {
	requests := []*request{first}
	wait := time.NewTimer(w.grace)
	defer wait.Stop()
	for len(requests) < w.room.busy() {
		select {
		case r := <-w.queue:
			requests = append(requests, r)
			wait.Reset(w.grace)
		case <-wait.C:
			return requests
		case <-w.stop:
			return requests
		}
	}
	return requests
}

// exchange answers requests with one message.
func (w *worker) exchange(requests []*request) {
	m := &message{lists: map[listKey]int32{}}
	var live []*request
	for _, r := range requests {
		if r.err = r.stop(); r.err != nil {
			close(r.done)
			continue
		}
		live = append(live, r)
		m.add(r)
	}
	if len(live) == 0 {
		return
	}
	_, err := w.in.Write(m.bytes())
	var reply []byte
	if err == nil {
		reply, err = w.receive()
	}
	if err == nil {
		err = share(reply, live, w.hello.Vocabulary)
	}
	for _, r := range live {
		r.err = err
		close(r.done)
	}
}

// close ends the worker. Requests on their way are answered first.
func (w *worker) close() error {
	close(w.stop)
	<-w.stopped
	return w.end()
}

// end waits for the process, which ends with its input, and removes its files.
func (w *worker) end() error {
	var err error
	if w.command != nil && w.command.Process != nil {
		late := time.AfterFunc(20*time.Second, func() { w.command.Process.Kill() })
		w.in.Close()
		err = w.command.Wait()
		late.Stop()
	}
	return errors.Join(err, os.RemoveAll(w.folder))
}
