package estimate

import (
	"fmt"
	"path/filepath"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/internal/reconstruct"
	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/internal/sys/bounded"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
)

// ReadProfile makes an estimate of the histograms in a folder of "sotto table profile".
func ReadProfile(dir string) (*File, error) {
	f, profile, err := readProfile(dir)
	if err != nil {
		return nil, err
	}
	h, err := profile.Histograms(f.Schema)
	if err != nil {
		return nil, wrong("%s: %w", dir, err)
	}
	f.Estimates, err = reconstruct.FromHistograms(h)
	if err != nil {
		return nil, wrong("%s: %w", dir, err)
	}
	return f, nil
}

// readProfile reads a released profile and its guarantee.
func readProfile(dir string) (*File, global.Profile, error) {
	var of plan.Profile
	var released struct {
		NotPrivate bool `json:"not_private"`
		global.Profile
	}
	for name, into := range map[string]any{"plan.json": &of, "profile.json": &released} {
		data, err := bounded.ReadFile(filepath.Join(dir, name), bounded.Huge)
		if err == nil {
			err = bounded.UnmarshalJSON(data, bounded.Huge, into)
		}
		if err != nil {
			return nil, released.Profile, wrong("the profile: %w; name a folder that \"sotto table profile --histograms\" or \"sotto learn --task table:SCHEMA\" wrote", err)
		}
	}
	f := &File{
		Format: format, Schema: of.Schema, Rows: of.Size, Private: of.Private() && !released.NotPrivate,
		profileFields: profileFields{origin: release.Drawn, adjacency: of.Adjacency(), unit: of.Unit, delta: of.Delta, noiseless: !of.Private()},
	}
	var err error
	if f.Private {
		f.Event, err = f.cost(of)
	}
	return f, released.Profile, err
}

// cost is the event of a profile, whose ε it computes.
func (f *File) cost(of plan.Profile) (string, error) {
	if err := of.Check(); err != nil {
		return "", wrong("the plan of the profile: %w", err)
	}
	epsilon, err := accountant.Auto{}.Epsilon(of.Event(), f.adjacency, f.delta)
	if err != nil {
		return "", fmt.Errorf("compute ε: %w", err)
	}
	f.Epsilon = epsilon.Upper
	return of.Event().String(), nil
}

// profileFields of an estimate are those that one of a profile has beside; they are not in
// files of estimates.
type profileFields struct {
	origin    release.Origin
	adjacency privacy.Adjacency
	unit      privacy.Unit
	delta     float64
	noiseless bool
}
