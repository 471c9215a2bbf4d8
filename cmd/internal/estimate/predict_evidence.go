package estimate

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"

	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/internal/sys/bounded"
	"github.com/sotto-dp/sotto/schema"
)

// byEvidence makes a predictor of the evidence in a folder of "sotto learn --task table:SCHEMA" or "sotto synth". It
// reports false where the folder has none.
func byEvidence(dir, column string) (*Predictor, bool, error) {
	path := filepath.Join(dir, evidence.File)
	data, err := bounded.ReadFile(path, bounded.Huge)
	if errors.Is(err, os.ErrNotExist) {
		return nil, false, nil
	}
	var marked struct {
		NotPrivate bool `json:"not_private"`
	}
	if err == nil {
		err = json.Unmarshal(data, &marked)
	}
	if err != nil {
		return nil, true, wrong("the evidence: %w", err)
	}
	e, err := evidence.Read(path)
	switch {
	case err != nil:
		return nil, true, wrong("%w", err)
	case column != "" && column != e.Schema.Label:
		return nil, true, wrong("the classifier in %s predicts %q, and no other column", dir, e.Schema.Label)
	}
	reader, err := evidence.Open(e, nil)
	if err != nil {
		return nil, true, wrong("%w", err)
	}
	s := e.Schema.WithDefaults()
	f := &File{Format: format, Schema: s, Private: !marked.NotPrivate, profileFields: profileFields{origin: release.Drawn}}
	var made plan.Plan
	if data, err := bounded.ReadFile(filepath.Join(dir, "plan.json"), bounded.Huge); err == nil && bounded.UnmarshalJSON(data, bounded.Huge, &made) == nil {
		f.Epsilon = made.Epsilon
		for _, part := range made.Parts {
			f.Rows += part.Size
		}
	}
	label := s.LabelColumn()
	p := &Predictor{File: f, Column: s.Label, Classes: s.Columns[label].Domain()}
	for i, c := range s.Columns {
		if i != label {
			p.inputs = append(p.inputs, input{i, c.Kind == schema.Categorical})
		}
	}
	words := s.Wording()
	p.odds = func(row schema.Row) ([]float64, error) {
		logs, err := reader.Texts(context.Background(), []string{words.Text(row)})
		if err != nil {
			return nil, err
		}
		for i, l := range logs[0] {
			logs[0][i] = math.Exp(l)
		}
		return logs[0], nil
	}
	return p, true, nil
}
