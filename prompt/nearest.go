package prompt

import (
	"errors"
	"fmt"
)

// Nearest says how many of a prompt's examples a question gets: those most similar to it by an encoder of
// sentences, the most similar one last. The zero value gives all of them, in their order.
type Nearest struct {
	// Examples is how many.
	Examples int `json:"examples,omitempty"`
	// Encoder is the name of the encoder; another one would pick others.
	Encoder string `json:"encoder,omitempty"`
}

// Used reports whether questions get examples of their own.
func (n Nearest) Used() bool { return n.Examples != 0 }

// check finds what keeps a prompt from giving questions examples of their own.
func (n Nearest) check(p Prompt) error {
	switch {
	case n == Nearest{}:
		return nil
	case n.Examples < 1 || n.Encoder == "":
		return fmt.Errorf("a question gets at least one example of those nearest to it, by an encoder that has a name, not %d by %q", n.Examples, n.Encoder)
	case len(p.Examples) == 0:
		return errors.New("a question gets the examples nearest to it, and there are none")
	case p.Calibrated:
		return errors.New("a prompt with examples for each question is not calibrated: questions without content would get examples of their own")
	case p.Evidence.Used():
		return errors.New("a prompt uses evidence, or has examples for each question, but not both")
	}
	return nil
}

// Shown are the examples that are laid out before a question: all, or where a question gets the nearest, as many
// from the beginning. Those stand in for them where nothing can tell which are near.
func (p Prompt) Shown() []Example {
	if !p.Nearest.Used() {
		return p.Examples
	}
	return p.Examples[:max(0, min(p.Nearest.Examples, len(p.Examples)))]
}

// With returns the prompt for a question that gets these examples.
func (p Prompt) With(examples []Example) Prompt {
	p.Examples, p.Nearest = examples, Nearest{}
	return p
}
