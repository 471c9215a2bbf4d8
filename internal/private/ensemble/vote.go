package ensemble

import (
	"context"
	"fmt"
	"math"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/private/internal/mechanism"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

func init() {
	register[Vote](method.Spec{
		Name: "vote", Summary: "let prompts vote for a label",
		Idea: "Each drawn record has a prompt of its own, which answers the question with a label of the task's list. The votes are counted, and the winner is chosen " +
			"with noise; a threshold answers without records where prompts do not agree, and saves what the vote would have cost.",
		Cost:  "Each prompt is read once for an answer, and nothing is written.",
		When:  "The default for questions whose answers are of a list.",
		Cites: "Duan et al. 2023, “Flocks of stochastic parrots”; Wu et al. 2023, “Privacy-preserving in-context learning for large language models”; Papernot et al. 2018 (threshold); Zhao et al. 2021 (calibration)",
		Draws: "40 records for each answer, one in each prompt", Calibrates: "range, or sigma",
		Steps: []string{
			"For each question, draw records and give each a prompt of its own; empty prompts vote as the public one.",
			"Ask each prompt which label of the task's list it gives the question.",
			"Count the votes, and draw a label with probability proportional to exp(c · its votes); or add Gaussian noise to the counts and take the largest.",
			"With a threshold, look with noise first whether enough prompts agree, and answer without records if not.",
		},
		Not:   "Where the same examples would serve all questions: a chosen prompt is paid for once.",
		Event: "poisson(q, boundedrange(c)) for an answer; with noise = gaussian poisson(q, gaussian(σ))", Theorem: "P35",
		Needs: "scores of given tokens", Labels: true,
		Settings: append(append(drawSettings(voters), method.Setting{
			Name: "ballot", Type: method.Choice, Help: "what a prompt says: hard, its best label, or soft, how far it moves each", Choices: []string{string(Hard), string(Soft)},
		}, method.Setting{
			Name: "noise", Type: method.Choice, Help: "how it is decided: exponential, gaussian, or threshold, which is gaussian if enough prompts agree, and public otherwise",
			Choices: []string{string(Exponential), string(Gaussian), string(Threshold)},
		}, method.Setting{
			Name: "threshold", Type: method.Float, Help: "with noise=threshold: how many prompts have to agree, or below 1 which share of them", Default: "0.6",
		}, uncalibratedSetting()), decode.SoftSettings()...),
	}, planVote)
}

// Defaults of votes.
const (
	// voters are the records that a vote draws, one for each prompt: it is read off scores.
	voters = 40
	// softClip in nats is how far one prompt may move a label's score before the mean.
	softClip = 4
	// agreement is the share of the prompts that a check asks for.
	agreement = 0.6
)

func planVote(a method.Ask) (*Vote, error) {
	v := Vote{
		Ballot: Ballot(a.Values.Word("ballot", string(Hard))), Noise: Noise(a.Values.Word("noise", string(Exponential))), Calibrate: !a.Values.Is("uncalibrated"),
	}
	if a.Values.Has("threshold") && v.Noise != Threshold {
		return nil, method.Wrong("a threshold is for votes with the noise %s, not %q", Threshold, a.Values.Word("noise", ""))
	}
	per := scheme.PerText
	if v.Noise == Threshold {
		per = scheme.PerToken // the check and the vote
	}
	var err error
	if v.Draw, err = drawn(a, per, voters); err != nil {
		return nil, err
	}
	prompts := float64(v.Draw.Prompts)
	if prompts == 0 {
		prompts = v.Draw.Expected(a.Size)
	}
	if v.Noise == Threshold {
		v.Threshold = a.Values.Float("threshold", agreement)
		if v.Threshold < 1 {
			v.Threshold *= prompts
		}
	}
	return calibrate(a, func(x float64) *Vote {
		out := v
		switch {
		case v.Ballot == Soft:
			out.Range, out.Expected, out.Gain, out.Centre = x, prompts, a.Values.Float("gain", 1), decode.Centre(a.Values.Word("centre", ""))
			width := 2. // as in decode.Clipped: what a prompt more or less moves, or one exchanged
			if v.Draw.Exchanges() {
				width = 4
			}
			out.Temperature = a.Values.Float("temperature", width*softClip*out.Gain/(prompts*x))
		case v.Noise == Exponential:
			out.Range = x
		case v.Noise == Threshold:
			// The same noise multiplier for both looks.
			out.Sigma, out.CheckSigma = x, x
		default:
			out.Sigma = x
		}
		return &out
	})
}

// Ballot is what a prompt contributes to a vote.
type Ballot string

// The ballots there are.
const (
	// Hard: one vote for the prompt's best label.
	Hard Ballot = "hard"
	// Soft: how far each label's log-probability is from that without records, clipped.
	Soft Ballot = "soft"
)

// Noise is how a vote is decided.
type Noise string

// The kinds there are.
const (
	// Exponential mechanism on the counts.
	Exponential Noise = "exponential"
	// Gaussian noise on the counts, then the largest.
	Gaussian Noise = "gaussian"
	// Threshold is Gaussian if enough prompts agree, and the public answer else.
	Threshold Noise = "threshold"
)

// Vote answers with one label of the task's list (Duan et al. 2023, "Flocks of stochastic
// parrots", and Wu et al. 2023, "Privacy-preserving in-context learning for large language
// models", vote with ensembles of prompts; Papernot et al. 2018, "Scalable private
// learning with PATE", has the threshold).
//
// Precondition: one unit adds or removes one prompt's vote, or exchanges it where prompts
// hold several records or the size of the draw is fixed. Postcondition, on the drawn
// records, with counts of votes on a grid:
//
//   - exponential: boundedrange(Range). A vote more raises one count by 1, so the counts
//     move by a vector whose entries differ by at most 1; exchanged, one falls too, and they
//     differ by at most 2. Softmax of counts times Range over that is Range-bounded-range
//     ([noise.Selector.Softmax]).
//   - gaussian: gaussian(Sigma). The counts move by 1 in ℓ2, exchanged by √2, and noise of
//     Sigma times that is added to each ([noise.RoundedGaussian]). Taking the largest is
//     post-processing.
//   - threshold: gaussian(CheckSigma) and, if the check passes, gaussian(Sigma), on draws of
//     their own. The largest count moves by at most 1, since every count does, exchanged or
//     not. Whether the second look happens depends on the first one's answer alone, so it is
//     adaptive composition; without it, the first is all that was used.
//   - soft ballots: boundedrange(Range), as [decode.Clipped] proves it for tokens; labels
//     take their place.
//
// Empty prompts vote as the public prompt, which is one of the answers that a prompt may
// have.
type Vote struct {
	// Draw: per text; per token for a threshold, whose two looks have draws of their own.
	Draw scheme.Scheme `json:"draw"`
	// Ballot is Hard by default, Noise is Exponential.
	Ballot Ballot `json:"ballot,omitempty"`
	Noise  Noise  `json:"noise,omitempty"`
	// Range of an exponential vote, which soft ballots always have.
	Range float64 `json:"range,omitempty"`
	// Sigma is the noise multiplier of a Gaussian vote.
	Sigma float64 `json:"sigma,omitempty"`
	// CheckSigma is the multiplier of the check, and Threshold the number of votes for one label that
	// passes it.
	CheckSigma float64 `json:"check_sigma,omitempty"`
	Threshold  float64 `json:"threshold,omitempty"`
	// Expected, Temperature, Gain and Centre of soft ballots are as in [decode.Clipped].
	Expected    float64       `json:"expected,omitempty"`
	Temperature float64       `json:"temperature,omitempty"`
	Gain        float64       `json:"gain,omitempty"`
	Centre      decode.Centre `json:"centre,omitempty"`
	// Calibrate divides labels' probabilities by what the same prompt gives them on
	// questions without content (Zhao et al. 2021).
	Calibrate bool `json:"calibrate,omitempty"`
}

// Name implements [Method].
func (*Vote) Name() string { return "vote" }

// Proof implements [Method].
func (v *Vote) Proof() string {
	switch {
	case v.Ballot == Soft:
		return "exponential mechanism on a sum of clipped differences of label scores, of which one unit adds, removes or exchanges one: bounded range"
	case v.Noise == Gaussian:
		return "Gaussian mechanism on counts of votes, of which one unit adds, removes or exchanges one: l2-sensitivity 1, or sqrt(2) exchanged"
	case v.Noise == Threshold:
		return "Gaussian mechanism on the largest count of votes (sensitivity 1), and adaptively on the counts of a second draw (l2-sensitivity 1, or sqrt(2) exchanged)"
	}
	return "exponential mechanism on counts of votes, of which one unit adds, removes or exchanges one: bounded range"
}

// minRange keeps a range's half a float64 that is exact, and not zero.
const minRange = 1e-300

func positive(x float64) bool { return x > 0 && !math.IsInf(x, 1) }

// Check implements [Method].
func (v *Vote) Check() error {
	switch v.Ballot {
	case "", Hard:
	case Soft:
		if v.Noise != "" && v.Noise != Exponential {
			return fmt.Errorf("soft ballots are decided by the exponential mechanism: leave out the noise %q, or use hard ballots", v.Noise)
		}
		if err := v.clipped().Check(); err != nil {
			return err
		}
		return checkOnce(v)
	default:
		return fmt.Errorf("unknown ballot %q: one of %s, %s", v.Ballot, Hard, Soft)
	}
	switch v.Noise {
	case "", Exponential:
		if !(v.Range >= minRange) || math.IsInf(v.Range, 1) {
			return fmt.Errorf("an exponential vote needs a positive range, not %v", v.Range)
		}
	case Gaussian, Threshold:
		if !positive(v.Sigma) {
			return fmt.Errorf("a %s vote needs a positive noise multiplier, not %v", v.Noise, v.Sigma)
		}
	default:
		return fmt.Errorf("unknown noise %q: one of %s, %s, %s", v.Noise, Exponential, Gaussian, Threshold)
	}
	if v.Noise != Threshold {
		return checkOnce(v)
	}
	if !positive(v.CheckSigma) || !(math.Abs(v.Threshold) <= 1<<30) {
		return fmt.Errorf("a threshold needs a positive noise multiplier for its check, not %v, and a number of votes, not %v", v.CheckSigma, v.Threshold)
	}
	if v.Draw.Per != scheme.PerToken {
		return fmt.Errorf("a vote under a threshold has a draw for its check and one for its vote: draw per token, not per %s", v.Draw.Per)
	}
	return checkEvent(v)
}

// Serves implements [Method].
func (*Vote) Serves(t prompt.Task) error { return chooses("vote", t) }

// Scheme implements [Method].
func (v *Vote) Scheme() scheme.Scheme { return v.Draw }

// Amounts implements [Method].
func (v *Vote) Amounts() []method.Amount {
	switch {
	case v.Ballot == Soft || v.Noise == Exponential || v.Noise == "":
		return []method.Amount{{Symbol: "c", Value: v.Range}}
	case v.Noise == Threshold:
		return []method.Amount{{Symbol: "σ", Value: v.Sigma}, {Symbol: "σ₁", Value: v.CheckSigma}}
	}
	return []method.Amount{{Symbol: "σ", Value: v.Sigma}}
}

// Loud implements [Method]: all votes for one label would not decide.
func (v *Vote) Loud(prompts float64) bool {
	return v.Sigma > prompts || v.Range > 0 && v.Ballot != Soft && v.Range*prompts < 1
}

// Work implements [Method].
func (v *Vote) Work() Work {
	w := asking(v.Calibrate)
	if v.Noise == Threshold {
		w.Looks = 2
	}
	return w
}

// Event implements [Method].
func (v *Vote) Event() privacy.Event {
	switch {
	case v.Ballot == Soft || v.Noise == "" || v.Noise == Exponential:
		return v.once(privacy.BoundedRange{C: v.Range})
	case v.Noise == Threshold:
		return privacy.Canonical(privacy.Compose{Events: []privacy.Event{v.check(), v.once(privacy.Gaussian{Sigma: v.Sigma})}})
	}
	return v.once(privacy.Gaussian{Sigma: v.Sigma})
}

func (v *Vote) once(look privacy.Event) privacy.Event {
	return privacy.Canonical(v.Draw.Event(look, 1))
}

// check is what the look at the largest count costs.
func (v *Vote) check() privacy.Event { return v.once(privacy.Gaussian{Sigma: v.CheckSigma}) }

// clipped chooses among labels as it does among tokens.
func (v *Vote) clipped() *decode.Clipped {
	return &decode.Clipped{
		Draw: v.Draw, Expected: v.Expected, Range: v.Range, Temperature: v.Temperature, Gain: v.Gain, Centre: v.Centre,
		Candidates: 1, // labels are all candidates
	}
}

func (v *Vote) answer(ctx context.Context, r *round) (outcome, error) {
	looks := 1
	if v.Noise == Threshold {
		looks = 2
	}
	view, err := r.views(ctx, v.Calibrate, looks)
	if err != nil {
		return outcome{}, err
	}
	label, used, err := v.decide(view, r.noise)
	if err != nil {
		return outcome{}, err
	}
	return outcome{r.Task.Labels[label], used}, nil
}

// decide picks a label. It takes a view for each look, from draws of their own, and a
// stream of noise for each.
func (v *Vote) decide(view func(look int) (decode.View, error), stream func(look int) *noise.Stream) (label int, used privacy.Event, err error) {
	last := 0
	if v.Noise == Threshold {
		first, err := view(0)
		if err != nil {
			return 0, nil, err
		}
		enough, err := v.agreed(first, stream(0))
		if err != nil {
			return 0, nil, err
		}
		if !enough {
			return best(first.Public), v.check(), nil
		}
		last = 1
	}
	now, err := view(last)
	if err != nil {
		return 0, nil, err
	}
	label, err = v.pick(now, stream(last))
	return label, nil, err
}

// agreed is the noisy check of the largest count.
func (v *Vote) agreed(view decode.View, s *noise.Stream) (bool, error) {
	q := v.top(view)
	if err := q.Ask(s); err != nil {
		return false, err
	}
	return float64(q.Values[0]) >= math.Ldexp(v.Threshold, fine), nil
}

// pick decides a vote.
func (v *Vote) pick(view decode.View, s *noise.Stream) (int, error) {
	switch {
	case v.Ballot == Soft:
		return v.clipped().Select(view, s)
	case v.Noise == Gaussian || v.Noise == Threshold:
		q := v.counts(view)
		if err := q.Ask(s); err != nil {
			return 0, err
		}
		return mechanism.Largest(q.Values), nil
	}
	return v.selection(view).Softmax(s)
}
