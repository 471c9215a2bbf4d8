package main

import "fmt"

// form is an instruction that Go's assembler lacks, as its bits with registers of zero.
// The arrangements are those of its registers, for the comment beside it.
type form struct {
	name    string
	bits    uint32
	d, n, m string // m is empty where there are two registers
}

// The forms, named and written as in Arm's Architecture Reference Manual.
var (
	fadd   = form{"FADD", 0x4e20d400, "4S", "4S", "4S"}
	fadd64 = form{"FADD", 0x4e60d400, "2D", "2D", "2D"}
	fsub   = form{"FSUB", 0x4ea0d400, "4S", "4S", "4S"}
	fmul   = form{"FMUL", 0x6e20dc00, "4S", "4S", "4S"}
	fdiv   = form{"FDIV", 0x6e20fc00, "4S", "4S", "4S"}
	fmax   = form{"FMAX", 0x4e20f400, "4S", "4S", "4S"}
	fmin   = form{"FMIN", 0x4ea0f400, "4S", "4S", "4S"}
	fcmgt  = form{"FCMGT", 0x6ea0e400, "4S", "4S", "4S"}
	bic    = form{"BIC", 0x4e601c00, "16B", "16B", "16B"}
	addp   = form{"ADDP", 0x4ea0bc00, "4S", "4S", "4S"}
	umax   = form{"UMAX", 0x6ea06400, "4S", "4S", "4S"}
	sub8   = form{"SUB", 0x6e208400, "16B", "16B", "16B"}
	smull  = form{"SMULL", 0x0e20c000, "8H", "8B", "8B"}
	smull2 = form{"SMULL2", 0x4e20c000, "8H", "16B", "16B"}
	smmla  = form{"SMMLA", 0x4e80a400, "4S", "16B", "16B"}

	fneg     = form{name: "FNEG", bits: 0x6ea0f800, d: "4S", n: "4S"}
	fabs     = form{name: "FABS", bits: 0x4ea0f800, d: "4S", n: "4S"}
	scvtf    = form{name: "SCVTF", bits: 0x4e21d800, d: "4S", n: "4S"}
	fcvtns   = form{name: "FCVTNS", bits: 0x4e21a800, d: "4S", n: "4S"}
	fcvtl    = form{name: "FCVTL", bits: 0x0e217800, d: "4S", n: "4H"}
	fcvtl2   = form{name: "FCVTL2", bits: 0x4e217800, d: "4S", n: "8H"}
	fcvtl64  = form{name: "FCVTL", bits: 0x0e617800, d: "2D", n: "2S"}
	fcvtl264 = form{name: "FCVTL2", bits: 0x4e617800, d: "2D", n: "4S"}
	xtn16    = form{name: "XTN", bits: 0x0e612800, d: "4H", n: "4S"}
	xtn216   = form{name: "XTN2", bits: 0x4e612800, d: "8H", n: "4S"}
	xtn8     = form{name: "XTN", bits: 0x0e212800, d: "8B", n: "8H"}
	xtn28    = form{name: "XTN2", bits: 0x4e212800, d: "16B", n: "8H"}
	saddlp   = form{name: "SADDLP", bits: 0x4e602800, d: "4S", n: "8H"}
	umaxv    = form{name: "UMAXV", bits: 0x6eb0a800, n: "4S"}
	sxtl16   = form{name: "SXTL", bits: 0x0f10a400, d: "4S", n: "4H"}
	sxtl216  = form{name: "SXTL2", bits: 0x4f10a400, d: "4S", n: "8H"}
	sxtl8    = form{name: "SXTL", bits: 0x0f08a400, d: "8H", n: "8B"}
	sxtl28   = form{name: "SXTL2", bits: 0x4f08a400, d: "8H", n: "16B"}
)

