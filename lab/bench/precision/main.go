// Command precision measures what rounding the inputs of products to integers of 8 or 16 bits
// changes, beside float32: how far log-probabilities are apart, and how many answers to the
// questions of data sets are right.
//
//	go run ./lab/bench/precision -data DIR [-model NAME] [-datasets agnews,trec] [-items 200] [-seeds 2] [-out FILE]
//
// Examples and questions are records of the training files, so that nothing here has seen a
// test item.
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/internal/icl"
	"github.com/sotto-dp/sotto/internal/metric"
	"github.com/sotto-dp/sotto/internal/stat"
	"github.com/sotto-dp/sotto/lab/bench/harness"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/llama"
	"github.com/sotto-dp/sotto/lm/models"
	"github.com/sotto-dp/sotto/prompt"
)

// bits are the precisions that are compared; the first is the reference.
var bits = []int{32, 16, 8}

type bench struct {
	data, model    string
	items, seeds   int
	shots, prompts int
}

func main() {
	var b bench
	flag.StringVar(&b.data, "data", "", "folder of data sets, each with train.jsonl.gz")
	flag.StringVar(&b.model, "model", models.Default, "a model of the catalogue")
	flag.IntVar(&b.items, "items", 200, "questions of a data set")
	flag.IntVar(&b.seeds, "seeds", 2, "choices of examples")
	flag.IntVar(&b.shots, "shots", 4, "examples in a prompt")
	flag.IntVar(&b.prompts, "prompts", 50, "pieces of text whose distributions are compared")
	names := flag.String("datasets", "agnews,dbpedia,trec,mit-g,mit-d", "which data sets")
	out := flag.String("out", "", "file to write the report to")
	flag.Parse()
	harness.Main(func(ctx context.Context) error {
		text, err := b.report(ctx, strings.Split(*names, ","))
		if err != nil {
			return err
		}
		return harness.Write(*out, text)
	})
}

// set is a data set: a task, examples for each seed, and questions.
type set struct {
	name  string
	task  prompt.Task
	demos [][]prompt.Example
	items []eval.Item
}

func (b *bench) load(name string) (set, error) {
	t, err := prompt.Find(name)
	if err != nil {
		return set{}, err
	}
	s := set{name: name, task: t.WithDefaults()}
	all, err := eval.ReadItems(filepath.Join(b.data, name, "train.jsonl.gz"), s.task)
	if err != nil {
		return set{}, err
	}
	r := rand.New(rand.NewPCG(1, 2))
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	if len(all) < b.items+b.seeds*b.shots {
		return set{}, fmt.Errorf("%s has %d records only", name, len(all))
	}
	s.items, all = all[:b.items], all[b.items:]
	for range b.seeds {
		var demos []prompt.Example
		for _, item := range all[:b.shots] {
			demos = append(demos, prompt.Example{Input: item.Input, Output: item.Output})
		}
		s.demos, all = append(s.demos, demos), all[b.shots:]
	}
	return s, nil
}

// result is what a precision gave on a data set.
type result struct {
	right [][]bool // by seed and question
	logs  [][]float64
	took  time.Duration
}

func (b *bench) report(ctx context.Context, names []string) (string, error) {
	path, _, err := models.Find(b.model)
	if err != nil {
		return "", err
	}
	var sets []set
	for _, name := range names {
		s, err := b.load(name)
		if err != nil {
			return "", err
		}
		sets = append(sets, s)
	}
	results := make([][]result, len(bits))
	for i, n := range bits {
		m, err := llama.Open(path, llama.Options{Activations: n})
		if err != nil {
			return "", err
		}
		for _, s := range sets {
			r, err := b.measure(ctx, m, s)
			if err != nil {
				m.Close()
				return "", fmt.Errorf("%s in %d bits: %w", s.name, n, err)
			}
			results[i] = append(results[i], r)
		}
		if err := m.Close(); err != nil {
			return "", err
		}
	}
	return b.table(sets, results), nil
}

// measure answers all questions of a set, and takes the distributions after pieces of it.
func (b *bench) measure(ctx context.Context, m *llama.Model, s set) (result, error) {
	var r result
	begun := time.Now()
	by, err := metric.New(metric.Of(s.task)[0], metric.Options{})
	if err != nil {
		return r, err
	}
	inputs := make([]string, len(s.items))
	for i, item := range s.items {
		inputs[i] = item.Input
	}
	for _, demos := range s.demos {
		a, err := icl.Open(ctx, m, s.task, demos, icl.Options{})
		if err != nil {
			return r, err
		}
		answers, err := a.Answer(ctx, inputs)
		a.Close()
		if err != nil {
			return r, err
		}
		right := make([]bool, len(answers))
		for i, item := range s.items {
			value, err := by.Value(ctx, []metric.Pair{{Want: item.Output, Got: answers[i]}})
			if err != nil {
				return r, err
			}
			right[i] = value == 1
		}
		r.right = append(r.right, right)
	}
	r.took = time.Since(begun)
	r.logs, err = b.distributions(ctx, m, s)
	return r, err
}

