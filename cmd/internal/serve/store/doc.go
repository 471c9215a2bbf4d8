// Package store keeps what a service knows besides budgets: API keys, routes with all their
// versions, accounts and their sessions, requests for grants, and who changed what. It is one SQLite file for a process, or a PostgreSQL database
// for many.
//
// Everything that decides about a request is a row that is read anew when the
// store's generation has changed. A process looks at the generation, one number, every moment
// (see [Store.Generation]), so that a key that is revoked or a route that is rolled back counts
// everywhere within that moment.
//
// Secrets are not in it: of a key there is a hash of 256 random bits, and of an upstream's key
// the name of the variable or file that holds it.
package store
