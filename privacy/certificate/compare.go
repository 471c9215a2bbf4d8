package certificate

import (
	"fmt"
)

// Tolerance is how far, relatively, two evaluations of the same events may lie
// apart and still count as equal. It is for floating-point differences between
// machines; an ε understated by less than this is not caught, and harms nobody.
const Tolerance = 1e-6

// compare decides whether the verifier's own interval confirms a claim. The
// package comment gives the reasons.
func compare(claim, own Epsilon) (string, error) {
	if err := claim.check(); err != nil {
		return "", fmt.Errorf("the claimed ε is not usable: %w", err)
	}
	// The absolute part is for ε near 0, where rounding is no longer relative.
	const absolute = 1e-12
	below := func(x float64) float64 { return x*(1-Tolerance) - absolute }
	switch {
	case claim.Upper < below(own.Lower):
		return "", fmt.Errorf("the claim ε ≤ %v is false: the events allow no less than %v (%s)", claim.Upper, own.Lower, own.Accountant)
	case claim.Upper < below(own.Upper):
		return "", fmt.Errorf("the claim ε ≤ %v (%s) is not confirmed: the events give between %v and %v (%s); a tighter accountant may confirm it, try the program version that the certificate names",
			claim.Upper, claim.Accountant, own.Lower, own.Upper, own.Accountant)
	case own.Upper < below(claim.Lower):
		return "", fmt.Errorf("the claim ε ≥ %v (%s) contradicts ε ≤ %v (%s): one of the two accountants is wrong", claim.Lower, claim.Accountant, own.Upper, own.Accountant)
	}
	return fmt.Sprintf("the claim ε ≤ %v (%s) holds: the events give at most %v (%s)", claim.Upper, claim.Accountant, own.Upper, own.Accountant), nil
}
