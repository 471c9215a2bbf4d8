package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/eval/stat"
	"github.com/sotto-dp/sotto/eval/worth"
	"github.com/sotto-dp/sotto/internal/demo"
	"github.com/sotto-dp/sotto/internal/search"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/prompt"
)

// demoPair is what a set of the model's own examples and one of real messages are worth.
type demoPair struct {
	PublicDemos float64 `json:"public_demos"`
	RealDemos   float64 `json:"real_demos"`
}

type demoResult struct {
	ZeroShot       float64           `json:"zero_shot"`
	PublicDemos    float64           `json:"public_demos"`
	ChosenDemos    float64           `json:"chosen_demos"`
	RealDemos      float64           `json:"real_demos"`
	PublicDemosStd float64           `json:"public_demos_std"`
	RealDemosStd   float64           `json:"real_demos_std"`
	Sets           []demoPair        `json:"sets"`
	Items          int               `json:"items"`
	Epsilon        ui.Real           `json:"epsilon"`
	Delta          float64           `json:"delta"`
	Adjacency      privacy.Adjacency `json:"adjacency"`
	Event          string            `json:"event"`
	Guarantee      []string          `json:"guarantee"`
	Instruction    string            `json:"instruction"`
	Texts          []prompt.Example  `json:"texts"`
	Calibrated     bool              `json:"calibrated"`
	Messages       int               `json:"messages"`
	Secrets        int               `json:"secrets"`
	SecretsFound   []string          `json:"secrets_found"`
	Verified       bool              `json:"verified"`
	Model          string            `json:"model"`
	Seconds        float64           `json:"seconds"`
	Dir            string            `json:"dir"`
	Release        string            `json:"release"`
	Files          []string          `json:"files"`

	labels, shots int
}

// evaluate sorts held-out messages, the same for all that is compared.
func (d *demoRun) evaluate(ctx context.Context) error {
	held := demo.Office().HeldOut(d.items)
	d.result.Items = len(held)
	return d.compare(func(with prompt.Prompt) (float64, error) { return d.accuracy(ctx, with, held) })
}

// compare measures no examples, those that were chosen, and sets of the model's own examples
// and of real messages.
func (d *demoRun) compare(accuracy func(prompt.Prompt) (float64, error)) error {
	r, task := &d.result, d.request.Task
	public := demoSets(d.public, task)
	if len(public) < d.sets {
		return fmt.Errorf("the model wrote %d sets of examples by itself, %d are needed: give the demo a new folder with --out", len(public), d.sets)
	}
	r.labels, r.shots = len(task.Labels), task.Limits.Shots
	var err error
	if r.ZeroShot, err = accuracy(d.compared(nil)); err != nil {
		return err
	}
	if r.ChosenDemos, err = accuracy(d.chosen); err != nil {
		return err
	}
	d.say("no examples: %.0f %%; the prompt that the messages chose: %.0f %%", 100*r.ZeroShot, 100*r.ChosenDemos)
	// Tickets come in blocks that have every label once.
	real := demo.Office().Tickets(d.sets * r.shots)
	for s := range d.sets {
		var shown []prompt.Example
		for _, t := range real[s*r.shots : (s+1)*r.shots] {
			shown = append(shown, prompt.Example{Input: t.Text, Output: t.Label})
		}
		var pair demoPair
		if pair.PublicDemos, err = accuracy(d.compared(public[s])); err != nil {
			return err
		}
		if pair.RealDemos, err = accuracy(d.compared(shown)); err != nil {
			return err
		}
		d.say("set %d of %d: the model's own examples: %.0f %%; real messages: %.0f %%", s+1, d.sets, 100*pair.PublicDemos, 100*pair.RealDemos)
		r.Sets = append(r.Sets, pair)
	}
	r.PublicDemos, r.PublicDemosStd = spread(r.Sets, func(s demoPair) float64 { return s.PublicDemos })
	r.RealDemos, r.RealDemosStd = spread(r.Sets, func(s demoPair) float64 { return s.RealDemos })
	return nil
}

// compared is a prompt to compare the chosen one with: only the examples differ.
func (d *demoRun) compared(examples []prompt.Example) prompt.Prompt {
	return prompt.Prompt{Examples: examples, Calibrated: d.request.Choosing.Reading == search.Calibrated}
}

