package demo

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// dice is splitmix64 (Steele, Lea, Flood 2014): a small generator whose numbers are the
// same forever and everywhere. Nothing private depends on it.
type dice uint64

func (d *dice) next() uint64 {
	*d += 0x9e3779b97f4a7c15
	z := uint64(*d)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below returns a number from 0 to n-1, even enough for a demonstration.
func (d *dice) below(n int) int { return int(d.next() >> 1 % uint64(n)) }

// chance is true once in n times.
func (d *dice) chance(n int) bool { return d.below(n) == 0 }

// planted names the rules that plant a secret.
var planted = map[string]bool{"PERSON": true, "PHONE": true, "MEMBER": true, "EMAIL": true, "ADDRESS": true}

// writer makes up one ticket.
type writer struct {
	dice
	grammar grammar
	name    string
	secrets []string
}

// person returns the same throughout a ticket.
func (w *writer) person() string {
	if w.name == "" {
		w.name = w.expand("first") + " " + w.expand("last.head") + w.expand("last.tail")
	}
	return w.name
}

func (w *writer) digits(n int) string {
	var b strings.Builder
	for range n {
		b.WriteByte(byte('0' + w.below(10)))
	}
	return b.String()
}

// secret makes up what a rule plants. Numbers with the area code 555 reach nobody, and
// RFC 2606 keeps the domains of the addresses free.
func (w *writer) secret(rule string) string {
	switch rule {
	case "PHONE":
		return "555-" + w.digits(3) + "-" + w.digits(4)
	case "MEMBER":
		return "OL-" + w.digits(4) + "-" + w.digits(3)
	case "EMAIL":
		domain := []string{"example.com", "example.net", "example.org"}[w.below(3)]
		return strings.ToLower(strings.ReplaceAll(w.person(), " ", ".")) + "@" + domain
	case "ADDRESS":
		return strconv.Itoa(1+w.below(240)) + " " + w.expand("street") + " " + w.expand("street.kind")
	}
	return w.person()
}

// expand replaces a rule by one of its alternatives, and so on. A secret becomes a
// mark with its number, which typing errors leave alone; reveal puts it in.
func (w *writer) expand(rule string) string {
	if planted[rule] {
		w.secrets = append(w.secrets, w.secret(rule))
		return fmt.Sprintf("\x00%d\x00", len(w.secrets)-1)
	}
	all := w.grammar[rule]
	alternative := all[w.below(len(all))]
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(alternative, "{")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		name, after, _ := strings.Cut(rest, "}")
		b.WriteString(w.expand(name))
		alternative = after
	}
}

func (w *writer) reveal(text string) string {
	for i, s := range w.secrets {
		text = strings.ReplaceAll(text, fmt.Sprintf("\x00%d\x00", i), s)
	}
	return text
}

// write makes up a ticket on a topic.
func (w *writer) write(topic string) string {
	words := strings.Fields(w.expand("message." + topic))
	careless := w.chance(12)
	for i, word := range words {
		starts := i == 0 && !careless || i > 0 && strings.HasSuffix(words[i-1], ".")
		if starts {
			first, size := utf8.DecodeRuneInString(word)
			words[i] = string(unicode.ToUpper(first)) + word[size:]
		}
	}
	if w.chance(6) {
		w.mistype(words)
	}
	return w.reveal(strings.Join(words, " "))
}

// mistype spoils a word: letters swapped, one lost, or one twice.
func (w *writer) mistype(words []string) {
	i := w.below(len(words))
	word := words[i]
	if len(word) < 5 || strings.ContainsFunc(word, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsLetter(r) }) {
		return
	}
	at := 1 + w.below(len(word)-2)
	switch w.below(3) {
	case 0:
		words[i] = word[:at] + word[at+1:at+2] + word[at:at+1] + word[at+2:]
	case 1:
		words[i] = word[:at] + word[at+1:]
	default:
		words[i] = word[:at] + word[at:at+1] + word[at:]
	}
}

// marked takes the brackets out of a text, and returns what stood in them. Words in brackets are
// neither mistyped nor begin a sentence.
func marked(text string) (plain, item string) {
	before, rest, ok := strings.Cut(text, "[")
	if !ok {
		return text, ""
	}
	item, after, _ := strings.Cut(rest, "]")
	return before + item + after, item
}

// part is one of three sets of tickets.
type part uint64

const (
	training part = iota
	development
	heldOut
)

// owner reports which part a text may be in. It depends on the text alone, so that no text
// is in two parts, while all have the same distribution.
func owner(text string) part {
	h := fnv.New64a()
	h.Write([]byte(text))
	seed := dice(h.Sum64())
	return []part{training, training, development, heldOut}[seed.below(4)]
}

// ticket makes up the i-th ticket of a part and returns what was planted in it. Each block
// of tickets, as many as there are labels, has every label once, in shuffled order.
func (m *Messages) ticket(p part, i int) (Ticket, []string) {
	labels := len(m.topics)
	block := dice(uint64(p)<<32 + uint64(i/labels))
	order := make([]int, labels)
	for j := range order {
		k := block.below(j + 1)
		order[j], order[k] = order[k], j
	}
	t := m.topics[order[i%labels]]
	d := dice(uint64(p+1)<<48 + uint64(i)<<8)
	d = dice(d.next())
	for {
		w := writer{dice: dice(d.next()), grammar: m.grammar()}
		if text, item := marked(w.write(t.name)); owner(text) == p {
			return Ticket{Text: text, Label: t.label, Item: item}, w.secrets
		}
	}
}
