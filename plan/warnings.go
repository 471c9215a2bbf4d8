package plan

import (
	"fmt"

	"sotto/private/decode"
)

// FaintWidth in nats is how little a record may have to say before a plan warns that its
// texts are public ones in effect.
const FaintWidth = 1. / 64

// Warnings are about what the settings alone tell, in words. None is about the data: a
// warning that was would tell of it.
func (p Plan) Warnings() []string {
	var out []string
	for _, part := range p.Parts {
		width := -1.0
		switch m := part.Method.Method.(type) {
		case *decode.Clipped:
			width = 2 * m.Clip()
		case *decode.Mixing:
			width = m.Width()
		}
		if width >= 0 && width < FaintWidth {
			out = append(out, fmt.Sprintf("ε = %v leaves a record %.2g nats to say, so that what is written is the public text in effect: ask for a larger ε, fewer texts or answers, or a larger batch", p.Epsilon, width))
			break
		}
	}
	return out
}
