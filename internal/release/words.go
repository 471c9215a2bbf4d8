package release

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/sotto-dp/sotto/privacy"
)

// Words explains a guarantee in plain sentences, the technical one first. drawn, if it is stated,
// is that of units that are known to have been drawn each time: of the whole event with its
// sampling removed, under the same adjacency, unit and δ. The guarantee of one draw alone is not
// what somebody has who was drawn more than once.
func Words(g privacy.Guarantee, drawn *privacy.Guarantee) []string {
	if free(g) {
		return []string{
			Sentence(g),
			"They would have come out the same, with the same probabilities, from any other data.",
		}
	}
	words := []string{Sentence(g)}
	if math.IsInf(g.Epsilon.Upper, 1) {
		return append(words, "That is no protection.")
	}
	words = append(words,
		fmt.Sprintf("%s, every possible outcome is about as likely: probabilities differ by a factor of at most e^ε = %s%s.",
			either(g), atMost(math.Exp(g.Epsilon.Upper)), upTo(g.Delta)),
		fmt.Sprintf("Someone who knows all the other records and must guess %s, at even odds, is right with a probability of at most %s, whatever they compute from these files.",
			question(g), percent(Guess(g))))
	if drawn != nil {
		words = append(words, fmt.Sprintf("Against someone who knows whose records were drawn, each time, those are protected by ε ≤ %s at the same δ, all of these files taken together: the rest of the protection is that nobody knows who was drawn.", atMost(drawn.Epsilon.Upper)))
	}
	return append(words, "Whatever is done with these files from now on costs no more privacy. Other releases from the same data do: the ledger composes them.")
}

// upTo describes what δ adds to a bound.
func upTo(delta float64) string {
	if delta == 0 {
		return ""
	}
	return ", up to a probability of " + number(delta)
}

// free reports whether no record had any influence. An ε of 0 is not enough: a mechanism that
// nearly always does nothing has it too, at a δ above the probability that it does something.
func free(g privacy.Guarantee) bool {
	if g.Epsilon.Upper != 0 || g.Delta == 0 || g.Event == nil {
		return g.Epsilon.Upper == 0 && g.Delta == 0
	}
	nothing, ok := privacy.Canonical(g.Event).(privacy.Compose)
	return ok && len(nothing.Events) == 0
}

// Sentence states a guarantee completely.
func Sentence(g privacy.Guarantee) string {
	switch {
	case free(g):
		return "No record had any influence on this: ε = 0."
	case math.IsInf(g.Epsilon.Upper, 1):
		return fmt.Sprintf("No finite ε holds at δ = %s.", number(g.Delta))
	}
	return fmt.Sprintf("ε ≤ %s at δ = %s for %s.", atMost(g.Epsilon.Upper), number(g.Delta), neighbours(g))
}

// Guess bounds the probability with which anybody distinguishes two neighbouring data sets,
// when both are equally likely beforehand. Let a test be right with probability p on one
// and wrong with probability q on the other. Then p ≤ e^ε·q+δ and, for the opposite
// conclusion, 1−q ≤ e^ε·(1−p)+δ, so p−q ≤ (e^ε−1+2δ)/(e^ε+1); the guess is right with
// probability (1+p−q)/2. (The region of Kairouz, Oh, Viswanath 2015.)
func Guess(g privacy.Guarantee) float64 {
	// tanh(ε/2) = (e^ε−1)/(e^ε+1), without overflow.
	tv := math.Tanh(g.Epsilon.Upper/2) + 2*g.Delta/(math.Exp(g.Epsilon.Upper)+1)
	return min(1, 0.5+tv/2)
}

// unit describes the unit of privacy.
func unit(g privacy.Guarantee) string {
	if column, ok := strings.CutPrefix(string(g.Unit), "user:"); ok {
		return fmt.Sprintf("all records with one value of %q", column)
	}
	return "one record"
}

func neighbours(g privacy.Guarantee) string {
	if g.Adjacency == privacy.ReplaceOne {
		return unit(g) + " exchanged for another (replace-one)"
	}
	return unit(g) + " more or less (add-remove)"
}

func either(g privacy.Guarantee) string {
	if g.Adjacency == privacy.ReplaceOne {
		return "With " + unit(g) + " or with any other in that place"
	}
	return "With " + unit(g) + " or without"
}

func question(g privacy.Guarantee) string {
	what := "a record"
	if strings.HasPrefix(string(g.Unit), "user:") {
		what = "someone"
	}
	if g.Adjacency == privacy.ReplaceOne {
		return "which of two was in the data"
	}
	return "whether " + what + " was in the data"
}

// atMost prints an upper bound with four digits, rounded up.
func atMost(v float64) string {
	if math.IsInf(v, 1) {
		return "∞"
	}
	text := strconv.FormatFloat(v, 'g', 4, 64)
	if r, err := strconv.ParseFloat(text, 64); err == nil && r < v {
		step := math.Pow(10, math.Floor(math.Log10(v))-3)
		text = strconv.FormatFloat(r+step, 'g', 4, 64)
	}
	return plain(text)
}

// number prints all digits.
func number(v float64) string { return plain(strconv.FormatFloat(v, 'g', -1, 64)) }

// plain writes 1e-06 as 1e-6 and 1e+06 as 1e6.
func plain(s string) string {
	mantissa, exponent, ok := strings.Cut(s, "e")
	if !ok {
		return s
	}
	sign := ""
	if strings.HasPrefix(exponent, "-") {
		sign = "-"
	}
	return mantissa + "e" + sign + strings.TrimLeft(exponent, "+-0")
}

// percent prints an upper bound of a probability, rounded up.
func percent(p float64) string {
	return strconv.FormatFloat(math.Min(100, math.Ceil(p*1000)/10), 'f', 1, 64) + " %"
}
