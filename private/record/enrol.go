package record

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"os"
)

// enrolment is the one pass over a source that makes its index.
type enrolment struct {
	o       *Options
	k       *keys
	dir     string
	m       *marks
	parts   int
	labels  []digest // of each part
	w       *indexWriter
	byUnit  *sorter // (unit, label, slot): nil unless units have several records
	byPart  *sorter // (part, unit, slot): nil if there is one part
	problem Problems
	good    int64
}

func enrol(ctx context.Context, s source, o *Options, k *keys, dir string) (x *index, err error) {
	e := &enrolment{o: o, k: k, dir: dir, m: k.marks(), parts: max(1, len(o.Labels))}
	if e.w, err = newIndexWriter(dir, e.parts, o.Unit != ""); err != nil {
		return nil, err
	}
	defer func() {
		err = errors.Join(err, e.close())
		if err != nil {
			_ = e.w.abandon() // the error that matters is err
			x = nil
		}
	}()
	if o.Unit != "" {
		e.byUnit = newSorter(dir, o.memory)
		for _, l := range o.Labels {
			e.labels = append(e.labels, e.m.labelOf(&entry{condition: l}))
		}
	}
	if e.parts > 1 {
		e.byPart = newSorter(dir, o.memory)
	}
	content := hmac.New(sha256.New, k.content)
	if err := e.read(ctx, s, content.Sum, func(yield func(*row) error) error { return s.scan(ctx, content, yield) }); err != nil {
		return nil, err
	}
	return e.w.finish(k)
}

func (e *enrolment) close() error {
	var err error
	for _, s := range []*sorter{e.byUnit, e.byPart} {
		if s != nil {
			err = errors.Join(err, s.close())
		}
	}
	return err
}

// read takes all rows, and groups them.
func (e *enrolment) read(ctx context.Context, s source, sum func([]byte) []byte, rows func(func(*row) error) error) error {
	read := newReading(e.o)
	ordinal := int64(0)
	err := rows(func(r *row) error {
		ordinal++
		entry, why := read.entry(r)
		if why != 0 {
			e.problem.add(ordinal, why)
			return nil
		}
		if entry.part < 0 {
			return nil
		}
		e.good++
		return e.take(ordinal, r.place, &entry)
	})
	if err != nil {
		return err
	}
	if err := e.refuse(s, ordinal); err != nil {
		return err
	}
	e.w.x.Fingerprint, e.w.x.Problems = sum(nil), e.problem
	if e.byUnit != nil {
		if err := e.byUnit.each(e.group()); err != nil {
			return err
		}
	}
	if e.byPart != nil {
		return e.byPart.each(e.write())
	}
	return ctx.Err()
}

// refuse ends an enrolment whose records may not or cannot be used.
func (e *enrolment) refuse(s source, rows int64) error {
	switch {
	case rows == 0:
		return unusable("the source has no records")
	case e.problem.Count == rows && allMissing(e.problem.First):
		for _, column := range e.o.columns() {
			if names := s.names(); column != "" && !contains(names, column) {
				return noColumn(column, names)
			}
		}
		return &MalformedError{Problems: e.problem, All: true}
	case e.problem.Count == rows:
		return &MalformedError{Problems: e.problem, All: true}
	case e.problem.Count > 0 && e.o.OnError == Fail:
		return &MalformedError{Problems: e.problem}
	}
	return nil
}

func allMissing(first []Problem) bool {
	for _, p := range first {
		if p.Reason != TextMissing && p.Reason != ConditionMissing && p.Reason != UnitMissing {
			return false
		}
	}
	return true
}

func contains(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}

// take notes one record.
func (e *enrolment) take(ordinal, place int64, r *entry) error {
	s, err := newSlot(ordinal, place, e.m.checkOf(ordinal, r))
	if err != nil {
		return err
	}
	if e.byUnit != nil {
		label := digest{}
		if e.labels != nil {
			label = e.labels[r.part]
		}
		return e.byUnit.add(newTuple(e.m.unitOf(r), label, s))
	}
	return e.place(r.part, digest{}, s)
}

// place puts a record into a part: at once if there is only one, for its records then
// come in order.
func (e *enrolment) place(part int, unit digest, s slot) error {
	t := newTuple(partKey(part), unit, s)
	if e.byPart != nil {
		return e.byPart.add(t)
	}
	return e.write()(&t)
}
