package llama

import (
	"context"
	"errors"
	"testing"
)

// TestMeasure: every type has a speed, and several sequences share the work of unpacking.
func TestMeasure(t *testing.T) {
	s, err := measure(t.Context(), 2, 2048, 1024, 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range measured {
		if s.Single[kind] < 1e6 || s.Batched[kind] < 1e6 {
			t.Errorf("%v: %g weights a second alone, %g together", kind, s.Single[kind], s.Batched[kind])
		}
	}
	if s.Threads != 2 || s.Level == "" {
		t.Errorf("%+v", s)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Measure(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
