package reconstruct

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/sotto-dp/sotto/internal/sys/bounded"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/schema"
)

// SidecarFormat is the version of [Sidecar].
const SidecarFormat = "sotto-perturbed/1"

// Sidecar describes the perturbation of a file of rows. It lies beside the file and is
// public; without it the rows are of little use.
type Sidecar struct {
	Format string `json:"format"`
	// Schema is the name of the schema, and SchemaHash is SHA-256 of its canonical form.
	Schema     string `json:"schema"`
	SchemaHash string `json:"schema_sha256"`
	// Rows is the number of rows.
	Rows int64 `json:"rows"`
	// Epsilon is the guarantee of a row, under replace-one with δ = 0: the sum over its
	// columns.
	Epsilon   float64           `json:"epsilon"`
	Adjacency privacy.Adjacency `json:"adjacency"`
	Event     string            `json:"event"`
	// Private is false if the randomness came from a seed: then the file is NOT PRIVATE.
	Private bool            `json:"private"`
	Columns []SidecarColumn `json:"columns"`
}

// SidecarColumn describes the perturbation of a column.
type SidecarColumn struct {
	Name    string  `json:"name"`
	Values  int     `json:"values"`
	Epsilon float64 `json:"epsilon"`
	// Keep is the probability that a value was kept, and Other that it became a given other
	// one. Threshold is Keep in units of 2^-64, exactly as it ran; 0 for a column of one
	// value.
	Keep      float64 `json:"keep"`
	Other     float64 `json:"other"`
	Threshold uint64  `json:"threshold,string"`
}

// SchemaHash returns the hash by which sidecars identify a schema.
func SchemaHash(s schema.Schema) string {
	sum := sha256.Sum256(s.Canonical())
	return hex.EncodeToString(sum[:])
}

// Channel returns the channel that the sidecar describes.
func (s Sidecar) Channel() Channel {
	var c Channel
	for _, column := range s.Columns {
		c.Names, c.Domains = append(c.Names, column.Name), append(c.Domains, column.Values)
		c.Keep, c.Other = append(c.Keep, column.Keep), append(c.Other, column.Other)
	}
	return c
}

// Write writes the sidecar as JSON.
func (s Sidecar) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	if err := e.Encode(s); err != nil {
		return fmt.Errorf("writing what was done to the perturbed rows: %w", err)
	}
	return nil
}

// ReadSidecar reads a sidecar and checks that it fits the schema.
func ReadSidecar(r io.Reader, sc schema.Schema) (Sidecar, error) {
	var s Sidecar
	data, err := bounded.Read(r, bounded.Large)
	if err == nil {
		err = bounded.UnmarshalJSON(data, bounded.Large, &s)
	}
	if err != nil {
		return Sidecar{}, fmt.Errorf("reading what was done to the perturbed rows: %w", err)
	}
	return s, s.CheckSchema(sc)
}

// CheckSchema returns an error if rows with this sidecar are not of the schema, or the
// sidecar contradicts itself.
func (s Sidecar) CheckSchema(sc schema.Schema) error {
	if s.Format != SidecarFormat {
		return fmt.Errorf("the sidecar is of format %q, and this program reads %q: perturb again, or use the program that wrote it", s.Format, SidecarFormat)
	}
	if s.SchemaHash != SchemaHash(sc) {
		return fmt.Errorf("the rows were perturbed with another schema (%s): reconstruct with that one", s.Schema)
	}
	domains, err := Domains(sc)
	if err != nil {
		return err
	}
	if len(s.Columns) != len(domains) {
		return fmt.Errorf("the sidecar has %d columns, and the schema %d: it was changed; use the one that was written", len(s.Columns), len(domains))
	}
	total := 0.
	for i, c := range s.Columns {
		total += c.Epsilon
		if c.Name != sc.Columns[i].Name || c.Values != domains[i] || !c.agrees() {
			return fmt.Errorf("the sidecar does not agree with itself or the schema about column %q: it was changed; use the one that was written", sc.Columns[i].Name)
		}
	}
	if !(math.Abs(total-s.Epsilon) <= 1e-9*total) || s.Event != s.event().String() || s.Adjacency != privacy.ReplaceOne {
		return errors.New("the guarantee of the sidecar does not match its columns: it was changed; use the original file")
	}
	return s.Channel().Check()
}

// event returns the privacy event that the columns describe.
func (s Sidecar) event() privacy.Event {
	var each []privacy.Event
	for _, c := range s.Columns {
		if c.Values > 1 {
			each = append(each, privacy.RandomizedResponse{Epsilon: c.Epsilon, K: int64(c.Values)})
		}
	}
	return privacy.Canonical(privacy.Compose{Events: each})
}

// agrees reports whether the probabilities follow from ε: estimates are off by as much as
// these are.
func (c SidecarColumn) agrees() bool {
	if c.Values == 1 {
		return c.Epsilon == 0 && c.Keep == 1 && c.Other == 0
	}
	other := 1 / (math.Exp(c.Epsilon) + float64(c.Values-1))
	keep := 1 - float64(c.Values-1)*other
	// Chances are multiples of 2^-64, which counts where the chance is as small.
	return math.Abs(c.Keep-keep) <= 1e-12 && math.Abs(c.Other-other) <= 1e-9*other+0x1p-63 &&
		math.Abs(float64(c.Threshold)*0x1p-64-c.Keep) <= 1e-15
}

// CheckEpsilon reports whether the rows were perturbed at this ε.
func (s Sidecar) CheckEpsilon(epsilon float64) error {
	if !(math.Abs(epsilon-s.Epsilon) <= 1e-9*s.Epsilon) {
		return fmt.Errorf("the rows were perturbed at ε = %v, not %v: reconstruct at that, or leave it out", s.Epsilon, epsilon)
	}
	return nil
}
