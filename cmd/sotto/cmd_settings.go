package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/private/ensemble"
	"github.com/sotto-dp/sotto/internal/scheme"
	"github.com/sotto-dp/sotto/internal/ui"
)

// settingFlags are settings of methods.
type settingFlags struct {
	batch       int
	per         string
	temperature number
	gain        number
	centre      string
	mean        string
	most        number
	order       int
	proof       string
	candidates  int
	sampler     string
	prompts     int
	perPrompt   int
	choose      string

	given func(flag string) bool
}

// everything is what --candidates takes for the whole vocabulary.
const everything = 0

func (s *settingFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	s.given = f.Changed
	f.IntVar(&s.batch, "batch", 0, "clipped, mixing, vote, embedding, keyword: how many records to draw for a text or answer (default: what suits the method)")
	f.StringVar(&s.per, "per", "", "clipped, mixing: how long to keep a draw: text or token (default text)")
	complete(cmd, "per", string(scheme.PerText), string(scheme.PerToken))
	f.Var(&s.temperature, "temperature", "clipped, mixing, public: how freely to choose tokens (default 0.5; public 1)")
	f.IntVar(&s.candidates, "candidates", 0, "choose among the `K` most likely tokens; 0 takes the whole vocabulary, where a method can (default 100); embedding, keyword: among so many public answers (default 40)")
	f.StringVar(&s.sampler, "sampler", "", "how to draw: poisson, fixed-size or disjoint (default poisson)")
	complete(cmd, "sampler", string(scheme.Poisson), string(scheme.FixedSize), string(scheme.Disjoint))
	f.IntVar(&s.prompts, "prompts", 0, "gaussian, noisymax, radius: prompts for a token (default 10); vote, embedding, keyword: prompts for an answer")
	f.IntVar(&s.perPrompt, "per-prompt", 0, "the same: records in a prompt, on average (default 2; of whole answers 1)")
	f.Var(&s.gain, "gain", "clipped: how much what records say counts; 1 is their mean (default 2)")
	f.StringVar(&s.centre, "centre", "", "clipped: how a record's differences are centred before they are clipped: median, mid-range or none (default median; for answers none)")
	complete(cmd, "centre", string(decode.Median), string(decode.MidRange), string(decode.Uncentred))
	f.StringVar(&s.mean, "mean", "", "mixing: how to put prompts together: geometric or product, the paper's (default geometric)")
	complete(cmd, "mean", string(plan.Geometric), string(plan.Product))
	f.Var(&s.most, "most", "mixing: the largest λ, how much of what a record says is mixed in (default 1.5)")
	f.StringVar(&s.proof, "proof", proofOurs, "mixing: proven, or published: the paper's rule, whose guarantee is claimed and NOT PROVEN")
	complete(cmd, "proof", proofOurs, proofPublished)
	f.IntVar(&s.order, "order", 0, "mixing --proof published: the order α of its divergence (default: as the paper chooses it)")
	f.StringVar(&s.choose, "choose", "", "gaussian: how to pick from the noisy sum: argmax, sample or nucleus (default argmax)")
	complete(cmd, "choose", string(decode.ArgMax), string(decode.Sample), string(decode.Nucleus))
}

// Values of --proof.
const (
	proofOurs      = "proven"
	proofPublished = "published"
)

// published is the name of mixing by the paper's rule.
const published = "mixing-published"

// named is the method that --method and --proof name together.
func (s *settingFlags) named(method string) (string, error) {
	switch {
	case s.proof == proofOurs:
		return method, nil
	case s.proof != proofPublished:
		return "", usage("--proof is %q, it should be proven or published", s.proof)
	case method != "mixing" && method != published:
		return "", usage("--proof published is for --method mixing: the proofs of the others hold as they were published")
	}
	return published, nil
}

// claims reports whether the user asked for a guarantee that is claimed alone.
func (s *settingFlags) claims() bool { return s.proof == proofPublished }

