package record

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/sotto-dp/sotto/internal/rows"
	"github.com/sotto-dp/sotto/internal/rows/origin"

	"github.com/sotto-dp/sotto/internal/private/internal/keys"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/privacy/sketch"
)

// Data is an enrolled source of private records. Its methods may be called
// concurrently, except Close.
type Data struct {
	seal.Redaction
	s source
	o Options
	k *purposeKeys
	x *index
	// scratch reports that the index is for this Data alone.
	scratch bool
	place   string // the source, in full
	drawn   *storeCache
}

// Texts are drawn from enrolled sources.
func init() { seal.Admit[*Data]() }

// Open enrols a source: it reads all of it, checks every record and indexes it, or
// takes the index of an earlier Open of the same file with the same options. A source
// with malformed records gives a *[MalformedError] unless they are to be skipped.
//
// Opening releases nothing; but it reads private records, so a budget should exist.
func Open(ctx context.Context, location string, o Options) (*Data, error) {
	o.Labels = slices.Clone(o.Labels)
	if err := o.check(); err != nil {
		return nil, err
	}
	if err := o.detect(location); err != nil {
		return nil, err
	}
	opening := true
	if report := o.Progress; report != nil {
		o.Progress = func(read, total int64) {
			if opening {
				report(read, total)
			}
		}
	}
	defer func() { opening = false }()
	s, err := openSource(ctx, location, &o)
	if err != nil {
		return nil, err
	}
	d := &Data{s: s, o: o, drawn: &storeCache{}}
	if err := d.open(ctx, location); err != nil {
		_ = d.Close() // the error that matters is err
		return nil, err
	}
	return d, nil
}

func openSource(ctx context.Context, location string, o *Options) (source, error) {
	switch {
	case o.format == origin.ParquetFile:
		return newParquetFile(location, o)
	case o.format == origin.SQL:
		return newQuery(ctx, location, o)
	}
	return newTextFile(location, o)
}

func (d *Data) open(ctx context.Context, location string) (err error) {
	if d.k, err = folderKeys(d.o.Private); err != nil {
		return err
	}
	d.place = location
	dir := filepath.Join(d.o.Private, "index")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return indexFailed(err)
	}
	stamp := d.s.stamp()
	if stamp == "" {
		d.scratch = true
		d.x, err = enrol(ctx, d.s, &d.o, d.k, dir)
		return err
	}
	location, err = filepath.Abs(location)
	if err != nil {
		return &Error{Code: origin.Unusable, Msg: "finding the file", Err: err}
	}
	d.place = location
	path := indexName(dir, d.k, location, stamp, &d.o)
	if err := d.reuse(ctx, path); err != nil {
		return err
	}
	if d.x == nil {
		if d.x, err = enrol(ctx, d.s, &d.o, d.k, dir); err != nil {
			return err
		}
		d.scratch = true
		if err := d.x.keep(path); err != nil {
			return err
		}
		d.scratch = false
	}
	if d.x.Problems.Count > 0 && d.o.OnError == Fail {
		return &MalformedError{Problems: d.x.Problems.Clone()}
	}
	return nil
}

// reuse opens a cached index, unless there is none or it is of other records.
func (d *Data) reuse(ctx context.Context, path string) error {
	if d.x = openIndex(path, d.k); d.x == nil {
		return nil
	}
	same, err := d.recheck(ctx)
	if same {
		return nil
	}
	err = errors.Join(err, d.x.f.Close())
	d.x = nil
	return err
}

// Close releases the source and the index.
func (d *Data) Close() error {
	d.drawn.end()
	err := d.s.close()
	if d.x == nil {
		return err
	}
	err = errors.Join(err, d.x.f.Close())
	if d.scratch {
		err = errors.Join(err, os.Remove(d.x.f.Name()))
	}
	return err
}

// Fingerprint is the HMAC-SHA-256 of the content under the private folder's key: of
// the uncompressed bytes of a JSONL or CSV file, the bytes of a Parquet file, or the
// rows of a query. It does not depend on which columns are used, so that the ledger
// knows the data again whatever it is used for.
func (d *Data) Fingerprint() [32]byte { return [32]byte(d.x.Fingerprint) }

// Sketch is how the ledger knows the records again in other files and formats: keyed hashes
// of all rows of the source, in all its columns, made in the pass that enrols it. It does not
// depend on the task: rows that the task refuses or leaves out count too.
func (d *Data) Sketch() (sketch.Sketch, error) { return d.x.Sketch, nil }

// KeyID names the key of the private folder: 16 hexadecimal digits. Fingerprints and
// sketches of different keys cannot be compared.
func (d *Data) KeyID() string { return d.k.folder.ID() }

// KeyPath is where that key is, for messages.
func (d *Data) KeyPath() string { return filepath.Join(d.o.Private, keys.KeyFile) }

