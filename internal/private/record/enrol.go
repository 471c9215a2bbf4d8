package record

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/sotto-dp/sotto/internal/private/internal/rowsketch"
	"github.com/sotto-dp/sotto/internal/rows"
	"github.com/sotto-dp/sotto/internal/rows/origin"
)

// enrolment is the one pass over a source that makes its index.
type enrolment struct {
	o        *Options
	m        *marks
	w        *indexWriter
	byUnit   *sorter // (unit, rank of the label, slot); nil when records are the units
	byPart   *sorter // (part, unit, slot); nil when there is one part
	labels   []digest
	parts    map[digest]int
	one      oneLabel
	part     int
	last     tuple
	begun    bool
	problems Problems
}

// enrol reads a source from end to end and writes its index.
func enrol(ctx context.Context, s source, o *Options, k *purposeKeys, dir string) (x *index, err error) {
	labels := o.Labels
	if o.Together {
		labels = nil
	}
	parts := max(1, len(labels))
	e := &enrolment{o: o, m: k.marks(), parts: map[digest]int{}}
	if e.w, err = newIndexWriter(dir, parts, o.Unit != ""); err != nil {
		return nil, err
	}
	defer func() {
		if closing := errors.Join(e.byUnit.close(), e.byPart.close()); err == nil {
			err = closing
		}
		if err != nil {
			_ = e.w.abandon() // the error that matters is err
			x = nil
		}
	}()
	if o.Unit != "" {
		e.byUnit = newSorter(dir, o.memory)
	}
	if parts > 1 {
		e.byPart = newSorter(dir, o.memory)
	}
	for i, l := range labels {
		e.labels = append(e.labels, e.m.labelOf(l))
		e.parts[e.labels[i]] = i
	}
	w := &witness{content: hmac.New(sha256.New, k.content), rows: rowsketch.New(k.folder, o.columns()[numRoles:]...)}
	if err := s.scan(ctx, w, e.each(s)); err != nil {
		return nil, err
	}
	if err := e.refuse(s); err != nil {
		return nil, err
	}
	e.w.x.Fingerprint, e.w.x.Problems = w.content.Sum(nil), e.problems
	e.w.x.Sketch = w.rows.Sketch()
	if err := e.byUnit.each(e.group); err != nil {
		return nil, err
	}
	if err := e.byPart.each(e.write); err != nil {
		return nil, err
	}
	return e.w.finish(k)
}

// each returns the function that takes every row of the source.
func (e *enrolment) each(s source) func(*rows.Row) error {
	read := newRowReader(e.o, s)
	return func(r *rows.Row) error {
		e.w.x.Rows++
		entry, why := read.entry(r)
		if why != 0 {
			e.problems.Add(origin.Problem{Ordinal: e.w.x.Rows, Reason: why, Column: read.column})
			return nil
		}
		return e.take(e.w.x.Rows, r.Place, &entry)
	}
}

// refuse ends an enrolment whose records cannot or may not be used.
func (e *enrolment) refuse(s source) error {
	switch n := e.problems.Count; {
	case e.w.x.Rows == 0:
		return origin.Refuse("the source has no records")
	case n == e.w.x.Rows:
		names := s.names()
		for _, column := range e.o.wanted(names) {
			if column != "" && len(names) > 0 && !slices.Contains(names, column) {
				return origin.NoColumn(column, names)
			}
		}
		return &MalformedError{Problems: e.problems, All: true}
	case n > 0 && e.o.OnError == Fail:
		return &MalformedError{Problems: e.problems}
	}
	return nil
}

// take notes one record.
func (e *enrolment) take(ordinal, place int64, r *entry) error {
	s, err := newSlot(ordinal, place, e.m.checkOf(ordinal, r))
	if err != nil {
		return err
	}
	if e.byUnit == nil {
		return e.place(r.part, digest{}, s)
	}
	unit, label := e.m.unitOf(r), digest{}
	if e.labels != nil {
		label = e.labels[r.part]
	}
	return e.byUnit.add(newTuple(unit, e.m.rankOf(unit, label), s))
}

// group takes the records by unit and by rank of label: those of the first label of
// each unit stay.
func (e *enrolment) group(t *tuple) error {
	keep, fresh := e.one.first(t)
	if !keep {
		return nil
	}
	if fresh && e.labels != nil {
		e.part = e.parts[e.m.labelAt(t.a(), t.b())]
	}
	return e.place(e.part, t.a(), t.slot())
}

// oneLabel finds, among tuples that are sorted by unit and rank of label, those that
// have the first label of their unit.
type oneLabel struct {
	unit, rank digest
	any        bool
}

func (o *oneLabel) first(t *tuple) (keep, fresh bool) {
	if unit := t.a(); !o.any || unit != o.unit {
		o.unit, o.rank, o.any = unit, t.b(), true
		return true, true
	}
	return t.b() == o.rank, false
}

// place puts a record into a part: at once if there is only one, whose records come in
// the right order.
func (e *enrolment) place(part int, unit digest, s slot) error {
	var key digest
	binary.BigEndian.PutUint64(key[8:], uint64(part))
	t := newTuple(key, unit, s)
	if e.byPart == nil {
		return e.write(&t)
	}
	return e.byPart.add(t)
}

// write takes the records by part and unit.
func (e *enrolment) write(t *tuple) error {
	same := e.begun && e.byUnit != nil && t.a() == e.last.a() && t.b() == e.last.b()
	if !same {
		part := t.a()
		if err := e.w.unit(int(binary.BigEndian.Uint64(part[8:]))); err != nil {
			return err
		}
	}
	e.last, e.begun = *t, true
	return e.w.add(t.slot())
}
