package kernel

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// rowCase applies a row function to copies of the slices and gives all it
// wrote, with what it returned as bits.
type rowCase struct {
	name string
	call func(k *Kernels, a, b, c, d []float32) []float64
}

var rowCases = []rowCase{
	{"Add", func(k *Kernels, a, b, _, _ []float32) []float64 { k.Add(a, b); return nil }},
	{"Scale", func(k *Kernels, a, b, _, _ []float32) []float64 { k.Scale(a, b, -1.7); return nil }},
	{"RMSNorm", func(k *Kernels, a, b, c, _ []float32) []float64 { k.RMSNorm(a, b, c, 1e-5); return nil }},
	{"LayerNorm", func(k *Kernels, a, b, c, d []float32) []float64 { k.LayerNorm(a, b, c, d, 1e-12); return nil }},
	{"SiLUMul", func(k *Kernels, a, b, c, _ []float32) []float64 { k.SiLUMul(a, b, c); return nil }},
	{"GELU", func(k *Kernels, a, b, _, _ []float32) []float64 { k.GELU(a, b); return nil }},
	{"GELUMul", func(k *Kernels, a, b, c, _ []float32) []float64 { k.GELUMul(a, b, c); return nil }},
	{"Softmax", func(k *Kernels, a, _, _, _ []float32) []float64 { k.Softmax(a, 0.125); return nil }},
	{"LogSumExp", func(k *Kernels, a, _, _, _ []float32) []float64 { return []float64{k.LogSumExp(a)} }},
	{"RopeInterleaved", func(k *Kernels, a, b, c, _ []float32) []float64 { k.RopeInterleaved(a, b, c); return nil }},
	{"RopeHalves", func(k *Kernels, a, b, c, _ []float32) []float64 { k.RopeHalves(a, b, c); return nil }},
	{"sum", func(k *Kernels, a, _, _, _ []float32) []float64 { return []float64{float64(k.sum(a))} }},
	{"sumSquares", func(k *Kernels, a, _, _, _ []float32) []float64 { return []float64{float64(k.sumSquares(a, 0.3))} }},
}

// TestRowLevels holds every level to the portable one, bit by bit.
func TestRowLevels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 130).Draw(t, "n")
		r := random(rapid.Uint64().Draw(t, "seed"))
		scale := rapid.SampledFrom([]float32{1e-3, 1, 8, 60, 3000}).Draw(t, "scale")
		slices := [4][]float32{}
		for i := range slices {
			slices[i] = floats(r, n)
			for j := range slices[i] {
				slices[i][j] *= scale
			}
		}
		for _, c := range rowCases {
			var want []float32
			var value []float64
			for _, l := range Levels() {
				a := append([]float32(nil), slices[0]...)
				v := c.call(For(l), a, slices[1], slices[2], slices[3])
				if l == Portable {
					want, value = a, v
					continue
				}
				same(t, c.name+" "+l.String(), a, want)
				for i := range v {
					if math.Float64bits(v[i]) != math.Float64bits(value[i]) {
						t.Fatalf("%s %v: %x, want %x", c.name, l, v[i], value[i])
					}
				}
			}
		}
	})
}

// TestElementaryLevels holds the exponential and the error function of every
// level to the portable ones at their boundaries and over their range.
func TestElementaryLevels(t *testing.T) {
	var x []float32
	for _, edge := range []float32{expLow, expHigh, -expLow, -expHigh, erfSplit / sqrtHalf, erfEnd / sqrtHalf, 0, 1e-38, 1e-44, 1e38, float32(math.Copysign(0, -1))} {
		down, up := edge, edge
		for range 5 {
			x = append(x, down, up, -down, -up)
			down, up = math.Nextafter32(down, -math.MaxFloat32), math.Nextafter32(up, math.MaxFloat32)
		}
	}
	for v := float32(-100); v < 100; v += 0.0123 {
		x = append(x, v)
	}
	ones := make([]float32, len(x))
	for i := range ones {
		ones[i] = 1
	}
	want := make([]float32, len(x))
	got := make([]float32, len(x))
	for _, l := range Levels()[1:] {
		geluPortable(want, x)
		For(l).GELU(got, x)
		same(t, l.String()+" GELU", got, want)
		geluMulPortable(want, x, ones)
		For(l).GELUMul(got, x, ones)
		same(t, l.String()+" gated GELU", got, want)
		siluMulPortable(want, x, ones)
		For(l).SiLUMul(got, x, ones)
		same(t, l.String()+" SiLU", got, want)
		copy(want, x)
		copy(got, x)
		expSumPortable(want, 1, 0)
		For(l).expSum(got, 1, 0)
		same(t, l.String()+" exp", got, want)
	}
}

