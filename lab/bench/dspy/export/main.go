// Command export writes the input of compare.py, which does a suite's task with DSPy, a
// file for each data set: the task in words, the records, the very test items that the
// suite's rows are about, and how many answers of records choosing takes.
//
//	go run ./bench/dspy/export -data DIR -out FOLDER
package main

import (
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/lab/suite"
	"github.com/sotto-dp/sotto/prompt"
)

func main() {
	name := flag.String("suite", "choose-text", "the suite to compare with")
	data := flag.String("data", "", "the folder that {data}/ stands for in it")
	out := flag.String("out", "", "a folder for the files")
	epsilon := flag.Float64("epsilon", 1, "the ε whose number of answers is printed")
	flag.Parse()
	if err := export(*name, *data, *out, *epsilon); err != nil {
		fmt.Fprintln(os.Stderr, "export:", err)
		os.Exit(1)
	}
}

// file is what is written of a data set.
type file struct {
	Name        string   `json:"name"`
	Kind        string   `json:"kind"`
	Instruction string   `json:"instruction,omitempty"`
	Input       string   `json:"input"`
	Output      string   `json:"output"`
	Labels      []string `json:"labels,omitempty"`
	// Answers is the mean number of records' answers that all rounds of choosing take.
	Answers float64     `json:"answers"`
	Records []eval.Item `json:"records"`
	Items   []eval.Item `json:"items"`
}

// export writes a file for each data set of a suite that has its records choose.
func export(name, data, out string, epsilon float64) error {
	if data == "" || out == "" {
		return fmt.Errorf("-data (a folder of data sets) and -out (a folder) are needed")
	}
	what, err := suite.Find(name)
	if err != nil {
		return err
	}
	if what, err = what.In(data); err != nil {
		return err
	}
	cells, err := suite.Cells(what)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	var done []string
	for _, c := range cells {
		if c.Method != plan.Chooses || c.Epsilon == nil || *c.Epsilon != epsilon || slices.Contains(done, c.Dataset.Name) {
			continue
		}
		f, err := read(what, c)
		if err != nil {
			return err
		}
		if err := write(filepath.Join(out, f.Name+".json.gz"), f); err != nil {
			return err
		}
		fmt.Printf("%s: %d records, %d test items, %.0f answers\n", f.Name, len(f.Records), len(f.Items), f.Answers)
		done = append(done, f.Name)
	}
	if len(done) == 0 {
		return fmt.Errorf("no records of %s choose at ε = %v: name a suite and an ε where they do", name, epsilon)
	}
	return nil
}

// read gathers what a cell is about.
func read(what suite.Suite, c suite.Cell) (f file, err error) {
	t := c.Task.WithDefaults()
	if t.Kind == prompt.Generate {
		return f, fmt.Errorf("%s: answers are written there, and compare.py knows labels and phrases alone", c.Dataset.Name)
	}
	f = file{
		Name: c.Dataset.Name, Kind: string(t.Kind), Instruction: t.Answer.Instruction, Input: t.Answer.Input, Output: t.Answer.Output, Labels: t.Labels,
	}
	p, err := plan.New(c.Request())
	if err != nil {
		return f, err
	}
	f.Answers = p.Choose.Answers(p.Units())
	if f.Records, err = eval.ReadItems(c.Dataset.Train, t); err != nil {
		return f, err
	}
	f.Items, err = what.Questions(c)
	return f, err
}

func write(path string, f file) error {
	to, err := os.Create(path)
	if err != nil {
		return err
	}
	defer to.Close()
	packed := gzip.NewWriter(to)
	if err := json.NewEncoder(packed).Encode(f); err != nil {
		return err
	}
	if err := packed.Close(); err != nil {
		return err
	}
	return to.Close()
}
