package plan

import (
	"fmt"
	"math"
	"slices"

	"github.com/sotto-dp/sotto/internal/private/ensemble"
	"github.com/sotto-dp/sotto/internal/scheme"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
)

// The records that an ensemble draws unless told, one for each prompt: a vote is read off
// scores, a sentence has to be written.
const (
	voters  = 40
	writers = 32
)

// Other defaults of ensembles.
const (
	// softClip in nats is how far one prompt may move a label's score before the mean.
	softClip = 4
	// agreement is the share of the prompts that a check asks for.
	agreement   = 0.6
	keywords    = 5
	publicTexts = 40
)

// whole reports whether a method makes one answer of whole answers.
func whole(method string) bool { return slices.Contains(ensemble.Names(), method) }

// ensemble fills in a method so that all answers together cost at most ε.
func (r *Request) ensemble(a Answers) (ensemble.Method, error) {
	if err := r.checkEnsemble(); err != nil {
		return nil, err
	}
	switch r.Method {
	case "vote":
		return r.vote(a)
	case "embedding":
		sampling, err := r.ensembleScheme(a, scheme.PerText, writers)
		if err != nil {
			return nil, err
		}
		return calibrateEnsemble(a, func(x float64) ensemble.Method {
			return &ensemble.Embedding{Draw: sampling, Sigma: x, Candidates: or(r.Candidates, publicTexts)}
		})
	case "keyword":
		return r.keyword(a)
	}
	return nil, wrong("no defaults are known for the method %q", r.Method)
}

// checkEnsemble finds settings that say nothing.
func (r *Request) checkEnsemble() error {
	switch {
	case r.Batch != 0 && (r.Prompts != 0 || r.PerPrompt != 0):
		return wrong("a batch has a record in each prompt: give it, or a number of prompts and of records in each, not both")
	case r.Method != "vote" && (r.Ballot != "" || r.Noise != "" || r.Threshold != 0 || r.Uncalibrated):
		return wrong("ballots, their noise, a threshold and calibration are settings of vote, not of %s", r.Method)
	case r.Method != "keyword" && (r.Select != "" || r.Keywords != 0):
		return wrong("keywords and how they are selected are settings of keyword, not of %s", r.Method)
	case r.Threshold != 0 && r.Noise != ensemble.Threshold:
		return wrong("a threshold is for votes with the noise %s, not %q", ensemble.Threshold, r.Noise)
	case r.Threshold < 0 || r.Candidates < 0 || r.Keywords < 0:
		return wrong("a threshold (%v), candidates (%d) and keywords (%d) must not be negative", r.Threshold, r.Candidates, r.Keywords)
	}
	return nil
}

// ensembleScheme draws a record for each of so many prompts, or as the request says.
func (r *Request) ensembleScheme(a Answers, per scheme.Per, prompts int) (scheme.Scheme, error) {
	prompts = or(r.Prompts, or(r.Batch, int(min(int64(prompts), a.Size))))
	each := or(r.PerPrompt, 1)
	if prompts < 1 || each < 1 {
		return scheme.Scheme{}, wrong("prompts (%d) and records in each (%d) must be positive", prompts, each)
	}
	if each == 1 {
		each = 0 // a prompt of its own for each record, however many are drawn
	}
	return r.sampling(Part{Size: a.Size, Texts: a.Together}, per, prompts, each)
}

