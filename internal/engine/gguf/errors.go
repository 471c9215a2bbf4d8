package gguf

import (
	"errors"
	"fmt"
)

// ErrClosed is returned by getters of a file that was closed.
var ErrClosed = errors.New("gguf: the file is closed")

// A FormatError says where bytes are not those of a GGUF file that can be read.
type FormatError struct {
	Offset int64  // byte of the file
	What   string // what is wrong there
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("gguf: byte %d: %s", e.Offset, e.What)
}

// A KeyError says that a metadata key is missing, or its value not as needed.
type KeyError struct {
	Key  string
	What string // "is missing", "is a string, not an integer"
}

func (e *KeyError) Error() string {
	return fmt.Sprintf("gguf: metadata key %s %s", quote(e.Key), e.What)
}

// A TypeError says that the data of a tensor cannot be had because its storage
// type is not known.
type TypeError struct {
	Tensor string
	Type   Type
}

func (e *TypeError) Error() string {
	return fmt.Sprintf("gguf: tensor %s is stored as %v, which is not known here: "+
		"use a copy of the model in another quantisation, such as Q4_K_M or Q8_0", quote(e.Tensor), e.Type)
}

// quote keeps hostile names from flooding an error.
func quote(name string) string {
	const maxQuoted = 64
	if len(name) > maxQuoted {
		return fmt.Sprintf("%q… (%d bytes)", name[:maxQuoted], len(name))
	}
	return fmt.Sprintf("%q", name)
}
