package logit

import "math"

// Column is one column of the rows: codes, steps, numbers, or nothing for a column that is
// the same in all rows.
type Column struct {
	// Offset is the place of the column's first feature; a code c is feature Offset+c.
	Offset  int
	Codes   []uint16
	Steps   []int32
	Numbers []float64
	// Scale multiplies steps and numbers, and is the entry of a code and of a constant.
	Scale float64
}

// Problem is a function to minimise.
type Problem struct {
	Rows    int
	Columns []Column
	// Width is the number of features, Outcomes the number of parameters for each of them:
	// 1 for two classes, else the number of classes.
	Width, Outcomes int
	// Classes is the class of each row; Weights its weight, nil for 1 each.
	Classes []uint16
	Weights []float64
	// Ridge is the penalty of each feature, and Linear, if there is one, has a coefficient
	// for each parameter: Σ Linear_i·θ_i is added.
	Ridge  []float64
	Linear []float64
	// Pin adds ½·Pin·(Σ_k θ_k)² for feature 0 and K outcomes: it chooses one among
	// constants that differ by a shift of all classes, and does not move the rest.
	Pin float64
	// Workers is the number of threads that share a pass; at least one.
	Workers int
}

// Size returns the number of parameters: those of outcome k begin at k·Width.
func (p *Problem) Size() int { return p.Width * p.Outcomes }

const (
	chunk = 1024       // rows that are looked at together
	block = 64 * chunk // rows that are summed apart from others
)

// scratch is what a worker needs to look at a chunk.
type scratch struct {
	index  [][]int32
	entry  [][]float64
	scores [][]float64 // of each outcome, then what is left of them
	weight []float64
	part   []float64 // gradient of a chunk
	total  sums
}

// sums of a block.
type sums struct {
	value    float64
	gradient []float64
	second   []float64 // nil unless asked for
}

func (p *Problem) scratch(second bool) *scratch {
	s := &scratch{weight: make([]float64, chunk), part: make([]float64, p.Size())}
	for range p.Columns {
		s.index = append(s.index, make([]int32, chunk))
		s.entry = append(s.entry, make([]float64, chunk))
	}
	for range p.Outcomes {
		s.scores = append(s.scores, make([]float64, chunk))
	}
	s.total.gradient = make([]float64, p.Size())
	if second {
		s.total.second = make([]float64, p.Size()*p.Size())
	}
	return s
}

// evaluate returns the value at θ, its gradient, and its second derivatives (the lower
// half, by rows) if there is room for them.
func (p *Problem) evaluate(theta, gradient, second []float64) float64 {
	clear(gradient)
	clear(second)
	blocks := (p.Rows + block - 1) / block
	workers := max(1, min(p.Workers, blocks))
	work := make([]*scratch, workers)
	for i := range work {
		work[i] = p.scratch(second != nil)
	}
	var value float64
	for first := 0; first < blocks; first += workers {
		wave := work[:min(workers, blocks-first)]
		together(len(wave), func(i int) { p.block(wave[i], theta, first+i) })
		for _, s := range wave {
			value += s.total.value
			add(gradient, s.total.gradient)
			add(second, s.total.second)
		}
	}
	return value + p.penalty(theta, gradient, second)
}

func add(to, from []float64) {
	for i, v := range from {
		to[i] += v
	}
}

// penalty adds the part that no row has.
func (p *Problem) penalty(theta, gradient, second []float64) float64 {
	var value, shift float64
	n := p.Size()
	if p.Linear != nil {
		value = dot(p.Linear, theta)
		add(gradient, p.Linear)
	}
	for i, t := range theta {
		r := p.Ridge[i%p.Width]
		value += r * t * t / 2
		gradient[i] += r * t
		if second != nil {
			second[i*n+i] += r
		}
		if i%p.Width == 0 {
			shift += t
		}
	}
	if p.Pin == 0 || p.Outcomes == 1 {
		return value
	}
	for k := range p.Outcomes {
		i := k * p.Width
		gradient[i] += p.Pin * shift
		for l := 0; l <= k && second != nil; l++ {
			second[i*n+l*p.Width] += p.Pin
		}
	}
	return value + p.Pin*shift*shift/2
}

func (p *Problem) block(s *scratch, theta []float64, number int) {
	s.total.value = 0
	clear(s.total.gradient)
	clear(s.total.second)
	end := min(p.Rows, (number+1)*block)
	for from := number * block; from < end; from += chunk {
		p.chunk(s, theta, from, min(end, from+chunk))
	}
}

