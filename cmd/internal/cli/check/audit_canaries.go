package check

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/internal/audit/adversary"
	"github.com/sotto-dp/sotto/internal/demo"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// perturbed: a canary is one of two rows that differ in all columns.
func (a *oneRun) perturbed() error {
	const columns = 3
	var schema, rows strings.Builder
	schema.WriteString("name = \"canaries\"\nlabel = \"c0\"\ntemplate = \"{c1}\"\nquestion = \"Which?\"\n")
	var names []string
	for i := range columns {
		names = append(names, fmt.Sprintf("c%d", i))
		fmt.Fprintf(&schema, "[[column]]\nname = %q\nkind = \"categorical\"\nvalues = [\"a\", \"b\"]\n", names[i])
	}
	rows.WriteString(strings.Join(names, ",") + "\n")
	for _, in := range a.coins {
		value := "b"
		if in {
			value = "a"
		}
		rows.WriteString(strings.Repeat(value+",", columns-1) + value + "\n")
	}
	if err := a.files(map[string]string{"schema.toml": schema.String(), "rows.csv": rows.String()}); err != nil {
		return err
	}
	if err := a.run("table", "perturb", "--schema", a.path("schema.toml"), "--data", a.path("rows.csv"), "--out", a.path("out")); err != nil {
		return err
	}
	f, err := os.Open(a.path("out/rows.csv"))
	if err != nil {
		return err
	}
	defer f.Close()
	released, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return err
	}
	if len(released) != len(a.coins)+1 {
		return fmt.Errorf("%d rows were released for %d canaries", len(released)-1, len(a.coins))
	}
	for _, row := range released[1:] {
		score := 0.
		for _, value := range row {
			if value == "a" {
				score++
			}
		}
		a.scores = append(a.scores, score)
	}
	return nil
}

// profiled: each canary has a value of its own, whose noisy count is released.
func (a *oneRun) profiled() error {
	var schema, rows strings.Builder
	schema.WriteString("name = \"canaries\"\nlabel = \"answer\"\ntemplate = \"{id}\"\nquestion = \"Which?\"\n[[column]]\nname = \"id\"\nkind = \"categorical\"\nvalues = [")
	rows.WriteString("id,answer\n")
	for i, in := range a.coins {
		fmt.Fprintf(&schema, "\"v%d\", ", i)
		if in {
			fmt.Fprintf(&rows, "v%d,yes\n", i)
		}
	}
	schema.WriteString("]\n[[column]]\nname = \"answer\"\nkind = \"categorical\"\nvalues = [\"yes\", \"no\"]\n")
	if err := a.files(map[string]string{"schema.toml": schema.String(), "rows.csv": rows.String()}); err != nil {
		return err
	}
	if err := a.run("table", "profile", "--schema", a.path("schema.toml"), "--data", a.path("rows.csv"), "--size", strconv.Itoa(len(a.coins)/2),
		"--statistic", "id=histogram", "--out", a.path("out")); err != nil {
		return err
	}
	var released struct {
		Groups []struct {
			Columns []struct {
				Column string    `json:"column"`
				Counts []float64 `json:"counts"`
			} `json:"columns"`
		} `json:"groups"`
	}
	if err := a.read("out/profile.json", &released); err != nil {
		return err
	}
	if len(released.Groups) == 0 || len(released.Groups[0].Columns) == 0 || len(released.Groups[0].Columns[0].Counts) != len(a.coins) {
		return fmt.Errorf("profile.json does not have a count for each canary")
	}
	a.scores = released.Groups[0].Columns[0].Counts
	return nil
}

// tickets are records that no other looks like: those of the demo with a code and a label by the toss
// of a coin. The files have those that are in.
func (a *oneRun) tickets() (prompt.Task, []prompt.Example, error) {
	task, err := demo.Office().Task()
	if err != nil {
		return task, nil, err
	}
	var all []prompt.Example
	var data strings.Builder
	for i, t := range demo.Office().Tickets(len(a.coins)) {
		t.Text = fmt.Sprintf("Code %06d. %s", a.toss.Uint64n(1e6), t.Text)
		t.Label = task.Labels[a.toss.Uint64n(uint64(len(task.Labels)))]
		all = append(all, prompt.Example{Input: t.Text, Output: t.Label})
		if a.coins[i] {
			if err := demo.WriteJSONL(&data, []demo.Ticket{t}); err != nil {
				return task, nil, err
			}
		}
	}
	return task, all, a.files(map[string]string{"task.toml": string(demo.Office().TaskFile()), "records.jsonl": data.String()})
}

