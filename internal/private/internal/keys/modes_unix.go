//go:build unix

package keys

// ForeignModes reports that the mode of a file does not say who may read it.
const ForeignModes = false
