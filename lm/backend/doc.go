// Package backend turns a configuration into a model: the embedded engine on a
// file, or a server.
//
// It is one of the two places of package lm's rule about trust: [Trusted] hands
// out a model for private prompts only if it runs in this process, or if the
// configuration says of the end point that it is trusted. Nothing else makes a
// server trusted, in particular no answer of the server itself.
package backend
