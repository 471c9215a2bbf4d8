package tokenizer

import "math/bits"

// pairTable maps pairs of symbols to the symbol that they make. It is flat in memory: most
// of the work of encoding is one lookup for each pair of neighbours.
type pairTable struct {
	slots []pairSlot
	shift int
}

type pairSlot struct {
	pair   uint64 // plus one, so that 0 is an empty slot
	symbol int32
	order  uint32
}

func newPairTable(pairs int) pairTable {
	size := max(bits.Len(uint(pairs)+uint(pairs)/2), 4)
	return pairTable{slots: make([]pairSlot, 1<<size), shift: 64 - size}
}

func pairKey(left, right int32) uint64 {
	return (uint64(uint32(left))<<32 | uint64(uint32(right))) + 1
}

// at finds the slot of a pair, or the empty one where it belongs. There is always an
// empty slot, because there are more slots than pairs.
func (t *pairTable) at(pair uint64) *pairSlot {
	mask := len(t.slots) - 1
	// Fibonacci hashing: multiply by 2^64 over the golden ratio, keep the high bits.
	for i := int(pair * 0x9E3779B97F4A7C15 >> t.shift); ; i++ {
		if s := &t.slots[i&mask]; s.pair == pair || s.pair == 0 {
			return s
		}
	}
}

// add adds a pair unless it is there: the first of two rules holds.
func (t *pairTable) add(left, right, symbol int32, order uint32) {
	pair := pairKey(left, right)
	if s := t.at(pair); s.pair == 0 {
		*s = pairSlot{pair, symbol, order}
	}
}

func (t *pairTable) find(left, right int32) (symbol int32, order uint32) {
	if s := t.at(pairKey(left, right)); s.pair != 0 {
		return s.symbol, s.order
	}
	return 0, never
}
