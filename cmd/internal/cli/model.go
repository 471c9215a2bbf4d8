package cli

import (
	"cmp"
	"context"
	"fmt"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/flags"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/lm/models"
)

// ModelSpec finds the model to use: the one that flags of every verb name, unless m names one.
func (p *Program) ModelSpec(m flags.Model) (backend.Spec, error) {
	settings, err := p.Configured()
	if err != nil {
		return backend.Spec{}, err
	}
	if m.Name == "" && m.URL == "" {
		m.Name, m.URL = p.Chosen.Name, p.Chosen.URL
	}
	return m.Spec(settings)
}

// OpenScorer opens the model that flags name, to be closed.
func (p *Program) OpenScorer(ctx context.Context, m flags.Model) (model lm.Scorer, name string, spec backend.Spec, err error) {
	if spec, err = p.ModelSpec(m); err == nil {
		model, err = backend.Scorer(ctx, spec)
	}
	if err == nil {
		name = flags.ModelName(spec, model.Info())
	}
	return model, name, spec, err
}

// OpenTrusted opens a model for private records, and says first where they go.
func (p *Program) OpenTrusted(ctx context.Context, spec backend.Spec) (lm.TrustedScorer, error) {
	if to := spec.Destination(); to != "" && spec.Trusted {
		fmt.Fprintln(p.Stderr, to)
	}
	return backend.Trusted(ctx, spec)
}

// SmallModel is said of a run that shows records to the default model.
const SmallModel = "the model, smollm2, has 135 million parameters: it is for tests and first contact; docs/models.md names larger ones"

// FirstContact says that a run uses the default model, whether it was named or not: what
// comes out says little about a larger one.
func FirstContact(spec backend.Spec, say func(string)) {
	if spec.Remote() {
		return
	}
	// What is wrong with the model is said when it is opened.
	if _, entry, _ := models.Find(spec.Model); entry.Name == models.Default {
		say(SmallModel)
	}
}

// Client opens the library where flags, variables or the configuration say.
func (p *Program) Client(model backend.Spec) (*sotto.Client, error) {
	return p.ClientOf(sotto.Options{Model: model})
}

// ClientOf adds to options where ledger, keys and private folder are.
func (p *Program) ClientOf(o sotto.Options) (*sotto.Client, error) {
	at, err := p.Places.All()
	if err != nil {
		return nil, ui.AsUsage(err)
	}
	if o.Model.Encoder == "" {
		if o.Model.Encoder, err = p.encoderName(); err != nil {
			return nil, err
		}
	}
	o.Ledger, o.Keys, o.Private = at.Ledger, at.Keys, at.Private
	return sotto.Open("", &o)
}

// Begin opens the library for a run with the model that flags name, and shows how it goes.
func (p *Program) Begin(m flags.Model) (*sotto.Client, *ui.RunProgress, error) {
	c, spec, err := p.ModelClient(m)
	if err != nil {
		return nil, nil, err
	}
	progress := &ui.RunProgress{Progress: p.Progress()}
	FirstContact(spec, func(text string) { progress.First = text })
	return c, progress, nil
}

// BeginWithoutModel opens the library for a run that asks no model, and shows how it goes.
func (p *Program) BeginWithoutModel() (*sotto.Client, *ui.RunProgress, error) {
	c, err := p.Client(backend.Spec{})
	return c, &ui.RunProgress{Progress: p.Progress()}, err
}

// ModelClient is a client with the model that flags name.
func (p *Program) ModelClient(m flags.Model) (*sotto.Client, backend.Spec, error) {
	spec, err := p.ModelSpec(m)
	if err != nil {
		return nil, spec, err
	}
	c, err := p.Client(spec)
	return c, spec, err
}

// LongestQuestion is more than any model takes.
const LongestQuestion = 1 << 24

// encoderName is the encoder of sentences that the configuration names, "" for that of the catalogue.
func (p *Program) encoderName() (string, error) {
	s, err := p.Configured()
	if err != nil {
		return "", err
	}
	return s.Model.Encoder, nil
}

// Encoder opens the encoder of sentences that the configuration names.
func (p *Program) Encoder() (lm.Embedder, error) {
	name, err := p.encoderName()
	if err != nil {
		return nil, err
	}
	return backend.Encoder(name)
}

// FetchEncoder fetches the encoder of sentences if it is missing, and says so.
func (p *Program) FetchEncoder(ctx context.Context) error {
	name, err := p.encoderName()
	if err != nil {
		return err
	}
	name = cmp.Or(name, "minilm")
	_, entry, err := models.Find(name)
	_, known := models.Lookup(name)
	if err == nil || !known && !ui.Is[*models.MissingError](err) {
		return err
	}
	fmt.Fprintf(p.Stderr, "fetching the encoder of sentences %s, once\n", entry.Title)
	report := &ui.PullProgress{Progress: p.Progress()}
	_, err = models.Pull(ctx, name, models.Options{Progress: report.Report})
	report.Clear()
	if err != nil {
		return fmt.Errorf("the encoder of sentences is needed, and is not here: %w", err)
	}
	return nil
}
