package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// samples encodes every form with a few registers.
func samples() map[string]uint32 {
	words := make(map[string]uint32)
	put := func(word uint32, text string) { words[text] = word }
	for _, r := range [][3]vreg{{1, 2, 3}, {31, 16, 8}, {10, 31, 29}} {
		for _, f := range []form{
			fadd, fadd64, fsub, fmul, fdiv, fmax, fmin, fcmgt, bic, addp, umax, sub8, smull, smull2, smmla,
			fneg, fabs, scvtf, fcvtns, fcvtl, fcvtl2, fcvtl64, fcvtl264, xtn16, xtn216, xtn8, xtn28, saddlp, umaxv,
			sxtl16, sxtl216, sxtl8, sxtl28,
		} {
			m := r[2]
			if f.m == "" {
				m = 0
			}
			put(f.encode(r[0], r[1], m))
		}
		for index := range 4 {
			for _, f := range []lane{fmlaLane, fmulLane, sdotLane} {
				put(f.encode(r[0], r[1], r[2], index))
			}
		}
		for _, f := range []shift{sshr, srshrh, shl} {
			put(f.encode(r[0], r[1], f.size/2-3))
			put(f.encode(r[0], r[1], 7))
		}
	}
	return words
}

// TestEncode holds the encoders to what the GNU assembler 2.40 gave for the same text.
func TestEncode(t *testing.T) {
	data, err := os.ReadFile("testdata/arm64.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := make(map[string]string)
	for line := range strings.Lines(string(data)) {
		word, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		want[text] = word
	}
	got := samples()
	for text, word := range got {
		if fmt.Sprintf("%08x", word) != want[text] {
			t.Errorf("%s is %08x, want %s", text, word, want[text])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d instructions, want %d", len(got), len(want))
	}
}

// TestEncodeRefuses checks that no encoder takes what its fields cannot hold.
func TestEncodeRefuses(t *testing.T) {
	for name, call := range map[string]func(){
		"a register too far": func() { fadd.encode(32, 0, 0) },
		"a third register":   func() { fneg.encode(0, 0, 1) },
		"a lane too far":     func() { fmlaLane.encode(0, 0, 0, 4) },
		"a shift too far":    func() { shl.encode(0, 0, 32) },
		"no shift":           func() { sshr.encode(0, 0, 0) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error(name + " is encoded")
				}
			}()
			call()
		}()
	}
}
