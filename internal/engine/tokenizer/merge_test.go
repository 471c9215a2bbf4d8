package tokenizer

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// tablePairs is a pairing given by a table of texts.
type tablePairs map[string]uint32

func (p tablePairs) join(text string, left, right part) (int32, uint32) {
	order, ok := p[text[left.start:right.end]]
	if !ok {
		return 0, never
	}
	return int32(order) + 1000, order
}

// mergeSlowly does what is said of merging and nothing clever.
func mergeSlowly(text string, pairs mergeRules, parts []part) []part {
	for {
		best, at := never, -1
		var symbol int32
		for i := range len(parts) - 1 {
			if s, order := pairs.join(text, parts[i], parts[i+1]); order < best {
				best, at, symbol = order, i, s
			}
		}
		if at < 0 {
			return parts
		}
		joined := part{symbol, parts[at].start, parts[at+1].end}
		parts = slices.Replace(slices.Clone(parts), at, at+2, joined)
	}
}

func TestMergingWaysAgree(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.StringMatching(`[ab]{0,90}|[abc]{0,40}`).Draw(r, "text")
		pairs := tablePairs(rapid.MapOfN(
			rapid.StringMatching(`[abc]{2,5}`), rapid.Uint32Range(0, 6), 0, 25,
		).Draw(r, "pairs"))
		start := make([]part, len(text))
		for i := range start {
			start[i] = part{int32(text[i]), int32(i), int32(i + 1)}
		}
		want := mergeSlowly(text, pairs, start)
		for name, way := range map[string]func(*work, string, mergeRules){
			"scan": (*work).mergeByScan, "heap": (*work).mergeByHeap,
		} {
			t.Run(name, func(t *testing.T) {
				w := &work{parts: slices.Clone(start)}
				way(w, text, pairs)
				if !slices.Equal(w.parts, want) {
					r.Errorf("by %s: %v, and should be %v", name, w.parts, want)
				}
			})
		}
	})
}

func TestPairTable(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		type pair struct{ left, right int32 }
		draw := rapid.Custom(func(r *rapid.T) pair {
			return pair{rapid.Int32Range(0, 40).Draw(r, "left"), rapid.Int32Range(0, 1<<30).Draw(r, "right")}
		})
		pairs := rapid.SliceOf(draw).Draw(r, "pairs")
		table, want := newPairTable(len(pairs)), map[pair]uint32{}
		for i, p := range pairs {
			table.add(p.left, p.right, int32(i), uint32(i))
			if _, twice := want[p]; !twice {
				want[p] = uint32(i)
			}
		}
		for _, p := range append(pairs, rapid.SliceOf(draw).Draw(r, "others")...) {
			order, ok := want[p]
			if !ok {
				order = never
			}
			if _, got := table.find(p.left, p.right); got != order {
				r.Errorf("%v has the order %d, and should have %d", p, got, order)
			}
		}
	})
}

// TestPiecesOfSentencePiece: cutting where no token reaches across changes nothing.
func TestPiecesOfSentencePiece(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		c := byteVocabulary()
		for _, text := range rapid.SliceOfDistinct(rapid.StringMatching(`[ab▁é]{1,4}`), rapid.ID).Draw(r, "tokens") {
			c.Tokens = append(c.Tokens, text)
			c.Types = append(c.Types, Normal)
			c.Scores = append(c.Scores, float32(rapid.IntRange(-3, 0).Draw(r, "score")))
		}
		v := newVocabulary(&c)
		m, err := newSentencePiece(&c, v)
		if err != nil {
			r.Fatal(err)
		}
		text := rapid.StringMatching(`[ab ▁éx]{0,80}`).Draw(r, "text")
		for _, i := range rapid.SliceOf(rapid.IntRange(0, 1<<20)).Draw(r, "broken") {
			if text != "" {
				text = text[:i%len(text)] + "\xf0" + text[i%len(text)+1:]
			}
		}
		whole := m.merged(nil, string(escape(text)))
		if got := m.encode(nil, text); !slices.Equal(got, whole) {
			r.Errorf("in pieces %v, as a whole %v", got, whole)
		}
	})
}

func escape(text string) []byte {
	var b []byte
	for _, c := range []byte(text) {
		if c == ' ' {
			b = append(b, blank...)
		} else {
			b = append(b, c)
		}
	}
	return b
}
