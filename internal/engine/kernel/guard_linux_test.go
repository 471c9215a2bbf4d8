package kernel

import (
	"fmt"
	"syscall"
	"testing"
	"unsafe"
)

// guarded gives float32 memory whose last value, or first, lies at a page that
// cannot be touched: reading or writing beyond it is a fault.
func guarded(t *testing.T, values []float32, atEnd bool) []float32 {
	t.Helper()
	b := guardedBytes(t, 4*len(values), atEnd)
	s := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(values))
	copy(s, values)
	return s
}

func guardedBytes(t *testing.T, n int, atEnd bool) []byte {
	t.Helper()
	page := syscall.Getpagesize()
	pages := (n + page - 1) / page * page
	all, err := syscall.Mmap(-1, 0, pages+2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Munmap(all); err != nil {
			t.Error(err)
		}
	})
	for _, edge := range [][]byte{all[:page], all[page+pages:]} {
		if err := syscall.Mprotect(edge, syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	if atEnd {
		return all[page+pages-n : page+pages : page+pages]
	}
	return all[page : page+n : page+n]
}

// TestGuardPages runs every function on memory that ends, or begins, at a page
// that faults.
func TestGuardPages(t *testing.T) {
	r := random(13)
	for _, atEnd := range []bool{true, false} {
		for _, l := range Levels()[1:] {
			k := For(l)
			for n := 1; n <= 35; n++ {
				for _, c := range rowCases {
					a, b, d, e := normals(r, n), normals(r, n), normals(r, n), normals(r, n)
					if c.name == "RopeHalves" || c.name == "RopeInterleaved" {
						b, d = b[:n/2], d[:n/2]
					}
					want := append([]float32(nil), a...)
					c.call(For(Portable), want, b, d, e)
					got := guarded(t, a, atEnd)
					c.call(k, got, guarded(t, b, atEnd), guarded(t, d, atEnd), guarded(t, e, atEnd))
					same(t, c.name, got, want)
				}
			}
			for m := 1; m <= 13; m++ {
				for _, depth := range []int{1, 4, 7} {
					a, b, c := normals(r, m*depth), normals(r, depth*Panel), normals(r, m*Panel)
					k.Gemm(m, depth, guarded(t, a, atEnd), depth, guarded(t, b, atEnd), guarded(t, c, atEnd), Panel, true)
				}
			}
			for _, kind := range types {
				m := packed32(t, r, kind, 2*Panel, 256)
				data := guardedBytes(t, len(m.data), atEnd)
				copy(data, m.data)
				m.data = data
				for _, n := range []int{1, 2, 3, 4, 5, 9, 12} {
					x := guarded(t, normals(r, n*m.Cols), atEnd)
					if m.Integer() {
						guardIntegers(t, l, m, x, n, atEnd)
						continue
					}
					dst := guarded(t, make([]float32, n*m.Rows), atEnd)
					want := make([]float32, n*m.Rows)
					s := Scratch{weights: guarded(t, make([]float32, deepChunk*Panel), atEnd)}
					k.Mul(m, 0, 2, x, m.Cols, n, dst, m.Rows, &s)
					For(Portable).Mul(m, 0, 2, x, m.Cols, n, want, m.Rows, &s)
					same(t, fmt.Sprintf("%v %v n=%d", l, kind, n), dst, want)
				}
			}
		}
	}
}

// guardIntegers is the same for products in integers.
func guardIntegers(t *testing.T, l Level, m *Matrix, x []float32, n int, atEnd bool) {
	t.Helper()
	words := func(count int) []uint32 {
		b := guardedBytes(t, 4*count, atEnd)
		return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(b))), count)
	}
	multiply := func(k *Kernels, q *QuantizedMatrix, s *Scratch, dst []float32) {
		for i := range n {
			k.Quantize(q, i, 0, x[i*m.Cols:(i+1)*m.Cols])
		}
		k.MulQuantized(m, 0, 2, q, n, dst, m.Rows, s)
	}
	for _, p := range bothPrecisions {
		q := For(l).NewQuantized(p, n, m.Cols)
		q.words = words(len(q.words))
		got, want := guarded(t, make([]float32, n*m.Rows), atEnd), make([]float32, n*m.Rows)
		multiply(For(l), q, &Scratch{integers: words(2 * unpackedGroups * For(l).integers[p].groupWords())}, got)
		multiply(For(Portable), For(Portable).NewQuantized(p, n, m.Cols), new(Scratch), want)
		same(t, fmt.Sprintf("%v %v integers %d n=%d", l, m.format, p, n), got, want)
	}
}
