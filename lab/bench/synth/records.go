package main

import (
	"math/rand/v2"
	"strings"

	"github.com/sotto-dp/sotto/lab/bench/harness"
)

// words that made-up records consist of. What they say does not change what a prompt of
// their length costs.
var words = strings.Fields(`the a council minister talks border treaty river city market
shares profit quarter season goal match coach record software phone network satellite
said on after before with for new plan report week month year people officials leaders
agreed rejected opened closed raised cut won lost launched found north south east west`)

// writeRecords writes the made-up records of a setting.
func (t setting) writeRecords(path, label string) error {
	random := rand.New(rand.NewPCG(1, 2))
	return harness.Lines(path, t.size, func(int) any {
		text := make([]string, t.from+random.IntN(t.to-t.from+1))
		for i := range text {
			text[i] = words[random.IntN(len(words))]
		}
		return map[string]string{"text": strings.Join(text, " "), "label": label}
	})
}
