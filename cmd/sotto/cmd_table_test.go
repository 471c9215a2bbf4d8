package main

import (
	"bytes"
	"os"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"sotto/demo"
)

// loans is a table of the demo as a file.
func loans(n int) ([]byte, error) {
	var b bytes.Buffer
	err := demo.WriteLoans(&b, demo.Loans(n))
	return b.Bytes(), err
}

// writeLoans makes a table and its schema: loans FILE N
func writeLoans(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: loans FILE N")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	data, err := loans(n)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), data, 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("loans.toml"), demo.LoansFile(), 0o600))
}

// TestGroupFlag: classes of numbers are cut, those of values are listed.
func TestGroupFlag(t *testing.T) {
	home(t)
	if err := os.WriteFile("loans.toml", demo.LoansFile(), 0o600); err != nil {
		t.Fatal(err)
	}
	of, err := (&schemaFlag{"loans.toml"}).schema()
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{
		"repaid": 2, "income:40,70": 3, "home:own/rent,family": 2, "home:own/": 2, "home": 3, "age": 3, "age: 40": 2,
	} {
		o := profileFlags{group: []string{text}}
		groups, err := o.partition(of)
		if n := of.GroupCount(groups); err != nil || n != want {
			t.Errorf("%s makes %d groups, want %d (%v)", text, n, want, err)
		}
	}
	for _, text := range []string{"repayed", "income:x", "home:own/castle", "income:200", "home:own", ""} {
		o := profileFlags{group: []string{text}}
		if groups, err := o.partition(of); err == nil || !is[usageError](err) {
			t.Errorf("%q makes %+v (%v)", text, groups, err)
		}
	}
}