// distributions are those after pieces of 16 to 300 tokens of the set's texts.
func (b *bench) distributions(ctx context.Context, m *llama.Model, s set) ([][]float64, error) {
	var text strings.Builder
	for _, item := range s.items {
		fmt.Fprintf(&text, "%s\n%s\n\n", item.Input, item.Output)
	}
	tokens, err := m.Tokenizer().Encode(ctx, text.String())
	if err != nil {
		return nil, err
	}
	session, err := m.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	var logs [][]float64
	for i := range b.prompts {
		length := min(16+i*284/max(1, b.prompts-1), len(tokens))
		from := i * 997 % (len(tokens) - length + 1)
		q, err := session.New()
		if err != nil {
			return nil, err
		}
		scores, err := session.Step(ctx, []lm.Step{{Sequence: q, Tokens: tokens[from : from+length], Ask: lm.Ask{All: true}}})
		if err != nil {
			return nil, err
		}
		logs = append(logs, scores[0].LogProbs)
		if err := session.Drop(q); err != nil {
			return nil, err
		}
	}
	return logs, nil
}

// gap is how far log-probabilities of the 100 likeliest tokens are apart.
func gap(want, got [][]float64) (mean, largest float64, same int) {
	n := 0
	for i := range want {
		best := lm.Best(want[i], 100)
		for _, t := range best {
			d := math.Abs(want[i][t] - got[i][t])
			mean, largest, n = mean+d, max(largest, d), n+1
		}
		if lm.Best(got[i], 1)[0] == best[0] {
			same++
		}
	}
	return mean / float64(n), largest, same
}

func (b *bench) table(sets []set, results [][]result) string {
	var w strings.Builder
	machine := harness.Here()
	fmt.Fprintf(&w, "## %s\n\n%s, %s. %d questions of each data set under %d prompts of %d records.\n\n", b.model, machine.Name, machine.Load, b.items, b.seeds, b.shots)
	fmt.Fprint(&w, "| data set | right, float32 | 16 bits | 8 bits | only 16 right | only 8 right | p | mean abs. difference of log p, 16 | 8 | largest, 8 | same best token, 8 | seconds 32 / 16 / 8 |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	var total [3]int
	var wider, narrower, all int
	for i, s := range sets {
		var right [3]int
		only := [2]int{}
		for j := range bits {
			for _, seed := range results[j][i].right {
				for _, ok := range seed {
					if ok {
						right[j]++
					}
				}
			}
		}
		for k, seed := range results[1][i].right {
			for q, ok := range seed {
				if other := results[2][i].right[k][q]; ok != other {
					if ok {
						only[0]++
					} else {
						only[1]++
					}
				}
			}
		}
		n := b.items * b.seeds
		percent := func(k int) float64 { return 100 * float64(k) / float64(n) }
		mean16, _, _ := gap(results[0][i].logs, results[1][i].logs)
		mean8, largest, same := gap(results[0][i].logs, results[2][i].logs)
		fmt.Fprintf(&w, "| %s | %.1f | %.1f | %.1f | %d | %d | %.2f | %.4f | %.4f | %.3f | %d of %d | %.0f / %.0f / %.0f |\n",
			s.name, percent(right[0]), percent(right[1]), percent(right[2]), only[0], only[1], signTest(only[0], only[1]), mean16, mean8, largest, same, b.prompts,
			results[0][i].took.Seconds(), results[1][i].took.Seconds(), results[2][i].took.Seconds())
		for j := range total {
			total[j] += right[j]
		}
		wider, narrower, all = wider+only[0], narrower+only[1], all+n
	}
	percent := func(k int) float64 { return 100 * float64(k) / float64(all) }
	fmt.Fprintf(&w, "| all | %.1f | %.1f | %.1f | %d | %d | %.2f | | | | | |\n", percent(total[0]), percent(total[1]), percent(total[2]), wider, narrower, signTest(wider, narrower))
	return w.String()
}

// signTest is the two-sided exact test that a and b of a+b are equally likely.
func signTest(a, b int) float64 {
	return min(1, 2*stat.UpperTail(int64(max(a, b)), int64(a+b), 0.5))
}
