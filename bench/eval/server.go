package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sotto-dp/sotto/lm"
)

// setup is how llama.cpp's server is started and asked.
type setup struct {
	slots  int
	flash  bool
	repack bool
	batch  int // tokens that it computes at once
	// together: all questions in one request. Otherwise one each, two for each slot at
	// a time.
	together bool
}

func (s setup) String() string {
	words := []string{fmt.Sprintf("%d slots", s.slots), "plain attention", "weights as in the file", fmt.Sprintf("batches of %d", s.batch), "a request for each question"}
	if s.flash {
		words[1] = "flash attention"
	}
	if s.repack {
		words[2] = "weights repacked"
	}
	if s.together {
		words[4] = "one request for all questions"
	}
	return strings.Join(words, ", ")
}

// server is a running llama.cpp server.
type server struct {
	setup
	url     string
	process *exec.Cmd
	ended   chan error
	log     *bytes.Buffer
	client  *http.Client
}

// start runs the server until it says that it is ready.
func start(ctx context.Context, program, model string, threads, longest int, s setup) (*server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	listener.Close()
	if err != nil {
		return nil, err
	}
	flash, repack := "off", "--no-repack"
	if s.flash {
		flash = "on"
	}
	if s.repack {
		repack = "--repack"
	}
	n := strconv.Itoa
	// Room for each slot, and a cache in memory for prompts that nobody asks again left out.
	args := []string{
		"-m", model, "--host", "127.0.0.1", "--port", port, "-np", n(s.slots), "-c", n(s.slots * (longest + 64)), "-t", n(threads), "-tb", n(threads),
		"-b", n(max(2048, s.batch)), "-ub", n(s.batch), "-fa", flash, repack, "--cache-ram", "0", "--no-webui", "--log-disable",
	}
	srv := &server{setup: s, url: "http://127.0.0.1:" + port, ended: make(chan error, 1), log: &bytes.Buffer{}, client: &http.Client{}}
	srv.process = exec.CommandContext(ctx, program, args...)
	srv.process.Stdout, srv.process.Stderr = srv.log, srv.log
	if err := srv.process.Start(); err != nil {
		return nil, err
	}
	go func() { srv.ended <- srv.process.Wait() }()
	return srv, srv.ready(ctx)
}

func (s *server) ready(ctx context.Context) error {
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

func (s *server) stop() {
	s.process.Process.Kill()
	<-s.ended
	s.client.CloseIdleConnections()
}

// query asks for the labels' probabilities at the least cost for the server: the labels
// are lifted above all other tokens by the same amount, so that they are the best ones,
// and only their probabilities, which are then those among the labels, are sent.
type query struct {
	Prompt      any      `json:"prompt"`
	NPredict    int      `json:"n_predict"`
	NProbs      int      `json:"n_probs"`
	After       bool     `json:"post_sampling_probs"`
	Temperature float64  `json:"temperature"`
	TopK        int      `json:"top_k"`
	Bias        [][2]int `json:"logit_bias"`
	Samplers    []string `json:"samplers"`
	CachePrompt bool     `json:"cache_prompt"`
	Fields      []string `json:"response_fields"`
}

// lift is more than logits differ by, and little enough for float32 to keep them exact
// to a hundred-thousandth.
const lift = 100

type reply struct {
	Index         int   `json:"index"`
	Evaluated     int64 `json:"tokens_evaluated"`
	Cached        int64 `json:"timings/cache_n"`
	Probabilities []struct {
		Top []struct {
			ID   lm.Token `json:"id"`
			Prob float64  `json:"prob"`
		} `json:"top_probs"`
	} `json:"completion_probabilities"`
}

// ask sends one request for some questions.
func (s *server) ask(ctx context.Context, w *work, questions [][]lm.Token) ([]reply, error) {
	prompts := make([][]lm.Token, len(questions))
	for i, q := range questions {
		prompts[i] = slices.Concat(w.prefix, q)
	}
	q := query{
		Prompt: prompts, NPredict: 1, NProbs: len(w.labels), After: true, Temperature: 1, TopK: len(w.labels), Samplers: []string{"top_k"}, CachePrompt: true,
		Fields: []string{"index", "completion_probabilities", "tokens_evaluated", "timings/cache_n"},
	}
	for _, t := range w.labels {
		q.Bias = append(q.Bias, [2]int{int(t), lift})
	}
	body, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/completion", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	got, err := s.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer got.Body.Close()
	data, err := io.ReadAll(got.Body)
	if err != nil {
		return nil, err
	}
	if got.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("llama.cpp's server: %s: %s", got.Status, data)
	}
	replies := make([]reply, len(questions))
	if len(data) > 0 && data[0] != '[' {
		err = json.Unmarshal(data, &replies[0])
	} else {
		err = json.Unmarshal(data, &replies)
	}
	if err == nil && len(replies) != len(questions) {
		err = fmt.Errorf("llama.cpp's server: %d answers to %d questions", len(replies), len(questions))
	}
	return replies, err
}

// classify asks all questions.
func (s *server) classify(ctx context.Context, w *work) (done, error) {
	d := done{scores: make([][]float64, len(w.questions))}
	size, workers := 1, 2*s.slots
	if s.together {
		size, workers = len(w.questions), 1
	}
	var mu sync.Mutex
	var wait sync.WaitGroup
	var failed error
	next := 0
	start := time.Now()
	for range workers {
		wait.Go(func() {
			for {
				mu.Lock()
				from := next
				next += size
				stop := from >= len(w.questions) || failed != nil
				mu.Unlock()
				if stop {
					return
				}
				replies, err := s.ask(ctx, w, w.questions[from:min(from+size, len(w.questions))])
				mu.Lock()
				failed = errors.Join(failed, err, d.add(w, from, replies))
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	d.seconds = time.Since(start).Seconds()
	return d, failed
}

// add reads the labels' probabilities off replies.
func (d *done) add(w *work, from int, replies []reply) error {
	for _, r := range replies {
		if r.Index < 0 || from+r.Index >= len(d.scores) || len(r.Probabilities) != 1 {
			return errors.New("llama.cpp's server: an answer is not what its interface describes")
		}
		scores := make([]float64, len(w.labels))
		var sum float64
		for _, t := range r.Probabilities[0].Top {
			if j := slices.Index(w.labels, t.ID); j >= 0 {
				scores[j] = t.Prob
				sum += t.Prob
			}
		}
		if sum < 0.999 {
			return fmt.Errorf("llama.cpp's server: the labels have a probability of %v among themselves", sum)
		}
		d.scores[from+r.Index] = scores
		d.tokens += r.Evaluated - r.Cached
	}
	return nil
}
