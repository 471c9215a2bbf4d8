package plan

import (
	"fmt"

	"github.com/sotto-dp/sotto/internal/private/decode"
)

// FaintWidth in nats is how little a record may have to say before a plan warns that its
// texts are public ones in effect.
const FaintWidth = 1. / 64

// Warnings are about what the settings alone show, in words. None is about the data: a
// warning that was would reveal it.
func (p Plan) Warnings() []string {
	return append(append(p.faint(), p.uncovered()...), p.undecided()...)
}

// littleWeight is what a round's records may weigh against the noise before a plan warns that
// choices are by chance.
const littleWeight = 10

// undecided warns of rounds whose outcome is noise for the most part: prompts differ by a
// tenth of the records at best, and noise is as large as that.
func (p Plan) undecided() []string {
	c := p.Choose
	if c == nil {
		return nil
	}
	records := c.Draw.Expected(p.Units())
	if c.Range*records >= littleWeight {
		return nil
	}
	return []string{fmt.Sprintf("ε = %v and about %.0f records a round leave the choice mostly to chance (weight %.2g, where 30 is enough): examples may be no better than none. Ask for a larger ε, or have more records", p.Epsilon, records, c.Range*records)}
}

// uncovered warns of labels that no text is for: a model that learns from the others alone
// seldom answers with them.
func (p Plan) uncovered() []string {
	labels := 0
	for _, part := range p.Parts {
		if part.Label != "" {
			labels++
		}
	}
	if p.Shots >= labels || p.Shots == 0 { // prompts are made from what there is, or there are none
		return nil
	}
	leave := "leave"
	if p.Shots == 1 {
		leave = "leaves"
	}
	return []string{fmt.Sprintf("%s %s %d of the task's %d labels without an example: ask for at least %d (--shots %d). Texts of different labels share no records, so that it costs no more ε", counted(p.Shots, "text"), leave, labels-p.Shots, labels, labels, labels)}
}

// faint warns of records that have next to nothing to say.
func (p Plan) faint() []string {
	var out []string
	for _, part := range p.Parts {
		if m, ok := part.Method.Method.(decode.Roomy); ok && m.Room() < FaintWidth {
			out = append(out, fmt.Sprintf("ε = %v leaves a record %.2g nats to say, so that what is written is the public text in effect: ask for a larger ε, fewer texts or answers, or a larger batch", p.Epsilon, m.Room()))
			break
		}
	}
	return out
}

// counted returns a number of things in words.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// are is counted with its verb.
func are(n int, thing string) string {
	if n == 1 {
		return counted(n, thing) + " is"
	}
	return counted(n, thing) + " are"
}