// flagMethods are the methods that a flag is for.
var flagMethods = map[string][]string{
	"batch": {"clipped", "mixing", published, "vote", "embedding", "keyword"}, "per": {"clipped", "mixing"},
	"gain": {"clipped", "vote"}, "centre": {"clipped", "vote"}, "choose": {"gaussian"},
	"temperature": {"clipped", "mixing", "public", "vote"}, "mean": {"mixing"}, "most": {"mixing", published}, "order": {published},
	"prompts":    {"gaussian", "noisymax", "radius", "nonprivate", "vote", "embedding", "keyword"},
	"per-prompt": {"gaussian", "noisymax", "radius", "nonprivate", "vote", "embedding", "keyword"},
	"ballot":     {"vote"}, "noise": {"vote"}, "threshold": {"vote"}, "uncalibrated": {"vote"}, "select": {"keyword"}, "keywords": {"keyword"},
}

// explicit finds flags that are given, and would be taken for not given, or not be used
// by any of the methods.
func (s *settingFlags) explicit(methods ...string) error {
	if err := positive(s.given, map[string]float64{
		"batch": float64(s.batch), "prompts": float64(s.prompts), "per-prompt": float64(s.perPrompt), "order": float64(s.order),
		"temperature": s.temperature.value, "gain": s.gain.value, "most": s.most.value,
	}); err != nil {
		return err
	}
	for name, of := range flagMethods {
		used := slices.ContainsFunc(methods, func(m string) bool { return slices.Contains(of, m) })
		if s.given(name) && !used && (slices.Contains(decode.Names(), methods[0]) || slices.Contains(ensemble.Names(), methods[0])) {
			return usage("--%s is for %s, and would change nothing for %s: leave it out", name, strings.Join(of, ", "), strings.Join(methods, ", "))
		}
	}
	return nil
}

// settings fills them in.
func (s *settingFlags) settings(q *plan.Request) error {
	for name, n := range map[string]int{"batch": s.batch, "candidates": s.candidates, "prompts": s.prompts, "per-prompt": s.perPrompt} {
		if n < 0 {
			return usage("--%s is %d, it should be positive", name, n)
		}
	}
	q.Sampler, q.Batch, q.Per, q.Temperature, q.Gain = scheme.Kind(s.sampler), s.batch, scheme.Per(s.per), s.temperature.value, s.gain.value
	q.Centre, q.Candidates, q.Choose = decode.Centre(s.centre), s.candidates, decode.Chooser(s.choose)
	q.Mean, q.Most, q.Order = plan.Mean(s.mean), s.most.value, s.order
	q.Prompts, q.PerPrompt = s.prompts, s.perPrompt
	if s.given("candidates") && s.candidates == everything {
		q.Candidates = -1
	}
	return nil
}

// ensembleFlags are settings of methods that let prompts answer whole.
type ensembleFlags struct {
	ballot       string
	noise        string
	threshold    number
	uncalibrated bool
	choosing     string
	keywords     int
}

func (e *ensembleFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&e.ballot, "ballot", "", "vote: what a prompt says: hard, its best label, or soft, how far it moves each (default hard)")
	complete(cmd, "ballot", string(ensemble.Hard), string(ensemble.Soft))
	f.StringVar(&e.noise, "noise", "", "vote: how it is decided: exponential, gaussian, or threshold, which is gaussian if enough prompts agree and public else (default exponential)")
	complete(cmd, "noise", string(ensemble.Exponential), string(ensemble.Gaussian), string(ensemble.Threshold))
	f.Var(&e.threshold, "threshold", "vote --noise threshold: how many prompts have to agree, or below 1 which share of them (default 0.6)")
	f.BoolVar(&e.uncalibrated, "uncalibrated", false, "vote: take labels' scores as they are, without calibration by contents that say nothing")
	f.StringVar(&e.choosing, "select", "", "keyword: how words are selected: joint, from a public list, or ptr, propose, test and release (default joint)")
	complete(cmd, "select", string(ensemble.Joint), string(ensemble.Test))
	f.IntVar(&e.keywords, "keywords", 0, "keyword: how many words (default 5)")
}

// settings fills them in.
func (e *ensembleFlags) settings(q *plan.Request) error {
	if e.keywords < 0 || e.threshold.set && !(e.threshold.value > 0) {
		return usage("--keywords is %d and --threshold %s, they should be positive", e.keywords, ui.Whole(e.threshold.value))
	}
	q.Ballot, q.Noise, q.Threshold, q.Uncalibrated = ensemble.Ballot(e.ballot), ensemble.Noise(e.noise), e.threshold.value, e.uncalibrated
	q.Select, q.Keywords = ensemble.Select(e.choosing), e.keywords
	return nil
}
