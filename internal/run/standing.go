package run

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// signerID names the key that signs the certificate; "" where there is none.
func (r *execution) signerID() string {
	if !r.certified() {
		return ""
	}
	return r.env.Signer.Public().ID()
}

// standing reads how the budgets stand after a charge of the run, and who else uses them. It
// is noted in the journal with the charge, so that files say the same whenever they are made.
func (r *execution) standing(ctx context.Context, c ledger.Charge) (*release.Account, error) {
	set, err := r.env.Ledger.Show(ctx, string(c.Dataset))
	if err != nil {
		return nil, fmt.Errorf("read how the budget stands: %w", err)
	}
	out, own := &release.Account{Dataset: set.Name}, map[string]float64{}
	for _, other := range set.Charges {
		if !strings.HasSuffix(other.Run, " "+r.progress.header.Run) {
			out.Add(release.Use{Name: purpose(other.Run), Labels: words(other.Labels), Last: other.Reserved.UTC().Format(time.DateOnly), Epsilon: costOf(other, set)})
			continue
		}
		for _, cost := range other.Costs {
			own[cost.Budget] += cost.Epsilon
		}
	}
	for _, b := range set.Budgets {
		spent := float64(b.Spent)
		if b.Name == ledger.Global && math.IsInf(spent, 0) {
			out.Budgets = nil // what all releases cost together has no bound to show
			break
		}
		if slices.Contains(c.Budgets, b.Name) && !math.IsInf(spent, 0) {
			out.Budgets = append(out.Budgets, release.Balance{Name: b.Name, Epsilon: b.Epsilon, Delta: b.Delta, Spent: spent, Left: b.Left, Own: own[b.Name]})
		}
	}
	return out, nil
}

// costOf is what a charge costs the global budget of a data set; 0 where that is not a number of
// its own, because charges are composed or were made to another data set.
func costOf(c ledger.Charge, set ledger.Dataset) (epsilon float64) {
	for _, cost := range c.Costs {
		if c.Dataset == set.Fingerprint && cost.Budget == ledger.Global {
			epsilon += cost.Epsilon
		}
	}
	return epsilon
}

// purpose cuts random names out of what the ledger calls a run: with them readers could find the
// folder of another run.
func purpose(run string) string {
	return strings.Join(slices.DeleteFunc(strings.Fields(run), func(word string) bool {
		return len(word) == len(rand.Text()) && strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
	}), " ")
}

// words writes labels as sotto ledger does.
func words(labels map[string]string) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		out = append(out, name+"="+labels[name])
	}
	return strings.Join(out, ", ")
}