// TestFMALevels holds the hardware's fused operation to fma32.
func TestFMALevels(t *testing.T) {
	r := random(6)
	n := 1 << 12
	x, c, got, want := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n)
	for range 80 {
		a := nasty(r)
		for i := range x {
			x[i], c[i] = nasty(r), nasty(r)
			if r.IntN(2) == 0 {
				c[i] = float32(float64(a)*float64(x[i])) * float32(math.Ldexp(1, r.IntN(60)-30))
			}
			want[i] = fma32(a, x[i], c[i])
			if want[i] != want[i] { // two infinities
				x[i], c[i], want[i] = 0, 0, 0
			}
		}
		for _, l := range Levels()[1:] {
			copy(got, c)
			for i := 0; i < n; i += Panel {
				For(l).Gemm(1, 1, []float32{a}, 1, x[i:], got[i:], Panel, true)
			}
			same(t, l.String(), got, want)
		}
	}
}

func TestSoftmax(t *testing.T) {
	r := random(7)
	for _, n := range []int{1, 2, 15, 16, 17, 100, 1000} {
		x := normals(r, n)
		for i := range x {
			x[i] *= 30
		}
		scale, sum := float32(0.25), 0.0
		for _, v := range x {
			sum += math.Exp(float64(v) * float64(scale))
		}
		got := append([]float32(nil), x...)
		For(Best()).Softmax(got, scale)
		for i, v := range x {
			want := math.Exp(float64(v)*float64(scale)) / sum
			// The argument of exp, up to 200 here, is rounded to float32.
			if math.Abs(float64(got[i])-want) > 1e-5*want {
				t.Errorf("%d of %d: %v, want %v", i, n, got[i], want)
			}
		}
		lse := For(Best()).LogSumExp(x)
		sum = 0
		for _, v := range x {
			sum += math.Exp(float64(v))
		}
		if want := math.Log(sum); math.Abs(lse-want) > 2e-7*math.Max(1, math.Abs(want)) {
			t.Errorf("LogSumExp of %d: %v, want %v", n, lse, want)
		}
	}
}

// TestSoftmaxExtremes: masked positions, and scores too large for exp.
func TestSoftmaxExtremes(t *testing.T) {
	inf := float32(math.Inf(-1))
	for _, l := range Levels() {
		x := []float32{inf, 3e38, inf, -3e38, 3e38}
		For(l).Softmax(x, 1)
		same(t, l.String(), x, []float32{0, 0.5, 0, 0, 0.5})
		For(l).Softmax(nil, 1)
		for _, c := range []struct {
			x    []float32
			want float64
		}{
			{nil, math.Inf(-1)},
			{[]float32{inf, inf}, math.Inf(-1)},
			{[]float32{1e30, inf}, float64(float32(1e30))},
			{[]float32{-1e30}, float64(float32(-1e30))},
			{[]float32{1000, 1000}, 1000 + math.Ln2},
		} {
			if got := For(l).LogSumExp(c.x); got != c.want {
				t.Errorf("%v: LogSumExp(%v) = %v, want %v", l, c.x, got, c.want)
			}
		}
	}
}

