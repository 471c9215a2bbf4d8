package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"math"
	"strings"
)

// avo writes code for amd64 only. What follows is as much of an assembler as the kernels
// need on arm64: registers are taken in order and given back at the end of a scope,
// parameters have names, and instructions that Go's assembler lacks are encoded here.

// vreg is a vector register and greg one of the general registers below.
type (
	vreg int
	greg int
)

// The last two are neither taken by the assembler, the linker or the system, nor by
// scopes: spare is for addresses within a helper, constants holds the address of the
// file's constants.
const (
	spare     greg = 24
	constants greg = 25
)

// general are the registers that scopes hand out.
var general = []greg{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 19, 20, 21, 22, 23}

func (v vreg) String() string { return fmt.Sprintf("V%d", int(v)) }
func (g greg) String() string { return fmt.Sprintf("R%d", int(g)) }

// arm collects the functions of one assembly file.
type arm struct {
	level  string // suffix of functions
	file   string // name of the file, in the names of its data
	text   bytes.Buffer
	stubs  bytes.Buffer
	splats []uint32 // constants, each a vector of four

	// Of the present function.
	name, signature string
	body            bytes.Buffer
	offsets         map[string]int
	size            int // of parameters and results
	vectors         int // in use
	generals        int // in use
	labels          int
}

func newARM(level, file string) *arm {
	// A vector of set lanes, then one of clear ones: the masks of tails.
	return &arm{level: level, file: file, splats: []uint32{1<<32 - 1, 0}}
}

// function writes a function. Package kernel describes it where its table has a field for
// it.
func (a *arm) function(name, signature string, body func()) {
	a.name, a.signature = name+a.level, signature
	a.body.Reset()
	a.layOut(signature)
	a.scope(body)
	fmt.Fprintf(&a.stubs, "\n//go:noescape\nfunc %s%s\n", a.name, signature)
	fmt.Fprintf(&a.text, "\n// func %s%s\nTEXT ·%s(SB), NOSPLIT, $0-%d\n", a.name, signature, a.name, a.size)
	a.text.Write(a.body.Bytes())
	fmt.Fprint(&a.text, "\tRET\n")
}

// layOut computes where the parameters of a signature lie, as Go's stack calling
// convention has it.
func (a *arm) layOut(signature string) {
	expression, err := parser.ParseExpr("func" + signature)
	if err != nil {
		panic(err)
	}
	a.offsets, a.size = make(map[string]int), 0
	place := func(name string, size int) {
		a.size = (a.size + size - 1) / size * size
		a.offsets[name] = a.size
		a.size += size
	}
	fields := func(list *ast.FieldList, each func(name string, kind ast.Expr)) {
		for _, f := range list.List {
			if len(f.Names) == 0 {
				each("ret", f.Type)
			}
			for _, n := range f.Names {
				each(n.Name, f.Type)
			}
		}
	}
	add := func(name string, kind ast.Expr) {
		if _, ok := kind.(*ast.ArrayType); ok {
			place(name+"_base", 8)
			place(name+"_len", 8)
			place(name+"_cap", 8)
			return
		}
		place(name, map[string]int{"int": 8, "float64": 8, "float32": 4, "bool": 1, "uint8": 1}[kind.(*ast.Ident).Name])
	}
	function := expression.(*ast.FuncType)
	fields(function.Params, add)
	if function.Results != nil {
		a.size = (a.size + 7) / 8 * 8
		fields(function.Results, add)
	}
}

// param is a parameter as the assembler writes it.
func (a *arm) param(name string) string {
	offset, ok := a.offsets[name]
	if !ok {
		panic(fmt.Sprintf("%s has no parameter %s", a.name, name))
	}
	return fmt.Sprintf("%s+%d(FP)", name, offset)
}

// op writes an instruction of Go's assembler.
func (a *arm) op(format string, arguments ...any) {
	fmt.Fprintf(&a.body, "\t"+format+"\n", arguments...)
}

// scope gives back the registers that the body took.
func (a *arm) scope(body func()) {
	vectors, generals := a.vectors, a.generals
	body()
	a.vectors, a.generals = vectors, generals
}

// vec takes a vector register.
func (a *arm) vec() vreg {
	if a.vectors == 32 {
		panic(a.name + " needs more than 32 vector registers")
	}
	a.vectors++
	return vreg(a.vectors - 1)
}

// vecs takes n of them.
func (a *arm) vecs(n int) []vreg {
	v := make([]vreg, n)
	for i := range v {
		v[i] = a.vec()
	}
	return v
}

// gp takes a general register.
func (a *arm) gp() greg {
	if a.generals == len(general) {
		panic(a.name + " needs more general registers than there are")
	}
	a.generals++
	return general[a.generals-1]
}

// integer loads an integer parameter, the base or the length of a slice.
func (a *arm) integer(name string) greg {
	r := a.gp()
	a.op("MOVD %s, %v", a.param(name), r)
	return r
}

func (a *arm) base(name string) greg   { return a.integer(name + "_base") }
func (a *arm) length(name string) greg { return a.integer(name + "_len") }

