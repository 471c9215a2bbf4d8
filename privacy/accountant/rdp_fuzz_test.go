package accountant

import (
	"fmt"
	"testing"

	"github.com/sotto-dp/sotto/privacy"
)

func FuzzRDPCurve(f *testing.F) {
	f.Add("repeat(100, poisson(20/30000, gaussian(0.51)))", 1e-6, 3.0)
	f.Add("compose(rr(1, 3), parallel(pure(0), zcdp(1)), fixedsize(9, 3, laplace(2)))", 0.1, 1e-9)
	f.Add("poisson(1e-300, compose(gaussian(1e-9), boundedrange(700)))", 1e-300, 1e9)
	f.Fuzz(func(t *testing.T, expr string, delta, a float64) {
		e, err := privacy.Parse(expr)
		if err != nil || len(expr) > 200 {
			return
		}
		for _, adj := range []privacy.Adjacency{privacy.AddRemove, privacy.ReplaceOne} {
			c, err := rdpNew(e, adj)
			if err != nil {
				continue
			}
			if a > 0 {
				if d := c.at(a); !(d >= 0) {
					t.Errorf("%s, %s: divergence %v of order %v", expr, adj, d, 1+a)
				}
			}
			i, err := RDP{}.Epsilon(e, adj, delta)
			if privacy.CheckDelta(delta) != nil {
				if err == nil {
					t.Errorf("δ=%v was accepted", delta)
				}
				continue
			}
			if err != nil || !(i.Upper >= 0) {
				t.Errorf("%s, %s at δ=%v: %v, %v", expr, adj, delta, i, err)
			}
			if c.at(1) > 0 && delta == 0 && i.Upper == 0 {
				t.Errorf("%s, %s: ε is 0 without δ", expr, adj)
			}
		}
	})
}

func BenchmarkRDPBound(b *testing.B) {
	for _, expr := range []string{
		"repeat(100, poisson(20/30000, gaussian(0.51)))",
		"repeat(10000, poisson(0.001, gaussian(1.1)))",
		"repeat(60, boundedrange(0.1))",
		"poisson(0.01, repeat(60, boundedrange(0.1)))",
		"repeat(100, poisson(0.01, compose(gaussian(1), laplace(1))))",
	} {
		e := rdpParse(b, expr)
		b.Run(expr, func(b *testing.B) {
			for b.Loop() {
				if _, err := (RDP{}).Epsilon(e, privacy.AddRemove, 1e-6); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func ExampleRDP() {
	e, _ := privacy.Parse("repeat(1000, poisson(0.01, gaussian(1)))")
	epsilon, err := RDP{}.Epsilon(e, privacy.AddRemove, 1e-5)
	fmt.Printf("%.4f %v\n", epsilon.Upper, err)
	_, err = RDP{}.Epsilon(privacy.FixedSize{N: 100, M: 10, Event: e}, privacy.AddRemove, 1e-5)
	fmt.Println(err)
	// Output:
	// 2.1013 <nil>
	// the rdp accountant cannot handle fixedsize at column 1 of fixedsize(100, 10, repeat(1000, poisson(0.01, gaussian(1)))): a sample of fixed size is only accounted under replace-one, where the number of records is public; use --adjacency replace-one, or sample with poisson
}
