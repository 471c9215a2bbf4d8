// Package torch runs a GGUF model's forward pass on a GPU through PyTorch, behind the
// same interface as the embedded engine, so that experiments of hundreds of millions
// of tokens end in minutes. It is for experiments: it needs a Python with PyTorch (and
// Triton on a GPU), its scores are near those of the embedded engine but not the same,
// and they move a little with what else is in the batch ([lm.Info] says so, and
// certificates carry it).
//
// Go keeps all books, Python only computes. Sequences are lists of pages
// of keys and values; forks share pages and copy the last one when they write to it.
// A message to the worker says which pages to copy, which tokens to compute into which
// pages, and what to answer; the worker holds no sequence. So a step is all or nothing
// here: pages that a failed step took are given back, and nothing else had changed.
//
// Sessions run at the same time. Whenever the worker is idle, all waiting steps of all
// sessions go into one message.
//
// # Guarantee
//
// Package lmtest's contract within the stated Tolerance (the tests run it where
// SOTTO_TORCH names a Python). No claim of privacy is made here: a sequence's scores
// depend on its neighbours in the last bits, which Info states.
package torch
