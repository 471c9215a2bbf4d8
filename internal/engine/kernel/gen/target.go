package main

import (
	"fmt"
	"math"
	"regexp"
	"slices"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// isa is an instruction set to write for.
type isa struct {
	name     string // suffix of functions
	file     string // suffix of files
	lanes    int    // float32 of a vector
	vectors  int    // vector registers
	vnni     bool   // dot products of int16 in one instruction
	base     string // table that it adds to, portable if there is none
	features []string
}

var (
	avx2 = isa{
		name: "AVX2", file: "avx2", lanes: 8, vectors: 16,
		features: []string{"CMOV", "MMX+", "SSE", "SSE2", "AVX", "AVX2", "FMA3", "F16C"},
	}
	avxVNNI = isa{
		name: "AVXVNNI", file: "avxvnni", lanes: 8, vectors: 16, vnni: true, base: "avx2",
		features: append(slices.Clone(avx2.features), "VNNI"),
	}
	avx512 = isa{
		name: "AVX512", file: "avx512", lanes: 16, vectors: 32, vnni: true, base: "avx2",
		features: append(slices.Clone(avxVNNI.features), "AVX512F", "AVX512BW", "AVX512DQ", "AVX512VL"),
	}
)

// floats reports whether the level has float functions of its own: AVX-VNNI adds integers only.
func (i isa) floats() bool { return !i.vnni || i.wide() }

// target collects the functions of one assembly file.
type target struct {
	*build.Context
	isa
	constants map[uint32]operand.Mem // by the bits of a lane
	tables    map[string]operand.Mem
	labels    int
}

func newTarget(i isa) *target {
	return &target{Context: build.NewContext(), isa: i, constants: make(map[uint32]operand.Mem), tables: make(map[string]operand.Mem)}
}

// wide reports whether vectors have 16 lanes.
func (i isa) wide() bool { return i.lanes == 16 }

// begin starts a function. Package kernel describes it where its table has a field for it.
func (t *target) begin(name, signature string) {
	t.Function(name + t.isa.name)
	t.Attributes(attr.NOSPLIT)
	t.Pragma("noescape")
	t.SignatureExpr("func" + signature)
}

// end ends a function.
func (t *target) end() {
	t.VZEROUPPER()
	t.RET()
}

// vec returns a new vector register of the target's width.
func (t *target) vec() reg.VecVirtual {
	if t.wide() {
		return t.ZMM()
	}
	return t.YMM()
}

// vecs is n of them.
func (t *target) vecs(n int) []reg.VecVirtual {
	v := make([]reg.VecVirtual, n)
	for i := range v {
		v[i] = t.vec()
	}
	return v
}

// size returns the number of bytes of a vector.
func (t *target) size() int { return 4 * t.lanes }

// parts returns the number of vectors that 16 float32 take.
func (t *target) parts() int { return 16 / t.lanes }

// base loads the pointer of a slice parameter.
func (t *target) base(name string) reg.GPVirtual {
	r := t.GP64()
	t.Load(t.Param(name).Base(), r)
	return r
}

// length loads the length of a slice parameter.
func (t *target) length(name string) reg.GPVirtual {
	r := t.GP64()
	t.Load(t.Param(name).Len(), r)
	return r
}

// integer loads an integer parameter.
func (t *target) integer(name string) reg.GPVirtual {
	r := t.GP64()
	t.Load(t.Param(name), r)
	return r
}

// splat loads a float32 parameter into all lanes.
func (t *target) splat(name string) reg.VecVirtual {
	v := t.vec()
	address, err := t.Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	t.VBROADCASTSS(address.Addr, v)
	return v
}

// zero clears a vector.
func (t *target) zero(v reg.VecVirtual) {
	if t.wide() {
		t.VPXORD(v, v, v)
	} else {
		t.VPXOR(v, v, v)
	}
}

// bits returns a constant in memory that fills a vector, given as the bits of a lane.
func (t *target) bits(b uint32) operand.Mem {
	if m, ok := t.constants[b]; ok {
		return m
	}
	m := t.table(fmt.Sprintf("lanes_%08x", b), slices.Repeat([]uint32{b}, t.lanes))
	t.constants[b] = m
	return m
}

// float is bits for a float32.
func (t *target) float(f float32) operand.Mem { return t.bits(math.Float32bits(f)) }

// table is read-only data, of an even number of words.
func (t *target) table(name string, words []uint32) operand.Mem {
	m := t.StaticGlobal(name)
	t.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := 0; i < len(words); i += 2 {
		t.AppendDatum(operand.U64(uint64(words[i]) | uint64(words[i+1])<<32))
	}
	return m
}

// label returns a label that no other function has.
func (t *target) label(name string) string {
	t.labels++
	return fmt.Sprintf("%s%d", name, t.labels)
}

// times repeats the body, which must not change the counter, as often as the
// counter says, which may be zero.
func (t *target) times(name string, counter reg.GPVirtual, body func()) {
	top, done := t.label(name), t.label(name+"Done")
	t.TESTQ(counter, counter)
	t.JZ(operand.LabelRef(done))
	t.Label(top)
	body()
	t.DECQ(counter)
	t.JNZ(operand.LabelRef(top))
	t.Label(done)
}

// repeat writes the body once and repeats it n times.
func (t *target) repeat(name string, n int, body func()) {
	if n == 1 {
		body()
		return
	}
	counter, top := t.GP64(), t.label(name)
	t.MOVQ(operand.U32(n), counter)
	t.Label(top)
	body()
	t.DECQ(counter)
	t.JNZ(operand.LabelRef(top))
}

// choose writes a body for each of some values of an integer parameter, in rising order, with the end
// of the function after it. Values between two get the body of the larger one.
func (t *target) choose(name string, values []int, body func(n int)) {
	value := t.integer(name)
	last := len(values) - 1
	labels := make([]string, last)
	for i := range labels {
		labels[i] = t.label(name)
		t.CMPQ(value, operand.U8(values[i]))
		t.JLE(operand.LabelRef(labels[i]))
	}
	body(values[last])
	t.end()
	for i, label := range labels {
		t.Label(label)
		body(values[i])
		t.end()
	}
}

// at returns a memory operand.
func at(base reg.Register, offset int) operand.Mem { return operand.Mem{Base: base, Disp: offset} }

var high = regexp.MustCompile(`^[XYZ](1[6-9]|2[0-9]|3[01])$`)

// allowed checks that the functions use no instruction and no register beyond
// the instruction set: the CPU would fault.
func (t *target) allowed(f *ir.File) error {
	for _, fn := range f.Functions() {
		for _, i := range fn.Instructions() {
			for _, feature := range i.ISA {
				if !slices.Contains(t.features, feature) {
					return fmt.Errorf("%s: %s needs %s", fn.Name, i.Opcode, feature)
				}
			}
			for _, r := range i.Registers() {
				if t.vectors == 16 && high.MatchString(r.Asm()) {
					return fmt.Errorf("%s: %s uses %s", fn.Name, i.Opcode, r.Asm())
				}
			}
		}
	}
	return nil
}
