package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/plan/forecast"
	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/prompt"
)

func (r *runner) planFile() any { return r.plan }

func (r *runner) describe() spec {
	return spec{
		Name: fmt.Sprintf("%s %s", r.plan.Task.Name, r.plan.Method()), Private: r.plan.Private(), Event: r.plan.Event(),
		Adjacency: r.plan.Adjacency, Unit: r.plan.Unit, Epsilon: r.plan.Epsilon, Delta: r.plan.Delta,
		Texts: r.plan.Texts(), MaxTokens: r.plan.Tokens,
	}
}

// modelHeader is who sees records: a language model, or where none takes part the encoder.
func (r *runner) modelHeader() model {
	if r.plan.Learns() {
		return modelOfEncoder(r.exec.env.Encoder)
	}
	return modelOf(r.exec.env.Model, r.exec.env.ModelName, r.reader.isolation())
}

func (r *runner) stages() []func(context.Context) error {
	return []func(context.Context) error{r.count, r.discover, r.findEnding, r.choose, r.writeTexts, r.addUp, r.rounds, r.worth}
}

func (r *runner) repeats() bool {
	c := r.plan.Choose
	chosen := c == nil || int64(len(r.exec.progress.winners)) >= c.AllRounds() && (c.Measure == nil || r.exec.progress.measured != nil)
	return r.exec.progress.header.Model.exact() && !r.invents() || r.exec.progress.done() >= r.plan.Texts() && chosen
}

func (r *runner) fill(ctx context.Context, out *Result) (err error) {
	if err := r.checkWinners(); err != nil {
		return err
	}
	out.Examples, out.Ending, out.Usage = r.examples(), r.exec.progress.ending, r.reader.usage
	if r.plan.Choose != nil || r.plan.Learns() {
		chosen := r.prompt()
		out.Prompt = &chosen
		if out.Worth, err = r.measuredWorth(); err != nil {
			return err
		}
		if out.Evidence, err = r.summed(); err != nil {
			return err
		}
	}
	out.Planned, err = r.planned(ctx)
	return err
}

// planned is how many tokens the plan puts through the model, on average over who is
// drawn: what it took in fact depends on that.
func (r *runner) planned(ctx context.Context) (int64, error) {
	if r.plan.Learns() {
		return 0, nil
	}
	shape, err := plan.ShapeOf(ctx, r.exec.env.Model.Tokenizer(), r.plan.Task, r.exec.progress.conditions)
	if err != nil {
		return 0, err
	}
	return int64(r.plan.Cost(shape, plan.Speed{Served: !r.exec.env.Model.Info().BatchInvariant}).Cached.Tokens), nil
}

// examples returns the examples of the prompt that the records chose, or else the released texts, in
// their order.
func (r *runner) examples() []prompt.Example {
	if r.plan.Choose == nil {
		return r.outputs()
	}
	return slices.Concat(r.prompt().Examples)
}

// outputs are the released texts, in their order.
func (r *runner) outputs() []prompt.Example {
	out := make([]prompt.Example, len(r.exec.progress.texts))
	for i, t := range r.exec.progress.texts {
		said := withEnding(t.output, r.exec.progress.ending)
		out[i] = prompt.Example{Input: said, Output: t.condition}
		if r.plan.Task.Kind == prompt.Generate {
			out[i] = prompt.Example{Input: t.condition, Output: said}
		}
	}
	return out
}

// content is what the files are made from. It is a function of plan and journal: the
// same bytes come out whenever it is made.
func (r *runner) content(ctx context.Context) (release.Release, error) {
	out := release.Release{
		Task: r.plan.Task, Examples: r.examples(), Method: r.plan.Method(), Settings: r.settings(),
		Private: r.plan.Private(), Seeded: r.exec.env.Seed != nil, Claim: r.plan.Claim(), Counted: r.plan.Count != nil,
		Model: r.exec.progress.header.Model.Name, Backend: r.exec.progress.header.Model.Backend, Isolation: string(r.exec.progress.header.Model.Isolation), Version: r.exec.env.Version,
	}
	out.Forecast = r.foreseen(r.exec.progress.header.Model.Name)
	out.Sizes = r.released()
	if r.plan.Choose != nil || r.plan.Learns() {
		chosen := r.prompt()
		out.Origin, out.Task, out.Prompt = release.Learned, chosen.For(out.Task), &chosen
		if r.plan.Choose != nil {
			out.Origin, out.Settings["pool"] = release.Chosen, len(r.space().Pool)
		}
		var err error
		if out.Worth, err = r.measuredWorth(); err != nil {
			return out, err
		}
		if out.Evidence, err = r.summed(); err != nil {
			return out, err
		}
	}
	var err error
	if out.ModelTokens, err = r.planned(ctx); err != nil {
		return out, err
	}
	return out, r.exec.guaranteed(&out)
}

// released are the sizes that sampling rates were made from.
func (r *runner) released() []release.Size {
	var out []release.Size
	for i, p := range r.plan.Parts {
		units := p.Size
		if r.exec.progress.sizes != nil && len(r.exec.progress.sizes) == len(r.plan.Parts) {
			units = max(units, r.exec.progress.sizes[i])
		}
		out = append(out, release.Size{Part: p.Label, Units: units})
	}
	return out
}

func (r *runner) files(ctx context.Context) ([]release.File, error) {
	content, err := r.content(ctx)
	if err != nil {
		return nil, err
	}
	return release.Render(content)
}

