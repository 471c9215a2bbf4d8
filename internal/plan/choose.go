package plan

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/scheme"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/prompt"
)

// EnoughClip is the room in nats that the default batch leaves to a record.
const EnoughClip = 1.5

// DefaultGain is how much what records say counts, unless told.
func DefaultGain(t prompt.Task) float64 {
	if t.Open() {
		return 2
	}
	return 1
}

// defaultCentre of clipped differences: an answer to a question has few tokens that fit,
// which records mostly agree on, and a median among candidates that do not fit takes from
// what is left of that after clipping. Of texts that only fit a label many do.
func (r *Request) defaultCentre() decode.Centre {
	if r.Answers > 0 || r.Task.Kind == prompt.Generate {
		return decode.Uncentred
	}
	return "" // the method's own
}

// batches are the sizes that the default is chosen from.
var batches = []int{16, 32, 64, 128}

// New makes a plan that keeps to the ε and δ of a request.
func New(r Request) (Plan, error) {
	if r.Choosing != nil {
		return r.choosing()
	}
	if err := r.fill(); err != nil {
		return Plan{}, err
	}
	parts, err := r.split()
	if err != nil {
		return Plan{}, err
	}
	p := Plan{
		Task: r.Task, Epsilon: r.Epsilon, Delta: r.Delta, Unit: r.Unit, Adjacency: privacy.AddRemove,
		Shots: r.Shots, Tokens: r.Tokens, Rules: *r.Rules, Conditions: r.Conditions,
	}
	if r.Sampler == scheme.FixedSize {
		p.Adjacency = privacy.ReplaceOne
		if !r.Task.Open() {
			return Plan{}, wrong("draws of a fixed size within labels have no theorem: a replaced record may change its label, and with it the size of two parts; use poisson draws")
		}
		if r.Ending {
			return Plan{}, wrong("a shared ending is found under add-remove adjacency, and draws of a fixed size are under replace-one: use poisson draws")
		}
		if r.Discover {
			return Plan{}, wrong("labels are discovered under add-remove adjacency, and draws of a fixed size are under replace-one: use poisson draws")
		}
		if r.Count {
			return Plan{}, wrong("draws of a fixed size need the exact, public number of records: declare it")
		}
	}
	if r.Count {
		p.Count = &Count{Epsilon: r.CountEpsilon, Least: r.Least}
	}
	if r.Discover {
		p.Discover = &Discover{Epsilon: r.DiscoverEpsilon, Delta: r.Delta / 10, Most: max(20, r.Shots)}
	}
	if p.Ending, err = r.ending(parts); err != nil {
		return Plan{}, err
	}
	known := map[int64]decode.Method{}
	for _, part := range parts {
		if known[part.Size] == nil {
			if known[part.Size], err = r.method(p, part); err != nil {
				return Plan{}, err
			}
		}
		part.Method = decode.Settings{Method: known[part.Size]}
		p.Parts = append(p.Parts, part)
	}
	if err := p.Check(); err != nil {
		return Plan{}, wrong("%v", err)
	}
	return p, nil
}

// method fills in a method for one part so that the whole costs at most ε.
func (r *Request) method(p Plan, part Part) (decode.Method, error) {
	switch r.Method {
	case "clipped":
		return r.clipped(p, part)
	case "mixing":
		return r.mixing(p, part)
	case published:
		return r.mixingPublished(part, p.Tokens)
	case "public":
		return &decode.Public{Temperature: or(r.Temperature, 1), Candidates: r.candidates()}, nil
	case "real":
		// Enough that none is drawn but by a rare chance, also where fewer have the label.
		sampling, err := r.sampling(part, scheme.PerText, int(min(64, part.Size)), 0)
		return &decode.Real{Draw: sampling}, err
	}
	sampling, err := r.sampling(part, scheme.PerToken, or(r.Prompts, 10), or(r.PerPrompt, 2))
	if err != nil {
		return nil, err
	}
	k := r.candidates()
	switch r.Method {
	case "nonprivate":
		return &decode.NonPrivate{Draw: sampling, Candidates: k}, nil
	case "gaussian":
		return calibrate(p, part, func(x float64) decode.Method {
			return &decode.Gaussian{Draw: sampling, Candidates: k, Sigma: x, Choose: r.Choose}
		})
	case "noisymax":
		return calibrate(p, part, func(x float64) decode.Method {
			return &decode.NoisyMax{Draw: sampling, Candidates: k, Epsilon: x}
		})
	case "radius":
		return r.radius(p, part, sampling, k)
	}
	return nil, wrong("no defaults are known for the method %q", r.Method)
}

