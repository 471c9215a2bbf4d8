package worst

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// Game is a mechanism with two neighbouring inputs: with a record, and without it or with another
// in its place.
type Game struct {
	// Name of the method, or of the method and what is special.
	Name string
	// Inputs says in words what is played.
	Inputs string
	// Claim is what the mechanism declares for what is played.
	Claim     privacy.Event
	Adjacency privacy.Adjacency
	// Delta is where ε is reported; 0 where the mechanism has a finite ε there.
	Delta float64
	// Tight: ε can nearly be reached by inputs such as these, so that a low bound on it would show
	// that the audit has no teeth.
	Tight bool
	// Whole: a run goes through a whole loop with a model, which takes a hundred times as long.
	Whole bool

	// player makes what plays, for one goroutine.
	player func() (play, error)
}

// play runs a mechanism once, with randomness of that key alone, and scores what comes out, higher
// with the record.
type play func(ctx context.Context, key noise.Key, with bool) (float64, error)

// always is a player that several goroutines may share.
func always(p play) func() (play, error) { return func() (play, error) { return p, nil } }

// Games lists all there are.
func Games() ([]Game, error) {
	var all []Game
	for _, make := range []func() ([]Game, error){texts, written, choices, votes, evidence, tables} {
		some, err := make()
		if err != nil {
			return nil, fmt.Errorf("games: %w", err)
		}
		all = append(all, some...)
	}
	return all, nil
}

// Find returns the games of the names, or of methods of these names; all without any.
func Find(names []string) ([]Game, error) {
	all, err := Games()
	if err != nil || len(names) == 0 {
		return all, err
	}
	var out []Game
	for _, name := range names {
		at := slices.IndexFunc(all, func(g Game) bool { return g.Name == name })
		if at < 0 {
			known := make([]string, len(all))
			for i, g := range all {
				known[i] = g.Name
			}
			return nil, fmt.Errorf("there is no game %q: one of %s", name, strings.Join(known, "; "))
		}
		out = append(out, all[at])
	}
	return out, nil
}

// people is a pool of units of one record each.
type people struct{ records []seal.Record }

func init() { seal.Admit[*people]() }

// among makes a pool of texts with a label, and of one more.
func among(with bool, label, record string, others ...string) *people {
	p := &people{}
	if with {
		others = append(slices.Clone(others), record)
	}
	for i, text := range others {
		p.records = append(p.records, seal.NewRecord(int64(i+1), label, text))
	}
	return p
}

// Size implements draw.Pool.
func (p *people) Size(int) seal.Count { return seal.NewCount(len(p.records)) }

// Choose implements draw.Pool.
func (p *people) Choose(_, unit int, _ *noise.Stream) (seal.Ref, error) {
	return seal.NewRef(int64(unit+1), 0), nil
}

// Fetch implements draw.Pool.
func (p *people) Fetch(_ context.Context, refs []seal.Ref) ([]seal.Record, error) {
	out := make([]seal.Record, len(refs))
	for i, r := range refs {
		ordinal, _ := seal.Place(r)
		out[i] = p.records[ordinal-1]
	}
	return out, nil
}
