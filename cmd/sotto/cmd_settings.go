package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sotto/plan"
	"sotto/private/decode"
	"sotto/private/draw"
)

// settingFlags are settings of methods.
type settingFlags struct {
	batch       int
	temperature number
	gain        number
	centre      string
	candidates  int
	sampler     string
	prompts     int
	perPrompt   int
	choose      string
}

// everything is what --candidates takes for the whole vocabulary.
const everything = 0

func (s *settingFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVar(&s.batch, "batch", 0, "clipped: how many records to draw for a text (default: the fewest of 16, 32, 64, 128 that leave room)")
	f.Var(&s.temperature, "temperature", "clipped, public: how freely to choose tokens (default 0.5; public 1)")
	f.IntVar(&s.candidates, "candidates", 100, "choose among the `K` most likely tokens; 0 takes the whole vocabulary, where a method can")
	f.StringVar(&s.sampler, "sampler", string(draw.Poisson), "how to draw: poisson, fixed-size or disjoint")
	complete(cmd, "sampler", string(draw.Poisson), string(draw.FixedSize), string(draw.Disjoint))
	f.IntVar(&s.prompts, "prompts", 0, "gaussian, noisymax, radius: prompts for a token (default 10)")
	f.IntVar(&s.perPrompt, "per-prompt", 0, "gaussian, noisymax, radius: records in a prompt, on average (default 2)")
	f.Var(&s.gain, "gain", "clipped: how much what records say counts; 1 is their mean (default 2)")
	f.StringVar(&s.centre, "centre", "", "clipped: how a record's differences are centred before they are clipped: median, mid-range or none (default median)")
	complete(cmd, "centre", string(decode.Median), string(decode.MidRange), string(decode.Uncentred))
	f.StringVar(&s.choose, "choose", "", "gaussian: how to pick from the noisy sum: argmax, sample or nucleus (default argmax)")
	complete(cmd, "choose", string(decode.ArgMax), string(decode.Sample), string(decode.Nucleus))
}

// flagMethods are the methods that a flag is for.
var flagMethods = map[string][]string{
	"batch": {"clipped"}, "gain": {"clipped"}, "centre": {"clipped"}, "choose": {"gaussian"}, "temperature": {"clipped", "public"},
	"prompts": {"gaussian", "noisymax", "radius", "nonprivate"}, "per-prompt": {"gaussian", "noisymax", "radius", "nonprivate"},
}

// explicit finds flags that are given, and would be taken for not given, or not be used
// by any of the methods.
func (s *settingFlags) explicit(given func(flag string) bool, methods ...string) error {
	if err := positive(given, map[string]float64{
		"batch": float64(s.batch), "prompts": float64(s.prompts), "per-prompt": float64(s.perPrompt),
		"temperature": s.temperature.value, "gain": s.gain.value,
	}); err != nil {
		return err
	}
	for name, of := range flagMethods {
		used := slices.ContainsFunc(methods, func(m string) bool { return slices.Contains(of, m) })
		if given(name) && !used && slices.Contains(decode.Names(), methods[0]) {
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
	q.Sampler, q.Batch, q.Temperature, q.Gain = draw.Kind(s.sampler), s.batch, s.temperature.value, s.gain.value
	q.Centre, q.Candidates, q.Choose = decode.Centre(s.centre), s.candidates, decode.Chooser(s.choose)
	q.Prompts, q.PerPrompt = s.prompts, s.perPrompt
	if s.candidates == everything {
		q.Candidates = -1
	}
	return nil
}
