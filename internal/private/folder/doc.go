// Package folder manages the key of a private folder, by which ledgers know data again.
//
// The one idea is that two people who share a ledger share the key, and that the key goes
// from one to the other as a file that only its owner can read: it is never printed, and no
// error holds it. Whoever has the key can test guesses at records against the fingerprints
// and sketches in a ledger, so keep it as the records themselves are kept.
package folder
