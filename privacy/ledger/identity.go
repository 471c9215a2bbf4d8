package ledger

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"time"

	"github.com/sotto-dp/sotto/privacy/ledger/internal/chain"
	"github.com/sotto-dp/sotto/privacy/sketch"
)

// Identity is what a data set is recognised by. Someone who may see the data computes it
// with a key that the ledger never sees.
type Identity struct {
	// Fingerprint is required. It changes with every byte of a file.
	Fingerprint Fingerprint
	// Sketch recognises known records. Without one, only an equal fingerprint is
	// recognised.
	Sketch sketch.Sketch
	// KeyID names the key of both. It is empty for fingerprints of other programs. A ledger
	// takes one key: under another one, known data would look new.
	KeyID string
	// KeyPath is the path of that key, for errors.
	KeyPath string
}

var keyIDPattern = regexp.MustCompile("^[0-9a-f]{16}$")

func (i *Identity) check() error {
	return cmp.Or(i.Fingerprint.check(), checkIdentity(i.KeyID, i.Sketch))
}

// maxHashes bounds the hashes of a sketch, so that rows stay below 100 kB.
const maxHashes = 8 * sketch.Size

// checkIdentity checks the part of a row by which data is recognised.
func checkIdentity(keyID string, s sketch.Sketch) error {
	if keyID != "" && !keyIDPattern.MatchString(keyID) {
		return input("the id of a fingerprint key is 16 hexadecimal digits")
	}
	if s.IsZero() {
		return nil
	}
	if err := s.Validate(); err != nil {
		return input("%s", err)
	}
	if s.KeyID != keyID {
		return input("the sketch was made with the key %s, the fingerprint with the key %q", s.KeyID, keyID)
	}
	if n := len(s.Rows.Hashes) + len(s.LeaveOneOut.Hashes) + len(s.ReadColumns.Hashes) + len(s.Values.Hashes); n > maxHashes {
		return input("a sketch of %d hashes is too large, at most %d are allowed", n, maxHashes)
	}
	return nil
}

// version is one state of the data of a data set.
type version struct {
	Version
	sketch sketch.Sketch
}

// Version is a state of the data that the ledger has seen.
type Version struct {
	Row  int64     `json:"row"`
	Time time.Time `json:"time"`
	// Fingerprint of the data, or of its place in a database.
	Fingerprint Fingerprint `json:"fingerprint"`
	// Recognised reports that the ledger has a sketch of the records, and recognises them
	// in another file.
	Recognised bool `json:"recognised"`
	// Reason explains why the owner linked it; empty if it was recognised.
	Reason string `json:"reason,omitempty"`
}

// Link is a decision of the owner about the people of two data sets.
type Link struct {
	Row  int64     `json:"row"`
	Time time.Time `json:"time"`
	// Kind is "toward" if the charges also count toward the budgets of Dataset, or "apart"
	// if the people differ although rows are shared.
	Kind    string      `json:"kind"`
	Dataset Fingerprint `json:"dataset"`
	Name    string      `json:"name,omitempty"`
	Reason  string      `json:"reason,omitempty"`
}

// Resolution names the data set that some data belongs to.
type Resolution struct {
	Dataset Fingerprint
	Name    string
	// Version: the data was not known in this state before.
	Version bool
	// Overlap with the closest version that was known; zero without Version.
	Overlap sketch.Overlap
}

// ResolveRequest asks which data set some data belongs to.
type ResolveRequest struct {
	Identity
	// Key is the key under which a charge will be reserved. If data with this fingerprint
	// already reserved it, that settles the matter: a run continues where it was paid for.
	Key string
}