func TestNorms(t *testing.T) {
	r := random(9)
	n := 576
	x, w, b := normals(r, n), normals(r, n), normals(r, n)
	mean, squares := 0.0, 0.0
	for _, v := range x {
		mean += float64(v) / float64(n)
		squares += float64(v) * float64(v) / float64(n)
	}
	rms, layer := make([]float32, n), make([]float32, n)
	For(Best()).RMSNorm(rms, x, w, 1e-5)
	For(Best()).LayerNorm(layer, x, w, b, 1e-5)
	for i := range x {
		want := float64(x[i]) / math.Sqrt(squares+1e-5) * float64(w[i])
		if math.Abs(float64(rms[i])-want) > 1e-6*math.Abs(want)+1e-9 {
			t.Errorf("RMSNorm %d: %v, want %v", i, rms[i], want)
		}
		want = (float64(x[i])-mean)/math.Sqrt(squares-mean*mean+1e-5)*float64(w[i]) + float64(b[i])
		if math.Abs(float64(layer[i])-want) > 3e-6 {
			t.Errorf("LayerNorm %d: %v, want %v", i, layer[i], want)
		}
	}
}

func TestActivations(t *testing.T) {
	x := normals(random(10), 1000)
	up := normals(random(11), 1000)
	silu, gelu, gated := make([]float32, 1000), make([]float32, 1000), make([]float32, 1000)
	For(Best()).SiLUMul(silu, x, up)
	For(Best()).GELU(gelu, x)
	For(Best()).GELUMul(gated, x, up)
	for i, v := range x {
		cubic := math.Sqrt(2/math.Pi) * (float64(v) + 0.044715*math.Pow(float64(v), 3))
		if want := float64(v) / 2 * (1 + math.Tanh(cubic)) * float64(up[i]); math.Abs(float64(gated[i])-want) > 2e-6*math.Abs(want)+1e-9 {
			t.Errorf("GELUMul(%v, %v) = %v, want %v", v, up[i], gated[i], want)
		}
		want := float64(v) / (1 + math.Exp(-float64(v))) * float64(up[i])
		if math.Abs(float64(silu[i])-want) > 5e-7*math.Abs(want)+1e-12 {
			t.Errorf("SiLUMul(%v, %v) = %v, want %v", v, up[i], silu[i], want)
		}
		want = float64(v) * 0.5 * math.Erfc(-float64(v)/math.Sqrt2)
		if math.Abs(float64(gelu[i])-want) > 3e-7 {
			t.Errorf("GELU(%v) = %v, want %v", v, gelu[i], want)
		}
	}
}

func TestRope(t *testing.T) {
	r := random(12)
	for _, d := range []int{2, 16, 30, 64, 96, 128} {
		x := normals(r, d)
		cos, sin := make([]float32, d/2), make([]float32, d/2)
		for i := range cos {
			s, c := math.Sincos(10 * r.Float64())
			cos[i], sin[i] = float32(c), float32(s)
		}
		pairs, halves := append([]float32(nil), x...), append([]float32(nil), x...)
		For(Best()).RopeInterleaved(pairs, cos, sin)
		For(Best()).RopeHalves(halves, cos, sin)
		for i := range cos {
			c, s := float64(cos[i]), float64(sin[i])
			for _, p := range []struct {
				name string
				got  []float32
				i, j int
			}{{"interleaved", pairs, 2 * i, 2*i + 1}, {"halves", halves, i, i + d/2}} {
				a, b := float64(x[p.i]), float64(x[p.j])
				if math.Abs(float64(p.got[p.i])-(a*c-b*s)) > 1e-6 || math.Abs(float64(p.got[p.j])-(a*s+b*c)) > 1e-6 {
					t.Errorf("%s, pair %d of %d: %v %v, want %v %v", p.name, i, d/2, p.got[p.i], p.got[p.j], a*c-b*s, a*s+b*c)
				}
			}
		}
	}
}

func TestLevels(t *testing.T) {
	levels := Levels()
	if levels[0] != Portable || levels[len(levels)-1] != Best() {
		t.Errorf("levels %v, best %v", levels, Best())
	}
	for _, l := range levels {
		if For(l).Level() != l {
			t.Errorf("For(%v) gives %v", l, For(l).Level())
		}
	}
	if For(math.MaxInt).Level() != Best() || For(-1).Level() != Portable {
		t.Error("a level beyond the ends is not taken for the nearest")
	}
}
