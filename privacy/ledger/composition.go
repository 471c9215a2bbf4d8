package ledger

import (
	"cmp"
	"math"
	"slices"

	"github.com/sotto-dp/sotto/privacy/accountant"
)

// Composition names the theorem by which the charges of a budget add up.
type Composition string

const (
	// Sums gives every charge a fixed cost (εᵢ, δᵢ) when it is made, and adds these up. It
	// holds for analysts who look at earlier releases to decide what to run next, and a run
	// planned for the whole budget fits it exactly. The default.
	Sums Composition = "sums"
	// Adaptive composes charges in a Rényi filter. It holds for the same analysts, admits
	// more than sums when many small charges are expected, and takes back the steps that a
	// run did not take.
	Adaptive Composition = "adaptive"
)

// Why sums hold for people who look.
//
// Let L be the privacy loss of everything released, P its law. A guarantee
// E_P[(1 − e^{ε−L})₊] ≤ δ in both directions of adjacency is (ε,δ)-differential
// privacy. A charge j is a multiset S of mechanisms that an accountant found to be
// (εⱼ,δⱼ) together. With x the loss of those that have run and S those that have
// not, let
//
//	W_S(x) = E[(1 − e^{εⱼ−x−ℓ(S)})₊],  ℓ(S) the loss of the dominating pairs of S.
//
// (Steps of a class that has no one dominating pair, such as bounded range, have the value of the
// game that is played with those left in its place; docs/proofs.md, P2 and P25, has both at once.)
// W_S(0) ≤ δⱼ at the start. Running any i of S does not raise it in expectation:
// with the dominating pair of i the expectation of W_{S∖i}(x+ℓᵢ) is W_S(x),
// whichever i it is, for ℓ(S) is a sum of independent losses; and a mechanism that
// the pair dominates has less, for W is a mixture of hockey sticks. Runs of other
// charges leave it unchanged. A stop does not raise it: W_S(x) ≥ (1 − e^{εⱼ−x})₊.
// So Σⱼ Wⱼ + (δ − Σⱼ δⱼ), over the charges made so far, is a supermartingale,
// however charges, runs and stops are chosen and interleaved, as long as (εⱼ,δⱼ) is
// fixed when the charge is made. It begins at δ, hence E[Σⱼ (1 − e^{εⱼ−Lⱼ})₊] ≤ δ in
// the end. With uⱼ = e^{εⱼ−Lⱼ} and Σεⱼ ≤ ε,
//
//	(1 − e^{ε−L})₊ ≤ (1 − Π uⱼ)₊ ≤ 1 − Π min(uⱼ,1) ≤ Σⱼ (1 − uⱼ)₊. ∎
//
// (Rogers, Roth, Ullman, Vadhan 2016 for runs one after the other; Haney et al. 2023
// for runs at the same time.) The costs of a charge must not be split anew later: a
// δⱼ chosen after its release is not covered by the accountant's δⱼ(εⱼ), and people
// would choose it so that what they saw just passes.
//
// Taking several charges of one multiset, in any order and number, is the case of a
// single j: a series ([ReserveRequest.Series]).
//
// A grant after looking. For every (ε,δ) fixed in advance, stop the ledger when the
// allowance would pass it: what is released until then is (ε,δ)-differentially
// private, by the above, since Σεⱼ ≤ ε and Σδⱼ ≤ δ until then. The same holds for a
// filter at fixed orders, whose bounds only grow with ε and δ. It does not hold for
// charges composed by one accountant as if they had been fixed beforehand.

// basis explains when the sum of the budget's charges is a guarantee.
func (b *Budget) basis() string {
	if b.Composition == Sums {
		return "holds for people who look at a release and then decide what to run, and after grants (each charge has a fixed ε and δ; these add up)"
	}
	return "holds for people who look at a release and then decide what to run, and after grants (Rényi filter at fixed orders)"
}

// compose fills in the composition of a budget; like is the global budget or the default.
func (b *Budget) compose(like *Budget) {
	b.Composition = cmp.Or(b.Composition, like.Composition)
	if b.Composition == Adaptive && len(b.Orders) == 0 && b.Delta > 0 {
		if like.Composition == Adaptive {
			b.Orders = slices.Clone(like.Orders) // so that it can count earlier charges
		} else {
			b.Orders = accountant.FilterOrders(b.Epsilon, b.Delta)
		}
	}
}

// maxOrders bounds the orders of a budget; more would only spread δ thinner.
const maxOrders = 64

// checkComposition checks a budget in normal form.
func (b *Budget) checkComposition() error {
	switch {
	case b.Composition != Sums && b.Composition != Adaptive:
		return input("budget %q: the composition is %q, it should be %s or %s", b.Name, string(b.Composition), Sums, Adaptive)
	case b.Composition == Adaptive && b.Delta == 0:
		return input("budget %q: a privacy filter needs δ above 0", b.Name)
	case (b.Composition == Adaptive) != (len(b.Orders) > 0), len(b.Orders) > maxOrders:
		return input("budget %q: adaptive budgets have 1 to %d Rényi orders, others none", b.Name, maxOrders)
	}
	for _, o := range b.Orders {
		if !(o > 1) || math.IsInf(o, 1) {
			return input("budget %q: a Rényi order is %v, it should be a finite number above 1", b.Name, o)
		}
	}
	return nil
}
