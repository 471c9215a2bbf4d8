package demo

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
)

//go:embed loans.toml
var loansFile []byte

// LoansFile returns the schema of the loans as a file, an example of what users write for
// theirs.
func LoansFile() []byte { return slices.Clone(loansFile) }

// Loan is a loan of a savings bank that does not exist.
type Loan struct {
	// Customer has one loan or several: a unit of privacy.
	Customer int
	// Age in years; Income and Amount in thousands.
	Age, Income               int
	Employment, Home, Purpose string
	Amount                    float64
	// Late is the number of bills paid late before.
	Late   int
	Repaid bool
}

// Loans returns the first n of the private loans.
func Loans(n int) []Loan { return training.loans(n) }

// HeldOutLoans returns loans to evaluate with, of the same kind and apart from those.
func HeldOutLoans(n int) []Loan { return heldOut.loans(n) }

func (p part) loans(n int) []Loan {
	all := make([]Loan, max(n, 0))
	for i := range all {
		all[i] = p.loan(i)
	}
	return all
}

// loan makes up the i-th loan of a part. About one in five is of a customer who had one
// just before.
func (p part) loan(i int) Loan {
	d := dice(uint64(p+1)<<52 + uint64(i)<<8)
	d = dice(d.next())
	l := Loan{Customer: 10_000 + i, Age: 19 + d.below(20) + d.below(20) + d.below(18)}
	if i > 0 && d.chance(5) {
		l.Customer--
	}
	l.Employment = l.employment(&d)
	l.Income = l.income(&d)
	l.Home = []string{"own", "rent", "rent", "family"}[d.below(4)]
	if l.Age > 45 && d.chance(2) {
		l.Home = "own"
	}
	l.Purpose = []string{"car", "car", "repairs", "education", "other"}[d.below(5)]
	l.Amount = float64(10+d.below(100)+d.below(100)*d.below(3)) / 10
	for d.chance(2) && l.Late < 12 {
		l.Late++
	}
	l.Repaid = l.score() > d.below(100)
	return l
}

func (l Loan) employment(d *dice) string {
	switch {
	case l.Age >= 65:
		return "retired"
	case d.chance(9):
		return "unemployed"
	case d.chance(6):
		return "self-employed"
	}
	return "employed"
}

func (l Loan) income(d *dice) int {
	switch l.Employment {
	case "unemployed":
		return 4 + d.below(12)
	case "retired":
		return 12 + d.below(30)
	}
	return 14 + d.below(30) + d.below(40) + min(l.Age, 50)/2
}

// score returns how many of a hundred such loans are repaid. That is this world's law: a
// borrower who earns more, owes less and paid in time repays more often.
func (l Loan) score() int {
	score := 55 + l.Income/2 - int(1.5*l.Amount) - 9*l.Late
	if l.Home == "own" {
		score += 12
	}
	if l.Employment == "unemployed" {
		score -= 15
	}
	return min(97, max(3, score))
}

// loanHeader are the columns of a file of loans.
var loanHeader = []string{"customer", "age", "income", "employment", "home", "purpose", "amount", "late", "repaid"}

// WriteLoans writes loans as CSV with a header.
func WriteLoans(w io.Writer, loans []Loan) error {
	out := csv.NewWriter(w)
	_ = out.Write(loanHeader) // errors are kept for the end
	for _, l := range loans {
		repaid := "no"
		if l.Repaid {
			repaid = "yes"
		}
		_ = out.Write([]string{
			strconv.Itoa(l.Customer), strconv.Itoa(l.Age), strconv.Itoa(l.Income), l.Employment, l.Home, l.Purpose,
			strconv.FormatFloat(l.Amount, 'f', 1, 64), strconv.Itoa(l.Late), repaid,
		})
	}
	if out.Flush(); out.Error() != nil {
		return fmt.Errorf("write the loans: %w", out.Error())
	}
	return nil
}
