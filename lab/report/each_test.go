package report

import "testing"

// TestConcurrentEach: everything is done once, and is done when each returns.
func TestConcurrentEach(t *testing.T) {
	done := make([]int, 1000)
	each(len(done), func(i int) { done[i]++ })
	for i, n := range done {
		if n != 1 {
			t.Fatalf("%d was done %d times", i, n)
		}
	}
}
