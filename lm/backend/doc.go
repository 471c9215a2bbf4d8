// Package backend turns a configuration into a model: the embedded engine on a file, or a
// server.
//
// It is one of the two places that may call [lm.Trust]: [Trusted] returns a model for
// private prompts only if it runs in this process, or if the configuration declares the end
// point as trusted. Nothing else makes a server trusted, in particular no answer of the
// server itself.
package backend
