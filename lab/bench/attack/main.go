// Command attack plays the attacks of "sotto-lab members" and "sotto-lab secrets" with a model on a GPU,
// on many releases: everything is the Go program except the forward pass, which is PyTorch's (lab/bench/gpu).
//
//	go run ./bench/attack -python P -data DIR -trials 200 -out results.json
//
// DIR has a folder for each data set, with train.jsonl.gz. All of it is public, and may be shown.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/internal/demo"
	"github.com/sotto-dp/sotto/lab/attack"
	"github.com/sotto-dp/sotto/lab/bench/gpu/torch"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/models"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/sys/fault"
)

type settings struct {
	torch.Options
	model, data, out, only                        string
	trials, size, scored, canaries, secrets, sets int
	confidence                                    float64
	seed                                          uint64
}

// finding is what one part of the experiment found.
type finding struct {
	Data       string             `json:"data"`
	Method     string             `json:"method,omitempty"`
	Epsilon    float64            `json:"epsilon,omitempty"`
	Delta      float64            `json:"delta,omitempty"`
	Trials     int                `json:"trials,omitempty"`
	Size       int                `json:"size"`
	Scored     int                `json:"scored,omitempty"`
	Canaries   int                `json:"canaries,omitempty"`
	Tokens     int                `json:"text_tokens,omitempty"`
	Shots      int                `json:"shots,omitempty"`
	Confidence float64            `json:"confidence"`
	Seed       uint64             `json:"seed"`
	Model      string             `json:"model"`
	Rows       []attack.Row       `json:"rows,omitempty"`
	Secrets    []attack.SecretRow `json:"secrets,omitempty"`
	Seconds    float64            `json:"seconds"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var s settings
	s.Log = os.Stderr
	flag.StringVar(&s.model, "model", models.Default, "a model, as `sotto model list` names it, or a path")
	flag.StringVar(&s.Python, "python", "python3", "a Python that has PyTorch")
	flag.StringVar(&s.DType, "dtype", "float16", "float16, bfloat16 or float32")
	flag.Float64Var(&s.CacheGiB, "cache-gib", 1, "memory of keys and values")
	flag.IntVar(&s.PassTokens, "pass", 65536, "most tokens of a pass")
	flag.DurationVar(&s.Grace, "grace", time.Millisecond, "how long the queue must be quiet before waiting steps are computed")
	flag.StringVar(&s.data, "data", "", "the folder of data sets; without it the made-up messages alone")
	flag.StringVar(&s.out, "out", "results.json", "a file for what was found")
	flag.StringVar(&s.only, "only", "", "only parts that begin with one of these words, separated by commas")
	flag.IntVar(&s.trials, "trials", 200, "releases of each kind")
	flag.IntVar(&s.size, "size", 20, "records that a release is made of")
	flag.IntVar(&s.scored, "scored", 12, "records that are scored in a release")
	flag.IntVar(&s.canaries, "canaries", 4, "canaries")
	flag.IntVar(&s.secrets, "secrets", 30, "codes for each number of copies")
	flag.IntVar(&s.sets, "sets", 4, "sets to choose from")
	flag.Float64Var(&s.confidence, "confidence", 0.99, "of intervals")
	flag.Uint64Var(&s.seed, "seed", 1, "of all random numbers")
	flag.Parse()
	if err := run(ctx, s); err != nil {
		fmt.Fprintln(os.Stderr, "attack:", err)
		os.Exit(1)
	}
}

// part of the experiment, by itself.
type part struct {
	name string
	do   func(ctx context.Context, m lm.TrustedScorer) (finding, error)
}

func run(ctx context.Context, s settings) error {
	path, _, err := models.Find(s.model)
	if err != nil {
		return err
	}
	m, err := torch.Open(path, s.Options)
	if err != nil {
		return err
	}
	defer m.Close()
	trusted, err := lm.Trust(m, lm.InProcess)
	if err != nil {
		return err
	}
	var group sync.WaitGroup
	var mu sync.Mutex
	var all []finding
	var failed []error
	for _, p := range s.parts() {
		if s.only != "" && !slices.ContainsFunc(strings.Split(s.only, ","), func(w string) bool { return strings.HasPrefix(p.name, w) }) {
			continue
		}
		group.Go(func() {
			defer fault.Watch()
			began := time.Now()
			f, err := p.do(ctx, trusted)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = append(failed, fmt.Errorf("%s: %w", p.name, err))
				fmt.Fprintln(os.Stderr, failed[len(failed)-1])
				return
			}
			f.Confidence, f.Seed, f.Model, f.Seconds = s.confidence, s.seed, m.Info().Name, math.Round(time.Since(began).Seconds())
			all = append(all, f)
			fmt.Fprintf(os.Stderr, "%s: %.0f s\n", p.name, f.Seconds)
			text, err := json.MarshalIndent(all, "", " ")
			if err == nil {
				err = os.WriteFile(s.out, append(text, '\n'), 0o644)
			}
			if err != nil {
				failed = append(failed, err)
			}
		})
	}
	group.Wait()
	return errors.Join(failed...)
}

// parts are all: each data set real, and private at each ε; other methods and secrets on made-up messages.
func (s settings) parts() (out []part) {
	tokens := map[string]int{"trec": 20, "agnews": 40, "dbpedia": 40}
	sets := []string{"demo"}
	if s.data != "" {
		sets = append(sets, "trec", "agnews", "dbpedia")
	}
	for _, data := range sets {
		out = append(out, part{data + " real", func(ctx context.Context, m lm.TrustedScorer) (finding, error) {
			g, f, err := s.game(data, m)
			if err == nil {
				f.Rows, err = g.Real(ctx)
			}
			return f, err
		}})
		methods := []string{"clipped"}
		if data == "demo" {
			methods = append(methods, "mixing", "gaussian")
		}
		for _, method := range methods {
			for _, epsilon := range []float64{1, 8} {
				out = append(out, part{fmt.Sprint(data, " ", method, " ", epsilon), func(ctx context.Context, m lm.TrustedScorer) (finding, error) {
					return s.written(ctx, m, data, method, epsilon, tokens[data])
				}})
			}
		}
		if data == "agnews" || data == "dbpedia" {
			continue
		}
		for _, epsilon := range []float64{1, 8, math.Inf(1)} {
			out = append(out, part{fmt.Sprint(data, " choose ", epsilon), func(ctx context.Context, m lm.TrustedScorer) (finding, error) { return s.chosen(ctx, m, data, epsilon) }})
		}
	}
	for _, epsilon := range []float64{0, 1, 8} {
		out = append(out, part{fmt.Sprint("secrets ", epsilon), func(ctx context.Context, m lm.TrustedScorer) (finding, error) { return s.hunt(ctx, m, epsilon) }})
	}
	return out
}

// records of a data set.
func (s settings) records(data string) (prompt.Task, []prompt.Example, error) {
	var out []prompt.Example
	if data == "demo" {
		task, err := demo.Office().Task()
		for _, t := range demo.Office().Tickets(8 * 4 * s.size) {
			out = append(out, prompt.Example{Input: t.Text, Output: t.Label})
		}
		return task, out, err
	}
	task, err := prompt.Builtin(data)
	if err != nil {
		return task, nil, err
	}
	items, err := eval.ReadItems(filepath.Join(s.data, data, "train.jsonl.gz"), task)
	for _, i := range items {
		out = append(out, prompt.Example{Input: i.Input, Output: i.Output})
	}
	return task, out, err
}

func (s settings) game(data string, m lm.TrustedScorer) (*attack.Game, finding, error) {
	f := finding{Data: data, Trials: s.trials, Size: s.size, Scored: s.scored, Canaries: s.canaries}
	task, records, err := s.records(data)
	if err != nil {
		return nil, f, err
	}
	g := &attack.Game{
		Model: m.Public(), Task: task, Records: records, Trials: s.trials, Size: s.size, Scored: s.scored, Canaries: s.canaries, Confidence: s.confidence,
		Key: noise.KeyFromSeed(s.seed),
	}
	return g, f, g.Prepare()
}

func (s settings) written(ctx context.Context, m lm.TrustedScorer, data, method string, epsilon float64, tokens int) (f finding, err error) {
	g, f, err := s.game(data, m)
	if err != nil {
		return f, err
	}
	maker, err := attack.NewMaker(m)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, maker.Close()) }()
	terms := attack.Terms{Method: method, Epsilon: epsilon, Delta: privacy.DefaultDelta(int64(s.size)), Size: int64(s.size), Shots: 1, Tokens: tokens}
	f.Method, f.Epsilon, f.Delta, f.Tokens = method, epsilon, terms.Delta, tokens
	f.Rows, err = g.Private(ctx, func(ctx context.Context, label string, members []prompt.Example, seed uint64) ([]prompt.Example, error) {
		return maker.Write(ctx, g.Task, terms, label, members, seed)
	}, epsilon, terms.Delta)
	return f, err
}

func (s settings) chosen(ctx context.Context, m lm.TrustedScorer, data string, epsilon float64) (f finding, err error) {
	g, f, err := s.game(data, m)
	if err != nil {
		return f, err
	}
	maker, err := attack.NewMaker(m)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, maker.Close()) }()
	sets, err := g.Sets(s.sets, 4)
	if err != nil {
		return f, err
	}
	f.Method = "choose"
	if math.IsInf(epsilon, 1) {
		f.Rows, err = g.Choices(ctx, sets, nil, epsilon, 0)
		return f, err
	}
	terms := attack.Terms{Epsilon: epsilon, Delta: privacy.DefaultDelta(int64(s.size)), Size: int64(s.size)}
	f.Epsilon, f.Delta = epsilon, terms.Delta
	f.Rows, err = g.Choices(ctx, sets, func(ctx context.Context, sets [][]prompt.Example, members []prompt.Example, seed uint64) (int, error) {
		return maker.Choose(ctx, g.Task, terms, sets, members, seed)
	}, epsilon, terms.Delta)
	return f, err
}

// hunt looks for secrets; with an ε of 0 in no demonstrations and in real ones.
func (s settings) hunt(ctx context.Context, m lm.TrustedScorer, epsilon float64) (f finding, err error) {
	const size, shots, tokens = 128, 2, 16
	f = finding{Data: "demo", Size: size, Shots: shots}
	task, err := demo.Office().Task()
	if err != nil {
		return f, err
	}
	h := &attack.Hunt{
		Model: m.Public(), Task: task, Copies: []int{1, 4, 16, 64}, Secrets: s.secrets, Size: size, Shots: shots, Confidence: s.confidence,
		Key: noise.KeyFromSeed(s.seed),
	}
	for _, t := range demo.Office().Tickets(4 * 2 * size) {
		h.Records = append(h.Records, prompt.Example{Input: t.Text, Output: t.Label})
	}
	if err := h.Prepare(ctx); err != nil {
		return f, err
	}
	maker, err := attack.NewMaker(m)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, maker.Close()) }()
	if epsilon == 0 {
		row, err := h.None(ctx)
		if err != nil {
			return f, err
		}
		f.Secrets = append(f.Secrets, row)
	}
	for _, copies := range h.Copies {
		var row attack.SecretRow
		if epsilon == 0 {
			row, err = h.Real(ctx, copies)
		} else {
			terms := attack.Terms{Method: "clipped", Epsilon: epsilon, Delta: privacy.DefaultDelta(size), Size: size, Shots: shots, Tokens: tokens}
			f.Method, f.Epsilon, f.Delta, f.Tokens = terms.Method, epsilon, terms.Delta, tokens
			row, err = h.Private(ctx, func(ctx context.Context, label string, members []prompt.Example, seed uint64) ([]prompt.Example, error) {
				return maker.Write(ctx, task, terms, label, members, seed)
			}, copies, epsilon)
		}
		if err != nil {
			return f, err
		}
		f.Secrets = append(f.Secrets, row)
	}
	return f, nil
}
