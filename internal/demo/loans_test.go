package demo

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestLoansForEver pins the data: figures in documents are about these rows.
func TestLoansForEver(t *testing.T) {
	var b bytes.Buffer
	for _, loans := range [][]Loan{Loans(1000), HeldOutLoans(1000)} {
		if err := WriteLoans(&b, loans); err != nil {
			t.Fatal(err)
		}
	}
	const want = "ba5c8a7fd4be81c3e2a8b8c315887668fc048b664baf91c67a990008781e4110"
	if got := fmt.Sprintf("%x", sha256.Sum256(b.Bytes())); got != want {
		t.Errorf("the data has changed: SHA-256 %s, was %s; if that is meant, measure again what documents say about it", got, want)
	}
	if err := WriteLoans(fullDisk{}, Loans(1)); err == nil {
		t.Error("an error of the writer is lost")
	}
	if len(Loans(-1)) != 0 {
		t.Error("fewer than none is none")
	}
}

// TestLoansTeachSomething: both outcomes are common, and what the law says shows.
func TestLoansTeachSomething(t *testing.T) {
	repaid, several := 0, 0
	rich, poor := [2]int{}, [2]int{}
	seen := map[int]bool{}
	for _, l := range Loans(manyTickets) {
		at := 0
		if l.Repaid {
			repaid, at = repaid+1, 1
		}
		if l.Income >= 60 {
			rich[at]++
		} else {
			poor[at]++
		}
		if seen[l.Customer] {
			several++
		}
		seen[l.Customer] = true
	}
	if repaid < manyTickets/2 || repaid > manyTickets*4/5 {
		t.Errorf("%d of %d are repaid", repaid, manyTickets)
	}
	if several < manyTickets/10 {
		t.Errorf("only %d are second loans", several)
	}
	if rich[1]*poor[0] < 2*rich[0]*poor[1] {
		t.Errorf("income does not tell: %v and %v", rich, poor)
	}
}

func ExampleWriteLoans() {
	if err := WriteLoans(os.Stdout, Loans(2)); err != nil {
		fmt.Println(err)
	}
	fmt.Println(strings.Count(string(LoansFile()), "[[column]]"), "columns are in the schema")
	// Output:
	// customer,age,income,employment,home,purpose,amount,late,repaid
	// 10000,47,12,unemployed,rent,other,1.6,0,no
	// 10001,40,40,employed,rent,car,21.6,0,no
	// 8 columns are in the schema
}
