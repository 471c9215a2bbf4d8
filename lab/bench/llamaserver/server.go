// Package llamaserver runs llama.cpp's server, to compare with: how it is started, and how
// it is asked for the probabilities of a few tokens at the least cost for it.
package llamaserver

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/lab/bench/harness"
)

// Setup is how the server is started.
type Setup struct {
	// Slots for requests that it works on at once.
	Slots int
	// Flash attention instead of the plain one.
	Flash bool
	// Repack the weights for its faster kernels where it has some for the format.
	Repack bool
	// Batch is how many tokens it computes at once.
	Batch int
	// Unified: one cache for all slots instead of one each.
	Unified bool
	// Reuse lets it move parts of a cache that are found again at another place.
	Reuse bool
}

// String describes a setup in words.
func (s Setup) String() string {
	words := []string{fmt.Sprintf("%d slots", s.Slots), "plain attention", "weights as in the file", fmt.Sprintf("batches of %d", s.Batch)}
	if s.Flash {
		words[1] = "flash attention"
	}
	if s.Repack {
		words[2] = "weights repacked"
	}
	if s.Unified {
		words = append(words, "one cache for all")
	}
	if s.Reuse {
		words = append(words, "cache reuse")
	}
	return strings.Join(words, ", ")
}

// args for the program. longest is the most tokens of a prompt. Each slot has room, and a
// cache in memory for prompts that nobody asks again is left out. The folder of saved slots
// is there because the server does not forget a slot without one.
func (s Setup) args(model, port, folder string, threads, longest int) []string {
	n := strconv.Itoa
	pick := func(yes bool, a, b string) string {
		if yes {
			return a
		}
		return b
	}
	return []string{
		"-m", model, "--host", "127.0.0.1", "--port", port, "-np", n(s.Slots), "-c", n(s.Slots * (longest + 64)), "-t", n(threads), "-tb", n(threads),
		"-b", n(max(2048, s.Batch)), "-ub", n(s.Batch), "-fa", pick(s.Flash, "on", "off"), pick(s.Repack, "--repack", "--no-repack"),
		pick(s.Unified, "--kv-unified", "--no-kv-unified"), "--cache-reuse", pick(s.Reuse, "16", "0"), "--cache-ram", "0", "--slot-save-path", folder, "--no-webui", "--log-disable",
	}
}

// Server is a running server.
type Server struct {
	Setup
	url     string
	process *exec.Cmd
	ended   chan error
	log     *bytes.Buffer
	client  *http.Client
}

// At returns a server that runs already.
func At(url string, client *http.Client, s Setup) *Server {
	return &Server{Setup: s, url: url, client: client}
}

// Start runs the server until it says that it is ready.
func Start(ctx context.Context, program, model string, threads, longest int, s Setup) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	listener.Close()
	if err != nil {
		return nil, err
	}
	srv := &Server{Setup: s, url: "http://127.0.0.1:" + port, ended: make(chan error, 1), log: &bytes.Buffer{}, client: &http.Client{}}
	srv.process = exec.CommandContext(ctx, program, s.args(model, port, filepath.Dir(model), threads, longest)...)
	srv.process.Stdout, srv.process.Stderr = srv.log, srv.log
	if err := srv.process.Start(); err != nil {
		return nil, err
	}
	go func() { srv.ended <- srv.process.Wait() }()
	if err := srv.ready(ctx); err != nil {
		srv.Stop()
		return nil, err
	}
	return srv, nil
}

func (s *Server) ready(ctx context.Context) error {
	for {
		reply, err := s.client.Get(s.url + "/health")
		if err == nil {
			reply.Body.Close()
			if reply.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case err := <-s.ended:
			s.ended <- err
			return fmt.Errorf("llama.cpp's server ended: %w\n%s", err, s.log)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Stop ends the server.
func (s *Server) Stop() {
	s.process.Process.Kill()
	<-s.ended
	s.client.CloseIdleConnections()
}

// PeakMB returns the server's peak memory so far.
func (s *Server) PeakMB() (float64, error) {
	return harness.PeakMB(s.process.Process.Pid)
}

// Version of the program: that of the package whose source lab/bench/llamaserver/server.sh built, or
// what the program says of itself.
func Version(program string) (string, error) {
	out, err := exec.Command(program, "--version").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s does not start: build it with lab/bench/llamaserver/server.sh: %w", program, err)
	}
	if built, _ := filepath.Glob(filepath.Join(filepath.Dir(program), "..", "built-*")); len(built) == 1 {
		return "that of llama-cpp-python " + strings.TrimPrefix(filepath.Base(built[0]), "built-") + ", built on this machine for this machine", nil
	}
	for line := range strings.Lines(string(out)) {
		if rest, ok := strings.CutPrefix(line, "version: "); ok {
			return "version " + strings.TrimSpace(rest), nil
		}
	}
	return "of an unknown version", nil
}
