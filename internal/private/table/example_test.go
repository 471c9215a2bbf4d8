package table_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/schema"
)

// Rows are encoded as they are read: numbers as steps from the middle of their bounds,
// which they are clamped to, and values as their place in the domain.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "visits")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "visits.csv")
	if err := os.WriteFile(path, []byte("days,ward\n3,Meadow\n400,Attic\n15,Harbour\n"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	data, err := table.Open(context.Background(), path, table.Options{Schema: schema.Schema{
		Name: "visits",
		Columns: []schema.Column{
			{Name: "days", Kind: schema.Numeric, Low: 0, High: 30, Clamp: true},
			{Name: "ward", Kind: schema.Categorical, Values: []string{"Meadow", "Harbour", "another"}, Other: "another"},
		},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer data.Close()
	err = data.Scan(context.Background(), nil, 1, func(_ int, b *table.Batch) error {
		for i := range b.Rows {
			fmt.Printf("%+.2f of the half width, value %d\n", float64(b.Columns[0].Steps[i])/table.Steps, b.Columns[1].Codes[i])
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// -0.80 of the half width, value 0
	// +1.00 of the half width, value 2
	// +0.00 of the half width, value 1
	// <nil>
}
