package record

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/sotto-dp/sotto/internal/rows"
	"github.com/sotto-dp/sotto/internal/rows/origin"

	"github.com/sotto-dp/sotto/internal/private/internal/seal"
)

// Conditions counts units by condition and returns those conditions that choose wants,
// as sealed records without a text. It asks once for each condition that any unit has,
// in an order that the conditions and the folder's key determine.
//
// Every unit counts under one condition: its own, or, if its records have several, the
// one that a keyed hash of the unit and the condition puts first. So adding or removing
// a unit changes one count, by one.
//
// It takes a pass over the source, and sorts on disk: memory grows with what is chosen.
func (d *Data) Conditions(ctx context.Context, choose func(units seal.Count) bool) ([]seal.Record, error) {
	if d.o.Condition == "" {
		return nil, origin.Refuse("the records have no labels: name the label column")
	}
	return d.common(ctx, func(condition, _ string) string { return condition }, choose)
}

// Endings counts units by the last words of their texts, as Conditions counts them by
// condition, and returns the endings that choose wants as the conditions of sealed records.
// A text that has no more words than that has no ending.
func (d *Data) Endings(ctx context.Context, words int, choose func(units seal.Count) bool) ([]seal.Record, error) {
	if words < 1 {
		return nil, origin.Refuse("an ending has at least one word, not %d", words)
	}
	return d.common(ctx, func(_, text string) string { return ending(text, words) }, choose)
}

// ending is the last words of a text; empty if that is all of it.
func ending(text string, words int) string {
	all := strings.Fields(text)
	if len(all) <= words {
		return ""
	}
	return strings.Join(all[len(all)-words:], " ")
}

// common counts units by what their records have: a function of condition and text, whose
// empty value counts for nothing.
func (d *Data) common(ctx context.Context, of func(condition, text string) string, choose func(units seal.Count) bool) (chosen []seal.Record, err error) {
	dir := filepath.Join(d.o.Private, "index")
	c := &conditions{m: d.k.marks(), of: of, choose: choose}
	c.byCondition = newSorter(dir, d.o.memory) // (condition, unit, slot)
	if d.o.Unit != "" {
		c.byUnit = newSorter(dir, d.o.memory) // (unit, rank of the condition, slot)
	}
	defer func() {
		if closing := errors.Join(c.byUnit.close(), c.byCondition.close()); err == nil {
			err = closing
		}
	}()
	if err := d.scan(ctx, c.take); err != nil {
		return nil, err
	}
	if err := c.byUnit.each(c.unit); err != nil {
		return nil, err
	}
	if err := c.byCondition.each(c.count); err != nil {
		return nil, err
	}
	c.decide()
	records, err := d.fetch(ctx, c.chosen)
	for i, r := range records {
		records[i] = seal.NewRecord(seal.Ordinal(r), of(seal.Condition(r), seal.Text(r)), "")
	}
	return records, err
}

// conditions is one count of units by condition.
type conditions struct {
	m                   *marks
	of                  func(condition, text string) string
	byUnit, byCondition *sorter
	one                 oneLabel
	choose              func(seal.Count) bool

	first  tuple // of the condition that is being counted
	units  int
	chosen []slot
}

func (c *conditions) take(ordinal int64, r *rows.Row, e *entry) error {
	s, err := newSlot(ordinal, r.Place, c.m.checkOf(ordinal, e))
	if err != nil {
		return err
	}
	has := c.of(e.condition, e.text)
	if has == "" {
		return nil
	}
	label := c.m.labelOf(has)
	if c.byUnit == nil {
		return c.byCondition.add(newTuple(label, digest{}, s))
	}
	unit := c.m.unitOf(e)
	return c.byUnit.add(newTuple(unit, c.m.rankOf(unit, label), s))
}

// unit takes records by unit; one of each counts, under the first condition.
func (c *conditions) unit(t *tuple) error {
	if _, fresh := c.one.first(t); !fresh {
		return nil
	}
	return c.byCondition.add(newTuple(c.m.labelAt(t.a(), t.b()), t.a(), t.slot()))
}

// count takes one record of each unit, by condition.
func (c *conditions) count(t *tuple) error {
	if c.units > 0 && t.a() != c.first.a() {
		c.decide()
	}
	if c.units == 0 {
		c.first = *t
	}
	c.units++
	return nil
}

// decide ends the count of a condition.
func (c *conditions) decide() {
	if c.units > 0 && c.choose(seal.NewCount(c.units)) {
		c.chosen = append(c.chosen, c.first.slot())
	}
	c.units = 0
}