// synth runs the verb that makes examples, and reads them.
func (a *oneRun) synth(task prompt.Task, args ...string) ([]prompt.Example, error) {
	args = append([]string{"synth", "--task", a.path("task.toml"), "--data", a.path("records.jsonl"), "--size", strconv.Itoa(len(a.coins) / 2), "--out", a.path("out")}, args...)
	if err := a.run(append(args, a.Model.Args()...)...); err != nil {
		return nil, err
	}
	items, err := eval.ReadItems(a.path("out/demos.jsonl"), task)
	var texts []prompt.Example
	for _, item := range items {
		texts = append(texts, prompt.Example{Input: item.Input, Output: item.Output})
	}
	return texts, err
}

// written: how much likelier the texts of a canary's label are after the canary.
func (a *oneRun) written() error {
	task, canaries, err := a.tickets()
	if err != nil {
		return err
	}
	texts, err := a.synth(task, "--method", a.name)
	if err != nil {
		return err
	}
	a.scores = make([]float64, len(canaries))
	return a.adversary(func(m lm.Scorer) error {
		r, err := adversary.NewReader(m, task)
		if err != nil {
			return err
		}
		bar := a.Bar("reading as an adversary")
		defer bar.Clear()
		for i, text := range texts {
			var of []int
			var after []prompt.Example
			for j, c := range canaries {
				if c.Output == text.Output {
					of, after = append(of, j), append(after, c)
				}
			}
			scores, err := r.Writes(a.ctx, text, after)
			if err != nil {
				return err
			}
			for k, j := range of {
				a.scores[j] += scores[k]
			}
			bar.Show(i+1, len(texts), "texts")
		}
		return nil
	})
}

// chosen: how much likelier a canary's label is with the prompt that the records chose.
func (a *oneRun) chosen() error {
	task, canaries, err := a.tickets()
	if err != nil {
		return err
	}
	texts, err := a.synth(task, "--time", a.time.String())
	if err != nil {
		return err
	}
	return a.adversary(func(m lm.Scorer) error {
		r, err := adversary.NewReader(m, task)
		if err != nil {
			return err
		}
		with, err := r.Answers(a.ctx, texts, canaries)
		if err != nil {
			return err
		}
		without, err := r.Answers(a.ctx, nil, canaries)
		for i := range without {
			a.scores = append(a.scores, with[i]-without[i])
		}
		return err
	})
}

// answered: whether a canary's own question gets its label.
func (a *oneRun) answered() error {
	_, canaries, err := a.tickets()
	if err != nil {
		return err
	}
	var inputs strings.Builder
	for _, c := range canaries {
		line, err := json.Marshal(map[string]string{"text": c.Input})
		if err != nil {
			return err
		}
		inputs.Write(append(line, '\n'))
	}
	if err := a.files(map[string]string{"inputs.jsonl": inputs.String()}); err != nil {
		return err
	}
	args := []string{
		"answer", "--task", a.path("task.toml"), "--data", a.path("records.jsonl"), "--size", strconv.Itoa(len(a.coins) / 2), "--method", "vote",
		"--inputs", a.path("inputs.jsonl"), "--out", a.path("answers.jsonl"),
	}
	if a.seed.Value != nil {
		args = append(args, "--seed", a.seed.String())
	}
	out, err := a.self(append(append(args, a.Model.Args()...), "--epsilon", asked(&a.epsilon), "--answers", strconv.Itoa(len(canaries)))...)
	if err != nil {
		return err
	}
	for i, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		var said struct {
			Answer string `json:"answer"`
		}
		if err := errors.Join(json.Unmarshal([]byte(line), &said), json.Unmarshal([]byte(line), &a.claim)); err != nil {
			return err
		}
		score := 0.
		if i < len(canaries) && strings.TrimSpace(said.Answer) == canaries[i].Output {
			score = 1
		}
		a.scores = append(a.scores, score)
	}
	// ε is for all answers together.
	a.claim.Event, a.claim.Epsilon = fmt.Sprintf("%d answers, each %s", len(canaries), a.claim.Event), ui.Real(a.epsilon.Value)
	return nil
}
