package sotto_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/demo"
	"github.com/sotto-dp/sotto/schema"
)

// loans is the schema of the demo's table.
func loans() schema.Schema {
	s, err := schema.Parse("loans", demo.LoansFile())
	if err != nil {
		log.Fatal(err)
	}
	return s
}

// Typical rows of groups from a private table, and a check of their certificate.
func ExampleClient_Profile() {
	dir, err := os.MkdirTemp("", "sotto")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	var rows bytes.Buffer
	if err := demo.WriteLoans(&rows, demo.Loans(2000)); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "loans.csv"), rows.Bytes(), 0o600); err != nil {
		log.Fatal(err)
	}
	client, err := sotto.Open(dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	run, err := client.Profile(context.Background(), sotto.ProfileOptions{
		Request:      sotto.ProfileRequest{Schema: loans(), Size: 2000, Epsilon: 1, Groups: []schema.Group{{Column: "repaid"}}},
		TableOptions: sotto.TableOptions{Source: sotto.TableSource{Location: filepath.Join(dir, "loans.csv")}, Out: filepath.Join(dir, "demos")},
	})
	if err != nil {
		log.Fatal(err)
	}
	for i, g := range run.Profile.Groups {
		// Noise moves a count of this size by a few rows.
		fmt.Println(g.Where, "about a thousand:", g.Count > 500 && g.Count < 1500, run.Examples[i].Output)
	}
	report, err := client.Verify(run.Dir)
	fmt.Println("the certificate holds:", err == nil && report.OK, "ε at most 1:", run.Guarantee.Epsilon.Upper <= 1)
	// Output:
	// repaid = yes about a thousand: true Yes
	// repaid = no about a thousand: true No
	// the certificate holds: true ε at most 1: true
}

// A row of one's own, perturbed before it is sent to anybody.
func ExamplePerturbRows() {
	planned, err := sotto.PlanTable(sotto.ProfileRequest{Schema: loans(), Size: 1, Epsilon: 4}, sotto.PerturbRequest{})
	if err != nil {
		log.Fatal(err)
	}
	mine := "age,income,employment,home,purpose,amount,late,repaid\n33,41,employed,rent,car,5.5,0,yes\n"
	var out bytes.Buffer
	sidecar, err := sotto.PerturbRows(context.Background(), planned.Local, strings.NewReader(mine), &out, "csv", nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d row at ε = %v, %v; %d lines\n", sidecar.Rows, sidecar.Epsilon, sidecar.Adjacency, strings.Count(out.String(), "\n"))
	// Output:
	// 1 row at ε = 4, replace-one; 2 lines
}

// What a table would release at an ε, before a row is read.
func ExamplePlanTable() {
	found, err := sotto.PlanTable(sotto.ProfileRequest{
		Schema: loans(), Size: 20000, Epsilon: 1, Groups: []schema.Group{{Column: "repaid"}},
	}, sotto.PerturbRequest{})
	if err != nil {
		log.Fatal(err)
	}
	age := found.Profile.Errors(found.Profile.Rows())[0]
	share := found.Local.Errors()[0]
	fmt.Printf("mean of %s: within a year: %v\n", age.Column, age.Mean < 1)
	fmt.Printf("share of a value of %s: to %.0f %%\n", share.Column, 100*share.Even)
	// Output:
	// mean of age: within a year: true
	// share of a value of age: to 8 %
}

// A private classifier of a table's rows. No model takes part: not when it is made, and not when it answers.
func ExampleClient_Learn() {
	dir, err := os.MkdirTemp("", "sotto")
	check(err)
	defer os.RemoveAll(dir)
	var rows bytes.Buffer
	check(demo.WriteLoans(&rows, demo.Loans(2000)))
	check(os.WriteFile(filepath.Join(dir, "loans.csv"), rows.Bytes(), 0o600))
	client, err := sotto.Open(dir, nil)
	check(err)
	defer client.Close()
	of := loans()
	task, err := of.Task()
	check(err)
	run, err := client.Learn(context.Background(), sotto.SynthesizeOptions{
		Request: sotto.Request{Task: task, Size: 2000, Epsilon: 1, Learning: &sotto.LearnRequest{Measuring: 0.1}},
		Source:  sotto.Source{Location: filepath.Join(dir, "loans.csv"), Schema: &of},
		Out:     filepath.Join(dir, "labels"),
	})
	check(err)
	report, err := client.Verify(run.Dir)
	check(err)
	fmt.Println("labels:", run.Evidence.Labels)
	fmt.Println("ε at most 1:", run.Guarantee.Epsilon.Upper <= 1, "the certificate holds:", report.OK)
	// Output:
	// labels: [Yes No]
	// ε at most 1: true the certificate holds: true
}
