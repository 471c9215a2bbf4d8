// Package folder manages the key of a private folder, by which ledgers know data again.
//
// Two people who share a ledger share the key. It goes from one to the other as a file that only its
// owner can read: it is never printed, and no error holds it. Its holder can test guesses at records
// against the fingerprints and sketches in a ledger, so keep it as the records themselves are kept.
package folder
