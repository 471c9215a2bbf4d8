package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
)

// words that made-up records consist of. What they say does not change what a prompt of
// their length costs.
var words = strings.Fields(`the a council minister talks border treaty river city market
shares profit quarter season goal match coach record software phone network satellite
said on after before with for new plan report week month year people officials leaders
agreed rejected opened closed raised cut won lost launched found north south east west`)

// writeRecords writes the made-up records of a setting.
func (t setting) writeRecords(path, label string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	random := rand.New(rand.NewPCG(1, 2))
	var line strings.Builder
	quoted, err := json.Marshal(label)
	if err != nil {
		return err
	}
	for range t.size {
		line.Reset()
		for i := range t.from + random.IntN(t.to-t.from+1) {
			if i > 0 {
				line.WriteByte(' ')
			}
			line.WriteString(words[random.IntN(len(words))])
		}
		fmt.Fprintf(w, "{\"text\":%q,\"label\":%s}\n", line.String(), quoted)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}
