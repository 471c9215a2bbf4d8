package lm

import "context"

// Occupier is a model that computes on this machine's processors, and can keep them at work.
// Anyone who shares the machine sees by how fast they get answers whether a model computes.
// Where that must not show, it is occupied all the time.
type Occupier interface {
	// Occupy computes on made-up tokens until the context ends, in all threads that steps
	// have, whenever no step does: a step that comes goes first. It changes no score and no
	// usage.
	Occupy(context.Context)
}

// Occupy is that of the model. It is nil for one that computes on another machine.
func (t TrustedScorer) Occupy() func(context.Context) {
	if o, can := t.scorer.(Occupier); can {
		return o.Occupy
	}
	return nil
}
