// Package gguf reads and writes GGUF, the file format of quantised language
// models: typed metadata, then tensors.
//
// A file is mapped, not read. [Open] checks the header, every
// metadata value and the place of every tensor; a [Tensor] then refers to the
// mapped bytes, which the operating system brings in when they are used and which
// [File.Release] hands back once weights were repacked.
//
// # What is guaranteed
//
// Whatever the bytes, [Parse] and all getters return a value or an error
// ([*FormatError] names the byte, [*KeyError] the key, [*TypeError] the tensor).
// They do not panic, and what they allocate is at most a constant multiple of
// the bytes they were given: no count or length of the file is believed before
// the bytes that it claims were seen to be there. In a file that was accepted
// keys and tensor names are unique, and tensors of known types are aligned,
// inside the file and do not overlap. The package's tests hold it to that: all prefixes of
// a file, all single-bit changes, hostile counts under an allocation limit, and a
// fuzz target.
//
// Mapping has one limit: bytes of a mapped file that another program cuts off
// cannot be read any more, and the operating system stops the process that
// tries. Do not write to a model file in use; replace it by renaming.
//
// # Format
//
// GGUF versions 2 and 3, little-endian, as specified in the ggml project
// (docs/gguf.md). Version 1 and big-endian files are refused, and so are arrays of
// arrays, which no model uses. Storage types that are not known are accepted
// as long as nobody asks for their data.
package gguf
