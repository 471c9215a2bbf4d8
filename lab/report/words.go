package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// points prints a value of 100.
func points(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return strings.Replace(strconv.FormatFloat(v, 'f', 1, 64), "-", "−", 1)
}

// signed prints a difference with its sign, and a true minus.
func signed(v float64) string {
	s := fmt.Sprintf("%+.1f", v)
	if s == "-0.0" {
		s = "+0.0"
	}
	return strings.Replace(s, "-", "−", 1)
}

// spread prints a mean with its standard deviation.
func spread(mean, std float64) string {
	if math.IsNaN(std) {
		return points(mean)
	}
	return points(mean) + " ± " + points(std)
}

// between prints an interval, or nothing.
func between(low, high float64) string {
	if math.IsNaN(low) || math.IsNaN(high) {
		return ""
	}
	return points(low) + " to " + points(high)
}

func signedBetween(low, high float64) string {
	if math.IsNaN(low) || math.IsNaN(high) {
		return ""
	}
	return signed(low) + " to " + signed(high)
}

// epsilonName prints an ε of the axis.
func epsilonName(e float64) string {
	if math.IsInf(e, 1) {
		return "∞"
	}
	return strconv.FormatFloat(e, 'g', -1, 64)
}

// deltaName prints a δ without the zeros that pad exponents.
func deltaName(d float64) string {
	return strings.Replace(strconv.FormatFloat(d, 'g', 4, 64), "e-0", "e-", 1)
}

// count prints a whole number with thin spaces between thousands.
func count(v float64) string {
	digits := strconv.FormatFloat(math.Round(v), 'f', 0, 64)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteRune('\u2009')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// shotsName prints a number of demonstrations.
func shotsName(n int) string {
	if n == 1 {
		return "1 shot"
	}
	return strconv.Itoa(n) + " shots"
}

// answersName prints a number of answers.
func answersName(n int64) string {
	if n == 1 {
		return "1 answer"
	}
	return count(float64(n)) + " answers"
}

// chance prints a p-value; none of ours is exactly 0.
func chance(p float64) string {
	switch {
	case math.IsNaN(p):
		return "–"
	case p < 0.001:
		return "< 0.001"
	}
	return strconv.FormatFloat(p, 'f', 3, 64)
}

// metricNames are metrics in words, with their units.
var metricNames = map[string]string{
	"accuracy":                "accuracy, %",
	"balanced_accuracy":       "balanced accuracy, %",
	"mcc":                     "MCC × 100",
	"auc":                     "AUC × 100",
	"share_yes":               "share of answers that are Yes, %",
	"batch_accuracy":          "accuracy with batch calibration, %",
	"batch_balanced_accuracy": "balanced accuracy with batch calibration, %",
	"exact_match":             "exact match, %",
	"rouge_l":                 "ROUGE-L × 100",
}

// metricName describes a metric and its unit.
func metricName(metric string) string {
	return cmp.Or(metricNames[metric], strings.ReplaceAll(metric, "_", " ")+" × 100")
}

// list joins words as a sentence does.
func list(words []string) string {
	switch n := len(words); n {
	case 0:
		return ""
	case 1:
		return words[0]
	default:
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
}

// span prints the least and the greatest of whole numbers.
func span(values []int) string {
	if len(values) == 0 {
		return "none"
	}
	lo, hi := slices.Min(values), slices.Max(values)
	if lo == hi {
		return strconv.Itoa(lo)
	}
	return fmt.Sprintf("%d to %d", lo, hi)
}
