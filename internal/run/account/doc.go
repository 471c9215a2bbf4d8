// Package account pays for uses of one data set from its budgets.
//
// Anyone who is about to read records asks the ledger first, and what can
// come of that is the same for a run of many texts as for one answer. An [Account] knows
// the data set and what its guarantees are about; a [Use] is a worst case with a key.
// A data set that the ledger does not know can be entered with a budget of just what was
// asked for ([Account.Enter]): more is for its owner to grant.
//
// The guarantees come from package ledger. An account adds none: it asks and explains.
package account
