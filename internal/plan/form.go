package plan

import (
	"slices"

	"github.com/sotto-dp/sotto/internal/plan/search"
	"github.com/sotto-dp/sotto/internal/private/choose"
	"github.com/sotto-dp/sotto/internal/private/measure"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// fewParameters is how many weights a model has that hardly follows turns: what SmolLM2-135M writes in its
// turn is mostly no label, or the same one for all questions (lab/results).
const fewParameters = 500_000_000

// embedded is the back-end of the engine in this process.
const embedded = "embedded"

// FormFor is the form in which prompts for a model are judged unless a user says otherwise: turns of a
// chat, as clients ask, where the model has a chat template and is large enough to follow them.
func FormFor(info lm.Info) prompt.Form {
	if info.Can.Chat && (info.Parameters == 0 || info.Parameters >= fewParameters) {
		return prompt.ChatForm
	}
	return prompt.TextForm
}

// For is the request with what depends on the model and was left open: the form of prompts that were not
// chosen in one.
func (r MeasurementRequest) For(info lm.Info) MeasurementRequest {
	if r.Form == "" {
		r.Form = FormFor(info)
		if measure.Reads(r.Grade, r.Form) != nil {
			r.Form = prompt.TextForm
		}
	}
	return r
}

// laidOut are the prompts, each with its form. What has none by itself is calibrated as a text alone.
func (r MeasurementRequest) laidOut() []NamedPrompt {
	out := slices.Clone(r.Prompts)
	for i := range out {
		p := &out[i].Prompt
		if p.Form == "" {
			p.Form = r.Form
			p.Calibrated = p.Calibrated && !p.Form.Turns()
		}
		p.Form = formOf(p.Form)
	}
	return out
}

// For is the request with what depends on the model that judges and was left open: the form of prompts.
func (r Request) For(info lm.Info) Request {
	if r.Choosing == nil || r.Choosing.Form != "" {
		return r
	}
	own := *r.Choosing
	own.Form = FormFor(info)
	if own.Encoder != "" && r.Evident() > 0 && info.Backend == embedded { // it answers with scores, which turns have not
		own.Form = prompt.TextForm
	}
	if u := own.Utility; choose.Reads(u, own.Form) != nil || own.Reading == search.Calibrated {
		own.Form = prompt.TextForm
	}
	r.Choosing = &own
	return r
}