func (p *Problem) chunk(s *scratch, theta []float64, from, to int) {
	n := to - from
	for c := range p.Columns {
		p.Columns[c].load(s.index[c][:n], s.entry[c][:n], from)
	}
	for i := range n {
		s.weight[i] = 1
		if p.Weights != nil {
			s.weight[i] = p.Weights[from+i]
		}
	}
	for k := range p.Outcomes {
		z, t := s.scores[k][:n], theta[k*p.Width:(k+1)*p.Width]
		clear(z)
		for c := range p.Columns {
			index, entry := s.index[c][:n], s.entry[c][:n]
			for i := range z {
				z[i] += t[index[i]] * entry[i]
			}
		}
	}
	s.total.value += p.probabilities(s, from, n)
	if s.total.second != nil {
		p.curvature(s, n)
	}
	clear(s.part)
	for k := range p.Outcomes {
		g := s.part[k*p.Width : (k+1)*p.Width]
		r := s.scores[k][:n]
		for i := range r {
			r[i] = s.weight[i] * (r[i] - p.truth(from+i, k))
		}
		for c := range p.Columns {
			index, entry := s.index[c][:n], s.entry[c][:n]
			for i := range r {
				g[index[i]] += r[i] * entry[i]
			}
		}
	}
	add(s.total.gradient, s.part)
}

// truth returns what the probability of outcome k would be if the class was known.
func (p *Problem) truth(row, k int) float64 {
	class := int(p.Classes[row])
	if p.Outcomes == 1 && class != 0 || p.Outcomes > 1 && class == k {
		return 1
	}
	return 0
}

// load writes the features and entries of a column for some rows.
func (c *Column) load(index []int32, entry []float64, from int) {
	for i := range index {
		index[i], entry[i] = int32(c.Offset), c.Scale
	}
	switch {
	case c.Codes != nil:
		for i, code := range c.Codes[from : from+len(index)] {
			index[i] += int32(code)
		}
	case c.Steps != nil:
		for i, steps := range c.Steps[from : from+len(index)] {
			entry[i] *= float64(steps)
		}
	case c.Numbers != nil:
		for i, x := range c.Numbers[from : from+len(index)] {
			entry[i] *= x
		}
	}
}

// probabilities turns scores into probabilities and returns the loss.
func (p *Problem) probabilities(s *scratch, from, n int) float64 {
	var value float64
	if p.Outcomes == 1 {
		z := s.scores[0][:n]
		for i, v := range z {
			pr := Sigmoid(v)
			value += s.weight[i] * (softplus(v) - p.truth(from+i, 0)*v)
			z[i] = pr
		}
		return value
	}
	for i := range n {
		top := math.Inf(-1)
		for k := range s.scores {
			top = max(top, s.scores[k][i])
		}
		var sum float64
		own := s.scores[p.Classes[from+i]][i]
		for k := range s.scores {
			e := math.Exp(s.scores[k][i] - top)
			s.scores[k][i] = e
			sum += e
		}
		for k := range s.scores {
			s.scores[k][i] /= sum
		}
		value += s.weight[i] * (top + math.Log(sum) - own)
	}
	return value
}

// curvature adds the second derivatives of a chunk: w·p_k(1[k=l]−p_l)·x xᵀ.
func (p *Problem) curvature(s *scratch, n int) {
	size := p.Size()
	h := make([]float64, n)
	for k := range p.Outcomes {
		for l := range k + 1 {
			for i := range h {
				a, b := s.scores[k][i], s.scores[l][i]
				h[i] = -s.weight[i] * a * b
				if k == l {
					h[i] += s.weight[i] * a
				}
			}
			for b := range p.Columns {
				for a := range p.Columns {
					if k == l && a > b {
						break
					}
					p.pair(s, h, s.total.second[k*p.Width*size+l*p.Width:], a, b)
				}
			}
		}
	}
}

// pair adds the products of two columns' features, those of b being the rows.
func (p *Problem) pair(s *scratch, h, second []float64, a, b int) {
	size := p.Size()
	ia, ib := s.index[a][:len(h)], s.index[b][:len(h)]
	xa, xb := s.entry[a][:len(h)], s.entry[b][:len(h)]
	for i, v := range h {
		second[int(ib[i])*size+int(ia[i])] += v * xa[i] * xb[i]
	}
}

// Sigmoid is 1/(1+e^−z).
func Sigmoid(z float64) float64 {
	e := math.Exp(-math.Abs(z))
	if z < 0 {
		return e / (1 + e)
	}
	return 1 / (1 + e)
}

// softplus is ln(1+e^z).
func softplus(z float64) float64 { return max(z, 0) + math.Log1p(math.Exp(-math.Abs(z))) }
