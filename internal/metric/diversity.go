package metric

import (
	"math"
	"strings"
	"unicode"
)

// Words of a text: runs of letters, marks and digits of any script, in lower case.
func Words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
}

// wordCount returns the mean number of words of texts; 0 without any.
func wordCount(texts []string) float64 {
	sum := 0
	for _, text := range texts {
		sum += len(Words(text))
	}
	return float64(sum) / float64(max(1, len(texts)))
}

// Distinct returns the share of different sequences of n words among all those of texts: 1
// if none comes twice, near 0 if texts repeat themselves or each other. It falls as texts
// become more or longer, so that only sets of about the same size should be compared.
// Without such sequences it is 0.
func Distinct(n int, texts []string) float64 {
	different := map[string]bool{}
	all := 0
	for _, text := range texts {
		for key, times := range grams(n, Words(text)) {
			different[key] = true
			all += times
		}
	}
	if all == 0 {
		return 0
	}
	return float64(len(different)) / float64(all)
}

// grams counts sequences of n words.
func grams(n int, words []string) map[string]int {
	times := map[string]int{}
	if n < 1 {
		return times
	}
	for i := 0; i+n <= len(words); i++ {
		times[strings.Join(words[i:i+n], " ")]++
	}
	return times
}

// bleuOrder is the longest sequence of words that counts for BLEU.
const bleuOrder = 4

// SelfBLEU returns the mean BLEU-4 of each text with all others as references: 1 if they
// are copies, near 0 if they share nothing. Sequences that the others do not have count as
// a tenth of one, which is NLTK's first smoothing method. With fewer than two texts it is
// 0.
func SelfBLEU(texts []string) float64 {
	if len(texts) < 2 {
		return 0
	}
	words := make([][]string, len(texts))
	counts := make([][bleuOrder]map[string]int, len(texts))
	for i, text := range texts {
		words[i] = Words(text)
		for n := range bleuOrder {
			counts[i][n] = grams(n+1, words[i])
		}
	}
	sum := 0.0
	for i := range texts {
		sum += bleu(i, words, counts)
	}
	return sum / float64(len(texts))
}

// bleu of one text against all others (Papineni et al. 2002): the geometric mean of the
// shares of its sequences that a reference has as often, less if it is short.
func bleu(text int, words [][]string, counts [][bleuOrder]map[string]int) float64 {
	logs := 0.0
	for n := range bleuOrder {
		shared, all := 0, 0
		for key, times := range counts[text][n] {
			largest := 0
			for other := range counts {
				if other != text {
					largest = max(largest, counts[other][n][key])
				}
			}
			shared += min(times, largest)
			all += times
		}
		if n == 0 && shared == 0 {
			return 0
		}
		share := 0.1 / float64(max(1, all))
		if shared > 0 {
			share = float64(shared) / float64(all)
		}
		logs += math.Log(share) / bleuOrder
	}
	length, closest := len(words[text]), -1
	for other := range words {
		n := len(words[other])
		if other == text {
			continue
		}
		near, best := abs(n-length), abs(closest-length)
		if closest < 0 || near < best || near == best && n < closest {
			closest = n
		}
	}
	if length < closest {
		logs += 1 - float64(closest)/float64(length)
	}
	return math.Exp(logs)
}

func abs(n int) int { return max(n, -n) }
