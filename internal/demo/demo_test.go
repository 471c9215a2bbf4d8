package demo

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// sizes are what the program uses, and more.
const (
	manyTickets = 10_000
	manyOthers  = 2_000
)

// each runs a test on all kinds of messages.
func each(t *testing.T, test func(*testing.T, *Messages)) {
	for _, m := range []*Messages{Helpline(), Office(), Repairs()} {
		t.Run(m.name, func(t *testing.T) { test(t, m) })
	}
}

func TestPartsAreApart(t *testing.T) {
	each(t, func(t *testing.T, m *Messages) {
		in := map[string]string{}
		for name, tickets := range map[string][]Ticket{
			"private": m.Tickets(manyTickets), "development": m.Development(manyOthers), "held-out": m.HeldOut(manyOthers),
		} {
			t.Run(name, func(t *testing.T) {
				for _, k := range tickets {
					if other, ok := in[k.Text]; ok && other != name {
						t.Fatalf("a text is in %s and %s: %s", other, name, k.Text)
					}
					in[k.Text] = name
				}
			})
		}
		// What people in an office report is short: the same is reported several times.
		required := map[string]int{"helpline": 90, "office": 45, "repairs": 60}[m.name]
		if distinct := len(in); distinct < (manyTickets+2*manyOthers)*required/100 {
			t.Errorf("only %d texts are distinct", distinct)
		}
	})
}

// TestEveryWordOccurs looks for each word of each topic's sentences in each part: all
// parts are of the whole grammar.
func TestEveryWordOccurs(t *testing.T) {
	words := func(tickets []Ticket) map[string]bool {
		all := map[string]bool{}
		for _, k := range tickets {
			for _, w := range strings.FieldsFunc(strings.ToLower(k.Text), func(r rune) bool { return !unicode.IsLetter(r) }) {
				all[w] = true
			}
		}
		return all
	}
	braces := regexp.MustCompile(`{[^}]*}`)
	each(t, func(t *testing.T, m *Messages) {
		var sentences []Ticket
		for _, a := range m.topics {
			for _, rule := range []string{".core", ".more", ".fault"} {
				for _, line := range m.grammar()[a.name+rule] {
					sentences = append(sentences, Ticket{Text: braces.ReplaceAllString(line, "")})
				}
			}
		}
		for name, tickets := range map[string][]Ticket{
			"private": m.Tickets(manyOthers), "development": m.Development(manyOthers), "held-out": m.HeldOut(manyOthers),
		} {
			t.Run(name, func(t *testing.T) {
				seen := words(tickets)
				for w := range words(sentences) {
					if !seen[w] {
						t.Errorf("%q never occurs", w)
					}
				}
			})
		}
	})
}

func TestLabelsAreBalanced(t *testing.T) {
	each(t, func(t *testing.T, m *Messages) {
		labels := len(m.topics)
		for name, tickets := range map[string][]Ticket{"private": m.Tickets(100 * labels), "development": m.Development(100 * labels), "held-out": m.HeldOut(100 * labels)} {
			t.Run(name, func(t *testing.T) {
				first := map[string]int{}
				for block := range slices.Chunk(tickets, labels) {
					count := map[string]int{}
					for _, k := range block {
						count[k.Label]++
					}
					for _, a := range m.topics {
						if count[a.label] != 1 {
							t.Fatalf("a block has the label %s %d times", a.label, count[a.label])
						}
					}
					first[block[0].Label]++
				}
				for _, a := range m.topics {
					if first[a.label] == 0 {
						t.Errorf("no block begins with %s: the order is not shuffled", a.label)
					}
				}
			})
		}
	})
}

// TestForEver pins the data: figures in documents are about these messages.
func TestForEver(t *testing.T) {
	each(t, func(t *testing.T, m *Messages) {
		var b bytes.Buffer
		for _, tickets := range [][]Ticket{m.Tickets(1000), m.Development(1000), m.HeldOut(1000)} {
			if err := WriteJSONL(&b, tickets); err != nil {
				t.Fatal(err)
			}
		}
		want := map[string]string{
			"helpline": "0ea049eb9ef0e1c7f4b89b8807a7dea53831042b5ac1d703d2d48623d1e059f5",
			"office":   "28b00ec060fd651258aeb9f03ca8f494b99346968485ad8a219ca694d363a721",
			"repairs":  "28569634350c676c36e46d1a42a4d9d7c6ecedaab3d6b49d9729122ea1b97d56",
		}[m.name]
		if got := fmt.Sprintf("%x", sha256.Sum256(b.Bytes())); got != want {
			t.Errorf("the data has changed: SHA-256 %s, was %s; if that is meant, measure again what documents say about it", got, want)
		}
		if !reflect.DeepEqual(m.Tickets(10), m.Tickets(50)[:10]) {
			t.Error("the first tickets depend on how many are asked for")
		}
		if m.Tickets(-1) == nil || len(m.Tickets(-1)) != 0 {
			t.Error("fewer than none is none")
		}
	})
}

