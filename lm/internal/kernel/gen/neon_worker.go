package main

// armWorker computes the weights of some rows of a panel, column by column. It passes each
// to use, with its column within eight and the index of its vector of rows. It calls start
// before every eight columns and next after them.
type armWorker struct {
	*arm
	packedFormat
	vectors     int
	mask        vreg // of a nibble
	start, next func()
	use         func(k, v int, weight vreg)

	header, sub, quants greg // the parts of a block that belong to the rows
}

// worker starts at the parameter src, with the rows from first on.
func (a *arm) worker(p packedFormat, vectors int, first greg) *armWorker {
	w := &armWorker{arm: a, packedFormat: p, vectors: vectors, start: func() {}, next: func() {}}
	w.header, w.quants = a.base("src"), a.gp()
	a.op("ADD $%d, %v, %v", p.quants(), w.header, w.quants)
	a.op("ADD %v<<2, %v", first, w.quants)
	if p.sub {
		w.sub = a.gp()
		a.op("ADD $%d, %v, %v", p.subscales(), w.header, w.sub)
		a.op("ADD %v, %v", first, w.sub)
	}
	a.op("ADD %v<<1, %v", first, w.header)
	if p.bits == 4 {
		w.mask = a.vec()
		a.bits(15, w.mask)
	}
	return w
}

// block works off a block and moves on to the next.
func (w *armWorker) block() {
	if w.packedFormat.sub {
		w.repeat("group", w.groups(), w.subGroup)
		w.advance(w.blockSize()-w.groups()*panel, w.sub)
	} else {
		w.group(w.affine())
	}
	w.advance(w.packedFormat.quants(), w.quants)
	w.advance(w.blockSize(), w.header)
}

// blockSize returns the number of bytes of a block of a panel.
func (p packedFormat) blockSize() int { return p.quants() + p.values*panel*p.bits/8 }

// skip moves the pointers over the groups that the parameter of that name says.
func (w *armWorker) skip(sub, quants int) {
	w.scope(func() {
		skip, step := w.integer("skip"), w.gp()
		w.op("MOVD $%d, %v", sub, step)
		w.op("MADD %v, %v, %v, %v", step, w.sub, skip, w.sub)
		w.op("MOVD $%d, %v", quants, step)
		w.op("MADD %v, %v, %v, %v", step, w.quants, skip, w.quants)
	})
}

// subGroup works off a group of such a block and moves on to the next.
func (w *armWorker) subGroup() {
	scale, minimum := w.affine()
	w.subscale(scale, minimum)
	w.group(scale, minimum)
	w.advance(panel, w.sub)
}

// subscale multiplies the scales and minima by those of a group.
func (w *armWorker) subscale(scale, minimum []vreg) {
	w.scope(func() {
		factors := w.vecs(w.vectors)
		w.bytes(w.sub, 0, factors)
		for v, f := range factors {
			w.do(fmul, scale[v], scale[v], f)
		}
		if w.minima {
			w.bytes(w.sub, w.groups()*panel, factors)
			for v, f := range factors {
				w.do(fmul, minimum[v], minimum[v], f)
				w.to(fneg, minimum[v], minimum[v])
			}
		}
	})
}

// wide reads a signed byte of each row as integers of 32 bits.
func (w *armWorker) wide(p greg, offset int, v []vreg) {
	if len(v) == 2 {
		w.op("FMOVD %d(%v), F%d", offset, p, int(v[0]))
		w.to(sxtl8, v[0], v[0])
		w.to(sxtl216, v[1], v[0])
		w.to(sxtl16, v[0], v[0])
		return
	}
	w.load(p, offset, v[0])
	w.to(sxtl28, v[2], v[0])
	w.to(sxtl8, v[0], v[0])
	for _, i := range []int{0, 2} {
		w.to(sxtl216, v[i+1], v[i])
		w.to(sxtl16, v[i], v[i])
	}
}

// bytes is wide as float32.
func (w *armWorker) bytes(p greg, offset int, v []vreg) {
	w.wide(p, offset, v)
	for _, r := range v {
		w.to(scvtf, r, r)
	}
}

// halves reads a binary16 of each row.
func (w *armWorker) halves(p greg, offset int, v []vreg) {
	for i := 0; i < len(v); i += 2 {
		w.load(p, offset+8*i, v[i])
		w.to(fcvtl2, v[i+1], v[i])
		w.to(fcvtl, v[i], v[i])
	}
}

// affine loads the scales and minima of a block.
func (w *armWorker) affine() (scale, minimum []vreg) {
	scale = w.vecs(w.vectors)
	w.halves(w.header, 0, scale)
	switch {
	case w.minima:
		minimum = w.vecs(w.vectors)
		w.halves(w.header, 2*panel, minimum)
	case w.packedFormat.zero != 0:
		minimum = w.vecs(w.vectors)
		for v, m := range minimum {
			w.float(-w.packedFormat.zero, m)
			w.do(fmul, m, m, scale[v])
		}
	}
	return scale, minimum
}

// group computes the weights of the columns that share a scale, and moves the pointer
// behind them.
func (w *armWorker) group(scale, minimum []vreg) {
	w.repeat("word", w.packedFormat.group/8, func() {
		for o := 0; o < panel*w.packedFormat.bits; o += 64 {
			w.op("PRFM %d(%v), PLDL1KEEP", ahead+o, w.quants)
		}
		w.start()
		words := w.vecs(w.vectors)
		quant, weight := w.vec(), w.vec()
		for k := range 8 {
			for v := range w.vectors {
				if w.packedFormat.bits == 4 {
					w.nibble(k, v, words[v], quant)
				} else {
					w.byteOf(k, v, quant)
				}
				if minimum == nil {
					w.do(fmul, weight, quant, scale[v])
				} else {
					w.move(minimum[v], weight)
					w.fma(weight, quant, scale[v])
				}
				w.use(k, v, weight)
			}
		}
		w.advance(panel*w.packedFormat.bits, w.quants)
		w.next()
	})
}

// nibble takes the k-th of eight nibbles, which must be taken in order, and gives its
// value.
func (w *armWorker) nibble(k, v int, word, value vreg) {
	if k == 0 {
		w.load(w.quants, 16*v, word)
	} else {
		w.op("VUSHR $4, %v.S4, %v.S4", word, word)
	}
	w.op("VAND %v.B16, %v.B16, %v.B16", w.mask, word, value)
	w.to(scvtf, value, value)
}

// byteOf gives the value of the k-th of eight columns of eight bits, which lie in two
// words: 0, 1, 4, 5 and 2, 3, 6, 7.
func (w *armWorker) byteOf(k, v int, value vreg) {
	place := k/4*2 + k%2
	w.load(w.quants, k%4/2*4*panel+16*v, value)
	if place < 3 {
		w.shifted(shl, value, value, 24-8*place)
	}
	w.shifted(sshr, value, value, 24)
	w.to(scvtf, value, value)
}
