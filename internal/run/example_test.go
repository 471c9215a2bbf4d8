package run

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/internal/run/env"
)

// A run with a seed is for tests: it needs neither ledger nor signer, and says that it is
// not private. A second call finds the run complete.
func ExampleDo() {
	dir, err := os.MkdirTemp("", "run")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "data.jsonl")
	lines := strings.Repeat(`{"text": "the wheel is loose", "label": "red"}`+"\n"+`{"text": "the paint is off", "label": "blue"}`+"\n", 20)
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	made := planFor(tickets(), clipped())
	data, err := record.Open(ctx, file, record.Options{
		Text: "text", Condition: "label", Labels: made.Task.Labels, OneLine: true, Private: filepath.Join(dir, "private"),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer data.Close()

	seed := uint64(1)
	options := Options{Env: env.Environment{Model: newHashModel().trusted(), Version: "example", Seed: &seed}, Dir: filepath.Join(dir, "out"), Plan: made, Data: data}
	for range 2 {
		result, err := Do(ctx, options)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%d texts in %d files, private: %v, was there: %v\n", len(result.Examples), len(result.Files), result.Private, result.Finished)
	}
	// Output:
	// 3 texts in 9 files, private: false, was there: false
	// 3 texts in 9 files, private: false, was there: true
}
