package sotto

import (
	"errors"

	"github.com/sotto-dp/sotto/internal/plan"
)

// TablePlan is what perturbed rows and a profile would show of a table at the same ε.
type TablePlan struct {
	// LocalErr says why rows cannot be perturbed, ProfileErr why there is no profile; what
	// they are about is then empty.
	Local      PerturbPlan
	LocalErr   error
	Profile    ProfilePlan
	ProfileErr error
}

// PlanTable plans both ways to use a table: a profile, and rows that are perturbed with the
// same schema, ε and number of rows. No row is read.
func PlanTable(profile ProfileRequest, local PerturbRequest) (*TablePlan, error) {
	out := &TablePlan{}
	local.Schema, local.Epsilon, local.Rows = profile.Schema, profile.Epsilon, profile.Size
	out.Local, out.LocalErr = plan.NewLocal(plan.LocalRequest(local))
	out.Profile, out.ProfileErr = plan.NewProfile(plan.ProfileRequest(profile))
	if out.LocalErr != nil && out.ProfileErr != nil {
		return nil, errors.Join(out.ProfileErr, out.LocalErr)
	}
	return out, nil
}
