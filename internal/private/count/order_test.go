package count

import (
	"slices"
	"testing"

	"github.com/sotto-dp/sotto/internal/private/internal/seal"
)

// TestOrderIsOfNoisyCounts: which labels come first, and which are left out where only some are
// kept, follows from their noisy counts; the exact ones decide nothing.
func TestOrderIsOfNoisyCounts(t *testing.T) {
	draws := []int64{-30, 0, 40}
	h := histogram{threshold: 5, draw: func() int64 {
		n := draws[0]
		draws = draws[1:]
		return n
	}}
	for _, units := range []int{50, 40, 10} { // with noise 20, 40 and 50
		if !h.passes(seal.NewCount(units)) {
			t.Fatalf("a label of %d units does not pass", units)
		}
	}
	labels := []string{"many", "some", "few"}
	if got := h.order(labels, 0); !slices.Equal(got, []string{"few", "some", "many"}) {
		t.Errorf("labels with 20, 40 and 50 noisy counts come as %q", got)
	}
	if got := h.order(labels, 2); !slices.Equal(got, []string{"few", "some"}) {
		t.Errorf("of labels with 20, 40 and 50 noisy counts %q are kept", got)
	}
}
