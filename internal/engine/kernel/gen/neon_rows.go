package main

// quads is up to four elements of the slices that a row function works on.
type quads struct {
	*arm
	part int  // which four of a step
	left greg // of a tail: how many elements there are from here on, at least one
	tail bool
}

// sweep calls the body for steps of some quads of the slices at the pointers, then for the
// rest of them. n, the length, is destroyed.
func (a *arm) sweep(n greg, parts int, pointers []greg, body func(s quads)) {
	step := 4 * parts
	rest, left := a.gp(), a.gp()
	a.op("AND $%d, %v, %v", step-1, n, rest)
	a.op("LSR $%d, %v", map[int]int{8: 3, 16: 4}[step], n)
	a.times("step", n, func() {
		for part := range parts {
			a.scope(func() { body(quads{arm: a, part: part}) })
		}
		a.advance(4*step, pointers...)
	})
	done := a.label("done")
	for part := range parts {
		a.op("SUBS $%d, %v, %v", 4*part, rest, left)
		a.op("BLE %s", done)
		a.scope(func() { body(quads{arm: a, part: part, left: left, tail: true}) })
	}
	a.mark(done)
}

// some writes the code for a whole vector, or that for the elements of a tail one by one.
func (s quads) some(whole func(), one func(lane int)) {
	if !s.tail {
		whole()
		return
	}
	few, end := s.label("few"), s.label("end")
	s.op("CMP $4, %v", s.left)
	s.op("BLT %s", few)
	whole()
	s.op("B %s", end)
	s.mark(few)
	one(0)
	for lane := 1; lane < 3; lane++ {
		s.op("CMP $%d, %v", lane+1, s.left)
		s.op("BLT %s", end)
		one(lane)
	}
	s.mark(end)
}

// get reads the elements at a pointer; lanes beyond the end are zero.
func (s quads) get(p greg) vreg {
	v, at := s.vec(), 16*s.part
	s.some(func() { s.load(p, at, v) }, func(lane int) {
		if lane == 0 {
			s.loadOne(p, at, v)
			return
		}
		s.scope(func() {
			one := s.vec()
			s.loadOne(p, at+4*lane, one)
			s.op("VMOV %v.S[0], %v.S[%d]", one, v, lane)
		})
	})
	return v
}

// put writes the elements at a pointer, none beyond the end.
func (s quads) put(v vreg, p greg) {
	at := 16 * s.part
	s.some(func() { s.store(v, p, at) }, func(lane int) {
		s.scope(func() {
			one := s.vec()
			s.op("VDUP %v.S[%d], %v.S4", v, lane, one)
			s.storeOne(one, p, at+4*lane)
		})
	})
}

// within is a mask of the lanes before the end.
func (s quads) within() vreg {
	mask := s.vec()
	s.op("MOVD $4, %v", spare)
	s.op("CMP %v, %v", spare, s.left)
	s.op("CSEL LT, %v, %v, %v", s.left, spare, spare)
	s.op("SUB %v<<2, %v, %v", spare, constants, spare)
	s.load(spare, 16, mask)
	return mask
}

// clear makes the lanes beyond the end zero.
func (s quads) clear(v vreg) {
	if s.tail {
		s.scope(func() { s.op("VAND %v.B16, %v.B16, %v.B16", s.within(), v, v) })
	}
}

// each writes a function that stores what it makes of the elements of slices, named by
// parameter, in the first of them.
func (a *arm) each(name, signature string, slices []string, splats []string, make func(v, splats []vreg) vreg) {
	a.function(name, signature, func() {
		a.useConstants()
		n := a.length(slices[0])
		var pointers []greg
		for _, slice := range slices {
			pointers = append(pointers, a.base(slice))
		}
		var same []vreg
		for _, s := range splats {
			same = append(same, a.splat(s))
		}
		a.sweep(n, 2, pointers, func(s quads) {
			var v []vreg
			for _, p := range pointers {
				v = append(v, s.get(p))
			}
			s.put(make(v, same), pointers[0])
		})
	})
}

