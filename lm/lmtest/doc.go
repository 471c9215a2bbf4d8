// Package lmtest is the conformance suite of language-model back-ends: what
// package lm promises, each promise a test that a wrong back-end fails.
//
// A back-end whose [lm.Info] says BatchInvariant is compared bit for bit. Others
// are compared within the Tolerance that they state.
package lmtest
