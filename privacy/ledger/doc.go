// Package ledger keeps privacy budgets that no user of this package can overspend: not by
// a run, a crash, a retry or a race. Someone who writes to its database directly could.
//
// Reserve, then draw. No private record is drawn, scored or summed
// before the run's worst case is reserved, as an event, in a ledger that is on
// disk. (Enrolment, which recognises a data set and checks that it can be read,
// comes before, and publishes nothing.) What is reserved counts, whatever becomes
// of the run. An accountant ([Meter]) prices and composes the charges.
//
//	reserve ──► committed   the result was released
//	        └─► forfeited   the run was given up; it may have released something
//
// # What is guaranteed
//
// For every data set and every budget of it, at every moment: the events of all
// charges that count toward the budget, taken together, cost at most its ε at its
// δ, under its adjacency and unit of privacy, provided that each run does no more
// than it reserved:
//
//   - [Sums], the default: every charge has a fixed cost (εᵢ, δᵢ), and these add up.
//   - [Adaptive]: a Rényi filter, which also covers runs that decide when to stop.
//
// Both hold for analysts who look at releases and then decide what to run.
//
// Only adaptive budgets take anything back, and only what a run that stopped
// through a filter did not do: committing [CommitRequest.Spent], which must be
// the reserved event with some of its runs left out. At the last reservation some
// order of the filter was within its bound with all open reservations in full;
// what is executed later is part of those; so that order is within its bound when
// all is done, which is what the filter's proof needs. Nothing else ever counts
// less than it did: not a dead run, not a forfeited one, not an old one.
//
// A grant is a decision too. What is guaranteed in the end is the largest allowance that
// a budget ever had, also where releases led to the grant (composition.go has the argument).
//
// # Why no interleaving overspends
//
// The ledger is a log of rows (package chain), and its state is a function of
// the rows. A writer
//
//  1. begins a transaction that excludes all other writers of the log, in every
//     process, until it ends, and reads the head;
//  2. folds the rows that others have added since it last looked into its state;
//  3. measures, on that state, whether the charge fits every budget that applies;
//  4. appends the row, sealed on that head, and commits, durably.
//
// By 1, the transactions that append are totally ordered, and the state in 3 of
// each is the fold of all rows committed before it. By 3 the fold including its
// own row is within all budgets. By induction over the rows, every prefix of the
// log is. A row is in the log or it is not, so a charge is in all its budgets or
// in none. A measurement may be made before 1 to save time; it is used only if
// the head is then still the one it was made at.
//
// What can go wrong, and what then:
//
//   - The process dies at any point: the database rolls back to before 4, or 4 is
//     done and the charge counts. The caller cannot have drawn anybody before
//     Reserve returned, which is after 4.
//   - The connection or disk fails during 4: the writer looks for its row in a
//     transaction that comes after. If it cannot, it says [ErrUnknown]: no data may
//     be touched, the charge may count. Asking again with the same key settles it
//     without charging twice.
//   - The clock is wrong: a row is dated by the clock, but never before the row it
//     follows, and dates decide nothing but validity windows. A clock set back
//     opens no window that was closed when a row was written; a clock set forward
//     closes windows until time has caught up.
//   - A measurement fails: nothing is charged and the run is refused.
//
// These are tested on both back-ends: recorded histories of 64 concurrent clients
// in two processes against a linearisability checker (which also must reject a
// ledger that checks before it locks), kill -9 before and after every statement
// and at random times, a full disk, cut connections before and after every
// message, ended sessions.
//
// # What tampering shows
//
// Every row is linked to the one before by SHA-256, and the head is kept apart.
// [Ledger.Check] finds any row that was changed, removed, inserted, moved or
// copied, and any row that says what cannot be (a key used twice, a charge ended
// twice, a budget overspent), and names the first.
//
// The hashes have no key. Someone who can write to the database can compute them
// again and replace the ledger as a whole, or cut off its end together with the
// head; nothing inside it then shows that. It shows to a process that had the
// ledger open, and to [Ledger.Check] with a [Checkpoint] that was kept elsewhere:
// a ledger that agrees with a checkpoint has every row up to it. So print
// checkpoints ([Ledger.Checkpoint]) and keep them where the ledger's writers
// cannot change them. Deleting the ledger is not undone by any of this; opening a
// missing ledger is an error unless asked for.
//
// # What a data set is
//
// A data set is its records. Rows hold, for every state of its data that was used, a
// fingerprint and a sketch (package sketch), made with one key that the ledger never
// sees. [Ledger.Resolve] compares data with every known version of every data set: data
// that shares most records with one is a new version of it, with the same budgets; data
// that shares some is refused until its owner decides ([Ledger.Link], NewPeople of
// [InitRequest]). What is decided is decided in the transaction that writes it, on all
// rows before it, so that copies that are first used at the same time are one data set.
// The first sketch binds the ledger to its key: another is a [*KeyIDError], since under it
// all known data would look new.
//
// A linked data set counts toward several: its charges are in the accounts of all data
// sets that it is linked with, by one row, so in all of them or in none.
//
// # What it does not know
//
// It does not know people. Records whose every value changed, a small part of a large data
// set, and data that was entered by a name or a fingerprint alone are not recognised; for
// those, and for what a link or NewPeople states, the owner's word counts. Labels of
// charges, and with them scoped budgets, are taken at the caller's word; only the global
// budget binds every charge. The ledger stores events, names, labels, run names, keys and
// reasons as they are: none of them may hold private content. Sketches are keyed; without
// the key they show about how many rows a data set has, and how many two of them share.
package ledger