// rows writes the row functions.
func (a *arm) rows() {
	a.each("add", "(dst, x []float32)", []string{"dst", "x"}, nil, func(v, _ []vreg) vreg {
		a.do(fadd, v[0], v[0], v[1])
		return v[0]
	})
	a.each("scale", "(dst, x []float32, a float32)", []string{"dst", "x"}, []string{"a"}, func(v, s []vreg) vreg {
		a.do(fmul, v[1], v[1], s[0])
		return v[1]
	})
	a.each("scaleMul", "(dst, x, weight []float32, a float32)", []string{"dst", "x", "weight"}, []string{"a"}, func(v, s []vreg) vreg {
		a.do(fmul, v[1], v[1], s[0])
		a.do(fmul, v[1], v[1], v[2])
		return v[1]
	})
	a.each("normalize", "(dst, x, weight, bias []float32, mean, inverse float32)", []string{"dst", "x", "weight", "bias"}, []string{"mean", "inverse"}, func(v, s []vreg) vreg {
		a.do(fsub, v[1], v[1], s[0])
		a.do(fmul, v[1], v[1], s[1])
		a.fma(v[3], v[1], v[2])
		return v[3]
	})
	a.each("siluMul", "(dst, gate, up []float32)", []string{"dst", "gate", "up"}, nil, func(v, _ []vreg) vreg {
		a.to(fneg, v[0], v[1])
		return a.gated(v[1], v[2], a.exp(v[0]))
	})
	a.each("gelu", "(dst, x []float32)", []string{"dst", "x"}, nil, func(v, _ []vreg) vreg {
		half, c := v[0], a.vec()
		a.float(0.5, c)
		a.do(fmul, half, v[1], c)
		a.float(sqrtHalf, c)
		a.do(fmul, v[1], v[1], c)
		e := a.erf(v[1])
		a.fma(half, half, e)
		return half
	})
	a.each("geluMul", "(dst, gate, up []float32)", []string{"dst", "gate", "up"}, nil, func(v, _ []vreg) vreg {
		square, inner, c := v[0], a.vec(), a.vec()
		a.do(fmul, square, v[1], v[1])
		a.float(geluLine, inner)
		a.float(geluCube, c)
		a.fma(inner, square, c)
		a.do(fmul, inner, inner, v[1])
		return a.gated(v[1], v[2], a.exp(inner))
	})
	a.ropes()
	a.reductions()
}

// gated gives gate/(1+e)*up, and destroys them.
func (a *arm) gated(gate, up, e vreg) vreg {
	one := a.vec()
	a.float(1, one)
	a.do(fadd, e, e, one)
	a.do(fdiv, gate, gate, e)
	a.do(fmul, gate, gate, up)
	return gate
}

// polynomial evaluates a polynomial by Horner's rule.
func (a *arm) polynomial(coefficients []float32, x vreg) vreg {
	p, next := a.vec(), a.vec()
	a.float(coefficients[0], p)
	for _, c := range coefficients[1:] {
		a.float(c, next)
		a.fma(next, p, x)
		p, next = next, p
	}
	return p
}

// atMost limits x; NaN stays.
func (a *arm) atMost(limit float32, x vreg) {
	a.scope(func() {
		bound := a.vec()
		a.float(limit, bound)
		a.do(fmin, x, x, bound)
	})
}

// exp gives e^x and destroys x.
func (a *arm) exp(x vreg) vreg {
	below, shifted, n, c := a.vec(), a.vec(), a.vec(), a.vec()
	a.float(expLow, c)
	a.do(fcmgt, below, c, x)
	a.atMost(expHigh, x)
	a.float(roundBig, shifted)
	a.float(log2e, c)
	a.fma(shifted, x, c)
	a.float(roundBig, c)
	a.do(fsub, n, shifted, c)
	a.float(ln2High, c)
	a.fms(x, n, c)
	a.float(ln2Low, c)
	a.fms(x, n, c)
	p := a.polynomial(expPowers, x)
	a.shifted(shl, shifted, shifted, 23)
	a.op("VADD %v.S4, %v.S4, %v.S4", shifted, p, p)
	a.do(bic, p, p, below)
	return p
}

// erf returns the error function and destroys x.
func (a *arm) erf(x vreg) vreg {
	sign, c := a.vec(), a.vec()
	a.bits(signBit, c)
	a.op("VAND %v.B16, %v.B16, %v.B16", c, x, sign)
	a.to(fabs, x, x)
	a.atMost(erfEnd, x)

	square := a.vec()
	a.do(fmul, square, x, x)
	small := a.polynomial(erfSmall, square)
	a.do(fmul, small, small, x)

	exponent := a.polynomial(erfLarge, x)
	a.to(fneg, exponent, exponent)
	tail := a.exp(exponent)
	a.float(1, c)
	a.do(fsub, tail, c, tail)

	a.float(erfSplit, c)
	a.do(fcmgt, c, c, x) // the mask of small ones
	a.op("VBSL %v.B16, %v.B16, %v.B16", tail, small, c)
	a.op("VORR %v.B16, %v.B16, %v.B16", sign, c, c)
	return c
}

