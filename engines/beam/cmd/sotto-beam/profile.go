package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"sotto/engines/beam"
	"sotto/plan"
	"sotto/privacy"
	"sotto/privacy/certificate"
	"sotto/private/table/global"
	"sotto/release"
	"sotto/schema"
)

func (r *request) profile(ctx context.Context) (err error) {
	p, err := r.planProfile()
	if err != nil {
		return err
	}
	s := p.Schema
	source, err := r.source()
	if err != nil {
		return err
	}
	task, err := s.Task()
	if err != nil {
		return err
	}
	if err := release.CheckTask(task); err != nil {
		return err
	}
	b, err := r.open(ctx, s, promise{
		name: s.Name + " profile", event: p.Event(), inner: p.Inner(), adjacency: p.Adjacency(), unit: p.Unit, epsilon: p.Epsilon, delta: p.Delta,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	o := beam.ProfileOptions{Source: source, Schema: s, Settings: p.Settings, Unit: r.unit, Job: r.job}
	if g := source.Generated; g != nil && r.unit != "" {
		g.Units, o.Unit = uint64(g.Rows/2+1), "" // about two rows each
	}
	out, err := beam.Profile(ctx, o)
	if err != nil {
		return err
	}
	if got, paid := out.Event().String(), p.Event().String(); got != paid {
		return fmt.Errorf("the profile was made by %s, which was not paid for: this is a fault of the program; nothing of it is released", got)
	}
	if err := r.writeProfile(b, p, out.Profile()); err != nil {
		return err
	}
	claim := certificate.Claim{Method: "profile", Proof: p.Proof(), Samplers: []certificate.Sampler{certificate.SampleAll}}
	if p.Inner() != nil {
		claim.Samplers = []certificate.Sampler{certificate.SamplePoisson}
	}
	if p.Size > 0 {
		claim.Sizes = []certificate.Size{{Part: "all rows", Records: p.Size}}
	}
	if p.Unit != privacy.Record {
		claim.Assumptions = append(claim.Assumptions, "Units are told apart by a keyed hash of 64 bits: two of n units have the same with a probability of about n²/2^65 over the key, and would then share the room of one.")
	}
	return b.finish(ctx, claim)
}

// planProfile makes the plan, or reads it.
func (r *request) planProfile() (p plan.Profile, err error) {
	if r.plan != "" {
		if err := r.read(&p); err != nil {
			return p, err
		}
		if err := p.Check(); err != nil {
			return p, fmt.Errorf("the plan cannot be carried out: %w", err)
		}
		r.unit, _ = strings.CutPrefix(string(p.Unit), "user:")
		if p.Unit == privacy.Record {
			r.unit = ""
		}
	} else if p, err = r.newProfile(); err != nil {
		return p, err
	}
	switch {
	case !p.Private():
		return p, errors.New("a profile without noise protects nobody: give a finite --epsilon")
	case p.Inner() != nil && p.Size == 0:
		return p, errors.New("rows are sampled, and nothing is said of how many there are: declare about how many with --size")
	}
	return p, nil
}

func (r *request) newProfile() (plan.Profile, error) {
	s, err := r.find()
	if err != nil {
		return plan.Profile{}, err
	}
	q := plan.ProfileRequest{
		Schema: s, Epsilon: r.epsilon, Delta: r.delta, Size: r.size, Rate: r.rate, Noise: global.Noise(r.noise), RowsPerUnit: r.rowsPerUnit,
		Adjacency: privacy.Adjacency(r.adjacency),
		Groups:    []schema.Group{{Column: s.Label}},
	}
	if r.unit != "" {
		q.Unit = privacy.Unit("user:" + r.unit)
	}
	if r.groups != "" {
		groups, ok := s.Groups[r.groups]
		if !ok {
			return plan.Profile{}, fmt.Errorf("the schema has no partition %q: name one of those that it lists under groups", r.groups)
		}
		q.Groups = groups
	}
	return plan.NewProfile(q)
}

// writeProfile writes the release: the same files as a run of "sotto table profile" has.
func (r *request) writeProfile(b *book, p plan.Profile, profile global.Profile) error {
	task, err := p.Schema.Task()
	if err != nil {
		return err
	}
	const numbers = "profile.json"
	of := release.Release{
		Task: task, Made: release.Averaged, Method: "profile", Private: true, Version: version,
		Settings: map[string]any{"noise": string(p.Settings.WithDefaults().Noise), "schema": p.Schema.Name, "engine": "Apache Beam"},
		Also:     [][2]string{{numbers, "the profile in numbers: counts, averages and their errors"}},
		Unsigned: b.ledger == nil,
	}
	words := p.Schema.Wording()
	for _, g := range profile.Groups {
		of.Examples = append(of.Examples, release.Example{Input: words.Text(g.Row), Output: words.Answer(g.Row)})
	}
	if p.Size > 0 {
		of.Sizes = []release.Size{{Units: p.Size}}
	}
	whole, err := b.guarantee(p.Event())
	if err != nil {
		return err
	}
	of.Guarantee = &whole
	for _, e := range p.Inner() {
		g, err := b.guarantee(e)
		if err != nil {
			return err
		}
		of.Inner = append(of.Inner, g)
	}
	files, err := release.Render(of)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	for _, f := range files {
		if err := write(r.out, f.Name, f.Data); err != nil {
			return err
		}
	}
	return errors.Join(writeJSON(r.out, "plan.json", p), writeJSON(r.out, numbers, profile))
}
