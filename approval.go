package sotto

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/privacy"
)

// Approval is the plan of a use that somebody looked at before it is carried out, maybe days before and
// elsewhere. The zero value asks for that plan: the call fills it in and ends with [ErrUnapproved].
type Approval struct {
	// Plan that was approved, as JSON.
	Plan json.RawMessage `json:"plan,omitempty"`
	// Event is what it does to the data, which is what is charged: for answers, each of them.
	Event string `json:"event"`
	// Questions is the digest of a list of questions, if there is one.
	Questions string `json:"questions,omitempty"`
}

// ErrUnapproved ends a call whose plan nobody has approved yet. No record was read and nothing is charged.
var ErrUnapproved = errors.New("nobody has approved the plan yet")

// ChangedError says that a call would carry out another plan than the one that was approved: the program, the
// model or a file has changed since. No record was read and nothing is charged.
type ChangedError = plan.ChangedError

// Check holds a plan against the one that was approved. A nil approval is anybody's.
func (a *Approval) Check(p any, event privacy.Event) error {
	if a == nil {
		return nil
	}
	made, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encode the plan: %w", err)
	}
	does := privacy.Canonical(event).String()
	if len(a.Plan) == 0 {
		a.Plan, a.Event = made, does
		return ErrUnapproved
	}
	if does != a.Event {
		return &ChangedError{Reason: fmt.Sprintf("it would now charge %s, and was to charge %s", does, a.Event)}
	}
	var approved bytes.Buffer
	if err := json.Compact(&approved, a.Plan); err != nil {
		return &ChangedError{Reason: "what was approved cannot be read"}
	}
	if !bytes.Equal(approved.Bytes(), made) {
		return &ChangedError{Reason: "other settings would be used (" + differing(approved.Bytes(), made) + ")"}
	}
	return nil
}

// List holds a list of questions against the one that was approved: each of them is charged.
func (a *Approval) List(questions []string) error {
	if a == nil {
		return nil
	}
	data, err := json.Marshal(questions)
	if err != nil {
		return fmt.Errorf("encode the questions: %w", err)
	}
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:])
	if len(a.Plan) == 0 {
		a.Questions = digest
	}
	if a.Questions != digest {
		return &ChangedError{Reason: "the list has other questions"}
	}
	return nil
}

// approved is the plan of texts that was approved, if one was.
func (a *Approval) approved() (p plan.Plan, ok bool) {
	if a == nil || len(a.Plan) == 0 || json.Unmarshal(a.Plan, &p) != nil {
		return plan.Plan{}, false
	}
	return p, true
}

// differing names the parts in which two plans differ.
func differing(a, b []byte) string {
	var one, other map[string]json.RawMessage
	if json.Unmarshal(a, &one) != nil || json.Unmarshal(b, &other) != nil {
		return "all of them"
	}
	names := map[string]bool{}
	for _, both := range [][2]map[string]json.RawMessage{{one, other}, {other, one}} {
		for name, value := range both[0] {
			if !bytes.Equal(value, both[1][name]) {
				names[name] = true
			}
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), ", ")
}
