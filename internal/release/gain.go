package release

import (
	"fmt"
	"strconv"

	"github.com/sotto-dp/sotto/prompt"
)

// What a release may be no better than.
const (
	// OverNothing: the records chose the prompt without examples.
	OverNothing = "no_examples"
	// OverGuess and OverCommonest: always saying one label may be right as often.
	OverGuess     = "blind_guess"
	OverCommonest = "commonest_label"
	// OverClassifier: the private classifier without a language model may be right as often.
	OverClassifier = "private_classifier"
)

// NoGain says that a release gained nothing that can be seen, and what to do about it. It is the first thing that
// people are told.
type NoGain struct {
	// Over is what it is no better than.
	Over string `json:"over"`
	// Text says so in a sentence, and Next what to do, a sentence each.
	Text string   `json:"text"`
	Next []string `json:"next"`
}

const (
	moreModel    = "Use a larger model: sotto model recommend names those that this machine runs."
	moreExamples = "Give examples of your own: a few public ones for each label, written by hand, with --examples FILE."
	moreTime     = "Give it more time, so that more records choose: --time 15m, or three times what it had."
	classifier   = "Where a label is all that you need, make the private classifier with all of ε: sotto learn. It needs no language model."
)

// Gained finds a prompt that the records chose, with what was measured of it, that gained nothing; nil if it gained
// something, or if that is not known. It is about what was released.
func Gained(t prompt.Task, p *prompt.Prompt, w *Worth) *NoGain {
	listed := !t.Open() && len(t.Labels) > 1
	next := []string{moreExamples, moreModel, moreTime}
	if listed {
		next = append(next, classifier)
	}
	guess := guessed(t, p, w, listed, next)
	switch {
	case p != nil && len(p.Examples) == 0 && !p.Evidence.Used() && !p.Nearest.Used():
		instead := "the task's own instruction"
		if p.Instruction != "" {
			instead = "another instruction"
		}
		text := "Nothing was gained from examples: the records chose a prompt without any, with " + instead + "."
		if guess != nil {
			text += " " + guess.Text
		}
		return &NoGain{OverNothing, text, next}
	case guess != nil:
		return guess
	case p != nil && w != nil && w.Classifier != nil && w.Classifier.OverLow <= 0:
		c := w.Classifier
		return &NoGain{
			OverClassifier, fmt.Sprintf("A language model gained nothing that can be seen: it is right on %.0f %% of the records with this prompt, and the private classifier without one on %.0f %%.", 100*w.Value, 100*c.Value),
			[]string{classifier, "If it is to be a prompt: " + lower(moreModel), "Or: " + lower(moreTime)},
		}
	}
	return nil
}

// guessed finds a worth that always saying the same label may have too.
func guessed(t prompt.Task, p *prompt.Prompt, w *Worth, listed bool, next []string) *NoGain {
	if w == nil || w.Metric != "accuracy" || !listed {
		return nil
	}
	over, baseline, who := OverGuess, 1/float64(len(t.Labels)), "a blind guess"
	if c := w.Commonest; c != nil && c.Share >= baseline {
		over, baseline, who = OverCommonest, c.Share, "always saying the commonest label"
		if c.Label != "" {
			who = "always saying " + strconv.Quote(c.Label)
		}
	}
	if w.Low > baseline {
		return nil
	}
	if p != nil && p.Evidence.How == prompt.Alone {
		next = []string{"Declare more records, if there are more, or allow more ε: noise is what is in the way.", "Look at the labels: do texts say which one they have?"}
	}
	return &NoGain{over, fmt.Sprintf("This may be no better than %s: it is right on %.0f %% of the records (%.0f to %.0f), and %s on %.0f %%.", who, 100*w.Value, 100*w.Low, 100*w.High, who, 100*baseline), next}
}

// lower makes a sentence resume after a colon.
func lower(s string) string { return string(s[0]|0x20) + s[1:] }