// settings returns what the report shows of the plan.
func (r *runner) settings() map[string]any {
	out, rules := map[string]any{}, map[string]any{}
	if e := r.plan.Evidence; e != nil {
		out["evidence_sums"], out["evidence_sigma"], out["encoder"] = e.Sums.Sums, e.Sigma, e.Encoder
	}
	if r.plan.Learns() {
		return out // nothing is written
	}
	// What a plan holds can be encoded: it was, for plan.json.
	data, _ := json.Marshal(r.plan.Parts[0].Method.Method)
	_ = json.Unmarshal(data, &out)
	data, _ = json.Marshal(r.plan.Rules)
	_ = json.Unmarshal(data, &rules)
	out["shots"], out["tokens"], out["rules"] = r.plan.Shots, r.plan.Tokens, rules
	if c := r.plan.Choose; c != nil {
		out["shots"] = len(r.prompt().Shown())
		if n := r.prompt().Nearest; n.Used() {
			out["nearest"], out["encoder"] = n.Examples, n.Encoder
		}
		out["rounds"], out["records"], out["range"], out["utility"] = c.Rounds, c.Draw.Expected(r.units()), c.Range, c.Utility
		if l := c.Last; l != nil {
			out["last_records"], out["last_range"] = l.Draw.Expected(r.units()), l.Range
		}
		out["form"] = r.prompt().Form.Name()
		if c.Made != nil {
			out["pool_model"] = c.Made.Model
		}
	}
	return out
}

func (r *runner) claim(c *certificate.Claim) {
	c.Method, c.Proof, c.Samplers = r.plan.Method(), r.plan.Proof(), r.samplers()
	if !r.plan.Reads() {
		c.Assumptions = append(c.Assumptions, "No private record was read.")
		return
	}
	for _, p := range r.plan.Parts {
		c.Sizes = append(c.Sizes, certificate.Size{Part: cmp.Or(p.Label, "all records"), Records: p.Size})
	}
	slices.SortFunc(c.Sizes, func(a, b certificate.Size) int { return strings.Compare(a.Part, b.Part) })
	if r.plan.Count != nil {
		c.Assumptions = append(c.Assumptions, "Sizes were counted with noise, which is among the events; those stated are the least that sampling rates were made from, and the rates of the events are the largest that could run.")
	}
	if r.exec.progress != nil && len(r.exec.progress.recharges) > 0 {
		c.Assumptions = append(c.Assumptions, "Texts that were begun and lost were written again with fresh randomness, since the model does not repeat itself exactly; each is among the events.")
	}
	if of := r.plan.Choose; of != nil && of.Form.Turns() {
		c.Assumptions = append(c.Assumptions, "Records judged prompts as turns of a chat, by what the model wrote.")
	}
	if r.plan.Choose != nil && r.plan.Choose.Nearest != nil {
		c.Assumptions = append(c.Assumptions, "A record judged prompts that give each question the nearest examples with those nearest to its own: they are public, and which a record got is not released.")
	}
	if said := r.authors(); said != "" {
		c.Assumptions = append(c.Assumptions, said)
	}
	c.Model = r.exec.identified(r.modelHeader).claimed()
}

// samplers lists the samplers of a run, by the names that schemes and certificates share. A
// run that draws nobody names the one that takes no credit.
func (r *runner) samplers() []certificate.Sampler {
	var out []certificate.Sampler
	for _, p := range r.plan.Parts {
		if sampling := p.Method.Scheme(); sampling.Kind != "" {
			out = append(out, certificate.Sampler(sampling.Kind))
		}
	}
	all := r.plan.Count != nil || r.plan.Discover != nil || r.plan.Ending != nil || r.plan.Evidence != nil
	if c := r.plan.Choose; c != nil {
		out = append(out, certificate.Sampler(c.Draw.Kind)) // the last round draws alike
	}
	if m := r.plan.Measure; m != nil && privacy.Sampled(m.Event()) {
		out = append(out, certificate.Sampler(m.Draw.Kind))
	}
	if all || len(out) == 0 {
		out = append(out, certificate.SampleAll)
	}
	return out
}

// caution says what the plan is and what to expect of it, both functions of the plan and the
// model alone, and warns of what the plan itself finds amiss, of a δ that has no privacy guarantee, and of
// what rests on somebody's word.
func (r *runner) caution() {
	r.exec.uncharged(r.plan.Steps())
	for _, w := range r.plan.Warnings() {
		r.exec.warnOf(w)
	}
	if f, err := forecast.Of(r.plan, r.exec.env.ModelName); err == nil {
		r.expect(f)
	} else if few, ok := errors.AsType[*forecast.RoundsError](err); ok {
		r.exec.uncharged(few.Error())
	}
	sizes, n := make([]int64, len(r.plan.Parts)), int64(0)
	for i, p := range r.plan.Parts {
		sizes[i] = p.Size
		n += p.Size
	}
	if r.options.Data != nil && r.plan.Reads() && r.plan.Count == nil && r.exec.progress.charge == "" {
		r.exec.uncharged(r.options.Data.Declared(sizes))
	}
	if r.plan.Reads() {
		r.exec.warnOfClaim(r.plan.Delta, n)
	}
}

// foreseen is the forecast in words, or why a plan of so few rounds has none; "" if it has none
// otherwise.
func (r *runner) foreseen(model string) string {
	f, err := forecast.Of(r.plan, model)
	if few, ok := errors.AsType[*forecast.RoundsError](err); ok {
		return few.Error()
	}
	if err != nil {
		return ""
	}
	return f.Words()
}

// expect says what to expect, and warns if that is nothing.
func (r *runner) expect(f forecast.Forecast) {
	r.exec.uncharged(f.Words())
	r.exec.warnOf(f.Warning())
}
