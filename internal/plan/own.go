package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Checked checks a plan, and returns [Own] of it.
func Checked[P interface {
	Plan | Answers | Local | Profile | Measurement
	Check() error
}](p P) (P, error) {
	if err := p.Check(); err != nil {
		return p, fmt.Errorf("the plan: %w", err)
	}
	return Own(p)
}

// Own returns a copy of a plan that its caller does not hold. Methods and their settings
// are reached through pointers: without a copy, anyone who holds the plan could change a
// setting after it was charged and change it back before it is signed. The copy is what
// the plan's file says.
func Own[P Plan | Answers | Local | Profile | Measurement](p P) (P, error) {
	var out P
	written, err := json.Marshal(p)
	if err != nil {
		return out, fmt.Errorf("write the plan down: %w", err)
	}
	if err := json.Unmarshal(written, &out); err != nil {
		return out, fmt.Errorf("read the plan that was written down: %w", err)
	}
	again, err := json.Marshal(out)
	if err == nil && !bytes.Equal(again, written) {
		err = fmt.Errorf("the plan reads otherwise than it was written: this is an internal error")
	}
	return out, err
}
