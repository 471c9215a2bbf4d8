package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/sotto-dp/sotto/internal/audit"
	"github.com/sotto-dp/sotto/internal/demo"
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
	if err != nil || len(released) != len(a.coins)+1 {
		return fmt.Errorf("%d rows were released for %d canaries: %w", len(released)-1, len(a.coins), err)
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

// canary is a record that no other looks like: tickets of the demo with a label by the toss of a
// coin, and a word of its own.
func (a *oneRun) tickets() (prompt.Task, []demo.Ticket, error) {
	task, err := demo.Office().Task()
	if err != nil {
		return task, nil, err
	}
	all := demo.Office().Tickets(len(a.coins))
	var data strings.Builder
	for i := range all {
		all[i].Text = fmt.Sprintf("Code %06d. %s", a.toss.Uint64n(1e6), all[i].Text)
		all[i].Label = task.Labels[a.toss.Uint64n(uint64(len(task.Labels)))]
		if a.coins[i] {
			if err := demo.WriteJSONL(&data, all[i:i+1]); err != nil {
				return task, nil, err
			}
		}
	}
	return task, all, a.files(map[string]string{"task.toml": string(demo.Office().TaskFile()), "records.jsonl": data.String()})
}

// synth runs the verb that makes examples, and reads them.
func (a *oneRun) synth(args ...string) ([]demo.Ticket, error) {
	args = append([]string{"synth", "--task", a.path("task.toml"), "--data", a.path("records.jsonl"), "--size", strconv.Itoa(len(a.coins) / 2), "--out", a.path("out")}, args...)
	if err := a.run(append(args, a.modelArgs()...)...); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(a.path("out/demos.jsonl"))
	if err != nil {
		return nil, err
	}
	var texts []demo.Ticket
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		var t struct {
			Input  string `json:"input"`
			Output string `json:"output"`
			Text   string `json:"text"`
			Label  string `json:"label"`
		}
		if line == "" {
			continue
		}
		if err := json.Unmarshal([]byte(line), &t); err != nil {
			return nil, err
		}
		texts = append(texts, demo.Ticket{Text: t.Text + t.Input, Label: t.Label + t.Output})
	}
	return texts, nil
}

// written: how much likelier the texts of a canary's label are after the canary.
func (a *oneRun) written() error {
	task, canaries, err := a.tickets()
	if err != nil {
		return err
	}
	texts, err := a.synth("--method", a.name)
	if err != nil {
		return err
	}
	// After the canary first, and then after none.
	var readings []audit.Reading
	for _, c := range canaries {
		for _, t := range texts {
			if t.Label != c.Label {
				continue
			}
			head := task.GenerationHead(t.Label)
			readings = append(readings,
				audit.Reading{Prompt: task.GenerationPrefix() + task.GenerationDemo(c.Label, c.Text) + head, Text: " " + t.Text},
				audit.Reading{Prompt: task.GenerationPrefix() + head, Text: " " + t.Text})
		}
	}
	scores, err := a.likelihoods(readings)
	if err != nil {
		return err
	}
	for _, c := range canaries {
		score := 0.
		for _, t := range texts {
			if t.Label == c.Label {
				score += scores[0] - scores[1]
				scores = scores[2:]
			}
		}
		a.scores = append(a.scores, score)
	}
	return nil
}

// chosen: how much likelier a canary's label is with the prompt that the records chose.
func (a *oneRun) chosen() error {
	task, canaries, err := a.tickets()
	if err != nil {
		return err
	}
	texts, err := a.synth("--time", a.time.String())
	if err != nil {
		return err
	}
	demos := ""
	for _, t := range texts {
		demos += task.AnswerDemo(t.Text, t.Label)
	}
	var readings []audit.Reading
	for _, c := range canaries {
		item := task.AnswerItem(c.Text)
		readings = append(readings,
			audit.Reading{Prompt: task.AnswerPrefix() + demos + item, Text: " " + c.Label},
			audit.Reading{Prompt: task.AnswerPrefix() + item, Text: " " + c.Label})
	}
	scores, err := a.likelihoods(readings)
	for i := 0; i < len(scores); i += 2 {
		a.scores = append(a.scores, scores[i]-scores[i+1])
	}
	return err
}

// answered: whether a canary's own question gets its label.
func (a *oneRun) answered() error {
	_, canaries, err := a.tickets()
	if err != nil {
		return err
	}
	var inputs strings.Builder
	for _, c := range canaries {
		line, err := json.Marshal(map[string]string{"text": c.Text})
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
	if a.seed.value != nil {
		args = append(args, "--seed", a.seed.String())
	}
	out, err := a.self(append(append(args, a.modelArgs()...), "--epsilon", a.epsilon.asked(), "--answers", strconv.Itoa(len(canaries)))...)
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
		if i < len(canaries) && strings.TrimSpace(said.Answer) == canaries[i].Label {
			score = 1
		}
		a.scores = append(a.scores, score)
	}
	// ε is for all answers together.
	a.claim.Event, a.claim.Epsilon = fmt.Sprintf("%d answers, each %s", len(canaries), a.claim.Event), a.epsilon.value
	return nil
}