// Resolve finds the data set that some data belongs to, by its records, and records the
// state of the data. All use of data goes through it, before anything is charged.
//
//   - A known fingerprint is that data set.
//   - Data that shares most records with one data set is that data set, in a new version.
//   - Data that shares some records with a data set, or most with several, is an
//     [*OverlapError], unless the owner has decided about them ([Ledger.Link], NewPeople of
//     [InitRequest]).
//   - Other data is an [*UnknownDatasetError].
//
// A key other than the ledger's is a [*KeyIDError]. The decision is made in the transaction
// that writes it, so two callers who bring two copies of the same data at the same time
// find one data set.
func (l *Ledger) Resolve(ctx context.Context, req ResolveRequest) (Resolution, error) {
	if err := req.check(); err != nil {
		return Resolution{}, err
	}
	var found Resolution
	decide := func(s *state, _ int64) (*change, error) {
		found = Resolution{}
		d := s.replayed(req)
		var learnt *versionRecord
		if d == nil {
			var overlap sketch.Overlap
			var err error
			if d, overlap, learnt, err = s.resolve(&req.Identity); err != nil {
				return nil, err
			}
			found.Overlap = overlap
		}
		found.Dataset, found.Name, found.Version = d.fingerprint, d.name, learnt != nil
		if learnt == nil {
			return nil, nil
		}
		return &change{subject: d.fingerprint, record: learnt}, nil
	}
	// What is known already needs no transaction that others wait for: no later row takes
	// it back.
	known := false
	err := l.read(ctx, func(s *state, at int64) error {
		c, err := decide(s, at)
		known = err == nil && c == nil
		return nil
	})
	if err != nil || known {
		return found, err
	}
	err = l.write(ctx, decide, nil)
	return found, err
}

// replayed returns the data set of a charge made under the request's key by data with the
// same fingerprint.
func (s *state) replayed(req ResolveRequest) *dataset {
	used, ok := s.keys[req.Key]
	if d := s.versions[req.Fingerprint]; ok && used.charge != nil && d != nil && used.charge.Dataset == d.fingerprint {
		return d
	}
	return nil
}

// resolve finds a data set, and the version to record, if any.
func (s *state) resolve(id *Identity) (*dataset, sketch.Overlap, *versionRecord, error) {
	fail := func(err error) (*dataset, sketch.Overlap, *versionRecord, error) {
		return nil, sketch.Overlap{}, nil, err
	}
	if err := s.sameKey(id.KeyID, id.KeyPath); err != nil {
		return fail(err)
	}
	exact := s.versions[id.Fingerprint]
	switch {
	case exact != nil && (id.Sketch.IsZero() || exact.has(id.Sketch)):
		return exact, sketch.Overlap{}, nil, nil
	case id.Sketch.IsZero():
		return fail(&UnknownDatasetError{string(id.Fingerprint)})
	}
	related, err := s.related(id.Sketch)
	if err != nil {
		return fail(err)
	}
	d := exact
	if d == nil {
		if len(related) == 0 {
			return fail(&UnknownDatasetError{string(id.Fingerprint)})
		}
		d = choose(related)
	}
	if d == nil || !d.settles(related) {
		return fail(overlapError(id, exact, related))
	}
	var overlap sketch.Overlap
	for _, r := range related {
		if r.dataset == d {
			overlap = r.overlap
		}
	}
	return d, overlap, &versionRecord{Fingerprint: id.Fingerprint, KeyID: id.KeyID, Sketch: id.Sketch}, nil
}

// sameKey refuses a key other than the ledger's.
func (s *state) sameKey(id, path string) error {
	if s.keyID != "" && id != "" && id != s.keyID {
		return &KeyIDError{Ledger: s.keyID, Given: id, Path: path}
	}
	return nil
}

// has reports whether a version has exactly the rows of a sketch.
func (d *dataset) has(of sketch.Sketch) bool {
	return slices.ContainsFunc(d.versions, func(v version) bool {
		return v.sketch.Version == of.Version && v.sketch.Limit == of.Limit && sketch.SameRows(v.sketch, of) && slices.Equal(v.sketch.Rows.Hashes, of.Rows.Hashes)
	})
}

// relative is a data set that shares records with some data.
type relative struct {
	dataset *dataset
	overlap sketch.Overlap
}

