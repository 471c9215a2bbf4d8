package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
)

// UploadState is whether owners have said whose records an upload holds.
type UploadState string

// The states of an upload. Runs use one that is assigned, and no other; one that is being assigned
// waits for the ledger alone.
const (
	UploadWaiting   UploadState = "waiting"
	UploadAssigning UploadState = "assigning"
	UploadAssigned  UploadState = "assigned"
)

// UploadDecision is what an owner of a data set says about an upload.
type UploadDecision struct {
	// Dataset is the fingerprint of the data set that it is about.
	Dataset string
	Account string
	// Claimed: the upload has people of the data set, and counts toward its budgets.
	Claimed bool
	// Shared: the owner was shown that they share records.
	Shared bool
	// Reason is how they know.
	Reason string
	At     time.Time
}

// FirstBudget is for an upload of people whom no data set has.
type FirstBudget struct {
	// Account gives it, and owns the data set then.
	Account        string
	Name           string
	Epsilon, Delta float64
	// Unit is the column by which records are protected together; "" for each by itself.
	Unit   string
	Reason string
}

// SeenBy reports whether an account may see that there is such an upload, and remove it: anyone who
// sent it, any owner while it waits for owners, and those of its data set after that.
func (u Upload) SeenBy(a Account) bool {
	return u.By == a.Actor() || a.Role.May(Owner) && u.State != UploadAssigned || u.UsableBy(a)
}

// UsableBy reports whether runs that an account starts may use an upload. What a run says about
// columns and labels is known to anyone who sent the file, and is nobody else's than the owner's.
func (u Upload) UsableBy(a Account) bool {
	return u.State == UploadAssigned && (u.By == a.Actor() || a.OwnerOf(u.Dataset))
}

// DecideUpload notes what an owner says about an upload: of data sets that they own whether it has
// their people, and what its first budget is in case that nobody's does. It can be changed until
// the upload is assigned. The audit log has who decided, and not what.
func (s *Store) DecideUpload(ctx context.Context, account, id string, of []UploadDecision, first *FirstBudget) error {
	now := s.now().UTC().Truncate(time.Millisecond)
	return s.write(ctx, Account{Name: account}.Actor(), "decide about upload", id, func(tx *sql.Tx) error {
		by, err := s.account(ctx, tx, "name = $1 AND disabled = 0", account)
		if err != nil || !by.Role.May(Owner) {
			return errors.Join(ErrDenied, err)
		}
		u, err := s.upload(ctx, tx, id)
		switch {
		case err != nil:
			return err
		case u.State != UploadWaiting:
			return Refuse("the upload is assigned already")
		}
		for _, d := range of {
			if !by.OwnerOf(d.Dataset) {
				return ErrDenied
			}
			if err := checkUploadReason(d); err != nil {
				return err
			}
			if err := exec(ctx, tx, `INSERT INTO service_upload_decisions (upload, dataset, account, claimed, shared, reason, at) VALUES ($1, $2, $3, $4, $5, $6, $7)
				ON CONFLICT (upload, dataset) DO UPDATE SET account = excluded.account, claimed = excluded.claimed, shared = excluded.shared, reason = excluded.reason, at = excluded.at`,
				id, d.Dataset, account, bit(d.Claimed), bit(d.Shared), strings.TrimSpace(d.Reason), now.UnixMilli()); err != nil {
				return err
			}
		}
		if first == nil {
			return nil
		}
		return s.setFirst(ctx, tx, id, account, *first)
	})
}

func (s *Store) setFirst(ctx context.Context, tx *sql.Tx, id, account string, f FirstBudget) error {
	f.Account, f.Name, f.Unit, f.Reason = account, strings.TrimSpace(f.Name), strings.TrimSpace(f.Unit), strings.TrimSpace(f.Reason)
	switch {
	case !(f.Epsilon > 0) || math.IsInf(f.Epsilon, 0) || !(f.Delta > 0) || f.Delta >= 1:
		return Refuse("a first budget needs a positive ε and a δ between 0 and 1, such as 1 and 1e-6")
	case f.Name == "" || len(f.Name) > 100 || strings.ContainsFunc(f.Name+f.Unit, unicode.IsControl) || len(f.Unit) > 100:
		return Refuse("a data set needs a name, of at most 100 letters in one line")
	case len(f.Reason) > 500 || strings.ContainsFunc(f.Reason, unicode.IsControl):
		return errLongReason
	}
	data, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return exec(ctx, tx, "UPDATE service_uploads SET first = $1 WHERE id = $2", string(data), id)
}

