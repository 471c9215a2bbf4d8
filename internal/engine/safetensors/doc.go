// Package safetensors reads tensors in the safetensors format, in which the
// weights of sentence encoders are published.
//
// The idea is the same as in package gguf: the file is mapped and checked once, and
// a [Tensor] refers to its bytes.
//
// # What is guaranteed
//
// Whatever the bytes, [Parse] returns a file or a [*FormatError] that names the
// byte. It does not panic, and what it allocates is at most a constant multiple
// of the header that is there. In a file that was accepted names are unique,
// every tensor has exactly the bytes that its shape needs, and tensors cover the
// file without gaps or overlaps, as the format demands. The tests hold it to
// that with all prefixes of a file, random changes and a fuzz target.
//
// # Format
//
// Eight bytes with the length of the header, little-endian; the header, a JSON
// object from names to type, shape and place; the data. It is specified in the
// safetensors project. Types of less than a byte are refused.
package safetensors