// strided loads the pointers to the rows of a parameter, whose stride counts values of
// four bytes.
func (a *arm) strided(name, stride string, rows int) []greg {
	pointers := []greg{a.base(name)}
	if rows == 1 {
		return pointers
	}
	a.op("MOVD %s, %v", a.param(stride), spare)
	for i := 1; i < rows; i++ {
		next := a.gp()
		a.op("ADD %v<<2, %v, %v", spare, pointers[i-1], next)
		pointers = append(pointers, next)
	}
	return pointers
}

// advance adds to pointers.
func (a *arm) advance(by int, pointers ...greg) {
	for _, p := range pointers {
		a.op("ADD $%d, %v", by, p)
	}
}

// label returns a label that is not used yet.
func (a *arm) label(name string) string {
	a.labels++
	return fmt.Sprintf("%s%d", name, a.labels)
}

// mark puts a label here.
func (a *arm) mark(label string) { fmt.Fprintf(&a.body, "%s:\n", label) }

// times repeats the body, which must not change the counter, as often as the counter says,
// which may be zero.
func (a *arm) times(name string, counter greg, body func()) {
	top, done := a.label(name), a.label(name+"Done")
	a.op("CBZ %v, %s", counter, done)
	a.mark(top)
	a.scope(body)
	a.op("SUB $1, %v", counter)
	a.op("CBNZ %v, %s", counter, top)
	a.mark(done)
}

// repeat is times for a number.
func (a *arm) repeat(name string, n int, body func()) {
	if n == 1 {
		a.scope(body)
		return
	}
	counter := a.gp()
	a.op("MOVD $%d, %v", n, counter)
	a.times(name, counter, body)
}

// choose writes a body for each of some values of an integer parameter.
func (a *arm) choose(name string, values []int, body func(n int)) {
	last := len(values) - 1
	labels := make([]string, last)
	a.op("MOVD %s, %v", a.param(name), spare)
	for i := range labels {
		labels[i] = a.label(name)
		a.op("CMP $%d, %v", values[i], spare)
		a.op("BEQ %s", labels[i])
	}
	a.scope(func() { body(values[last]) })
	for i, label := range labels {
		a.op("RET")
		a.mark(label)
		a.scope(func() { body(values[i]) })
	}
}

// load reads a vector, store writes one.
func (a *arm) load(p greg, offset int, v vreg)  { a.op("FMOVQ %d(%v), F%d", offset, p, int(v)) }
func (a *arm) store(v vreg, p greg, offset int) { a.op("FMOVQ F%d, %d(%v)", int(v), offset, p) }

// loadOne reads a float32 into the first lane and clears the others.
func (a *arm) loadOne(p greg, offset int, v vreg) { a.op("FMOVS %d(%v), F%d", offset, p, int(v)) }

// storeOne writes the first lane.
func (a *arm) storeOne(v vreg, p greg, offset int) { a.op("FMOVS F%d, %d(%v)", int(v), offset, p) }

// splat loads a float32 parameter into all lanes.
func (a *arm) splat(name string) vreg {
	v := a.vec()
	a.op("FMOVS %s, F%d", a.param(name), int(v))
	a.op("VDUP %v.S[0], %v.S4", v, v)
	return v
}

// zero clears vectors.
func (a *arm) zero(v ...vreg) {
	for _, r := range v {
		a.op("VEOR %v.B16, %v.B16, %v.B16", r, r, r)
	}
}

// move copies a vector.
func (a *arm) move(from, to vreg) { a.op("VORR %v.B16, %v.B16, %v.B16", from, from, to) }

// bits loads a constant into all lanes. useConstants comes first.
func (a *arm) bits(b uint32, v vreg) {
	at := -1
	for i, s := range a.splats {
		if s == b {
			at = i
			break
		}
	}
	if at < 0 {
		at = len(a.splats)
		a.splats = append(a.splats, b)
	}
	a.load(constants, 16*at, v)
}

// float is bits for a float32.
func (a *arm) float(f float32, v vreg) { a.bits(math.Float32bits(f), v) }

// useConstants makes bits and float work in a function.
func (a *arm) useConstants() { a.op("MOVD $%s<>(SB), %v", a.table(), constants) }

func (a *arm) table() string { return "constants_" + strings.ReplaceAll(a.file, "_arm64", "") }

// print adds the assembly and the declarations to the files.
func (a *arm) print(files map[string][]byte) error {
	head := fmt.Sprintf("// Code generated by %s. DO NOT EDIT.\n\n", generator)
	var data bytes.Buffer
	for i, b := range a.splats {
		for half := range 2 {
			fmt.Fprintf(&data, "DATA %s<>+%d(SB)/8, $0x%08x%08x\n", a.table(), 16*i+8*half, b, b)
		}
	}
	fmt.Fprintf(&data, "GLOBL %s<>(SB), RODATA|NOPTR, $%d\n", a.table(), 16*len(a.splats))
	files[a.file+".s"] = []byte(head + "#include \"textflag.h\"\n\n" + data.String() + a.text.String())
	stubs, err := format.Source([]byte(head + "package kernel\n" + a.stubs.String()))
	files[a.file+".go"] = stubs
	return err
}
