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
)

// demoSeed is what one evaluation found.
type demoSeed struct {
	ZeroShot     float64 `json:"zero_shot"`
	PublicDemos  float64 `json:"public_demos"`
	PrivateDemos float64 `json:"private_demos"`
	RealDemos    float64 `json:"real_demos"`
}

type demoResult struct {
	ZeroShot        float64           `json:"zero_shot"`
	PublicDemos     float64           `json:"public_demos"`
	PrivateDemos    float64           `json:"private_demos"`
	RealDemos       float64           `json:"real_demos"`
	ZeroShotStd     float64           `json:"zero_shot_std"`
	PublicDemosStd  float64           `json:"public_demos_std"`
	PrivateDemosStd float64           `json:"private_demos_std"`
	RealDemosStd    float64           `json:"real_demos_std"`
	Seeds           []demoSeed        `json:"seeds"`
	Items           int               `json:"items"`
	Epsilon         real              `json:"epsilon"`
	Delta           float64           `json:"delta"`
	Adjacency       privacy.Adjacency `json:"adjacency"`
	Event           string            `json:"event"`
	Guarantee       []string          `json:"guarantee"`
	Texts           []synthText       `json:"texts"`
	Messages        int               `json:"messages"`
	Secrets         int               `json:"secrets"`
	SecretsFound    []string          `json:"secrets_found"`
	Verified        bool              `json:"verified"`
	Model           string            `json:"model"`
	Seconds         float64           `json:"seconds"`
	Dir             string            `json:"dir"`
	Release         string            `json:"release"`
	Files           []string          `json:"files"`
}

// evaluate sorts held-out messages, for each seed with examples and messages of its own.
func (d *demoRun) evaluate(ctx context.Context) error {
	private, public := demoSets(d.result.Texts, d.request.Task.Labels), demoSets(d.public, d.request.Task.Labels)
	if min(len(private), len(public)) < d.seeds {
		return fmt.Errorf("the run wrote %d sets of examples, %d are needed: give the demo a new folder with --out", len(private), d.seeds)
	}
	labels := len(d.request.Task.Labels)
	shown := demo.Tickets(d.seeds * labels)
	held := demo.HeldOut(d.seeds * d.items)
	d.result.Items = d.items
	for s := range d.seeds {
		// Tickets come in blocks that have every label once.
		var real []icl.Demo
		for _, t := range shown[s*labels : (s+1)*labels] {
			real = append(real, icl.Demo{Input: t.Text, Output: t.Label})
		}
		var seed demoSeed
		for _, c := range []struct {
			accuracy *float64
			demos    []icl.Demo
		}{{&seed.ZeroShot, nil}, {&seed.PublicDemos, public[s]}, {&seed.PrivateDemos, private[s]}, {&seed.RealDemos, real}} {
			var err error
			if *c.accuracy, err = d.accuracy(ctx, c.demos, held[s*d.items:(s+1)*d.items]); err != nil {
				return err
			}
		}
		d.say("evaluation %d of %d: zero-shot %.0f %%, the model's own examples %.0f %%, private ones %.0f %%, real ones %.0f %%", s+1, d.seeds, 100*seed.ZeroShot, 100*seed.PublicDemos, 100*seed.PrivateDemos, 100*seed.RealDemos)
		d.result.Seeds = append(d.result.Seeds, seed)
	}
	r := &d.result
	r.ZeroShot, r.ZeroShotStd = spread(r.Seeds, func(s demoSeed) float64 { return s.ZeroShot })
	r.PublicDemos, r.PublicDemosStd = spread(r.Seeds, func(s demoSeed) float64 { return s.PublicDemos })
	r.PrivateDemos, r.PrivateDemosStd = spread(r.Seeds, func(s demoSeed) float64 { return s.PrivateDemos })
	r.RealDemos, r.RealDemosStd = spread(r.Seeds, func(s demoSeed) float64 { return s.RealDemos })
	return nil
}

// demoSets puts texts together in sets that have every label once.
func demoSets(texts []synthText, labels []string) [][]icl.Demo {
	var sets [][]icl.Demo
	count := map[string]int{}
	for _, t := range texts {
		k := count[t.Output]
		count[t.Output]++
		if k == len(sets) {
			sets = append(sets, nil)
		}
		sets[k] = append(sets[k], icl.Demo{Input: t.Input, Output: t.Output})
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
func (d *demoRun) accuracy(ctx context.Context, demos []icl.Demo, messages []demo.Ticket) (float64, error) {
	s := &setting{program: d.program, target: d.request.Task, model: d.model.Public()}
	s.calibrate, s.asked = true, func(string) bool { return false }
	for _, m := range messages {
		s.items = append(s.items, eval.Item{Input: m.Text, Output: m.Label})
	}
	row, err := s.row(ctx, &evalResult{}, demoSet{name: "the demo", demos: demos}, predictions{})
	return row.Value, err
}

// spread is the mean and the standard deviation of a sample.
func spread(seeds []demoSeed, of func(demoSeed) float64) (mean, deviation float64) {
	values := make([]float64, len(seeds))
	for i, s := range seeds {
		values[i] = of(s)
	}
	return stat.Mean(values), stat.Std(values)
}

func (r *demoResult) print(p *page) {
	p.line("%s\n", p.paint(bold, fmt.Sprintf("%d private examples: ε ≤ %s at δ = %s, %s", len(r.Texts), atMost(float64(r.Epsilon)), whole(r.Delta), r.Adjacency)))
	t := table{head: []string{"for", "what the model wrote from the private messages"}}
	for _, text := range r.Texts[:min(len(r.Texts), len(r.Texts)/max(1, len(r.Seeds)))] {
		t.rows = append(t.rows, []string{text.Output, visible(text.Input)})
	}
	p.table(t)
	p.line("\n%s\n", p.paint(bold, fmt.Sprintf("How well %s sorts messages that it has not seen", r.Model)))
	row := func(name string, mean, deviation float64, protects string) []string {
		return []string{name, fmt.Sprintf("%.1f %%", 100*mean), fmt.Sprintf("± %.1f", 100*deviation), protects}
	}
	p.table(table{
		head: []string{"examples", "accuracy", "", "who is protected"}, numeric: map[int]bool{1: true, 2: true},
		rows: [][]string{
			row("none (zero-shot)", r.ZeroShot, r.ZeroShotStd, "everybody: no message is used"),
			row("the model's own", r.PublicDemos, r.PublicDemosStd, "everybody: no message is used"),
			row("private synthetic", r.PrivateDemos, r.PrivateDemosStd, fmt.Sprintf("everybody, ε ≤ %s", atMost(float64(r.Epsilon)))),
			row("real messages", r.RealDemos, r.RealDemosStd, "nobody"),
		},
	})
	p.line("\n  Means ± standard deviations over %d seeds, each with examples of its own and with", len(r.Seeds))
	p.line("  %d held-out messages of its own; chance is %.0f %%.\n", r.Items, 100/float64(max(1, len(r.Texts)/max(1, len(r.Seeds)))))
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
