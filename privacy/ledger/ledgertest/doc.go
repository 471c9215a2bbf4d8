// Package ledgertest is the suite that every back-end of the ledger passes.
//
// A test of a back-end describes it as a [Backend], lets [Main] run its tests
// (so that the test binary can also play other processes), and calls [Run] and
// [RunConcurrent].
//
// Variables make longer runs: SOTTO_LEDGER_CLIENTS (concurrent clients of the
// linearisability test, 64), SOTTO_LEDGER_OPS (operations of each, 6),
// SOTTO_LEDGER_KILLS (kills at random times, 6) and SOTTO_LEDGER_MODELS
// (histories against the model on a database, 4).
package ledgertest
