package ui

import (
	"fmt"
	"strings"

	"github.com/sotto-dp/sotto/internal/sys/document"
)

// Thousands prints a count so that magnitudes can be compared.
func Thousands[N int | int64](n N) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Rough prints a count in at most four digits.
func Rough(n int64) string {
	switch {
	case n < 10_000:
		return Thousands(n)
	case n < 10_000_000:
		return Thousands((n+500)/1000) + "k"
	}
	return Thousands((n+500_000)/1_000_000) + "M"
}

// Counted prints a number of things.
func Counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return Thousands(n) + " " + thing + "s"
}

// Are is Counted with its verb.
func Are[N int | int64](n N, thing string) string { return counts(n, thing, "is", "are") }

// Were is Counted with its verb, of what is past.
func Were[N int | int64](n N, thing string) string { return counts(n, thing, "was", "were") }

func counts[N int | int64](n N, thing, one, many string) string {
	if n == 1 {
		return Counted(int(n), thing) + " " + one
	}
	return Counted(int(n), thing) + " " + many
}

// Span prints a time that is a prediction.
func Span(seconds float64) string {
	switch {
	case seconds < 10:
		return fmt.Sprintf("%.1f s", seconds)
	case seconds < 120:
		return fmt.Sprintf("%.0f s", seconds)
	case seconds < 7200:
		return fmt.Sprintf("%.0f min", seconds/60)
	}
	return fmt.Sprintf("%.1f h", seconds/3600)
}

// Percent prints a share.
func Percent(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }

// Between prints an interval of a share. What is beyond 0 and 1 cannot be the value, so
// that leaving it out takes nothing from the interval's level.
func Between(low, high float64) string {
	return fmt.Sprintf("%.1f to %.1f", 100*max(0, low), 100*min(1, high))
}

// If returns a text if something holds, else nothing.
func If(holds bool, text string) string {
	if holds {
		return text
	}
	return ""
}

// Visible keeps what somebody else wrote, a model, a server or a person, from controlling the
// terminal: whatever does is shown as U+FFFD, except for tabs and line breaks.
func Visible(s string) string {
	var b strings.Builder
	for i, r := range s { // bytes that are no UTF-8 come as U+FFFD
		if document.Controls(r) && r != '\n' && r != '\t' && !strings.HasPrefix(s[i:], "\r\n") {
			r = '\uFFFD'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// line is Visible of what belongs in one line.
func line(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\t' {
			return ' '
		}
		return r
	}, Visible(s))
}

// Cut shortens a text for a column, and makes a space of all white space.
func Cut(s string, n int) string { return CutLine(strings.Join(strings.Fields(s), " "), n) }

// CutLine shortens a line, and leaves spaces as they are.
func CutLine(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// Ending shortens the name of a file for a column: the end of a path says more.
func Ending(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return "…" + string(r[len(r)-n+1:])
	}
	return s
}

// Pairs reads the NAME=VALUE pairs of a flag, each name once.
func Pairs(flag string, pairs []string) (map[string]string, error) {
	m := map[string]string{}
	for _, pair := range pairs {
		k, v, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, Usage("--%s is %q, it should be NAME=VALUE, such as team=risk", flag, pair)
		}
		if _, twice := m[k]; twice {
			return nil, Usage("--%s gives %q twice", flag, k)
		}
		m[k] = v
	}
	return m, nil
}
