package plan

import (
	"github.com/sotto-dp/sotto/internal/private/choose"
	"github.com/sotto-dp/sotto/internal/search"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// fewParameters is how many weights a model has that hardly follows turns: what SmolLM2-135M writes in its
// turn is mostly no label, or the same one for all questions (docs/results).
const fewParameters = 500_000_000

// FormFor is the form in which prompts for a model are judged unless a user says otherwise: turns of a
// chat, as clients ask, where the model has a chat template and is large enough to follow them.
func FormFor(info lm.Info) prompt.Form {
	if info.Can.Chat && (info.Parameters == 0 || info.Parameters >= fewParameters) {
		return prompt.ChatForm
	}
	return prompt.TextForm
}

// For is the request with what depends on the model that judges and was left open: the form of prompts.
func (r Request) For(info lm.Info) Request {
	if r.Choosing == nil || r.Choosing.Form != "" {
		return r
	}
	own := *r.Choosing
	own.Form = FormFor(info)
	if u := own.Utility; choose.Reads(u, own.Form) != nil || own.Reading == search.Calibrated {
		own.Form = prompt.TextForm
	}
	r.Choosing = &own
	return r
}
