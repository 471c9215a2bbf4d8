package main

import (
	"context"
	"fmt"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/flags"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/lm/models"
)

// modelSpec finds the model to use.
func (p *program) modelSpec(m flags.Model) (backend.Spec, error) {
	settings, err := p.configured()
	if err != nil {
		return backend.Spec{}, err
	}
	return m.Spec(settings)
}

// openScorer opens the model that flags name, to be closed.
func (p *program) openScorer(ctx context.Context, m flags.Model) (model lm.Scorer, name string, spec backend.Spec, err error) {
	if spec, err = p.modelSpec(m); err == nil {
		model, err = backend.Scorer(ctx, spec)
	}
	if err == nil {
		name = flags.ModelName(spec, model.Info())
	}
	return model, name, spec, err
}

// openTrusted opens a model for private records, and says first where they go.
func (p *program) openTrusted(ctx context.Context, spec backend.Spec) (lm.Trusted, error) {
	if to := spec.Destination(); to != "" && spec.Trusted {
		fmt.Fprintln(p.Stderr, to)
	}
	return backend.Trusted(ctx, spec)
}

// smallModel is said of a run that shows records to the default model.
const smallModel = "the model, smollm2, has 135 million parameters: it is for tests and first contact; `sotto model recommend` names larger ones that this machine runs"

// firstContact says that a run uses the default model, whether it was named or not: what
// comes out says little about a larger one.
func firstContact(spec backend.Spec, say func(string)) {
	if spec.Remote() {
		return
	}
	// What is wrong with the model is said when it is opened.
	if _, entry, _ := models.Find(spec.Model); entry.Name == models.Default {
		say(smallModel)
	}
}

// client opens the library where flags, variables or the configuration say.
func (p *program) client(model backend.Spec) (*sotto.Client, error) {
	return p.clientOf(sotto.Options{Model: model})
}

// clientOf adds to options where ledger, keys and private folder are.
func (p *program) clientOf(o sotto.Options) (*sotto.Client, error) {
	at, err := p.places.All()
	if err != nil {
		return nil, ui.AsUsage(err)
	}
	o.Ledger, o.Keys, o.Private = at.Ledger, at.Keys, at.Private
	return sotto.Open("", &o)
}

// begin opens the library for a run with the model that flags name, and shows how it goes.
func (p *program) begin(m flags.Model) (*sotto.Client, *ui.RunProgress, error) {
	c, spec, err := p.modelClient(m)
	if err != nil {
		return nil, nil, err
	}
	progress := &ui.RunProgress{Progress: p.Progress()}
	firstContact(spec, func(text string) { progress.First = text })
	return c, progress, nil
}

// modelClient is a client with the model that flags name.
func (p *program) modelClient(m flags.Model) (*sotto.Client, backend.Spec, error) {
	spec, err := p.modelSpec(m)
	if err != nil {
		return nil, spec, err
	}
	c, err := p.client(spec)
	return c, spec, err
}
