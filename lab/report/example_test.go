package report_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/sotto-dp/sotto/lab/report"
	"github.com/sotto-dp/sotto/lab/result"
)

func ExampleWrite() {
	dir, err := os.MkdirTemp("", "report")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	one := 1.0
	row := result.Row{
		Dataset: "news", Method: "clipped", Name: "clipped", Epsilon: &one, Shots: 4, Model: "a model", Answerer: "a model",
		Metric: "accuracy", Value: 0.75, N: 4, Items: []float64{1, 1, 0, 1},
	}
	if err := report.Write(dir, report.Input{Title: "One set", Rows: []result.Row{row}}); err != nil {
		panic(err)
	}
	text, err := os.ReadFile(dir + "/" + report.MarkdownName)
	if err != nil {
		panic(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "| clipped | 75") {
			fmt.Println(line)
		}
	}
	// Output: | clipped | 75.0<br>0.0 to 100.0 |
}
