package decode

import (
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// PickMethod is a method whose picks a test makes, under any scheme.
type PickMethod struct {
	Method
	// Look is called for each pick.
	Look func(View, *noise.Stream) (int, error)
}

func init() { seal.Admit[*PickMethod]() }

// Check finds what is wrong with the scheme alone.
func (w *PickMethod) Check() error { return w.Scheme().Check() }

// Select calls Look.
func (w *PickMethod) Select(v View, s *noise.Stream) (int, error) { return w.Look(v, s) }
