// Package mapfile maps model files into memory, read-only.
//
// Where the operating system cannot map a file, its bytes are read instead; the
// behaviour is the same except for [Mapping.Release], which then does nothing.
package mapfile