// Placed reports whether the records are rows of a database, which come and go there.
func (d *Data) Placed() bool { return d.o.format == origin.SQL }

// Unit is the unit of privacy: "record", or "user:" and the column.
func (d *Data) Unit() privacy.Unit {
	if d.o.Unit == "" {
		return privacy.Record
	}
	return privacy.Unit("user:" + d.o.Unit)
}

// Parts is how many parts there are: one for each label of a closed list, unless these are
// together, or one.
func (d *Data) Parts() int { return len(d.x.Units) }

// Labels is the closed list of labels, one for each part, or nil.
func (d *Data) Labels() []string {
	if d.o.Together {
		return nil
	}
	return slices.Clone(d.o.Labels)
}

// Problems returns which records were left out as malformed.
func (d *Data) Problems() Problems { return d.x.Problems.Clone() }

// Size is the exact number of units in a part, 0 for one that does not exist.
func (d *Data) Size(part int) seal.Count {
	if part < 0 || part >= d.Parts() {
		return seal.NewCount(0)
	}
	return seal.NewCount(int(d.x.Units[part]))
}

// Choose names one record of a unit, each with the same probability. A unit of one
// record takes nothing from the stream.
func (d *Data) Choose(part, unit int, s *noise.Stream) (seal.Ref, error) {
	if part < 0 || part >= d.Parts() || unit < 0 || int64(unit) >= d.x.Units[part] {
		return seal.Ref{}, origin.Refuse("there is no such part or unit")
	}
	at, n, err := d.x.slots(part, unit)
	if err != nil {
		return seal.Ref{}, err
	}
	if n > 1 {
		at += int64(s.Uint64n(uint64(n)))
	}
	found, err := d.x.slot(at)
	if err != nil {
		return seal.Ref{}, err
	}
	return seal.NewRef(found.spot().ordinal, at), nil
}

// Fetch reads records, in the order of refs. Where the format allows it reads only
// these; a compressed file or a query it reads once, up to the last of them.
func (d *Data) Fetch(ctx context.Context, refs []seal.Ref) ([]seal.Record, error) {
	slots := make([]slot, len(refs))
	for i, ref := range refs {
		ordinal, at := seal.Place(ref)
		if at < 0 || at >= d.x.Slots {
			return nil, foreignRef()
		}
		var err error
		if slots[i], err = d.x.slot(at); err != nil {
			return nil, err
		}
		if slots[i].spot().ordinal != ordinal {
			return nil, foreignRef()
		}
	}
	return d.fetch(ctx, slots)
}

func foreignRef() error {
	return origin.Refuse("a reference to a record is of another source, or of an earlier state of this one: start a new run")
}

// fetch reads the records of slots, and checks that they are what was enrolled.
func (d *Data) fetch(ctx context.Context, slots []slot) ([]seal.Record, error) {
	sorted := slices.Clone(slots)
	slices.SortFunc(sorted, func(a, b slot) int { return slices.Compare(a[:], b[:]) })
	sorted = slices.Compact(sorted)
	at := make([]spot, len(sorted))
	for i := range sorted {
		at[i] = sorted[i].spot()
	}
	read, m := newRowReader(&d.o, d.s), d.k.marks()
	found := make(map[slot]seal.Record, len(sorted))
	err := d.s.fetch(ctx, at, func(i int, r *rows.Row) error {
		e, why := read.entry(r)
		if why != 0 || m.checkOf(at[i].ordinal, &e) != sorted[i].check() {
			return origin.Differs(at[i].ordinal)
		}
		found[sorted[i]] = seal.NewRecord(at[i].ordinal, e.condition, e.text)
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := make([]seal.Record, len(slots))
	for i, s := range slots {
		out[i] = found[s]
	}
	return out, nil
}

// Scan hands every record that can be used to fn, in the order of the source, and fails
// in the end if the source is not what was enrolled.
func (d *Data) Scan(ctx context.Context, fn func(seal.Record) error) error {
	return d.scan(ctx, func(ordinal int64, _ *rows.Row, e *entry) error {
		return fn(seal.NewRecord(ordinal, e.condition, e.text))
	})
}

func (d *Data) scan(ctx context.Context, fn func(ordinal int64, r *rows.Row, e *entry) error) error {
	read := newRowReader(&d.o, d.s)
	w := &witness{content: hmac.New(sha256.New, d.k.content)}
	ordinal := int64(0)
	err := d.s.scan(ctx, w, func(r *rows.Row) error {
		ordinal++
		e, why := read.entry(r)
		if why != 0 {
			return nil
		}
		return fn(ordinal, r, &e)
	})
	if err != nil {
		return err
	}
	if !hmac.Equal(w.content.Sum(nil), d.x.Fingerprint) {
		return origin.Differs(0)
	}
	return nil
}
