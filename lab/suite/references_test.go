package suite_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/metric"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lab/suite"
)

// counts is an encoder of which tokens are alike if they begin with the same letter.
type counts struct{ asked int }

func (*counts) Name() string { return "letters" }

func (c *counts) Tokens(_ context.Context, texts []string) ([][][]float32, error) {
	c.asked += len(texts)
	out := make([][][]float32, len(texts))
	for i, text := range texts {
		for _, word := range metric.Words(text) {
			v := make([]float32, 256)
			v[word[0]] = 1
			out[i] = append(out[i], v)
		}
	}
	return out, nil
}

// TestReferences: lines with one question are one item; the main metric takes one of its
// references, as papers do, and the best of all is told beside; what embeddings say is kept.
func TestReferences(t *testing.T) {
	s := notes(t, "items = 0\nepsilon = [4]\n[[method]]\nmethod = \"zero\"\n")
	s.Datasets[0].Group = true
	o := options(t, &toy{name: "toy"})
	encoder := &counts{}
	o.Encoder = encoder
	result, err := suite.Run(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	r := result.Rows[0]
	if r.N != notesItems/2 {
		t.Errorf("%d items of %d lines with each question twice", r.N, notesItems)
	}
	best, ok := r.Metrics["rouge_l_best"]
	expect.True(t, "ok", ok)
	expect.Min(t, "best", best, r.Value)
	expect.True(t, "r.Metrics['embedding_f1 (letters)'] above 0", r.Metrics["embedding_f1 (letters)"] > 0, r.Metrics["embedding_f1 (letters)"])
	expect.True(t, "r.Metrics['embedding_precision (letters)'] above 0", r.Metrics["embedding_precision (letters)"] > 0, r.Metrics["embedding_precision (letters)"])
	before := encoder.asked
	again, err := suite.Run(t.Context(), s, o)
	expect.NoError(t, err)
	expect.Equal(t, "encoder.asked", encoder.asked, before)
	expect.True(t, "before other than 0", before != 0, before)
	equal(t, "again", again.Rows, result.Rows)
}

// TestPublicInputs: demonstrations may be written for the inputs of a public file.
func TestPublicInputs(t *testing.T) {
	s := notes(t, "items = 3\nepsilon = [4]\nshots = [2]\n[[method]]\nmethod = \"clipped\"\nbatch = 4\n")
	s.Datasets[0].Inputs = "test.jsonl"
	read, err := s.WithInputs()
	if err != nil {
		t.Fatal(err)
	}
	got := read.Datasets[0].Conditions
	expect.Len(t, "got", got, notesItems/2)
	expect.True(t, "note 64 in got", slices.Contains(got, "note 64"), got)
	expect.Equal(t, "read.Datasets[0].Inputs", read.Datasets[0].Inputs, "")
	if len(s.Datasets[0].Conditions) > 0 {
		t.Error("the suite itself was changed")
	}
	result, err := suite.Run(t.Context(), s, options(t, &toy{name: "toy"}))
	expect.NoError(t, err)
	expect.Len(t, "result.Rows", result.Rows, 1)
	expect.Equal(t, "result.Rows[0].Shots", result.Rows[0].Shots, 2)
	s.Datasets[0].Inputs = "gone.jsonl"
	if _, err := suite.Run(t.Context(), s, options(t, &toy{name: "toy"})); err == nil || !strings.Contains(err.Error(), "public inputs of notes") {
		t.Errorf("%v", err)
	}
}