func (r *Request) vote(a Answers) (ensemble.Method, error) {
	per := scheme.PerText
	if r.Noise == ensemble.Threshold {
		per = scheme.PerToken // the check and the vote
	}
	sampling, err := r.ensembleScheme(a, per, voters)
	if err != nil {
		return nil, err
	}
	v := ensemble.Vote{Draw: sampling, Ballot: or(r.Ballot, ensemble.Hard), Noise: or(r.Noise, ensemble.Exponential), Calibrate: !r.Uncalibrated}
	prompts := float64(sampling.Prompts)
	if prompts == 0 {
		prompts = sampling.Expected(a.Size)
	}
	if v.Noise == ensemble.Threshold {
		v.Threshold = or(r.Threshold, agreement)
		if v.Threshold < 1 {
			v.Threshold *= prompts
		}
	}
	return calibrateEnsemble(a, func(x float64) ensemble.Method {
		out := v
		switch {
		case v.Ballot == ensemble.Soft:
			out.Range, out.Expected, out.Gain, out.Centre = x, prompts, or(r.Gain, 1), r.Centre
			width := 2. // as in decode.Clipped: what a prompt more or less moves, or one exchanged
			if sampling.Prompts > 0 || sampling.Kind == scheme.FixedSize {
				width = 4
			}
			out.Temperature = or(r.Temperature, width*softClip*out.Gain/(prompts*x))
		case v.Noise == ensemble.Exponential:
			out.Range = x
		case v.Noise == ensemble.Threshold:
			// The same noise multiplier for both looks.
			out.Sigma, out.CheckSigma = x, x
		default:
			out.Sigma = x
		}
		return &out
	})
}

func (r *Request) keyword(a Answers) (ensemble.Method, error) {
	sampling, err := r.ensembleScheme(a, scheme.PerText, writers)
	if err != nil {
		return nil, err
	}
	k := ensemble.Keyword{Draw: sampling, Select: or(r.Select, ensemble.Joint), Keywords: or(r.Keywords, keywords)}
	if k.Select == ensemble.Test {
		// Failures of all tests together may use half of δ; who is not drawn is not in them.
		rate := sampling.Expected(a.Size) / float64(a.Size)
		k.Failure = math.Min(0.01, a.Delta/(2*float64(a.Together)*rate))
		return calibrateEnsemble(a, func(x float64) ensemble.Method {
			out := k
			out.Sigma = x
			return &out
		})
	}
	k.Candidates = or(r.Candidates, publicTexts)
	return calibrateEnsemble(a, func(x float64) ensemble.Method {
		out := k
		out.Range = x
		return &out
	})
}

// calibrateEnsemble finds the number x at which all answers together cost their ε.
func calibrateEnsemble(a Answers, build func(x float64) ensemble.Method) (ensemble.Method, error) {
	if err := build(1).Check(); err != nil {
		return nil, wrong("%v", err)
	}
	target := accountant.Target{Epsilon: a.Epsilon, Delta: a.Delta, Adjacency: a.Adjacency, Accountant: accountant.Auto{}}
	x, err := solve(build(1).Name(), target, func(x float64) privacy.Event {
		return privacy.Canonical(privacy.Repeat{N: a.Together, Event: build(x).Event()})
	})
	if err != nil {
		return nil, err
	}
	return build(x), nil
}

// checkEnsemble is [Answers.Check] where whole answers become one.
func (a Answers) checkEnsemble() error {
	if a.Tokens < 1 {
		return fmt.Errorf("a plan of answers needs tokens")
	}
	if err := a.Ensemble.Check(); err != nil {
		return err
	}
	if err := a.Ensemble.Serves(a.Task); err != nil {
		return err
	}
	if sampling := a.Scheme(); sampling.Adjacency() != a.Adjacency {
		return fmt.Errorf("the plan is under %s adjacency, and its draws under %s", a.Adjacency, sampling.Adjacency())
	}
	return privacy.Validate(a.Event())
}

// innerOf are the events below the sampling of an event: what protects someone of whom it
// is known that they were drawn.
func innerOf(e privacy.Event) []privacy.Event {
	terms, err := privacy.Terms(e)
	if err != nil {
		return nil
	}
	var out []privacy.Event
	for _, t := range terms {
		switch e := t.Event.(type) {
		case privacy.Poisson:
			out = append(out, e.Event)
		case privacy.FixedSize:
			out = append(out, e.Event)
		}
	}
	return out
}

