package berttest

import (
	"fmt"
	"math"
)

// Vector computes the vector of length one of a text, given as the ids of its word pieces, one number after the other.
func (m *Model) Vector(ids []int32) []float64 {
	x := make([][]float64, len(ids))
	for i, id := range ids {
		x[i] = make([]float64, m.Width)
		for k := range x[i] {
			x[i][k] = m.at("embeddings.word_embeddings.weight", int(id), k) + m.at("embeddings.position_embeddings.weight", i, k) + m.at("embeddings.token_type_embeddings.weight", 0, k)
		}
		m.norm(x[i], "embeddings.LayerNorm")
	}
	for l := range m.Layers {
		m.layer(x, fmt.Sprintf("encoder.layer.%d.", l))
	}
	if m.First {
		x = x[:1]
	}
	out := make([]float64, m.Width)
	squares := 0.0
	for k := range out {
		for i := range x {
			out[k] += x[i][k]
		}
		squares += out[k] * out[k]
	}
	for k := range out {
		out[k] /= math.Sqrt(squares)
	}
	return out
}

func (m *Model) at(name string, row, col int) float64 {
	t := m.Tensors[name]
	return float64(t.Values[row*t.Shape[len(t.Shape)-1]+col])
}

func (m *Model) layer(x [][]float64, prefix string) {
	var q, k, v [][]float64
	for _, row := range x {
		q = append(q, m.dense(row, prefix+"attention.self.query"))
		k = append(k, m.dense(row, prefix+"attention.self.key"))
		v = append(v, m.dense(row, prefix+"attention.self.value"))
	}
	for i := range x {
		mixed := m.attend(q[i], k, v)
		join(x[i], m.dense(mixed, prefix+"attention.output.dense"))
		m.norm(x[i], prefix+"attention.output.LayerNorm")
		inner := m.dense(x[i], prefix+"intermediate.dense")
		for j, z := range inner {
			inner[j] = z * (1 + math.Erf(z/math.Sqrt2)) / 2
		}
		join(x[i], m.dense(inner, prefix+"output.dense"))
		m.norm(x[i], prefix+"output.LayerNorm")
	}
}

// attend mixes values by the softmax of the products of a query with keys, head by head.
func (m *Model) attend(q []float64, k, v [][]float64) []float64 {
	wide := m.Width / m.Heads
	mixed := make([]float64, m.Width)
	for from := 0; from < m.Width; from += wide {
		weights, sum := make([]float64, len(k)), 0.0
		for j := range k {
			dot := 0.0
			for c := from; c < from+wide; c++ {
				dot += q[c] * k[j][c]
			}
			weights[j] = math.Exp(dot / math.Sqrt(float64(wide)))
			sum += weights[j]
		}
		for j := range v {
			for c := from; c < from+wide; c++ {
				mixed[c] += weights[j] / sum * v[j][c]
			}
		}
	}
	return mixed
}

func (m *Model) dense(x []float64, name string) []float64 {
	w, bias := m.Tensors[name+".weight"], m.Tensors[name+".bias"]
	out := make([]float64, w.Shape[0])
	for r := range out {
		out[r] = float64(bias.Values[r])
		for c, v := range x {
			out[r] += float64(w.Values[r*len(x)+c]) * v
		}
	}
	return out
}

func (m *Model) norm(x []float64, name string) {
	mean, variance := 0.0, 0.0
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean) / float64(len(x))
	}
	for k, v := range x {
		x[k] = (v-mean)/math.Sqrt(variance+1e-12)*m.at(name+".weight", 0, k) + m.at(name+".bias", 0, k)
	}
}

func join(x, y []float64) {
	for k := range x {
		x[k] += y[k]
	}
}
