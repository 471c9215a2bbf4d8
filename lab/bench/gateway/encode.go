package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// asked30 is a question of thirty words, as long as messages to a help desk are.
const asked30 = "I was charged twice for the same order last week, nobody has answered my messages since Monday, and now the app does not let me sign in with my old password."

// teams is the task of a private classifier.
const teams = `title = "Messages that do not exist"
kind = "classify"
text = "text"
label = "team"
labels = ["billing", "login"]

[generate]
instruction = "Write a message to a team."

[answer]
instruction = "Which team is the message for?"
input = "Message"
output = "Team"
`

// texts are made-up messages with their teams.
func texts() string {
	var b strings.Builder
	b.WriteString("text,team\n")
	for i := range 200 {
		fmt.Fprintf(&b, "I was charged %d euros too much on invoice %d.,billing\nI cannot sign in to account %d any more since attempt %d.,login\n", i%97+1, i, i, i%7+2)
	}
	return b.String()
}

// encode measures what the vector of a question takes in the gateway: a question of thirty words at a time, of a route whose
// upstream answers at once, and of one that answers by its evidence alone.
func (r *result) encode(ctx context.Context, s *sotto) error {
	ours, clients, _, err := s.serve(ctx)
	if err != nil {
		return err
	}
	defer ours.stop()
	r.encoded = []*side{
		{name: "an upstream that answers at once", thinks: target{name: "without", address: clients, key: s.key, model: "atonce-plain", asks: asked30}},
		{name: "evidence, the question's vector computed in the gateway", thinks: target{name: "evidence", address: clients, key: s.key, model: "labels", asks: asked30, alone: true}},
	}
	for _, one := range r.encoded { // connections, and the encoder
		if _, err := load(ctx, one.thinks, 1, time.Second); err != nil {
			return err
		}
	}
	for turn := range *turns {
		for _, one := range r.encoded {
			latency, err := load(ctx, one.thinks, 1, *span)
			if err != nil {
				return err
			}
			one.latency = append(one.latency, latency)
			fmt.Fprintf(os.Stderr, "turn %d, %s: p50 %v, p99 %v; %d failed\n", turn+1, one.name, latency.p50, latency.p99, latency.failed)
		}
	}
	return nil
}

func (r *result) reportEncoding(b *strings.Builder) {
	fmt.Fprintf(b, `
## Evidence: the vector of a question

One connection asks a question of thirty words at a time. Where a release has evidence the gateway turns the question into a
vector, with the sentence encoder in this program; here nothing else is asked.

| | p50, ms | p99, ms | added p50 | added p99 |
|---|---|---|---|---|
`)
	p50 := func(t loadResult) time.Duration { return t.p50 }
	p99 := func(t loadResult) time.Duration { return t.p99 }
	without := r.encoded[0].latency
	for i, s := range r.encoded {
		added := []string{"", ""}
		if i > 0 {
			added = []string{ms(median(s.latency, p50) - median(without, p50)), ms(median(s.latency, p99) - median(without, p99))}
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", s.name, ms(median(s.latency, p50)), ms(median(s.latency, p99)), added[0], added[1])
	}
}
