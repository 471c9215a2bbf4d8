// Command firsthour plays the first hour of a new user: made-up support tickets of its own, then "sotto init", the
// commands that it lists, one after the other as they are, "sotto serve", and an OpenAI client over HTTP that asks about
// tickets which were kept back. It prints the minutes of each step, the accuracy that the report states and the
// accuracy that the client got. Nothing is to be tuned on these tickets.
//
//	go build -o /tmp/sotto ./cmd/sotto
//	go run ./bench/firsthour -sotto /tmp/sotto
//	go run ./bench/firsthour -sotto /tmp/sotto -model Qwen2.5-Coder-1.5B -minutes 30
//
// State is in a folder of its own; models are those of the user.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

type options struct {
	sotto, model       string
	records, questions int
	seed               uint64
	minutes            float64
	limit              string
	examples           bool
}

func main() {
	log.SetFlags(0)
	var o options
	flag.StringVar(&o.sotto, "sotto", "sotto", "the program")
	flag.StringVar(&o.model, "model", "", "the model; the default one if empty")
	flag.IntVar(&o.records, "records", 1500, "private tickets")
	flag.IntVar(&o.questions, "questions", 200, "tickets that the client asks about")
	flag.Uint64Var(&o.seed, "seed", 1, "of the made-up tickets")
	flag.Float64Var(&o.minutes, "minutes", 15, "how long all of it is to take at most")
	flag.StringVar(&o.limit, "time", "", "another --time for the commands than they come with")
	flag.BoolVar(&o.examples, "examples", true, "fill in the template of examples")
	flag.Parse()
	if err := play(context.Background(), o); err != nil {
		log.Fatal(err)
	}
}

// hour is what happened so far.
type hour struct {
	options
	dir   string
	began time.Time
	steps []step
}

type step struct {
	what    string
	seconds float64
}

func play(ctx context.Context, o options) (err error) {
	if o.sotto, err = exec.LookPath(o.sotto); err == nil {
		o.sotto, err = filepath.Abs(o.sotto)
	}
	if err != nil {
		return err
	}
	h := &hour{options: o}
	if h.dir, err = os.MkdirTemp("", "firsthour-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(h.dir)) }()
	random := rand.New(rand.NewPCG(o.seed, 36))
	if err := writeTickets(h.path("tickets.csv"), random, o.records); err != nil {
		return err
	}
	asked := tickets(random, o.questions)
	h.began = time.Now()
	commands, err := h.begin(ctx)
	if err != nil {
		return err
	}
	key := ""
	for _, c := range commands {
		out, err := h.run(ctx, c)
		if err != nil {
			return err
		}
		if strings.Contains(c, "serve key add") {
			key = found(out)
		}
	}
	right, labels, err := h.serve(ctx, key, asked)
	if err != nil {
		return err
	}
	return h.report(right, labels, asked)
}

func (h *hour) path(name string) string { return filepath.Join(h.dir, name) }

// environment keeps ledger, keys and configuration in a folder of its own.
func (h *hour) environment() []string {
	return append(os.Environ(), "XDG_DATA_HOME="+h.path("data"), "XDG_CONFIG_HOME="+h.path("config"), "XDG_STATE_HOME="+h.path("state"),
		"PATH="+filepath.Dir(h.sotto)+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// begin is "sotto init"; it returns the commands that follow.
func (h *hour) begin(ctx context.Context) ([]string, error) {
	words := []string{"init", "--json", "--data", "tickets.csv", "--kind", "classify", "--text", "Message Body", "--label", "Queue", "--labels", strings.Join(queues, ","), "--size", strconv.Itoa(h.records)}
	if h.model != "" {
		words = append(words, "--model", h.model)
	}
	began := time.Now()
	cmd := exec.CommandContext(ctx, h.sotto, words...)
	cmd.Dir, cmd.Env = h.dir, h.environment()
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("sotto init: %w: %s", err, stderr(err))
	}
	h.took("sotto init", began)
	var r struct {
		Commands []struct {
			Command string `json:"command"`
		} `json:"commands"`
	}
	if err := json.Unmarshal(out, &r); err != nil {
		return nil, err
	}
	if h.examples {
		if err := fill(h.path("examples.csv")); err != nil {
			return nil, err
		}
	}
	var list []string
	for _, c := range r.Commands {
		if h.limit != "" {
			c.Command = strings.Replace(c.Command, "--time 5m", "--time "+h.limit, 1)
		}
		list = append(list, c.Command)
	}
	return list, nil
}

// run runs a command as it is listed.
func (h *hour) run(ctx context.Context, command string) (string, error) {
	began := time.Now()
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Dir, cmd.Env = h.dir, h.environment()
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", command, err, stderr(err))
	}
	words := strings.Fields(command)
	h.took(strings.Join(words[:min(3, len(words))], " "), began)
	return string(out), nil
}

func (h *hour) took(what string, began time.Time) {
	s := step{what, time.Since(began).Seconds()}
	h.steps = append(h.steps, s)
	fmt.Printf("%-26s %6.1f min\n", s.what, s.seconds/60)
}

func stderr(err error) string {
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(failed.Stderr)
	}
	return ""
}