// ropes writes the rotations of position embeddings.
func (a *arm) ropes() {
	a.function("ropeHalf", "(low, high, cos, sin []float32)", func() {
		n, low, high, cos, sin := a.length("cos"), a.base("low"), a.base("high"), a.base("cos"), a.base("sin")
		a.sweep(n, 2, []greg{low, high, cos, sin}, func(s quads) {
			left, right := a.turn(s.get(low), s.get(high), s.get(cos), s.get(sin))
			s.put(left, low)
			s.put(right, high)
		})
	})
	a.function("ropePairs", "(x, cos, sin []float32)", func() {
		n, x, cos, sin := a.length("cos"), a.base("x"), a.base("cos"), a.base("sin")
		rest := a.gp()
		a.op("AND $3, %v, %v", n, rest)
		a.op("LSR $2, %v", n)
		a.times("pairs", n, func() {
			first, second, c, s := a.vec(), a.vec(), a.vec(), a.vec()
			a.op("VLD2 (%v), [%v.S4, %v.S4]", x, first, second)
			a.load(cos, 0, c)
			a.load(sin, 0, s)
			left, right := a.turn(first, second, c, s)
			a.op("VST2 [%v.S4, %v.S4], (%v)", left, right, x)
			a.advance(32, x)
			a.advance(16, cos, sin)
		})
		a.times("pair", rest, func() {
			first, second, c, s := a.vec(), a.vec(), a.vec(), a.vec()
			a.loadOne(x, 0, first)
			a.loadOne(x, 4, second)
			a.loadOne(cos, 0, c)
			a.loadOne(sin, 0, s)
			left, right := a.turn(first, second, c, s)
			a.storeOne(left, x, 0)
			a.storeOne(right, x, 4)
			a.advance(8, x)
			a.advance(4, cos, sin)
		})
	})
}

// turn turns pairs by angles. The results lie beside each other.
func (a *arm) turn(first, second, cos, sin vreg) (left, right vreg) {
	left, right = a.vec(), a.vec()
	a.do(fmul, left, second, sin)
	a.to(fneg, left, left)
	a.fma(left, first, cos)
	a.do(fmul, right, second, cos)
	a.fma(right, first, sin)
	return left, right
}

// reductions writes the functions that give one number for a slice. Lane j of the four
// vectors together is chain j of 16.
func (a *arm) reductions() {
	reduce := func(name, signature string, splats []string, start float32, join form, step func(s quads, x greg, chain vreg, same []vreg)) {
		a.function(name, signature, func() {
			a.useConstants()
			n, x, chains := a.length("x"), a.base("x"), a.vecs(4)
			var same []vreg
			for _, name := range splats {
				same = append(same, a.splat(name))
			}
			for _, c := range chains {
				a.float(start, c)
			}
			a.sweep(n, 4, []greg{x}, func(s quads) { step(s, x, chains[s.part], same) })
			a.give(chains, join)
		})
	}
	reduce("sum", "(x []float32) float32", nil, 0, fadd, func(s quads, x greg, chain vreg, _ []vreg) {
		a.do(fadd, chain, chain, s.get(x))
	})
	reduce("sumSquares", "(x []float32, center float32) float32", []string{"center"}, 0, fadd, func(s quads, x greg, chain vreg, same []vreg) {
		v := s.get(x)
		a.do(fsub, v, v, same[0])
		s.clear(v)
		a.fma(chain, v, v)
	})
	reduce("largest", "(x []float32) float32", nil, negativeInfinity, fmax, func(s quads, x greg, chain vreg, _ []vreg) {
		v := s.get(x)
		if s.tail {
			a.op("VBIF %v.B16, %v.B16, %v.B16", s.within(), chain, v)
		}
		a.do(fmax, chain, chain, v)
	})
	reduce("expSum", "(x []float32, scale, shift float32) float32", []string{"scale", "shift"}, 0, fadd, func(s quads, x greg, chain vreg, same []vreg) {
		v, sum := s.get(x), a.vec()
		a.move(same[1], sum)
		a.fma(sum, v, same[0])
		e := a.exp(sum)
		s.put(e, x)
		s.clear(e)
		a.do(fadd, chain, chain, e)
	})
	a.function("sumExp", "(x []float32, shift float32) float64", func() {
		a.useConstants()
		n, x, shift, chains := a.length("x"), a.base("x"), a.splat("shift"), a.vecs(8)
		a.zero(chains...)
		a.sweep(n, 4, []greg{x}, func(s quads) {
			v := s.get(x)
			a.do(fadd, v, v, shift)
			e := a.exp(v)
			s.clear(e)
			low, high := v, a.vec()
			a.to(fcvtl64, low, e)
			a.to(fcvtl264, high, e)
			a.do(fadd64, chains[2*s.part], chains[2*s.part], low)
			a.do(fadd64, chains[2*s.part+1], chains[2*s.part+1], high)
		})
		for half := 4; half > 0; half /= 2 {
			for j := range half {
				a.do(fadd64, chains[j], chains[j], chains[j+half])
			}
		}
		a.op("VDUP %v.D[1], %v.D2", chains[0], chains[1])
		a.do(fadd64, chains[0], chains[0], chains[1])
		a.op("FMOVD F%d, %s", int(chains[0]), a.param("ret"))
	})
}

// give joins the chains in halves, 16, 8, 4, 2, and returns the last one.
func (a *arm) give(chains []vreg, join form) {
	a.do(join, chains[0], chains[0], chains[2])
	a.do(join, chains[1], chains[1], chains[3])
	a.do(join, chains[0], chains[0], chains[1])
	for _, bytes := range []int{8, 4} {
		a.op("VEXT $%d, %v.B16, %v.B16, %v.B16", bytes, chains[0], chains[0], chains[1])
		a.do(join, chains[0], chains[0], chains[1])
	}
	a.op("FMOVS F%d, %s", int(chains[0]), a.param("ret"))
}
