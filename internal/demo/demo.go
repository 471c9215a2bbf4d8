package demo

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/sotto-dp/sotto/prompt"
)

// Ticket is a message and the label that it belongs to.
type Ticket struct {
	Text  string `json:"text"`
	Label string `json:"label"`
	// Item is what the message says is broken, in its words, if that is asked about too.
	Item string `json:"item,omitempty"`
}

// Messages are tickets of one kind, in three parts of the same distribution, and the task of
// sorting them.
type Messages struct {
	name     string
	topics   []topic
	grammar  func() grammar
	taskFile []byte
	// itemFile and made are of messages that name an item.
	itemFile, made []byte
}

// topic of a grammar, and the label of what is about it.
type topic struct{ name, label string }

// Helpline returns messages to a helpline. The labels are desks that say what they are about.
func Helpline() *Messages { return &helpline }

// Office returns what people in an office report. The labels are teams whose names do not say
// what they repair: only the messages tell.
func Office() *Messages { return &office }

// Repairs returns what people of a company report as broken. The labels are desks, and each
// message names the thing that is broken: [Messages.ItemTask] asks for it. [Messages.MadeUp] has
// examples that are public.
func Repairs() *Messages { return &repairs }

var (
	helpline = Messages{
		name: "helpline", grammar: rules(helplineRules), taskFile: helplineTask,
		topics: []topic{{"money", "Money"}, {"family", "Family"}, {"work", "Work"}, {"health", "Health"}, {"housing", "Apartment"}},
	}
	office = Messages{
		name: "office", grammar: rules(officeRules), taskFile: officeTask,
		topics: []topic{{"printer", "Blue"}, {"phone", "Red"}, {"car", "Green"}, {"door", "Orange"}},
	}
	repairs = Messages{
		name: "repairs", grammar: rules(repairsRules), taskFile: repairsTask, itemFile: brokenTask, made: repairsMade,
		topics: []topic{{"computers", "Computers"}, {"building", "Building"}, {"vehicles", "Vehicles"}, {"kitchen", "Kitchen"}},
	}
)

// Tickets returns the first n of the private tickets.
func (m *Messages) Tickets(n int) []Ticket { return m.tickets(training, n) }

// Development returns tickets to choose settings with: of the same kind as
// [Messages.Tickets], and none of them the same.
func (m *Messages) Development(n int) []Ticket { return m.tickets(development, n) }

// HeldOut returns tickets to evaluate with, apart from the other two. Nothing was chosen
// by looking at results on them.
func (m *Messages) HeldOut(n int) []Ticket { return m.tickets(heldOut, n) }

func (m *Messages) tickets(p part, n int) []Ticket {
	all := make([]Ticket, max(n, 0))
	for i := range all {
		all[i], _ = m.ticket(p, i)
	}
	return all
}

// Secrets lists what was planted in the first n private tickets, each once, in order.
func (m *Messages) Secrets(n int) []string {
	var all []string
	seen := map[string]bool{}
	for i := range max(n, 0) {
		_, planted := m.ticket(training, i)
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

var (
	//go:embed helpline.txt
	helplineRules string
	//go:embed helpline.toml
	helplineTask []byte
	//go:embed office.txt
	officeRules string
	//go:embed office.toml
	officeTask []byte
	//go:embed repairs.txt
	repairsRules string
	//go:embed repairs.toml
	repairsTask []byte
	//go:embed broken.toml
	brokenTask []byte
	//go:embed repairs.jsonl
	repairsMade []byte
)

// TaskFile returns the task as a file, an example of what users write for theirs.
func (m *Messages) TaskFile() []byte { return slices.Clone(m.taskFile) }

// Task reports how messages are written and sorted.
func (m *Messages) Task() (prompt.Task, error) { return prompt.Parse("demo", m.taskFile) }

// ItemFile returns the task of [Messages.ItemTask] as a file.
func (m *Messages) ItemFile() []byte { return slices.Clone(m.itemFile) }

// ItemTask is the second question about a message of [Repairs]: which thing is broken, in its
// own words.
func (m *Messages) ItemTask() (prompt.Task, error) { return prompt.Parse("broken", m.itemFile) }

// MadeUp returns public examples of [Repairs], written by hand: what a company would write down
// to begin with. They are about other things than the grammar's. Each block of as many as there
// are labels has every label once.
func (m *Messages) MadeUp() ([]Ticket, error) {
	var all []Ticket
	for line := range bytes.Lines(m.made) {
		var t Ticket
		if err := json.Unmarshal(line, &t); err != nil {
			return nil, fmt.Errorf("example %d that was made up: %w", len(all)+1, err)
		}
		all = append(all, t)
	}
	return all, nil
}
