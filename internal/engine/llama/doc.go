// Package llama is the embedded engine: it runs language models from GGUF files
// inside this process, in Go, with nothing installed.
//
// # One guarantee
//
// A sequence's scores are a function of its tokens alone, bit for bit: alone or in
// any batch and at any place in it, on any number of threads, with or without a
// shared prefix, prefilled at once or token by token, and on any processor. The
// privacy proofs need it ("a record touches one prompt" must hold for the numbers
// that are really computed), and so does the replay of an interrupted run.
//
// It holds because every number has one order of operations: a product's result is
// one chain of fused multiply-adds over the columns of its row (package kernel),
// attention goes through positions in order, and threads and batches only divide
// results among each other, never the terms of one.
//
// # How it is fast
//
// Weights stay quantised in memory, packed in panels of 32 rows; a panel is
// unpacked once for all rows of a pass. Keys and values are kept in pages of 32
// positions (pages.go) that are panels themselves. Pages form a tree: a fork
// shares its parent's pages and copies the last, unfinished one when it continues.
// The output head is evaluated for the rows that were asked for: an ensemble pays
// for the whole vocabulary once, for its public sequence, and for the candidates
// elsewhere.
//
// # What it runs
//
// Architectures llama (Llama, SmolLM2, Mistral), mistral3, qwen2, qwen3, gemma3 and phi3
// (Phi-3, Phi-4), dense, with tensors in F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1,
// Q4_K, Q5_K, Q6_K. They differ in a table of traits (architectures.go) that
// one forward pass reads. Layers with a sliding window do not read the pages before it.
// Activations, keys and values are float32; the inputs of products with quantised weights are
// rounded to 16 bits, so scores are those of the file's weights to within a few thousandths: see
// reference_test.go.
package llama
