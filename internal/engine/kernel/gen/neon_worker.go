package main

// armWorker reads some rows of a panel.
type armWorker struct {
	*arm
	packedFormat
	vectors int
	mask    vreg // of a nibble

	header, sub, quants greg // the parts of a block that belong to the rows
}

// worker starts at the parameter src, with the rows from first on.
func (a *arm) worker(p packedFormat, vectors int, first greg) *armWorker {
	w := &armWorker{arm: a, packedFormat: p, vectors: vectors}
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
		a.bits(0x0f0f0f0f, w.mask)
	}
	return w
}

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
