package demo

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// Ticket is a message to the helpline and the desk that it belongs to.
type Ticket struct {
	Text  string `json:"text"`
	Label string `json:"label"`
}

// topics of the grammar, and the desk that takes care of each.
var topics = []struct{ name, label string }{
	{"money", "Money"},
	{"family", "Family"},
	{"work", "Work"},
	{"health", "Health"},
	{"housing", "Apartment"},
}

// Tickets returns the first n of the private tickets.
func Tickets(n int) []Ticket { return training.tickets(n) }

// Development returns tickets to choose settings with: of the same kind as
// [Tickets], and none of them the same.
func Development(n int) []Ticket { return development.tickets(n) }

// HeldOut returns tickets to evaluate with, apart from the other two. Nothing was chosen
// by looking at results on them.
func HeldOut(n int) []Ticket { return heldOut.tickets(n) }

func (p part) tickets(n int) []Ticket {
	all := make([]Ticket, max(n, 0))
	for i := range all {
		all[i], _ = p.ticket(i)
	}
	return all
}

// Secrets lists what was planted in the first n private tickets, each once, in order.
func Secrets(n int) []string {
	var all []string
	seen := map[string]bool{}
	for i := range max(n, 0) {
		_, planted := training.ticket(i)
		for _, s := range planted {
			if !seen[s] {
				seen[s] = true
				all = append(all, s)
			}
		}
	}
	return all
}

// Find lists the secrets that occur in a text, whatever the case, the spaces and
// the punctuation.
func Find(text string, secrets []string) []string {
	var found []string
	bare := letters(text)
	for _, s := range secrets {
		if strings.Contains(bare, letters(s)) {
			found = append(found, s)
		}
	}
	return found
}

// letters keeps letters and digits, in lower case.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// WriteJSONL writes tickets, one JSON object a line.
func WriteJSONL(w io.Writer, tickets []Ticket) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for i, t := range tickets {
		if err := e.Encode(t); err != nil {
			return fmt.Errorf("ticket %d: %w", i+1, err)
		}
	}
	return nil
}