// found is the key that was printed.
func found(out string) string {
	for word := range strings.FieldsSeq(out) {
		if word = strings.Trim(word, `"'.,:;`); strings.HasPrefix(word, "sk-") || strings.HasPrefix(word, "sotto-") || strings.HasPrefix(word, "sotto_") {
			return word
		}
	}
	return ""
}

// serve serves the route and asks about tickets; it returns how many answers are right, and how many are labels.
func (h *hour) serve(ctx context.Context, key string, asked [][2]string) (right, labels int, err error) {
	if key == "" {
		return 0, 0, errors.New("the key of the client was not found in what \"sotto serve key add\" printed")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, 0, err
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		return 0, 0, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, h.sotto, "serve", "--listen", address)
	cmd.Dir, cmd.Env = h.dir, h.environment()
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 20 * time.Second
	var errs bytes.Buffer
	cmd.Stderr = &errs
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	defer func() { cancel(); _ = cmd.Wait() }() // it was stopped
	for i, a := range asked {
		answer, err := ask(ctx, address, key, a[0])
		for try := 0; err != nil && i == 0 && try < 120; try++ { // it begins
			time.Sleep(time.Second)
			answer, err = ask(ctx, address, key, a[0])
		}
		if err != nil {
			return 0, 0, fmt.Errorf("%w: %s", err, errs.String())
		}
		if i == 0 {
			h.took("serve, first answer", began)
			fmt.Printf("%-26s %6.1f min\n", "from init to an answer", time.Since(h.began).Minutes())
			began = time.Now()
		}
		for _, q := range queues {
			if strings.TrimSpace(answer) == q {
				labels++
				if q == a[1] {
					right++
				}
			}
		}
	}
	h.took(fmt.Sprintf("%d more questions", len(asked)-1), began)
	return right, labels, nil
}

// ask is what an OpenAI client sends.
func ask(ctx context.Context, address, key, text string) (string, error) {
	body, err := json.Marshal(map[string]any{"model": "mine", "messages": []map[string]string{{"role": "user", "content": text}}})
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return "", err
	}
	var r struct {
		Choices []struct {
			Message struct {
				Content string `json:"content"`
			} `json:"message"`
		} `json:"choices"`
	}
	if err := json.Unmarshal(data, &r); err != nil || len(r.Choices) == 0 {
		return "", fmt.Errorf("%s: %s", res.Status, data)
	}
	return r.Choices[0].Message.Content, nil
}

// report compares what is stated with what the client got.
func (h *hour) report(right, labels int, asked [][2]string) error {
	data, err := os.ReadFile(h.path("demos/prompt.json"))
	if err != nil {
		return err
	}
	var r struct {
		Worth struct {
			Value, Low, High float64
			Commonest        *struct {
				Label string
				Share float64
			}
			Classifier *struct{ Value float64 }
		} `json:"worth"`
		Evidence any `json:"evidence"`
		Nothing  *struct {
			Text string `json:"text"`
		} `json:"nothing_gained"`
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return err
	}
	n := float64(len(asked))
	got := float64(right) / n
	whole := time.Since(h.began).Minutes()
	w := r.Worth
	fmt.Printf("%-26s %6.1f min (at most %.0f)\n", "all of it", whole, h.minutes)
	fmt.Printf("the report states %.1f %% (%.1f to %.1f); the client got %.1f %% (± %.1f by the draw of %d tickets), %d of %d answers are labels; they differ by %.1f points\n",
		100*w.Value, 100*w.Low, 100*w.High, 100*got, 196*math.Sqrt(got*(1-got)/n), len(asked), labels, len(asked), 100*math.Abs(w.Value-got))
	if c := w.Commonest; c != nil {
		fmt.Printf("the commonest label is stated to be %q with %.1f %%\n", c.Label, 100*c.Share)
	}
	if c := w.Classifier; c != nil {
		fmt.Printf("the private classifier alone is stated to have %.1f %%\n", 100*c.Value)
	}
	if r.Nothing != nil {
		fmt.Println(r.Nothing.Text)
	}
	return nil
}
