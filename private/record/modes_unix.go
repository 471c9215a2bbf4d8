//go:build unix

package record

// foreignModes reports that the mode of a file does not say who may read it.
const foreignModes = false