// related compares a sketch with every version of every data set, since a data set may have
// changed step by step, and returns the strongest overlap with each.
func (s *state) related(of sketch.Sketch) ([]relative, error) {
	var found []relative
	for _, d := range s.order {
		closest, largest := relative{dataset: d}, 0.0
		for _, v := range d.versions {
			largest = max(largest, v.sketch.Distinct())
		}
		for _, v := range d.versions {
			if v.sketch.IsZero() {
				continue
			}
			o, err := sketch.Compare(v.sketch, of)
			if err != nil {
				return nil, err
			}
			// A small part of a data set does not stand for it: data that holds the part and
			// is mostly new is for the owner to decide about.
			if o.Relation == sketch.Same && !o.Contained() && v.sketch.Distinct() < largest/2 {
				o.Relation = sketch.Overlapping
			}
			if o.Relation != sketch.Unrelated && closer(o, closest.overlap) {
				closest.overlap = o
			}
		}
		if closest.overlap.Relation != "" {
			found = append(found, closest)
		}
	}
	return found, nil
}

// closer reports whether an overlap is stronger evidence than another.
func closer(a, b sketch.Overlap) bool {
	order := cmp.Or(
		cmp.Compare(rank(a.Relation), rank(b.Relation)),
		cmp.Compare(max(a.KnownInSeen.Estimate, a.SeenInKnown.Estimate), max(b.KnownInSeen.Estimate, b.SeenInKnown.Estimate)),
		-cmp.Compare(a.New, b.New),
	)
	return order > 0
}

func rank(r sketch.Relation) int {
	return slices.Index([]sketch.Relation{sketch.Overlapping, sketch.Same}, r)
}

// choose returns the data set that data is a version of: the one that shares most records
// with it and settles all others. Of two such, it takes one that counts toward the other.
func choose(related []relative) *dataset {
	var chosen *dataset
	for _, r := range related {
		d := r.dataset
		if r.overlap.Relation != sketch.Same || !d.settles(related) {
			continue
		}
		switch {
		case chosen == nil || slices.Contains(d.closure(), chosen):
			chosen = d
		case !slices.Contains(chosen.closure(), d):
			return nil // either would do, and only the owner knows
		}
	}
	return chosen
}

// settles reports whether charging a data set also covers the people of others: its charges
// count toward them, or its owner has stated that they are other people.
func (d *dataset) settles(related []relative) bool {
	covered := d.closure()
	return !slices.ContainsFunc(related, func(r relative) bool {
		return !slices.Contains(covered, r.dataset) && !d.apart[r.dataset]
	})
}

// closure returns a data set and all that its charges count toward, itself first.
func (d *dataset) closure() []*dataset {
	all := []*dataset{d}
	for i := 0; i < len(all); i++ {
		for _, t := range all[i].toward {
			if !slices.Contains(all, t) {
				all = append(all, t)
			}
		}
	}
	return all
}

// title returns the name of a data set for people.
func (d *dataset) title() string { return cmp.Or(d.name, string(d.fingerprint)) }

// learn adds a version.
func (s *state) learn(d *dataset, r chain.Row, f Fingerprint, keyID string, of sketch.Sketch, reason string) {
	d.versions = append(d.versions, version{Version{r.Seq, when(r.At), f, !of.IsZero(), reason}, of})
	s.versions[f] = d
	s.keyID = cmp.Or(s.keyID, keyID)
}

// KeyID returns the ID of the ledger's identification key; empty if none was used yet.
func (l *Ledger) KeyID(ctx context.Context) (id string, err error) {
	err = l.read(ctx, func(s *state, _ int64) error {
		id = s.keyID
		return nil
	})
	return id, err
}

// viewVersions returns the versions for display.
func (d *dataset) viewVersions() []Version {
	list := make([]Version, len(d.versions))
	for i, v := range d.versions {
		list[i] = v.Version
	}
	return list
}