// radius shares the noise of a token out as the paper does at ε = 1: that of the radius is
// at least 7 times, that of the coverage at least 2.4 times that of the mean, and they are
// 10 and 3 where that is enough (Gao et al. 2025, tables 13 to 17). Without it, small ε
// could not be had: the two would spend more than all of it. The mean then gets what is
// left of the noise σ that one Gaussian would have, since 1/σ² adds up.
func (r *Request) radius(p Plan, part Part, sampling scheme.Scheme, k int) (decode.Method, error) {
	o := r.Radius
	setDefault(&o.Rounds, 1)
	setDefault(&o.Lambda, 0.15)
	if o.Sigma0 == 0 || o.Sigma2 == 0 {
		alone, err := calibrate(p, part, func(x float64) decode.Method {
			return &decode.Gaussian{Draw: sampling, Candidates: k, Sigma: x}
		})
		if err != nil {
			return nil, err
		}
		n := float64(o.Rounds)
		mean := alone.(*decode.Gaussian).Sigma * math.Sqrt(6.0/(7*7)+n+1+n/(2.4*2.4))
		setDefault(&o.Sigma0, max(10, math.Ceil(7*mean*10)/10))
		setDefault(&o.Sigma2, max(3, math.Ceil(2.4*mean*10)/10))
	}
	return calibrate(p, part, func(x float64) decode.Method {
		return &decode.Radius{
			Draw: sampling, Candidates: k, Sigma0: o.Sigma0, Sigma1: x, Sigma2: o.Sigma2, Lambda: o.Lambda, Rounds: o.Rounds,
		}
	})
}

func (r *Request) candidates() int {
	switch {
	case r.Candidates < 0:
		return 0
	case r.Candidates == 0:
		return 100
	}
	return r.Candidates
}

func or[V comparable](v, otherwise V) V {
	setDefault(&v, otherwise)
	return v
}

// scheme draws about prompts·each records, or about prompts with one in each.
func (r *Request) sampling(part Part, per scheme.Per, prompts, each int) (scheme.Scheme, error) {
	take := prompts * max(each, 1)
	l := scheme.Scheme{Kind: r.Sampler, Per: per}
	if each > 0 {
		// Poisson assignment puts a few more than the average into a prompt now and then.
		l.Prompts, l.PerPrompt = prompts, max(2*each, 2)
	}
	if int64(take) > part.Size {
		return l, wrong("%d records are to be drawn from a part of %d: ask for fewer prompts or a smaller batch", take, part.Size)
	}
	switch r.Sampler {
	case scheme.Poisson:
		l.Rate = float64(take) / float64(part.Size)
	case scheme.FixedSize:
		l.Take, l.Of = int64(take), part.Size
	case scheme.Disjoint:
		l.Batches = part.Size / int64(take)
		if l.Batches < part.Texts {
			return l, wrong("%d texts need disjoint batches of %d records, and the part has %d: ask for fewer texts or a smaller batch", part.Texts, take, part.Size)
		}
	}
	if err := l.Check(); err != nil {
		return l, wrong("%v", err)
	}
	return l, nil
}

