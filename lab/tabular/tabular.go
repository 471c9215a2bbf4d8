package tabular

import (
	"fmt"

	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/schema"
)

// Guarantee is the guarantee of a method with fresh randomness.
type Guarantee struct {
	// Epsilon is the accountant's bound for Event at Delta.
	Epsilon   float64           `json:"epsilon"`
	Delta     float64           `json:"delta"`
	Event     string            `json:"event"`
	Adjacency privacy.Adjacency `json:"adjacency"`
}

// guarantee of an event.
func guarantee(e privacy.Event, a privacy.Adjacency, delta float64) (*Guarantee, error) {
	i, err := accountant.Auto{}.Epsilon(e, a, delta)
	if err != nil {
		return nil, fmt.Errorf("compute ε: %w", err)
	}
	return &Guarantee{Epsilon: i.Upper, Delta: delta, Event: e.String(), Adjacency: a}, nil
}

// Real takes training rows as they are, the same for all questions.
func Real(t *Table, shots int, seed uint64) ([]prompt.Example, error) {
	if shots > len(t.Train) {
		return nil, fmt.Errorf("%d demonstrations cannot be drawn from %d rows: ask for fewer", shots, len(t.Train))
	}
	key := noise.KeyFromSeed(seed)
	order, err := key.Stream("rows as they are").Permutation(len(t.Train))
	if err != nil {
		return nil, err
	}
	var rows []schema.Row
	for _, i := range order[:shots] {
		rows = append(rows, t.Train[i])
	}
	return demos(t.Schema.Wording(), rows), nil
}

// demos puts rows into words.
func demos(w *schema.Wording, rows []schema.Row) []prompt.Example {
	out := make([]prompt.Example, len(rows))
	for i, row := range rows {
		out[i] = prompt.Example{Input: w.Text(row), Output: w.Answer(row)}
	}
	return out
}
