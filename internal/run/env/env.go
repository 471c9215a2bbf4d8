// Package env is what runs and sessions share: who pays and who signs, what the data and
// the model are called, and who is told how it goes ([Progress]).
//
// This is one value. Anyone who opens a ledger, a key ring or a model
// fills an [Environment] in once, and a run or a session takes it whole.
package env

import (
	"github.com/sotto-dp/sotto/internal/run/account"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy/certificate"
)

// Environment is what a run or a session works with, whatever it does.
type Environment struct {
	// Ledger pays. Required for what has a guarantee and reads records, unless seeded.
	Ledger account.Ledger
	// Signer signs the certificate. Required for runs with a guarantee, unless seeded.
	Signer *certificate.Signer
	// Dataset is the name under which a data set that the ledger does not know gets a
	// budget of what is asked for. Default: none.
	Dataset string
	// Known refuses such a data set instead: its owner gives it a budget first.
	Known bool
	// Labels of the charges, for scoped budgets.
	Labels map[string]string
	// Model reads records; runs on tables have none. ModelName is what certificates call
	// it. Default: the model's own name.
	Model     lm.TrustedScorer
	ModelName string
	// Encoder reads records where a plan adds them up as evidence.
	Encoder lm.TrustedEmbedder
	// Version of the program. Required for runs.
	Version string
	// Seed is for tests and simulations: nothing is charged or certified, and what comes
	// out is NOT PRIVATE.
	Seed *uint64
	// Observe, if set, is called with how it goes. Its calls do not overlap.
	Observe func(Progress)
}