func TestTexts(t *testing.T) {
	each(t, func(t *testing.T, m *Messages) {
		required := map[string]int{"helpline": 30, "office": 15, "repairs": 15}[m.name]
		for _, k := range append(m.Tickets(manyTickets), m.HeldOut(manyOthers)...) {
			switch {
			case strings.Join(strings.Fields(k.Text), " ") != k.Text:
				t.Errorf("white space: %q", k.Text)
			case strings.ContainsAny(k.Text, "{}[]\x00×"):
				t.Errorf("something was not replaced: %q", k.Text)
			case len(k.Text) < required || len(k.Text) > 260:
				t.Errorf("%d characters: %q", len(k.Text), k.Text)
			}
		}
	})
}

func TestJSONL(t *testing.T) {
	tickets := Office().Tickets(20)
	var b bytes.Buffer
	if err := WriteJSONL(&b, tickets); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) != len(tickets) {
		t.Fatalf("%d lines for %d tickets", len(lines), len(tickets))
	}
	for i, line := range lines {
		var k Ticket
		if err := json.Unmarshal([]byte(line), &k); err != nil || k != tickets[i] {
			t.Errorf("line %d is %q (%v)", i+1, line, err)
		}
	}
	if err := WriteJSONL(fullDisk{}, tickets); err == nil {
		t.Error("an error of the writer is lost")
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, fmt.Errorf("the disk is full") }

func TestTask(t *testing.T) {
	each(t, func(t *testing.T, m *Messages) {
		k, err := m.Task()
		if err != nil {
			t.Fatal(err)
		}
		if problems := k.Check(); len(problems) > 0 {
			t.Error(problems)
		}
		for i, a := range m.topics {
			if i >= len(k.Labels) || k.Labels[i] != a.label {
				t.Fatalf("the task has the labels %v", k.Labels)
			}
			if !strings.Contains(k.Answer.Instruction, a.label) {
				t.Errorf("the instruction does not name %s", a.label)
			}
		}
		if k.Text != "text" || k.Label != "label" {
			t.Errorf("the task reads the columns %q and %q", k.Text, k.Label)
		}
	})
}

// TestOnlyMessagesTell: nothing in the task says what a desk of the office takes care of, so
// that a model that sees no message cannot know.
func TestOnlyMessagesTell(t *testing.T) {
	words := strings.FieldsFunc(strings.ToLower(string(Office().TaskFile())), func(r rune) bool { return !unicode.IsLetter(r) })
	for _, a := range office.topics {
		if slices.Contains(words, a.name) {
			t.Errorf("the task speaks of a %s", a.name)
		}
	}
}

// TestItems: every message of repairs names one thing that is broken, word for word, and others name none.
// Public examples do the same, and none of them is a message.
func TestItems(t *testing.T) {
	made, err := Repairs().MadeUp()
	if err != nil || len(made) < 24 {
		t.Fatalf("%d examples were made up (%v)", len(made), err)
	}
	task, err := Repairs().ItemTask()
	at := expect.At(t, "the task")
	expect.NoError(at, err)
	expect.Len(at, "task.Check()", task.Check(), 0)
	expect.True(at, "task.Open()", task.Open(), task)
	expect.Equal(at, "task.Label", task.Label, "item")
	private, items := map[string]bool{}, map[string]bool{}
	for _, k := range append(Repairs().Tickets(manyOthers), Repairs().HeldOut(manyOthers)...) {
		private[k.Text], items[k.Item] = true, true
		at := expect.At(t, "%q is not what is broken in %q", k.Item, k.Text)
		expect.True(at, "k.Item that is not empty", k.Item != "")
		expect.Min(at, "number of k.Item", strings.Count(k.Text, k.Item), 1)
		expect.Equal(at, "strings.ToLower(k.Item)", strings.ToLower(k.Item), k.Item)
	}
	for i, k := range made {
		at := expect.At(t, "example %d is %+v", i+1, k)
		expect.Contains(at, "k.Text", k.Text, k.Item)
		expect.True(at, "k.Item that is not empty", k.Item != "")
		expect.True(at, "not private[k.Text]", !private[k.Text])
		expect.True(at, "not items[k.Item]", !items[k.Item])
	}
	for block := range slices.Chunk(made, len(repairs.topics)) {
		count := map[string]int{}
		for _, k := range block {
			count[k.Label]++
		}
		if len(count) != len(repairs.topics) {
			t.Errorf("a block of examples has the labels %v", count)
		}
	}
	if k := Helpline().Tickets(1)[0]; k.Item != "" {
		t.Errorf("%q is broken", k.Item)
	}
	if text, item := marked("the [coffee machine] leaks."); text != "the coffee machine leaks." || item != "coffee machine" {
		t.Errorf("%q of %q", item, text)
	}
}

func ExampleMessages_Tickets() {
	for _, t := range Helpline().Tickets(2) {
		fmt.Printf("%s: %s\n", t.Label, t.Text)
	}
	for _, t := range Office().Tickets(2) {
		fmt.Printf("%s: %s\n", t.Label, t.Text)
	}
	for _, t := range Repairs().Tickets(2) {
		fmt.Printf("%s, %s: %s\n", t.Label, t.Item, t.Text)
	}
	// Output:
	// Work: Hello Oxmere Line, I am afraid to ask my boss for a raise. My manager wants to see me next month.
	// Money: I do not know how to pay the rent next month. They want the whole amount at once.
	// Green: The car leaks petrool since Thursday
	// Blue: The printer at 98 Stonewhistle Lane has a paper jam
	// Vehicles, pool car: The pool car pulls to the left.
	// Computers, printer: The printer in room 203 prints stripes on every page.
}
