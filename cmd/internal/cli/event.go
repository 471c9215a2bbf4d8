package cli

import (
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy"
)

// ParseEvent reads an event whose counts are within what can be counted.
func ParseEvent(expr string) (privacy.Event, error) {
	e, err := privacy.Parse(expr)
	if err != nil {
		return nil, err
	}
	if _, err := privacy.Terms(e); err != nil {
		return nil, ui.AsUsage(err)
	}
	return e, nil
}
