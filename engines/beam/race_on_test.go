//go:build race

package beam

// slow: the race detector is on, which makes everything about ten times slower.
const slow = true
