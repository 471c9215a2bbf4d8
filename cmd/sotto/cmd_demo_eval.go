package main

import (
	"context"
	"fmt"
	"path/filepath"

	"sotto/demo"
	"sotto/eval"
	"sotto/eval/stat"
	"sotto/icl"
	"sotto/privacy"
	"sotto/prompt"
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
	Epsilon        real              `json:"epsilon"`
	Delta          float64           `json:"delta"`
	Adjacency      privacy.Adjacency `json:"adjacency"`
	Event          string            `json:"event"`
	Guarantee      []string          `json:"guarantee"`
	Instruction    string            `json:"instruction"`
	Texts          []synthText       `json:"texts"`
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

	labels int
}

// evaluate sorts the same held-out messages with no examples, with those that were chosen,
// and with sets of the model's own examples and of real messages.
func (d *demoRun) evaluate(ctx context.Context) error {
	r, labels := &d.result, len(d.request.Task.Labels)
	public := demoSets(d.public, d.request.Task.Labels)
	if len(public) < d.sets {
		return fmt.Errorf("the model wrote %d sets of examples by itself, %d are needed: give the demo a new folder with --out", len(public), d.sets)
	}
	held := demo.HeldOut(d.items)
	r.Items, r.labels = d.items, labels
	var err error
	if r.ZeroShot, err = d.accuracy(ctx, prompt.Prompt{Calibrated: true}, held); err != nil {
		return err
	}
	if r.ChosenDemos, err = d.accuracy(ctx, d.chosen, held); err != nil {
		return err
	}
	d.say("no examples: %.0f %%; the prompt that the messages chose: %.0f %%", 100*r.ZeroShot, 100*r.ChosenDemos)
	shown := demo.Tickets(d.sets * labels)
	for s := range d.sets {
		// Tickets come in blocks that have every label once.
		var real []prompt.Example
		for _, t := range shown[s*labels : (s+1)*labels] {
			real = append(real, prompt.Example{Input: t.Text, Output: t.Label})
		}
		var pair demoPair
		if pair.PublicDemos, err = d.accuracy(ctx, prompt.Prompt{Examples: public[s], Calibrated: true}, held); err != nil {
			return err
		}
		if pair.RealDemos, err = d.accuracy(ctx, prompt.Prompt{Examples: real, Calibrated: true}, held); err != nil {
			return err
		}
		d.say("set %d of %d: the model's own examples: %.0f %%; real messages: %.0f %%", s+1, d.sets, 100*pair.PublicDemos, 100*pair.RealDemos)
		r.Sets = append(r.Sets, pair)
	}
	r.PublicDemos, r.PublicDemosStd = spread(r.Sets, func(s demoPair) float64 { return s.PublicDemos })
	r.RealDemos, r.RealDemosStd = spread(r.Sets, func(s demoPair) float64 { return s.RealDemos })
	return nil
}

// demoSets puts texts together in sets that have every label once.
func demoSets(texts []synthText, labels []string) [][]prompt.Example {
	var sets [][]prompt.Example
	count := map[string]int{}
	for _, t := range texts {
		k := count[t.Output]
		count[t.Output]++
		if k == len(sets) {
			sets = append(sets, nil)
		}
		sets[k] = append(sets[k], prompt.Example(t))
	}
	for i, s := range sets {
		if len(s) < len(labels) {
			return sets[:i]
		}
	}
	return sets
}

// accuracy is the share of messages that the model puts on the right desk, measured as
// "sotto eval" does.
func (d *demoRun) accuracy(ctx context.Context, with prompt.Prompt, messages []demo.Ticket) (float64, error) {
	s := &setting{program: d.program, target: with.For(d.request.Task), model: d.model.Public()}
	s.calibrate, s.asked = with.Calibrated, func(string) bool { return false }
	for _, m := range messages {
		s.items = append(s.items, eval.Item{Input: m.Text, Output: m.Label})
	}
	set := demoSet{name: "the demo"}
	for _, e := range with.Examples {
		set.demos = append(set.demos, icl.Demo(e))
	}
	row, err := s.row(ctx, &evalResult{}, set, predictions{})
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

func (r *demoResult) print(p *page) {
	p.line("%s\n", p.paint(bold, fmt.Sprintf("A prompt of %s, chosen by the private messages: ε ≤ %s at δ = %s, %s", examplesInWords(len(r.Texts)), atMost(float64(r.Epsilon)), whole(r.Delta), r.Adjacency)))
	t := table{head: []string{"for", "what the model made up and the messages chose"}}
	for _, text := range r.Texts {
		t.rows = append(t.rows, []string{text.Output, visible(text.Input)})
	}
	p.table(t)
	p.line("")
	p.facts(fact{"instruction", r.Instruction}, fact{"labels", map[bool]string{true: "read off calibrated", false: "read off raw"}[r.Calibrated]})
	p.line("\n%s\n", p.paint(bold, fmt.Sprintf("How well %s sorts messages that it has not seen", r.Model)))
	row := func(name string, mean float64, deviation, protects string) []string {
		return []string{name, fmt.Sprintf("%.1f %%", 100*mean), deviation, protects}
	}
	within := func(deviation float64) string { return fmt.Sprintf("± %.1f", 100*deviation) }
	p.table(table{
		head: []string{"examples", "accuracy", "", "who is protected"}, numeric: map[int]bool{1: true, 2: true},
		rows: [][]string{
			row("none (zero-shot)", r.ZeroShot, "", "everybody: no message is used"),
			row("the model's own", r.PublicDemos, within(r.PublicDemosStd), "everybody: no message is used"),
			row("chosen by the messages", r.ChosenDemos, "", fmt.Sprintf("everybody, ε ≤ %s", atMost(float64(r.Epsilon)))),
			row("real messages", r.RealDemos, within(r.RealDemosStd), "nobody"),
		},
	})
	p.line("\n  On the same %d held-out messages; chance is %.0f %%. The model's own examples and the", r.Items, 100/float64(max(1, r.labels)))
	p.line("  real messages are %d sets each, one example for each desk: means ± standard deviations.\n", len(r.Sets))
	for _, w := range r.Guarantee {
		for i, line := range fold(w, pageWidth-4) {
			p.line("  %s %s", map[bool]string{true: "-", false: " "}[i == 0], line)
		}
	}
	secrets := p.paint(green, fmt.Sprintf("none of %s in the output", thousands(int64(r.Secrets))))
	if n := len(r.SecretsFound); n > 0 {
		secrets = p.paint(red, fmt.Sprintf("%d of %s are in the output", n, thousands(int64(r.Secrets))))
	}
	p.line("")
	p.facts(
		fact{"secrets", secrets},
		fact{"certificate", p.paint(green, "holds")},
		fact{"data", filepath.Join(r.Dir, "messages.jsonl")},
		fact{"task", filepath.Join(r.Dir, "task.toml")},
		fact{"examples", filepath.Join(r.Release, "demos.jsonl")},
		fact{"report", filepath.Join(r.Release, "report.html")},
		fact{"check", fmt.Sprintf("sotto verify %s --keys %s", r.Release, filepath.Join(r.Dir, "keys"))},
		fact{"budget", fmt.Sprintf("sotto ledger list --ledger %s", filepath.Join(r.Dir, "ledger.db"))},
		fact{"time", span(r.Seconds)},
	)
}
