package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
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
	var err error
	if name == made {
		if d.task, err = prompt.Builtin("samsum"); err != nil {
			return nil, err
		}
		d.size, d.items = int64(b.records), chats(b.items, 2)
		err = writeRecords(path, chats(b.records, 1))
	} else {
		if d.task, err = prompt.Builtin(name); err != nil {
			return nil, err
		}
		if d.items, err = b.test(filepath.Join(b.data, name, "test.jsonl.gz"), d.task); err != nil {
			return nil, err
		}
		d.size, err = unpack(filepath.Join(b.data, name, "train.jsonl.gz"), path)
	}
	if err != nil {
		return nil, err
	}
	if d.task.Kind != prompt.Generate {
		return nil, fmt.Errorf("%s is not a task whose answers are written: name one such as samsum with -datasets", name)
	}
	// Inputs keep their lines, as questions do.
	d.data, err = record.Open(ctx, path, record.Options{
		Text: d.task.Text, Condition: d.task.Label, OnError: record.Skip, Private: filepath.Join(b.dir, "private"),
	})
	return d, err
}

// test picks questions. Some files have a line for each of several answers to one.
func (b *bench) test(path string, t prompt.Task) ([]eval.Item, error) {
	all, err := eval.ReadItems(path, t)
	if err != nil {
		return nil, err
	}
	return eval.Subset(eval.GroupByInput(all), b.items)
}

// unpack decompresses a file, so that a draw reads no more than its records, and counts
// its lines.
func unpack(from, to string) (lines int64, err error) {
	in, err := os.Open(from)
	if err != nil {
		return 0, fmt.Errorf("%w: name the folder of data with -data, or leave it out for made-up chats", err)
	}
	defer in.Close()
	z, err := gzip.NewReader(bufio.NewReader(in))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", from, err)
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, err
	}
	count := lineCounter{Writer: out}
	if _, err := io.Copy(&count, z); err != nil {
		return 0, fmt.Errorf("%s: %w", from, err)
	}
	return count.lines, out.Close()
}

type lineCounter struct {
	io.Writer
	lines int64
}

func (c *lineCounter) Write(p []byte) (int, error) {
	c.lines += int64(bytes.Count(p, []byte("\n")))
	return c.Writer.Write(p)
}
