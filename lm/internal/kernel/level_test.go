package kernel

import (
	"fmt"
	"testing"
)

func TestMulLevels(t *testing.T) {
	r := random(3)
	for _, kind := range types {
		for _, n := range []int{1, 2, 3, 5, 7, 12, 13, 17} {
			cols := 512
			m := packed32(t, r, kind, 70, cols)
			x := floats(r, n*cols)
			stride := Panel * m.Panels()
			want := make([]float32, n*stride)
			var s Scratch
			For(Portable).Mul(m, 0, m.Panels(), x, cols, n, want, stride, &s)
			for _, l := range Levels()[1:] {
				got := make([]float32, n*stride)
				For(l).Mul(m, 0, m.Panels(), x, cols, n, got, stride, &s)
				same(t, fmt.Sprintf("%v %v n=%d", l, kind, n), got, want)
			}
		}
	}
}
