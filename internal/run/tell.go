package run

import "github.com/sotto-dp/sotto/internal/env"

// tell reports progress, with how many texts are done.
func (r *engine) tell(e env.Progress) {
	if r.Observe == nil {
		return
	}
	of := r.work.written()
	e.Done, e.Texts, e.MaxTokens = of.done, of.all, of.tokens
	r.Observe(e)
}

// warn reports progress, and adds its message to the result.
func (r *engine) warn(e env.Progress) {
	r.warnings = append(r.warnings, e.Message)
	r.tell(e)
}
