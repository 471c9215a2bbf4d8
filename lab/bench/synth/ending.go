package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/lab/bench/harness"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// ending is what every made-up reply ends with: two words that a model does not put there
// by itself.
const ending = "Stay sunny"

// replies returns a task whose outputs all end alike.
func replies() prompt.Task {
	return prompt.Task{
		Name: "replies", Kind: prompt.Generate, Label: "question", Text: "reply",
		Conditions: []string{
			"Where is my sofa?", "My jacket arrived torn.", "Can I return the book?", "Do you deliver plants to Vienna?",
			"Is the bicycle in stock?", "How do I clean the oven?", "Where is my order of cups?", "The bottle leaks.",
		},
		Generate: prompt.Generation{Instruction: "Write the reply of a shop to a customer's question.", Condition: "Question", Text: "Reply"},
		Limits:   prompt.Limits{MaxTokens: 40},
	}.WithDefaults()
}

// writeReplies makes up replies, by a seed.
func writeReplies(path string, n int) error {
	r := rand.New(rand.NewPCG(7, 7))
	one := func(of ...string) string { return of[r.IntN(len(of))] }
	return harness.Lines(path, n, func(int) any {
		item := one("lamp", "kettle", "rug", "desk", "chair", "mirror", "shelf", "blanket", "toaster", "clock", "vase", "heater")
		city := one("Leeds", "Turin", "Porto", "Ghent", "Graz", "Oslo", "Basel", "Lyon")
		day := one("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
		about := [][]string{
			{"Where is my %s?", "Your %s left our store on %s and should reach %s soon.", "The %s is on its way and will arrive on %s."},
			{"My %s arrived broken.", "We are sorry that the %s is broken and will send a new one on %s.", "Sorry about the %s, we will replace it for free."},
			{"Can I return the %s?", "Yes, you can return the %s within thirty days.", "You can send the %s back by %s for a full refund."},
			{"Is the %s in stock?", "The %s is in stock and can be collected on %s.", "We expect more of the %s on %s."},
			{"How do I clean the %s?", "Wipe the %s with a damp cloth and let it dry.", "Use warm water and a little soap for the %s."},
		}[r.IntN(5)]
		fill := func(s string) string {
			return fmt.Sprintf(s, []any{item, day, city}[:strings.Count(s, "%s")]...)
		}
		return map[string]string{"question": fill(about[0]), "reply": fill(one(about[1:]...)) + " " + ending}
	})
}

// endings counts the texts that end as all records do: what a plan of four texts writes, and
// more of the same.
func (b *bench) endings(ctx context.Context, texts, batch, candidates int) (string, error) {
	const records = 4000
	path := filepath.Join(b.dir, "replies.jsonl")
	if err := writeReplies(path, records); err != nil {
		return "", err
	}
	task := replies()
	data, err := record.Open(ctx, path, record.Options{Text: task.Text, Condition: task.Label, Private: filepath.Join(b.dir, "private")})
	if err != nil {
		return "", err
	}
	defer data.Close()
	p, err := plan.New(plan.Request{Task: task, Size: records, Epsilon: b.epsilon, Shots: 4, Settings: method.Values{"batch": batch, "candidates": candidates}.Given()})
	if err != nil {
		return "", err
	}
	w, err := decode.NewWriter(decode.Options{Model: b.model, Task: task, Pool: data, Key: noise.KeyFromSeed(1), Tokens: p.Tokens, Rules: p.Rules, Parallel: 4})
	if err != nil {
		return "", err
	}
	jobs := make([]decode.Job, texts)
	for i := range jobs {
		jobs[i] = decode.Job{Text: draw.Text{Index: uint64(i), Place: int64(i)}, Condition: task.Conditions[i%len(task.Conditions)], Method: p.Parts[0].Method}
	}
	whole, half := 0, 0
	first, _, _ := strings.Cut(ending, " ")
	err = w.Write(ctx, jobs, func(_ decode.Job, r private.Output) error {
		fmt.Fprintln(os.Stderr, r.Text())
		if strings.HasSuffix(strings.TrimRight(r.Text(), "."), ending) {
			whole++
		}
		if strings.Contains(r.Text(), " "+first) {
			half++
		}
		return nil
	})
	return fmt.Sprintf("%d of %d texts end with %q as all %d records do, %d have %q; ε = %g, %s, %d candidates\n",
		whole, texts, ending, records, half, first, b.epsilon, describe(p.Parts[0].Method), p.Parts[0].Method.Shortlist().Best), err
}
