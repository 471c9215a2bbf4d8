package sotto_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/privacy"
)

// TestApproval: the plan that was approved passes, also with spaces that somebody added, and any other does
// not, whatever differs.
func TestApproval(t *testing.T) {
	type plan struct {
		Size  int    `json:"size"`
		Words string `json:"words"`
	}
	approved, event := plan{20, "a <b> & é"}, privacy.Gaussian{Sigma: 3}
	var nobody *sotto.Approval
	if err := nobody.Check(approved, event); err != nil {
		t.Errorf("no approval is asked for: %v", err)
	}
	var a sotto.Approval
	if err := a.Check(approved, event); !errors.Is(err, sotto.ErrUnapproved) {
		t.Fatalf("got %v, want %v", err, sotto.ErrUnapproved)
	}
	if err := a.Check(approved, event); err != nil {
		t.Errorf("the plan that was approved: %v", err)
	}
	spaced := a
	spaced.Plan = []byte(strings.Replace(string(a.Plan), `,`, " ,\n ", 1))
	if err := spaced.Check(approved, event); err != nil {
		t.Errorf("the plan that was approved, written otherwise: %v", err)
	}
	for name, c := range map[string]struct {
		err  error
		says string
	}{
		"another setting": {a.Check(plan{21, approved.Words}, event), "(size)"},
		"two settings":    {a.Check(plan{21, "b"}, event), "(size, words)"},
		"another charge":  {a.Check(approved, privacy.Gaussian{Sigma: 2}), "it would now charge gaussian(2), and was to charge gaussian(3)"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, changed := errors.AsType[*sotto.ChangedError](c.err); !changed {
				t.Fatalf("got %v, want a ChangedError", c.err)
			}
			if !strings.Contains(c.err.Error(), c.says) {
				t.Errorf("no %q in %v", c.says, c.err)
			}
		})
	}
}
