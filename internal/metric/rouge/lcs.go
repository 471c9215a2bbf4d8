package rouge

import "math/bits"

// common returns the length of a longest common subsequence.
//
// Bit i of open says that a longest subsequence of the words read so far does not grow from
// the first i words of want to the first i+1. A word of got closes, in each run of places
// since the last closed one, the first where want has it; the carry of an addition finds
// these, for all runs at once (Hyyrö 2004).
func common(want, got []string) int {
	places := make(map[string][]int, len(want))
	for i, word := range want {
		places[word] = append(places[word], i)
	}
	n := (len(want) + 63) / 64
	open, match := make([]uint64, n), make([]uint64, n)
	for i := range open {
		open[i] = ^uint64(0)
	}
	for _, word := range got {
		at := places[word]
		if len(at) == 0 {
			continue
		}
		for _, i := range at {
			match[i/64] |= 1 << (i % 64)
		}
		carry := uint64(0)
		for k, v := range open {
			m := v & match[k]
			var sum uint64
			sum, carry = bits.Add64(v, m, carry)
			open[k] = sum | (v &^ match[k])
		}
		for _, i := range at {
			match[i/64] = 0
		}
	}
	length := 0
	for i := range want {
		if open[i/64]>>(i%64)&1 == 0 {
			length++
		}
	}
	return length
}

// union marks the words of a sentence that are on a longest common subsequence with
// one of others.
func union(sentence []string, others [][]string) []bool {
	on := make([]bool, len(sentence))
	for _, other := range others {
		mark(sentence, other, on)
	}
	return on
}

// mark marks one longest common subsequence of two lists of words. Which one matters
// to the score: as in rouge-score it is the one that is found from the ends, which
// drops a word of other only where that alone keeps the length.
func mark(words, other []string, on []bool) {
	columns := len(other)
	// keep has a bit for each pair of lengths: going back by a word of other is better.
	keep := make([]uint64, (len(words)*columns+63)/64)
	row, above := make([]int32, columns+1), make([]int32, columns+1)
	for i, word := range words {
		for j, o := range other {
			if word == o {
				row[j+1] = above[j] + 1
				continue
			}
			row[j+1] = max(above[j+1], row[j])
			if row[j] > above[j+1] {
				at := i*columns + j
				keep[at/64] |= 1 << (at % 64)
			}
		}
		row, above = above, row
	}
	for i, j := len(words)-1, columns-1; i >= 0 && j >= 0; {
		at := i*columns + j
		switch {
		case words[i] == other[j]:
			on[i] = true
			i--
			j--
		case keep[at/64]>>(at%64)&1 == 1:
			j--
		default:
			i--
		}
	}
}
