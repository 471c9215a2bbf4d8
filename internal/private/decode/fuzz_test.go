package decode

import (
	"encoding/binary"
	"math"
	"testing"
)

// FuzzVectors reads scores from bytes, any bits at all, and holds what each method makes
// of one prompt against what its proof says of it.
func FuzzVectors(f *testing.F) {
	add := func(values ...float64) {
		var data []byte
		for _, v := range values {
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
		}
		f.Add(data)
	}
	add(0, math.Inf(-1))
	add(math.NaN(), math.Inf(1), math.Inf(-1))
	add(-math.Ln2, -math.Ln2)
	add(1e308, -1e308, 5e-324)
	add(-1e-17, -40, -40, -40)
	f.Fuzz(func(t *testing.T, data []byte) {
		var scores []float64
		for ; len(data) >= 8 && len(scores) < 100; data = data[8:] {
			scores = append(scores, math.Float64frombits(binary.LittleEndian.Uint64(data)))
		}
		if len(scores) == 0 {
			return
		}
		const whole = 1 << mass
		sum := int64(0)
		for i, p := range probabilities(scores, nil) {
			if p < 0 {
				t.Fatalf("probability %d is %d", i, p)
			}
			sum += p
		}
		if sum > whole {
			t.Fatalf("probabilities add up to %d of %d", sum, whole)
		}
		for i, p := range relative(scores, nil) {
			if p < 0 || p > whole {
				t.Fatalf("relative probability %d is %d", i, p)
			}
		}
		public := make([]float64, len(scores))
		for _, maxLambda := range []float64{0, 1e-3, farthest} {
			m := &Mixing{Draw: perText(0.5), Expected: 3, Range: 0.7, Temperature: 0.9, MaxLambda: maxLambda}
			for _, v := range []View{{Public: public, Prompts: [][]float64{scores}}, {Public: scores, Prompts: [][]float64{public}}} {
				for i, n := range m.sum(v) {
					if n < 0 || n > m.width() {
						t.Fatalf("λ up to %v: difference %d is %d, beyond %d", maxLambda, i, n, m.width())
					}
				}
			}
		}
		for _, centre := range []Centre{Median, MidRange, Uncentred, Favourite} {
			c := &Clipped{Draw: perText(0.5), Expected: 3, Range: 0.7, Temperature: 0.9, Candidates: 1, Centre: centre}
			for _, v := range []View{{Public: public, Prompts: [][]float64{scores}}, {Public: scores, Prompts: [][]float64{public}}} {
				for i, n := range c.sum(v) {
					if n > c.clip() || n < -c.clip() {
						t.Fatalf("%s: difference %d is %d, beyond %d", centre, i, n, c.clip())
					}
				}
			}
		}
	})
}
