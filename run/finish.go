package run

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"sotto/plan"
	"sotto/privacy"
	"sotto/privacy/certificate"
	"sotto/private/draw"
	"sotto/prompt"
	"sotto/release"
)

// examples are the released texts, in their order.
func (r *runner) examples() []release.Example {
	out := make([]release.Example, len(r.texts))
	for i, t := range r.texts {
		out[i] = release.Example{Input: t.output, Output: t.condition}
		if r.Plan.Task.Kind == prompt.Generate {
			out[i] = release.Example{Input: t.condition, Output: t.output}
		}
	}
	return out
}

// events are all that the run did to the data, at most.
func (r *runner) events() ([]privacy.Event, error) {
	all := []privacy.Event{r.Plan.Event()}
	if r.progress == nil {
		return all, nil
	}
	for _, again := range r.recharges {
		e, err := privacy.Parse(again.event)
		if err != nil {
			return nil, r.refuse("its journal holds no event for the second charge of text %d: %v", again.text, err)
		}
		all = append(all, e)
	}
	return all, nil
}

// guarantee evaluates an event as the plan means it.
func (r *runner) guarantee(e privacy.Event) (privacy.Guarantee, error) {
	i, err := r.evaluator.Epsilon(e, r.Plan.Adjacency, r.Plan.Delta)
	if err != nil {
		return privacy.Guarantee{}, fmt.Errorf("work out ε: %w", err)
	}
	return privacy.Guarantee{Event: e, Adjacency: r.Plan.Adjacency, Unit: r.Plan.Unit, Epsilon: i, Delta: r.Plan.Delta, Accountant: r.evaluator.Name()}, nil
}

// guarantees are that of the whole and those of who was drawn.
func (r *runner) guarantees() (whole privacy.Guarantee, inner []privacy.Guarantee, err error) {
	events, err := r.events()
	if err != nil {
		return whole, nil, err
	}
	if whole, err = r.guarantee(privacy.Canonical(privacy.Compose{Events: events})); err != nil {
		return whole, nil, err
	}
	for _, e := range r.inner() {
		g, err := r.guarantee(e)
		if err != nil {
			return whole, nil, err
		}
		inner = append(inner, g)
	}
	return whole, inner, nil
}

// inner are the events of those who were drawn. Disjoint batches have none: nothing in
// the event takes credit for not knowing who is in which.
func (r *runner) inner() []privacy.Event {
	for _, p := range r.Plan.Parts {
		if p.Method.Law().Kind == draw.Disjoint {
			return nil
		}
	}
	return r.Plan.Inner()
}

// release is what the files are made from. It is a function of plan and journal: the
// same bytes come out whenever it is made.
func (r *runner) release(ctx context.Context) (release.Release, error) {
	out := release.Release{
		Task: r.Plan.Task, Examples: r.examples(), Method: r.Plan.Method(), Settings: r.settings(),
		Private: r.Plan.Private(), Seeded: r.Seed != nil, Claim: r.Plan.Claim(), Counted: r.Plan.Count != nil,
		Model: r.header.Model.Name, Version: r.Version,
	}
	for i, p := range r.Plan.Parts {
		units := p.Size
		if r.sizes != nil {
			units = max(units, r.sizes[i])
		}
		out.Sizes = append(out.Sizes, release.Size{Part: p.Label, Units: units})
	}
	// What was planned for: what it took in fact depends on who was drawn.
	shape, err := plan.ShapeOf(ctx, r.Model.Tokenizer(), r.Plan.Task, r.conditions)
	if err != nil {
		return out, err
	}
	out.ModelTokens = int64(r.Plan.Cost(shape, plan.Speed{}).Cached.Tokens)
	if r.certified() {
		whole, inner, err := r.guarantees()
		if err != nil {
			return out, err
		}
		out.Guarantee, out.Inner = &whole, inner
	}
	return out, nil
}

// settings are those of the plan that the report shows.
func (r *runner) settings() map[string]any {
	out, rules := map[string]any{}, map[string]any{}
	// What a plan holds can be encoded: it was, for plan.json.
	data, _ := json.Marshal(r.Plan.Parts[0].Method.Method)
	_ = json.Unmarshal(data, &out)
	data, _ = json.Marshal(r.Plan.Rules)
	_ = json.Unmarshal(data, &rules)
	out["shots"], out["tokens"], out["rules"] = r.Plan.Shots, r.Plan.Tokens, rules
	return out
}

// writeFiles writes the release, durably, and notes what it is.
func (r *runner) writeFiles(ctx context.Context) error {
	content, err := r.release(ctx)
	if err != nil {
		return err
	}
	files, err := release.Render(content)
	if err != nil {
		return fmt.Errorf("lay out the release: %w", err)
	}
	var subjects []certificate.Subject
	for _, f := range files {
		subjects = append(subjects, certificate.Subject{Name: f.Name, Digest: certificate.Digest{SHA256: hexSum(f.Data)}})
	}
	slices.SortFunc(subjects, func(a, b certificate.Subject) int { return strings.Compare(a.Name, b.Name) })
	if r.files != nil && !slices.Equal(r.files, subjects) {
		return r.refuse("its files come out otherwise than they were noted in its journal; use the program that wrote them")
	}
	for _, f := range files {
		if old, err := os.ReadFile(r.path(f.Name)); r.files != nil && err == nil && string(old) == string(f.Data) {
			continue
		}
		if err := writeWhole(r.disk, r.path(f.Name), f.Data, r.mode()); err != nil {
			return fmt.Errorf("write %s: %w", f.Name, err)
		}
	}
	if r.files != nil {
		return nil
	}
	if err := r.note(entry{State: written, Files: subjects}); err != nil {
		return err
	}
	r.tell(Event{Kind: Written})
	return nil
}

