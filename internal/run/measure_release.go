package run

import (
	"context"
	"encoding/json"

	"github.com/sotto-dp/sotto/internal/private/measure"
	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/internal/stat"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/certificate"
)

// measurementFile has the numbers.
const measurementFile = "measurement.json"

// measurement is what the file holds.
type measurement struct {
	NotPrivate bool   `json:"not_private,omitempty"`
	Task       string `json:"task"`
	Model      string `json:"model"`
	// Metric says what the shares are of.
	Metric string `json:"metric"`
	// Asked is how many records are asked on average over who is drawn: how many were is
	// private.
	Asked   float64          `json:"asked"`
	Scale   float64          `json:"noise_scale"`
	Prompts []measuredPrompt `json:"prompts"`
	Pair    *measure.Pair    `json:"pair,omitempty"`
	Better  *stat.Estimate   `json:"difference,omitempty"`
	Words   []string         `json:"guarantee,omitempty"`
}

type measuredPrompt struct {
	Name  string `json:"name"`
	Shots int    `json:"shots"`
	measure.Count
	stat.Estimate
}

func (w *measurer) files(context.Context) ([]release.File, error) {
	out, shares, difference, err := w.numbers()
	if err != nil {
		return nil, err
	}
	content := measurement{
		NotPrivate: !w.exec.certified(), Task: w.plan.Task.Name, Model: w.exec.progress.header.Model.Name, Metric: measure.Metric(w.plan.Measure.Grade),
		Asked: w.plan.Asked(), Scale: w.plan.Measure.Noise(), Pair: out.Pair, Better: difference,
	}
	for i, n := range w.plan.Prompts {
		content.Prompts = append(content.Prompts, measuredPrompt{n.Name, len(n.Prompt.Examples), out.Counts[i], shares[i]})
	}
	if w.exec.certified() {
		whole, drawn, err := w.exec.guarantees()
		if err != nil {
			return nil, err
		}
		content.Words = release.Words(whole, drawn)
	}
	data, err := json.MarshalIndent(content, "", "  ")
	return []release.File{{Name: measurementFile, Data: append(data, '\n')}}, err
}

func (w *measurer) claim(c *certificate.Claim) {
	c.Method, c.Proof = "measure", w.plan.Measure.Proof()
	c.Samplers = []certificate.Sampler{certificate.Sampler(w.plan.Measure.Draw.Kind)}
	if !privacy.Sampled(w.plan.Event()) {
		c.Samplers = []certificate.Sampler{certificate.SampleAll}
	}
	c.Sizes = []certificate.Size{{Part: "all records", Records: w.plan.Size}}
	c.Assumptions = append(c.Assumptions, "The prompts that were measured are public, or were released before and are charged for there.")
	if w.exec.progress != nil && len(w.exec.progress.recharges) > 0 {
		c.Assumptions = append(c.Assumptions, "A measurement that was begun and lost was made again with fresh randomness, since the model does not repeat itself exactly; each is among the events.")
	}
	c.Model = w.exec.identified(w.modelHeader).claimed()
}
