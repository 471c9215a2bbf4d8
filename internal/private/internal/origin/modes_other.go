//go:build !unix

package origin

// ForeignModes reports that the mode of a file does not say who may read it.
const ForeignModes = true

// SyncDir does nothing: names are durable when their file is, or nothing can be done.
func SyncDir(string) error { return nil }