// statement makes the claim about files and evaluates it.
func (r *runner) statement(files []certificate.Subject) (*certificate.Statement, error) {
	events, err := r.events()
	if err != nil {
		return nil, err
	}
	h, err := r.headerFor("")
	if err != nil {
		return nil, err
	}
	if r.progress != nil && r.header.Run != "" {
		h = r.header
	}
	c := certificate.Claim{
		Subjects: files, Events: events, Adjacency: r.Plan.Adjacency, Unit: r.Plan.Unit, Delta: r.Plan.Delta, Inner: r.inner(),
		Method: r.Plan.Method(), Proof: r.Plan.Parts[0].Method.Proof(), Standing: certificate.Proven,
		Randomness: certificate.OSRandom, Version: r.Version, Samplers: r.samplers(),
	}
	for _, p := range r.Plan.Parts {
		part := p.Label
		if part == "" {
			part = "all records"
		}
		c.Sizes = append(c.Sizes, certificate.Size{Part: part, Records: p.Size})
	}
	slices.SortFunc(c.Sizes, func(a, b certificate.Size) int { return strings.Compare(a.Part, b.Part) })
	if r.Plan.Count != nil {
		c.Assumptions = append(c.Assumptions, "Sizes were counted with noise, which is among the events; those stated are the least that sampling rates were made from, and the rates of the events are the largest that could run.")
	}
	if r.progress != nil && len(r.recharges) > 0 {
		c.Assumptions = append(c.Assumptions, "Texts that were begun and lost were written again with fresh randomness, since the model does not repeat itself exactly; each is among the events.")
	}
	if r.reads() {
		c.Model = &certificate.Model{
			Name: h.Model.Name, Fingerprint: or(h.Model.Fingerprint, "not known: the back-end does not tell"),
			Backend: h.Model.Backend, BatchInvariant: h.Model.BatchInvariant, Deterministic: h.Model.Deterministic,
		}
	} else {
		c.Assumptions = append(c.Assumptions, "No private record was read.")
		c.Sizes = nil
	}
	if r.progress != nil && r.progress.charge != "" {
		c.Ledger = &certificate.LedgerReference{Charge: string(r.progress.charge), Head: r.checkpoint}
	}
	return certificate.NewStatement(c, r.evaluator)
}

// samplers that run. A run that draws nobody names the one that takes no credit.
func (r *runner) samplers() []certificate.Sampler {
	var out []certificate.Sampler
	for _, p := range r.Plan.Parts {
		if law := p.Method.Law(); law.Kind != "" {
			out = append(out, law.Sampler())
		}
	}
	if r.Plan.Count != nil || r.Plan.Discover != nil || len(out) == 0 {
		out = append(out, certificate.SampleAll)
	}
	return out
}

// certify signs the claim over all files of the folder.
func (r *runner) certify(context.Context) error {
	if !r.certified() {
		return nil
	}
	if there, err := r.exists(certificate.FileName); err != nil || there {
		return err
	}
	subjects, err := certificate.HashFiles(r.dir, append(r.names(), planFile, journalFile)...)
	if err != nil {
		return err
	}
	s, err := r.statement(subjects)
	if err != nil {
		return err
	}
	envelope, err := certificate.Sign(s, r.Signer)
	if err != nil {
		return fmt.Errorf("sign the certificate: %w", err)
	}
	if err := writeWhole(r.disk, r.path(certificate.FileName), envelope, 0o644); err != nil {
		return fmt.Errorf("write the certificate: %w", err)
	}
	r.tell(Event{Kind: Certified})
	return nil
}

// result tells what a complete run is.
func (r *runner) result() (*Result, error) {
	out := &Result{
		Dir: r.dir, Files: r.names(), Run: r.header.Run, Examples: r.examples(), Private: r.certified(), Event: r.Plan.Event(),
		Charge: r.progress.charge, Usage: r.usage, Resumed: r.resumed, Certificate: r.certified(), Warnings: r.warnings,
	}
	for _, again := range r.recharges {
		out.Recharges = append(out.Recharges, again.charge)
	}
	if !r.certified() {
		return out, nil
	}
	var err error
	out.Guarantee, out.Inner, err = r.guarantees()
	out.Event = out.Guarantee.Event
	return out, err
}

// memo keeps what an evaluator said, for a claim is evaluated before anything is charged
// and again when it is signed.
type memo struct {
	of    certificate.Evaluator
	known map[string]privacy.Interval
}

// Name implements [certificate.Evaluator].
func (m *memo) Name() string { return m.of.Name() }

// Epsilon implements [certificate.Evaluator].
func (m *memo) Epsilon(e privacy.Event, adj privacy.Adjacency, delta float64) (privacy.Interval, error) {
	key := fmt.Sprint(e, adj, delta)
	if i, ok := m.known[key]; ok {
		return i, nil
	}
	i, err := m.of.Epsilon(e, adj, delta)
	if err != nil {
		return i, err
	}
	if m.known == nil {
		m.known = map[string]privacy.Interval{}
	}
	m.known[key] = i
	return i, nil
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
