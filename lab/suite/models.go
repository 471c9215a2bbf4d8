package suite

import (
	"context"
	"fmt"
	"sync"

	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/models"
)

// model is one that is open.
type model struct {
	name    string
	id      string // distinguishes its results
	trusted lm.TrustedScorer
	answers lm.Model
	turn    *sync.Mutex
}

func newModel(info lm.Info) model {
	m := model{name: models.NameOf(info), id: info.Backend + " " + info.Fingerprint, turn: &sync.Mutex{}}
	if info.Fingerprint == "" {
		m.id = fmt.Sprintf("%s %s %s", info.Backend, info.Name, info.Version)
	}
	return m
}

func (r *runner) model(ctx context.Context, name string) (model, error) {
	return r.models.get(name, func() (model, error) {
		t, err := r.Open(ctx, name)
		if err != nil {
			return model{}, err
		}
		if !t.Valid() {
			return model{}, fmt.Errorf("the model %q is not trusted with records", name)
		}
		m := newModel(t.Info())
		m.trusted, m.answers = t, t.Public()
		return m, nil
	})
}

func (r *runner) answererOf(ctx context.Context, name string) (model, error) {
	if r.OpenAnswerer == nil {
		return r.model(ctx, name)
	}
	return r.answerer.get(name, func() (model, error) {
		a, err := r.OpenAnswerer(ctx, name)
		if err != nil {
			return model{}, err
		}
		m := newModel(a.Info())
		m.answers = a
		return m, nil
	})
}
