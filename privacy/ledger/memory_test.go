package ledger_test

import (
	"testing"

	"github.com/sotto-dp/sotto/privacy/ledger/ledgertest"
)

func TestMemory(t *testing.T) { ledgertest.Run(t, ledgertest.Memory()) }

func TestConcurrentMemory(t *testing.T) { ledgertest.RunConcurrent(t, ledgertest.Memory()) }