var errLongReason = Refuse("a reason has at most 500 letters, in one line")

// checkUploadReason asks for a reason where the ledger keeps one.
func checkUploadReason(d UploadDecision) error {
	switch reason := strings.TrimSpace(d.Reason); {
	case reason == "" && (d.Claimed || d.Shared):
		return Refuse("say how you know whose records these are: the ledger keeps the reason")
	case len(reason) > 500 || strings.ContainsFunc(reason, unicode.IsControl):
		return errLongReason
	}
	return nil
}

// UploadDecisions returns what was said about an upload by accounts that own the data sets now, by
// data set.
func (s *Store) UploadDecisions(ctx context.Context, id string) ([]UploadDecision, error) {
	return s.uploadDecisions(ctx, s.db, id)
}

func (s *Store) uploadDecisions(ctx context.Context, from querier, id string) ([]UploadDecision, error) {
	all, err := list(ctx, from, func(rows *sql.Rows, d *UploadDecision) error {
		return rows.Scan(&d.Dataset, &d.Account, &d.Claimed, &d.Shared, &d.Reason, instant(&d.At))
	}, "SELECT dataset, account, claimed, shared, reason, at FROM service_upload_decisions WHERE upload = $1 ORDER BY dataset", id)
	if err != nil {
		return nil, err
	}
	var counting []UploadDecision
	for _, d := range all {
		owners, err := s.owners(ctx, from, d.Dataset)
		if err != nil {
			return nil, err
		}
		if slices.Contains(owners, d.Account) {
			counting = append(counting, d)
		}
	}
	return counting, nil
}

// VoidDecision takes back what was said for a data set: more is known now than its owner was shown.
func (s *Store) VoidDecision(ctx context.Context, id, dataset string) error {
	return exec(ctx, s.db, "DELETE FROM service_upload_decisions WHERE upload = $1 AND dataset = $2", id, dataset)
}

// BeginAssigning ends the decisions about an upload, if they are still those that it is assigned by.
func (s *Store) BeginAssigning(ctx context.Context, by Actor, u Upload, decided []UploadDecision) error {
	return s.write(ctx, by, "begin to assign upload", u.ID, func(tx *sql.Tx) error {
		now, err := s.upload(ctx, tx, u.ID)
		if err != nil {
			return err
		}
		still, err := s.uploadDecisions(ctx, tx, u.ID)
		if err != nil {
			return err
		}
		if now.State != UploadWaiting || !slices.Equal(still, decided) || (now.First == nil) != (u.First == nil) || now.First != nil && *now.First != *u.First {
			return ErrDecided
		}
		return exec(ctx, tx, "UPDATE service_uploads SET state = $1 WHERE id = $2", string(UploadAssigning), u.ID)
	})
}

// ErrDecided means that somebody decided otherwise in the meantime.
var ErrDecided = Refuse("somebody else decided about this in the meantime: look at it again")

// EndAssigning notes what came of it: the data set that the upload is now, or "" if the ledger
// refused, so that it waits for other decisions. Ending it again changes nothing.
func (s *Store) EndAssigning(ctx context.Context, by Actor, id, dataset string) error {
	state, action := UploadAssigned, "assign upload"
	if dataset == "" {
		state, action = UploadWaiting, "wait for other decisions about upload"
	}
	u, err := s.Upload(ctx, id)
	if err != nil || u.State != UploadAssigning {
		return err
	}
	return s.write(ctx, by, action, id, func(tx *sql.Tx) error {
		return exec(ctx, tx, "UPDATE service_uploads SET state = $1, dataset = $2 WHERE id = $3 AND state = $4", string(state), dataset, id, string(UploadAssigning))
	})
}
