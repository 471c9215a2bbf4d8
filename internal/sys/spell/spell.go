// Package spell finds what somebody may have meant by a name that nothing has.
package spell

import "strings"

// Near lists the names that differ from one in two letters at most, whatever the case.
func Near(name string, known []string) []string {
	var close []string
	for _, k := range known {
		if distance(strings.ToLower(name), strings.ToLower(k)) <= 2 {
			close = append(close, k)
		}
	}
	return close
}

// Variant is the one of some names that differs from a name in nothing but letter case,
// spaces and marks between words, "" if there is none. Unlike those of [Near] it tells
// nothing that the name does not: it may be shown where names come from private data.
func Variant(name string, names []string) string {
	for _, n := range names {
		if plain(n) == plain(name) && n != name {
			return n
		}
	}
	return ""
}

// plain leaves what two spellings of a name have in common.
func plain(name string) string {
	return strings.ToLower(strings.NewReplacer(" ", "", "_", "", "-", "", ".", "", "\ufeff", "").Replace(name))
}

// distance is the number of bytes to insert, delete or replace.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
