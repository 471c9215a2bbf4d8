package rouge

import "strings"

// Score compares a text with a reference. All three are from 0 to 1.
type Score struct {
	// Precision is the part of the text that the reference has, Recall the part of the
	// reference that the text has, F1 their harmonic mean.
	Precision, Recall, F1 float64
}

// Options configure the tokenisation.
type Options struct {
	// Stem cuts endings off words, so that forms of a word are the same.
	Stem bool
}

// N is ROUGE-N of a text against a reference: how many sequences of n words they share,
// counted with repetitions. There are no sequences of less than one word, and a text
// with fewer than n words has none: their scores are 0.
func (o Options) N(n int, want, got string) Score {
	return sequences(n, o.words(want), o.words(got))
}

// L is ROUGE-L of a text against a reference: the length of a longest common
// subsequence of their words. Where either has no words it is 0.
func (o Options) L(want, got string) Score {
	w, g := o.words(want), o.words(got)
	return score(common(w, g), len(w), len(g))
}

// LSum is ROUGE-Lsum, for texts with one sentence a line: the words of each sentence of
// the reference that are on a longest common subsequence with any sentence of the text.
// A word counts at most as often as each side has it.
func (o Options) LSum(want, got string) Score {
	w, nw := o.sentences(want)
	g, ng := o.sentences(got)
	left, right := count(w), count(g)
	hits := 0
	for _, sentence := range w {
		for i, on := range union(sentence, g) {
			word := sentence[i]
			if on && left[word] > 0 && right[word] > 0 {
				left[word]--
				right[word]--
				hits++
			}
		}
	}
	return score(hits, nw, ng)
}

func (o Options) sentences(text string) (list [][]string, words int) {
	for line := range strings.SplitSeq(text, "\n") {
		if sentence := o.words(line); len(sentence) > 0 {
			list = append(list, sentence)
			words += len(sentence)
		}
	}
	return list, words
}

func count(sentences [][]string) map[string]int {
	times := map[string]int{}
	for _, sentence := range sentences {
		for _, word := range sentence {
			times[word]++
		}
	}
	return times
}

// sequences compares the multisets of sequences of n words.
func sequences(n int, want, got []string) Score {
	if n < 1 || len(want) < n || len(got) < n {
		return Score{}
	}
	times := make(map[string]int, len(want))
	var key []byte
	each := func(words []string, f func(key string)) {
		for i := 0; i+n <= len(words); i++ {
			key = key[:0]
			for _, word := range words[i : i+n] {
				// Words have no spaces in them, so that keys are as different as sequences.
				key = append(append(key, word...), ' ')
			}
			f(string(key))
		}
	}
	each(want, func(key string) { times[key]++ })
	shared := 0
	each(got, func(key string) {
		if times[key] > 0 {
			times[key]--
			shared++
		}
	})
	return score(shared, len(want)-n+1, len(got)-n+1)
}

// score of a number of shared things among those of a reference and of a text.
func score(shared, want, got int) Score {
	if shared == 0 {
		return Score{}
	}
	s := Score{Precision: float64(shared) / float64(got), Recall: float64(shared) / float64(want)}
	s.F1 = 2 * s.Precision * s.Recall / (s.Precision + s.Recall)
	return s
}
