package sotto

import (
	"errors"

	"github.com/sotto-dp/sotto/internal/plan"
)

// TablePlanOptions say what to compare.
type TablePlanOptions struct {
	// Profile is as for [Client.Profile]; its Schema, Epsilon and Size hold for perturbing too.
	Profile ProfileRequest
	// Weights and Split are those of perturbing.
	Weights map[string]float64
	Split   string
}

// TablePlan is what perturbed rows and a profile would tell of a table at the same ε.
type TablePlan struct {
	// LocalErr says why rows cannot be perturbed, ProfileErr why there is no profile; what
	// they are about is then empty.
	Local      PerturbPlan
	LocalErr   error
	Profile    ProfilePlan
	ProfileErr error
}

// PlanTable plans both ways to use a table. No row is read.
func PlanTable(o TablePlanOptions) (*TablePlan, error) {
	out := &TablePlan{}
	out.Local, out.LocalErr = plan.NewLocal(PerturbRequest{
		Schema: o.Profile.Schema, Epsilon: o.Profile.Epsilon, Weights: o.Weights, Split: o.Split, Rows: o.Profile.Size,
	})
	out.Profile, out.ProfileErr = plan.NewProfile(o.Profile)
	if out.LocalErr != nil && out.ProfileErr != nil {
		return nil, errors.Join(out.ProfileErr, out.LocalErr)
	}
	return out, nil
}
