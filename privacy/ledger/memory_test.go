package ledger_test

import (
	"testing"

	"sotto/privacy/ledger/ledgertest"
)

func TestMemory(t *testing.T) { ledgertest.Run(t, ledgertest.Memory()) }