// clipped chooses the batch, by roughly calibrated ranges, and then the range.
func (r *Request) clipped(p Plan, part Part) (decode.Method, error) {
	return r.batched(part, batches, func(batch int, by accountant.Accountant) (decode.Method, bool, error) {
		m, err := r.clippedAt(p, part, batch, by)
		return m, err == nil && m.(*decode.Clipped).Clip() >= EnoughClip, err
	})
}

// batched takes the first of sizes with which a roughly calibrated method has enough room
// for what a record says, or the last, unless a batch was asked for.
func (r *Request) batched(part Part, sizes []int, at func(batch int, by accountant.Accountant) (m decode.Method, enough bool, err error)) (decode.Method, error) {
	b := r.Batch
	for i := 0; b == 0; i++ {
		_, enough, err := at(sizes[i], accountant.Auto{Tolerance: 0.05})
		if err != nil {
			return nil, err
		}
		if enough || i+1 == len(sizes) || int64(sizes[i+1]) > part.Size {
			b = sizes[i]
		}
	}
	m, _, err := at(b, accountant.Auto{})
	return m, err
}

func (r *Request) clippedAt(p Plan, part Part, batch int, by accountant.Accountant) (decode.Method, error) {
	sampling, err := r.sampling(part, or(r.Per, scheme.PerText), batch, 0)
	if err != nil {
		return nil, err
	}
	return calibrateBy(by, p, part, func(x float64) decode.Method {
		return &decode.Clipped{
			Draw: sampling, Expected: float64(batch), Range: x, Temperature: or(r.Temperature, 0.5), Gain: or(r.Gain, DefaultGain(r.Task)),
			Candidates: max(1, r.candidates()), Centre: or(r.Centre, r.defaultCentre()),
		}
	})
}

// calibrate is calibrateBy the tightest accountant.
func calibrate(p Plan, part Part, build func(x float64) decode.Method) (decode.Method, error) {
	return calibrateBy(accountant.Auto{}, p, part, build)
}

// calibrateBy finds the number x at which the plan, with this part alone, costs its ε: the
// least noise, or the largest range. Parts share no unit, so each may use all of it.
func calibrateBy(by accountant.Accountant, p Plan, part Part, build func(x float64) decode.Method) (decode.Method, error) {
	x, err := solve(build(1).Name(), accountant.Target{Epsilon: p.Epsilon, Delta: p.Delta, Adjacency: p.Adjacency, Accountant: by}, func(x float64) privacy.Event {
		part.Method = decode.Settings{Method: build(x)}
		p.Parts = []Part{part}
		return p.Event()
	})
	if err != nil {
		return nil, err
	}
	return build(x), nil
}

// solve finds the number x at which a method's event costs what it may.
func solve(name string, target accountant.Target, at func(x float64) privacy.Event) (float64, error) {
	template, err := asTemplate(at)
	if err != nil {
		return 0, err
	}
	c, err := accountant.Calibrate(template, target)
	var impossible *accountant.ImpossibleError
	if errors.As(err, &impossible) {
		return 0, wrong("no setting of %s keeps to ε = %v at δ = %v: %v", name, target.Epsilon, target.Delta, err)
	}
	if err != nil {
		return 0, fmt.Errorf("calibrate %s: %w", name, err)
	}
	if got := at(c.X).String(); got != c.Event.String() && got != privacy.Canonical(c.Event).String() {
		return 0, fmt.Errorf("the calibrated event %s is not the plan's %s", c.Event, got)
	}
	return c.X, nil
}

// asTemplate turns a family of events into an expression with the unknown x, by way of
// a number that no other parameter has.
func asTemplate(at func(x float64) privacy.Event) (privacy.Template, error) {
	const mark = math.Pi * 0.1
	text := at(mark).String()
	number := privacy.FormatNumber(mark)
	if !strings.Contains(text, number) {
		return privacy.Template{}, fmt.Errorf("the event %s does not depend on what is to be calibrated", text)
	}
	return privacy.ParseTemplate(strings.ReplaceAll(text, number, "x"))
}
