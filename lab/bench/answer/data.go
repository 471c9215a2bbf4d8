package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/prompt"
)

// dataset is what questions are answered from.
type dataset struct {
	name  string
	task  prompt.Task
	size  int64
	items []eval.Item
	data  *record.Data
}

// made is the name of the data set that is made up here.
const made = "chats"

// dataset opens one by name: the made-up one, or one below the folder of data, which has
// train.jsonl.gz and test.jsonl.gz.
func (b *bench) dataset(ctx context.Context, name string) (*dataset, error) {
	d := &dataset{name: name}
	path := filepath.Join(b.dir, name+".jsonl")
	builtin := name
	if name == made {
		builtin = "samsum"
	}
	var err error
	if d.task, err = prompt.Builtin(builtin); err != nil {
		return nil, err
	}
	if d.task.Kind != prompt.Generate {
		return nil, fmt.Errorf("%s is not a task whose answers are written: name one such as samsum with -datasets", name)
	}
	var records []eval.Item
	if name == made {
		records, d.items = chats(b.records, 1), chats(b.items, 2)
	} else if records, d.items, err = b.read(filepath.Join(b.data, name), d.task); err != nil {
		return nil, fmt.Errorf("%w: name the folder of data with -data, or leave it out for made-up chats", err)
	}
	d.size = int64(len(records))
	// Not compressed, so that a draw reads no more than its records.
	if err := writeRecords(path, records); err != nil {
		return nil, err
	}
	// Inputs keep their lines, as questions do.
	d.data, err = record.Open(ctx, path, record.Options{
		Text: "output", Condition: "input", OnError: record.Skip, Private: filepath.Join(b.dir, "private"),
	})
	return d, err
}

// read reads records, and picks questions. Some files have a line for each of several answers
// to one.
func (b *bench) read(dir string, t prompt.Task) (records, questions []eval.Item, err error) {
	if records, err = eval.ReadItems(filepath.Join(dir, "train.jsonl.gz"), t); err != nil {
		return nil, nil, err
	}
	if questions, err = eval.ReadItems(filepath.Join(dir, "test.jsonl.gz"), t); err != nil {
		return nil, nil, err
	}
	questions, err = eval.Subset(eval.GroupByInput(questions), b.items)
	return records, questions, err
}
