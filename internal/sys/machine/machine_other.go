//go:build !linux && !darwin && !windows

package machine

// ask knows nothing of other systems.
func (f *Facts) ask() {}
