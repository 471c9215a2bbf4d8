package local

import (
	"fmt"

	"github.com/sotto-dp/sotto/internal/reconstruct"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/schema"
)

// Sidecar describes perturbed rows of a schema. Private is whether the key was: see
// noise.Key.
func (s Settings) Sidecar(sc schema.Schema, rows int64, private bool) (reconstruct.Sidecar, error) {
	if err := s.Fits(sc); err != nil {
		return reconstruct.Sidecar{}, err
	}
	out := reconstruct.Sidecar{
		Format: reconstruct.SidecarFormat, Schema: sc.Name, SchemaHash: reconstruct.SchemaHash(sc), Rows: rows,
		Adjacency: privacy.ReplaceOne, Event: s.Event().String(), Private: private,
	}
	c := s.Channel()
	for i, t := range s.Thresholds() {
		out.Epsilon += s.Epsilons[i]
		out.Columns = append(out.Columns, reconstruct.SidecarColumn{
			Name: sc.Columns[i].Name, Values: s.Domains[i], Epsilon: s.Epsilons[i], Keep: c.Keep[i], Other: c.Other[i], Threshold: t,
		})
	}
	return out, nil
}

// Fits reports whether the settings are of the schema's columns.
func (s Settings) Fits(sc schema.Schema) error {
	if err := s.Check(); err != nil {
		return err
	}
	domains, err := reconstruct.Domains(sc)
	if err != nil {
		return err
	}
	if len(domains) != len(s.Domains) {
		return fmt.Errorf("the settings are for %d columns, and the schema has %d: plan again with this schema", len(s.Domains), len(domains))
	}
	for i, d := range domains {
		if d != s.Domains[i] {
			return fmt.Errorf("column %q has %d values, and the settings are for %d: plan again with this schema", sc.Columns[i].Name, d, s.Domains[i])
		}
	}
	return nil
}
