// Command servers measures how fast a server answers about records: with each prompt alone, with
// all prompts of a record at once, and in full batches, which claim nothing. Records and prompts are
// made up.
//
//	go run ./bench/servers -url http://127.0.0.1:8000 -candidates 24
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/lab/bench/harness"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/lm/remote"
)

type bench struct {
	url, name           string
	candidates, records int
	tokens              int
	exclusive           bool
}

func main() {
	var b bench
	flag.StringVar(&b.url, "url", "http://127.0.0.1:8000", "the server")
	flag.StringVar(&b.name, "model", "", "the model, where it serves several")
	flag.IntVar(&b.candidates, "candidates", 24, "prompts that each record is asked about")
	flag.IntVar(&b.records, "records", 8, "records")
	flag.IntVar(&b.tokens, "tokens", 8, "tokens of an answer at most; one of more than 8 continues over line ends")
	flag.BoolVar(&b.exclusive, "exclusive", false, "nobody else uses the server")
	out := harness.Out()
	harness.Main(func(ctx context.Context) error {
		text, err := b.report(ctx)
		if err != nil {
			return err
		}
		return harness.Write(*out, text)
	})
}

// way is how records are asked about: by calls of some prompts each.
type way struct {
	name string
	how  lm.Isolation
	// model, and the number of records whose prompts it takes in a call.
	model interface {
		Generate(context.Context, []lm.Prompt, lm.GenerateOptions) ([]lm.Text, error)
		Usage() lm.Usage
	}
	records int
	try     time.Duration
}

func (b *bench) report(ctx context.Context) (string, error) {
	trusted, err := backend.Trusted(ctx, backend.Spec{URL: b.url, Model: b.name, Trusted: true, Exclusive: b.exclusive})
	if err != nil {
		return "", err
	}
	defer trusted.Close()
	many, err := remote.Dial(ctx, remote.Options{URL: b.url, Model: b.name, Concurrency: 64})
	if err != nil {
		return "", err
	}
	defer many.Close()
	var ways []way
	for _, isolate := range []struct {
		name string
		by   func(context.Context, lm.TrustedScorer) (lm.IsolatedScorer, error)
	}{{"one by one", lm.Isolate}, {"by record", lm.IsolateRecords}} {
		began := time.Now()
		model, err := isolate.by(ctx, trusted)
		if err != nil {
			fmt.Printf("%s: %v\n", isolate.name, err)
			continue
		}
		ways = append(ways, way{isolate.name, model.Isolation(), model.Model().Public(), 1, time.Since(began)})
	}
	full := lm.Model(many)
	if s, err := many.Scorer(ctx); err == nil {
		full = s
	}
	ways = append(ways, way{"full batches", "", full, b.records, 0})
	info := trusted.Info()
	var text strings.Builder
	here := harness.Here()
	fmt.Fprintf(&text, "%s %s, %s, %s, %d records, %d prompts each, answers of at most %d tokens, load average %s\n\n", info.Backend, info.Version, info.Name, here.Name, b.records, b.candidates, b.tokens, here.Load)
	fmt.Fprint(&text, "| Prompts are sent | Isolation | Check at the start | Answers | Seconds | Answers a second | Times one by one | Steps of the server | Tokens computed |\n|---|---|---|---|---|---|---|---|---|\n")
	options := lm.GenerateOptions{MaxTokens: b.tokens}
	if b.tokens <= 8 {
		options.Stop = []string{"\n"}
	}
	first := 0.
	for _, w := range ways {
		before, steps := w.model.Usage(), b.steps(ctx)
		began := time.Now()
		for r := 0; r < b.records; r += w.records {
			var prompts []lm.Prompt
			for i := range w.records {
				prompts = append(prompts, b.prompts(r+i)...)
			}
			if _, err := w.model.Generate(ctx, prompts, options); err != nil {
				return "", fmt.Errorf("%s: %w", w.name, err)
			}
		}
		took := time.Since(began).Seconds()
		rate := float64(b.records*b.candidates) / took
		if first == 0 {
			first = rate
		}
		fmt.Fprintf(&text, "| %s | %s | %.0f s | %d | %.1f | %.1f | %.1f | %d | %d |\n", w.name, w.how, w.try.Seconds(), b.records*b.candidates, took, rate, rate/first, b.steps(ctx)-steps, w.model.Usage().Computed-before.Computed)
	}
	return text.String(), nil
}

// steps is the number of batches that the server has computed, where it says so.
func (b *bench) steps(ctx context.Context) int64 {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, b.url+"/metrics", nil)
	if err != nil {
		return 0
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if strings.HasPrefix(name, "llamacpp:n_decode_total") || strings.HasPrefix(name, "vllm:iteration_tokens_total_count") {
			n, _ := strconv.ParseFloat(value, 64)
			return int64(n)
		}
	}
	return 0
}

var (
	topics = []string{"the parcel came late", "I cannot log in", "the invoice is wrong", "thank you for the quick help", "the lamp goes out by itself", "when do you open on Sunday", "the colour is not that of the picture", "please change my address"}
	labels = []string{"delivery", "account", "billing", "praise", "defect", "question", "return", "address"}
)

// prompts of a record: candidates of four examples each, in turns, and its message.
func (b *bench) prompts(record int) []lm.Prompt {
	prompts := make([]lm.Prompt, b.candidates)
	for c := range prompts {
		messages := []lm.Message{{Role: lm.System, Content: "Name the topic of the message: " + strings.Join(labels, ", ") + ". Answer with one word."}}
		for e := range 4 {
			i := (c + e*(1+c/len(topics))) % len(topics)
			messages = append(messages, lm.Message{Role: lm.User, Content: topics[i] + fmt.Sprintf(", and I wrote to you about it %d times since Monday", e+2)}, lm.Message{Role: lm.Assistant, Content: labels[i]})
		}
		question := fmt.Sprintf("Order %d: %s, and nobody answers the telephone; my neighbour had the same %d weeks ago", 4000+record*37, topics[record%len(topics)], record+2)
		prompts[c] = lm.Prompt{Messages: append(messages, lm.Message{Role: lm.User, Content: question})}
	}
	return prompts
}