// encode returns the word of a form with its registers, and its text.
func (f form) encode(d, n, m vreg) (uint32, string) {
	if d < 0 || n < 0 || m < 0 || d > 31 || n > 31 || m > 31 {
		panic(fmt.Sprintf("%s of registers %d, %d and %d", f.name, d, n, m))
	}
	word, text := f.bits|uint32(n)<<5|uint32(d), fmt.Sprintf("%s %v.%s, %v.%s", f.name, d, f.d, n, f.n)
	if f.d == "" { // a lane alone
		text = fmt.Sprintf("%s S%d, %v.%s", f.name, int(d), n, f.n)
	}
	if f.m == "" {
		if m != 0 {
			panic(f.name + " has two registers")
		}
		return word, text
	}
	return word | uint32(m)<<16, fmt.Sprintf("%s, %v.%s", text, m, f.m)
}

// do writes d = n op m, and d = d + n op m for forms that add.
func (a *arm) do(f form, d, n, m vreg) { a.word(f.encode(d, n, m)) }

// to writes d = op n.
func (a *arm) to(f form, d, n vreg) { a.word(f.encode(d, n, 0)) }

func (a *arm) word(word uint32, text string) { a.op("WORD $0x%08x // %s", word, text) }

// lane is an instruction whose last operand is one lane of 32 bits.
type lane struct {
	name    string
	bits    uint32
	d, n, m string
}

var (
	fmlaLane = lane{"FMLA", 0x4f801000, "4S", "4S", "S"}
	fmulLane = lane{"FMUL", 0x4f809000, "4S", "4S", "S"}
	sdotLane = lane{"SDOT", 0x4f80e000, "4S", "16B", "4B"}
)

// encode returns the word of d = d + n op m[index], and its text.
func (f lane) encode(d, n, m vreg, index int) (uint32, string) {
	if index < 0 || index > 3 {
		panic(fmt.Sprintf("%s of lane %d", f.name, index))
	}
	word, _ := form{name: f.name, bits: f.bits, m: f.m}.encode(d, n, m)
	word |= uint32(index&1)<<21 | uint32(index>>1)<<11
	return word, fmt.Sprintf("%s %v.%s, %v.%s, %v.%s[%d]", f.name, d, f.d, n, f.n, m, f.m, index)
}

// doLane writes it.
func (a *arm) doLane(f lane, d, n, m vreg, index int) { a.word(f.encode(d, n, m, index)) }

// shift is a shift by a number of bits. Right shifts count from twice the size of a lane
// down, left ones from that size up.
type shift struct {
	name  string
	bits  uint32
	size  int // bits of a lane
	lanes string
	right bool
}

var (
	sshr   = shift{"SSHR", 0x4f000400, 32, "4S", true}
	srshrh = shift{"SRSHR", 0x4f002400, 16, "8H", true}
	shl    = shift{"SHL", 0x4f005400, 32, "4S", false}
)

// encode returns the word of d = n shifted, and its text.
func (f shift) encode(d, n vreg, by int) (uint32, string) {
	immediate := f.size + by
	if f.right {
		immediate = 2*f.size - by
	}
	if by < 0 || by > f.size || immediate < f.size || immediate >= 2*f.size {
		panic(fmt.Sprintf("%s by %d", f.name, by))
	}
	word, _ := form{name: f.name, bits: f.bits}.encode(d, n, 0)
	return word | uint32(immediate)<<16, fmt.Sprintf("%s %v.%s, %v.%s, #%d", f.name, d, f.lanes, n, f.lanes, by)
}

// shifted writes it.
func (a *arm) shifted(f shift, d, n vreg, by int) { a.word(f.encode(d, n, by)) }

// fma writes d = d + n*m, and fms d = d - n*m, both rounded once.
func (a *arm) fma(d, n, m vreg) { a.op("VFMLA %v.S4, %v.S4, %v.S4", m, n, d) }
func (a *arm) fms(d, n, m vreg) { a.op("VFMLS %v.S4, %v.S4, %v.S4", m, n, d) }
