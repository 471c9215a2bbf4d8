package main

import (
	"fmt"
	"regexp"
	"strconv"
)

var dotLine = regexp.MustCompile(`(?m)^\t(VPDPWSSD|VPDPBUSD)\s+Y(\d+), Y(\d+), Y(\d+)$`)

// dotCodes are the codes of dot products of pairs of int16 and of fours of bytes.
var dotCodes = map[string]byte{"VPDPWSSD": 0x52, "VPDPBUSD": 0x50}

// encodeDots writes dot products of vectors of eight as the bytes of their short form,
// which Go's assembler lacks: it gives the one of AVX-512, and processors that have
// the short form often lack that.
func encodeDots(text []byte) []byte {
	return dotLine.ReplaceAllFunc(text, func(line []byte) []byte {
		var r [3]byte
		parts := dotLine.FindSubmatch(line)[1:]
		name := string(parts[0])
		for i, m := range parts[1:] {
			n, err := strconv.Atoi(string(m))
			if err != nil || n > 15 {
				panic(fmt.Sprintf("register %s in %s", m, line))
			}
			r[i] = byte(n)
		}
		b := dotBytes(dotCodes[name], r[0], r[1], r[2])
		return fmt.Appendf(nil, "\tBYTE $0x%02x; BYTE $0x%02x; BYTE $0x%02x; BYTE $0x%02x; BYTE $0x%02x // %s Y%d, Y%d, Y%d",
			b[0], b[1], b[2], b[3], b[4], name, r[0], r[1], r[2])
	})
}

// dotBytes encodes VEX.256.66.0F38.W0 code /r: sums += a·b.
func dotBytes(code, a, b, sums byte) [5]byte {
	return [5]byte{
		0xc4,
		^(sums>>3<<7)&0x80 | 0x40 | ^(a>>3<<5)&0x20 | 0x02,
		^b&15<<3 | 0x05,
		code,
		0xc0 | sums&7<<3 | a&7,
	}
}
