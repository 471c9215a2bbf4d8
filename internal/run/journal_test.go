package run

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"pgregory.net/rapid"
)

// lines makes the journal of some entries.
func lines(t testing.TB, entries []entry) []byte {
	t.Helper()
	var all []byte
	link := ""
	for _, e := range entries {
		text, next, err := line(e, link)
		must(t, err)
		all, link = append(all, text...), next
	}
	return all
}

var someEntries = []entry{
	{State: planned, Header: &header{Format: 1, Run: "A", Plan: "b", Scope: map[string]string{"team": "x"}}},
	{State: keyed},
	{State: reserved, Charge: "c", Event: "compose()"},
	{State: chosen, Conditions: []string{"red", "blue"}},
	{State: begun, Text: 1},
	{State: recharged, Text: 1, Attempt: 1, Charge: "d", Event: "pure(1)"},
	{State: begun, Text: 1, Attempt: 1},
	{State: released, Text: 1, Attempt: 1, Condition: "red", Output: "line\nwith \"quotes\" and ,\"link\":\"", Steps: 3},
	{State: written},
	{State: committed, Charge: "c", Checkpoint: "e"},
}

// TestJournalPrefixes: a journal that was cut off anywhere reads as the lines that are
// whole, for the last was never acted upon.
func TestJournalPrefixes(t *testing.T) {
	data := lines(t, someEntries)
	for n := range len(data) + 1 {
		entries, whole, err := parseJournal(data[:n])
		want := bytes.Count(data[:n], []byte("\n"))
		at := expect.At(t, "%d bytes", n)
		expect.NoError(at, err)
		expect.Len(at, "entries", entries, want)
		expect.True(at, "bytes.HasPrefix(data[:n], whole)", bytes.HasPrefix(data[:n], whole), data[:n], whole)
		if len(entries) > 0 {
			expect.True(at, "entries equal to someEntries[:want]", reflect.DeepEqual(entries, someEntries[:want]), entries, someEntries[:want])
		}
	}
}

// TestJournalDamage: no changed byte goes unnoticed; at most the last line is dropped.
func TestJournalDamage(t *testing.T) {
	data := lines(t, someEntries)
	last := bytes.LastIndexByte(data[:len(data)-1], '\n') + 1
	for i := range data {
		changed := bytes.Clone(data)
		changed[i] ^= 1
		entries, _, err := parseJournal(changed)
		switch {
		case i == last-1: // without its end the last line but one is one with the last, and torn
			if err != nil || len(entries) != len(someEntries)-2 {
				t.Errorf("the end of a line is changed: %d entries, %v", len(entries), err)
			}
		case i < last && err == nil:
			t.Errorf("byte %d is changed, and nobody noticed", i)
		case i >= last && (err != nil || len(entries) != len(someEntries)-1):
			t.Errorf("byte %d of the last line is changed: %d entries, %v", i, len(entries), err)
		}
	}
}

// TestJournalOrder: lines that were exchanged or left out are noticed.
func TestJournalOrder(t *testing.T) {
	rows := bytes.SplitAfter(lines(t, someEntries), []byte("\n"))
	rows = rows[:len(rows)-1]
	rapid.Check(t, func(rt *rapid.T) {
		i := rapid.IntRange(0, len(rows)-3).Draw(rt, "i")
		without := append(append([][]byte(nil), rows[:i]...), rows[i+1:]...)
		if _, _, err := parseJournal(bytes.Join(without, nil)); err == nil {
			rt.Errorf("line %d is missing, and nobody noticed", i+1)
		}
		swapped := append([][]byte(nil), rows...)
		swapped[i], swapped[i+1] = swapped[i+1], swapped[i]
		if _, _, err := parseJournal(bytes.Join(swapped, nil)); err == nil {
			rt.Errorf("line %d is exchanged, and nobody noticed", i+1)
		}
	})
}

// TestFoldRefuses: what cannot be is not taken for progress.
func TestFoldRefuses(t *testing.T) {
	start := someEntries[0]
	two := entry{State: chosen, Conditions: []string{"a", "b"}}
	for name, entries := range map[string][]entry{
		"no beginning":    {{State: keyed}},
		"two beginnings":  {start, start},
		"no header":       {{State: planned}},
		"unknown state":   {start, {State: "sung"}},
		"text too large":  {start, two, {State: released, Text: 3}},
		"text 0":          {start, two, {State: released}},
		"text twice":      {start, two, {State: released, Text: 1}, {State: released, Text: 1}},
		"text too early":  {start, {State: begun, Text: 1}},
		"charge too soon": {start, {State: recharged, Text: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := fold(entries); err == nil {
				t.Errorf("%s: no error", name)
			}
		})
	}
}

// FuzzJournal: whatever is in the file, reading it gives an error or entries that are
// written as they were read.
func FuzzJournal(f *testing.F) {
	f.Add(lines(f, someEntries))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, whole, err := parseJournal(data)
		if err != nil {
			return
		}
		if !bytes.HasPrefix(data, whole) {
			t.Fatal("what was read is not the beginning of the file")
		}
		if p, err := fold(entries); err == nil && p.done() > len(p.texts) {
			t.Fatal("more texts are done than there are")
		}
	})
}
