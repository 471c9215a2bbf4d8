package texts

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/sys/bounded"
	"github.com/sotto-dp/sotto/internal/ui"
)

// approvalFlags have a run carry out a plan that somebody approved, and no other.
type approvalFlags struct{ proposal, approved string }

func (a *approvalFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&a.proposal, "proposal", "", "write the plan to `FILE`, to be approved, and read no record; with --approved carry it out")
	f.StringVar(&a.approved, "approved", "", "carry out the plan of --proposal whose SHA-256 is `DIGEST`, and no other")
}

// approval is nil where nobody has to approve.
func (a *approvalFlags) approval() (*sotto.Approval, error) {
	switch {
	case a.proposal == "" && a.approved == "":
		return nil, nil
	case a.proposal == "":
		return nil, cli.Usage("--approved says which plan was approved, and --proposal names its file: give both")
	case a.approved == "":
		return &sotto.Approval{}, nil
	}
	data, err := bounded.ReadFile(a.proposal, bounded.Huge)
	if err != nil {
		return nil, cli.Usage("--proposal: %w", err)
	}
	if got := digest(data); !strings.EqualFold(got, strings.TrimSpace(a.approved)) {
		return nil, cli.Usage("%s has the SHA-256 %s, and the plan that was approved has %s: nothing was read or charged", a.proposal, got, a.approved)
	}
	approved := new(sotto.Approval)
	if err := bounded.UnmarshalJSON(data, bounded.Huge, approved); err != nil || len(approved.Plan) == 0 {
		return nil, cli.Usage("%s holds no plan: write it with --proposal alone", a.proposal)
	}
	return approved, nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// proposalResult is a plan that waits for its approval.
type proposalResult struct {
	Proposal string `json:"proposal"`
	// Digest approves it.
	Digest string `json:"digest"`
	// Event describes the charge, which the ledger has to allow.
	Event string `json:"event"`
}

func (r *proposalResult) Print(p *ui.Page) {
	p.Head("%s: a plan to approve. No record was read and nothing is charged.", r.Proposal)
	p.Facts("charges", r.Event, "SHA-256", r.Digest)
}

// propose writes a plan to be approved.
func (a *approvalFlags) propose(p *cli.Program, plan *sotto.Approval) error {
	data, err := json.MarshalIndent(plan, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the plan: %w", err)
	}
	data = append(data, '\n')
	if err := os.WriteFile(a.proposal, data, 0o644); err != nil {
		return cli.Usage("--proposal: %w", err)
	}
	return p.Emit(&proposalResult{Proposal: a.proposal, Digest: digest(data), Event: plan.Event})
}