// ensembleWarnings are about noise that drowns what prompts say.
func (a Answers) ensembleWarnings() []string {
	prompts, _, _ := occupancy(a.Scheme(), a.Size)
	loud := false
	switch m := a.Ensemble.Method.(type) {
	case *ensemble.Vote:
		// All votes for one label would not decide.
		loud = m.Sigma > prompts || m.Range > 0 && m.Ballot != ensemble.Soft && m.Range*prompts < 1
	case *ensemble.Embedding:
		loud = m.Sigma > prompts
	case *ensemble.Keyword:
		loud = m.Range > 0 && m.Range*prompts < 1 || m.Sigma > prompts
	}
	if !loud {
		return nil
	}
	together := ""
	if a.Together > 1 {
		together = fmt.Sprintf(" for %d answers", a.Together)
	}
	return []string{fmt.Sprintf("ε = %v%s leaves noise that all %.0f prompts together do not stand out of: ask for a larger ε, fewer answers, or more prompts", a.Epsilon, together, prompts)}
}

// ensembleNoise says what protects records in an answer.
func (a Answers) ensembleNoise() string {
	switch m := a.Ensemble.Method.(type) {
	case *ensemble.Vote:
		switch {
		case m.Ballot == ensemble.Soft || m.Noise == ensemble.Exponential || m.Noise == "":
			return "c = " + short(m.Range)
		case m.Noise == ensemble.Threshold:
			return "σ = " + short(m.Sigma) + ", σ₁ = " + short(m.CheckSigma)
		}
		return "σ = " + short(m.Sigma)
	case *ensemble.Embedding:
		return "σ = " + short(m.Sigma)
	case *ensemble.Keyword:
		if m.Select == ensemble.Test {
			return "σ = " + short(m.Sigma)
		}
		return "c = " + short(m.Range)
	}
	return "none"
}

// drawsOf says how many records are drawn for an answer.
func drawsOf(sampling scheme.Scheme, size int64) string {
	n := math.Round(sampling.Expected(size))
	records := fmt.Sprintf("%.0f", n)
	if sampling.Prompts > 0 && math.Mod(n, float64(sampling.Prompts)) == 0 {
		records = fmt.Sprintf("%d × %.0f", sampling.Prompts, n/float64(sampling.Prompts))
	}
	if sampling.Per == scheme.PerToken {
		return "twice " + records + " a text"
	}
	return records + " a text"
}

// contentFree is how many questions without content a calibrated prompt is asked.
const contentFree = 3

// ensembleCost predicts the work of one answer: of all prompts in full, and where answers
// are written, of their tokens and of the public ones.
func (a Answers) ensembleCost(s Shape, v Speed) Cost {
	prompts, filled, records := occupancy(a.Scheme(), a.Size)
	instruction, steps := float64(s.Instruction), float64(a.Tokens)
	ask, looks, public := s.Head, 1.0, 0.0
	switch m := a.Ensemble.Method.(type) {
	case *ensemble.Vote:
		steps = 0
		if m.Calibrate {
			ask += contentFree * math.Max(0, s.Head-float64(a.Task.Limits.InputTokens))
		}
		if m.Noise == ensemble.Threshold {
			looks = 2
		}
	case *ensemble.Embedding:
		public = float64(m.Candidates)
	case *ensemble.Keyword:
		public = float64(max(1, m.Candidates))
	}
	c := Cost{Sequences: 1 + filled}
	opening := instruction + ask + looks*(records*s.Record+filled*ask)
	written := math.Max(0, steps-1)
	c.Cached.Tokens = opening + written*(filled+public)
	c.Cached.Seconds = v.read(opening)
	if written > 0 {
		c.Cached.Seconds += v.decode(written, math.Max(1, filled)) + v.decode(written, math.Max(1, public))
	}
	passes := math.Max(1, steps)
	tails := passes * (passes - 1) / 2
	c.Uncached.Tokens = (math.Max(1, public)+looks*prompts)*(passes*(instruction+ask)+tails) + looks*passes*records*s.Record
	c.Uncached.Seconds = v.read(c.Uncached.Tokens)
	return c
}