// demoSets puts texts together in sets as large as the task says, with every label equally
// often.
func demoSets(texts []prompt.Example, task prompt.Task) [][]prompt.Example {
	each := task.Limits.Shots / len(task.Labels)
	var sets [][]prompt.Example
	count := map[string]int{}
	for _, t := range texts {
		k := count[t.Output] / each
		count[t.Output]++
		if k == len(sets) {
			sets = append(sets, nil)
		}
		sets[k] = append(sets[k], t)
	}
	for i, s := range sets {
		if len(s) < each*len(task.Labels) {
			return sets[:i]
		}
	}
	return sets
}

// accuracy is the share of messages that the model puts on the right desk, measured as
// "sotto eval --form text" does: that is how the messages chose.
func (d *demoRun) accuracy(ctx context.Context, with prompt.Prompt, messages []demo.Ticket) (float64, error) {
	e := &worth.Evaluation{Task: d.request.Task, Model: d.model.Public(), Form: prompt.TextForm}
	for _, m := range messages {
		e.Items = append(e.Items, eval.Item{Input: m.Text, Output: m.Label})
	}
	row, err := e.Row(ctx, worth.Set{Name: "the demo", Examples: with.Examples, Chosen: &with})
	return row.Value, err
}

// spread is the mean and the standard deviation of a sample.
func spread(sets []demoPair, of func(demoPair) float64) (mean, deviation float64) {
	values := make([]float64, len(sets))
	for i, s := range sets {
		values[i] = of(s)
	}
	return stat.Mean(values), stat.Std(values)
}

func (r *demoResult) Print(p *ui.Page) {
	p.Head("A prompt of %s, chosen by the private messages", ui.Examples(len(r.Texts)))
	t := ui.NewTable("for", "what the model wrote and the messages chose")
	texts := slices.Clone(r.Texts)
	slices.SortStableFunc(texts, func(a, b prompt.Example) int { return strings.Compare(a.Output, b.Output) })
	for _, text := range texts {
		t.Add(text.Output, ui.Visible(text.Input))
	}
	p.Table(t)
	p.Line("\n%s\n", p.Paint(ui.Bold, fmt.Sprintf("How well %s sorts messages that it has not seen", r.Model)))
	accuracies := ui.NewTable("examples", "#accuracy", "#", "", "who is protected")
	row := func(name string, mean float64, deviation, protects string) {
		accuracies.Add(name, ui.Percent(mean), deviation, demoBar(mean), protects)
	}
	within := func(deviation float64) string { return fmt.Sprintf("± %.1f", 100*deviation) }
	row("none (zero-shot)", r.ZeroShot, "", "everybody, ε = 0")
	row("the model's own", r.PublicDemos, within(r.PublicDemosStd), "everybody, ε = 0")
	row("chosen by the messages", r.ChosenDemos, "", "everybody, ε ≤ "+ui.AtMost(r.Epsilon))
	row("real messages", r.RealDemos, within(r.RealDemosStd), "nobody")
	p.Table(accuracies)
	p.Line("\n  On the same %d held-out messages, with the same instruction; chance is %.0f %%.", r.Items, 100/float64(max(1, r.labels)))
	p.Line("  The model's own examples and the real messages are %d sets of %d each: means", len(r.Sets), r.shots)
	p.Line("  ± standard deviations over the sets.\n")
	for _, w := range r.Guarantee[:min(1, len(r.Guarantee))] { // the report has them all
		p.Text(2, w)
	}
	secrets := p.Paint(ui.Green, fmt.Sprintf("none of %s in the output", ui.Thousands(r.Secrets)))
	if n := len(r.SecretsFound); n > 0 {
		secrets = p.Paint(ui.Red, fmt.Sprintf("%d of %s are in the output", n, ui.Thousands(r.Secrets)))
	}
	p.Line("")
	p.Facts(
		"secrets", secrets,
		"certificate", p.Paint(ui.Green, "holds"),
		"data", filepath.Join(r.Dir, "messages.jsonl"),
		"task", filepath.Join(r.Dir, "task.toml"),
		"prompt", filepath.Join(r.Release, "prompt.txt"),
		"report", filepath.Join(r.Release, "report.html"),
		"check", fmt.Sprintf("sotto verify %s --keys %s", r.Release, filepath.Join(r.Dir, "keys")),
		"budget", fmt.Sprintf("sotto ledger list --ledger %s", filepath.Join(r.Dir, "ledger.db")),
		"time", ui.Span(r.Seconds),
	)
}

// demoBar draws a share from 0 to 1, rounded.
func demoBar(share float64) string { return ui.Gauge(share+0.5/12, 12) }
