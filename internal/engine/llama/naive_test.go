package llama

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sotto-dp/sotto/lm"
)

// logits evaluates the model after tokens, from the definition and in float64: all
// positions anew, no cache, no batches, no kernels.
func (n *naive) logits(tokens []lm.Token) []float64 {
	x := make([][]float64, len(tokens))
	for i, t := range tokens {
		x[i] = append([]float64(nil), n.m["token_embd.weight"][t]...)
		if n.arch == "gemma3" {
			for j := range x[i] {
				x[i][j] *= math.Sqrt(float64(n.width))
			}
		}
	}
	for l := range n.layers {
		p := fmt.Sprintf("blk.%d.", l)
		n.attention(l, p, x)
		for i := range x {
			h := rms(x[i], n.m[p+"ffn_norm.weight"][0])
			var gate, up []float64
			if n.fused {
				both := times(n.m[p+"ffn_up.weight"], h)
				gate, up = both[:n.hidden], both[n.hidden:]
			} else {
				gate, up = times(n.m[p+"ffn_gate.weight"], h), times(n.m[p+"ffn_up.weight"], h)
			}
			for j, g := range gate {
				if n.arch == "gemma3" {
					gate[j] = g / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(g+0.044715*g*g*g))) * up[j]
				} else {
					gate[j] = g / (1 + math.Exp(-g)) * up[j]
				}
			}
			n.add(x[i], times(n.m[p+"ffn_down.weight"], gate), p+"post_ffw_norm.weight")
		}
	}
	head, ok := n.m["output.weight"]
	if !ok {
		head = n.m["token_embd.weight"]
	}
	return times(head, rms(x[len(x)-1], n.m["output_norm.weight"][0]))
}

// add adds to the residual stream what a part gives, normed where the model has a norm.
func (n *naive) add(x, y []float64, norm string) {
	if w, ok := n.m[norm]; ok {
		y = rms(y, w[0])
	}
	plus(x, y)
}

// near reports whether a layer has the window.
func (n *naive) near(layer int) bool {
	period := cmp.Or(n.pattern, 6)
	return n.window > 0 && (n.arch != "gemma3" || layer%period != period-1)
}

func (n *naive) attention(layer int, p string, x [][]float64) {
	var queries, keys, values [][]float64
	part := func(name string, h []float64) []float64 {
		if n.fused {
			all := times(n.m[p+"attn_qkv.weight"], h)
			q, k := n.heads*n.head, n.kvHeads*n.head
			return map[string][]float64{"q": all[:q], "k": all[q : q+k], "v": all[q+k:]}[name]
		}
		y := times(n.m[p+"attn_"+name+".weight"], h)
		if bias, ok := n.m[p+"attn_"+name+".bias"]; ok {
			plus(y, bias[0])
		}
		return y
	}
	for position := range x {
		h := rms(x[position], n.m[p+"attn_norm.weight"][0])
		q, k := part("q", h), part("k", h)
		n.rotate(layer, q, n.m[p+"attn_q_norm.weight"], position)
		n.rotate(layer, k, n.m[p+"attn_k_norm.weight"], position)
		queries, keys, values = append(queries, q), append(keys, k), append(values, part("v", h))
	}
	for position := range x {
		out := make([]float64, n.heads*n.head)
		for head := range n.heads {
			kv := head / (n.heads / n.kvHeads)
			weights := make([]float64, position+1)
			var sum float64
			for j := range weights {
				if n.near(layer) && position-j >= n.window {
					continue
				}
				var dot float64
				for d := range n.head {
					dot += queries[position][head*n.head+d] * keys[j][kv*n.head+d]
				}
				if n.temper > 0 {
					dot *= 1 + float64(float32(n.temper))*math.Log(1+float64(position/n.original))
				}
				weights[j] = math.Exp(dot / math.Sqrt(float64(n.head)))
				sum += weights[j]
			}
			for j, w := range weights {
				for d := range n.head {
					out[head*n.head+d] += w / sum * values[j][kv*n.head+d]
				}
			}
		}
		n.add(x[position], times(n.m[p+"attn_output.weight"], out), p+"post_attention_norm.weight")
	}
}

// rotate turns every head of a row by its position.
func (n *naive) rotate(layer int, row []float64, norm [][]float64, position int) {
	rotated := n.rotated
	if rotated == 0 {
		rotated = n.head
	}
	base := cmp.Or(n.base, 10000)
	if n.near(layer) && n.arch == "gemma3" {
		base = 10000
	}
	for h := 0; h < len(row); h += n.head {
		x := row[h : h+n.head]
		if norm != nil {
			copy(x, rms(x, norm[0]))
		}
		for i := range rotated / 2 {
			angle := float64(position) * math.Pow(base, -2*float64(i)/float64(rotated))
			if n.linear > 0 && !(n.arch == "gemma3" && n.near(layer)) {
				angle /= n.linear
			}
			size := 1.0
			if n.magnitude > 0 {
				size = float64(float32(n.magnitude))
			}
			if n.long && n.context > n.original {
				angle /= n.m["rope_factors_long.weight"][0][i]
			} else if n.long {
				angle /= n.m["rope_factors_short.weight"][0][i]
			}
			if n.yarn > 0 {
				// The pairs that turn 32 times and once within the original context.
				whole := float64(n.original) / (2 * math.Pi)
				from := max(0, math.Floor(float64(rotated)*math.Log(whole/32)/(2*math.Log(10000))))
				to := min(float64(rotated-1), math.Ceil(float64(rotated)*math.Log(whole)/(2*math.Log(10000))))
				share := min(1, max(0, (float64(i)-from)/max(0.001, to-from)))
				angle *= share/n.yarn + 1 - share
				size *= 1 + 0.1*math.Log(n.yarn)
			}
			if n.factors {
				angle /= n.m["rope_freqs.weight"][0][i]
			}
			a, b := 2*i, 2*i+1
			if n.arch != "llama" && n.arch != "mistral3" {
				a, b = i, i+rotated/2
			}
			sin, cos := math.Sincos(angle)
			x[a], x[b] = size*(x[a]*cos-x[b]*sin), size*(x[b]*cos+x[a]*sin)
		}
	}
}

func times(m [][]float64, x []float64) []float64 {
	y := make([]float64, len(m))
	for i, row := range m {
		for j, w := range row {
			y[i] += w * x[j]
		}
	}
	return y
}

func plus(x, y []float64) {
	for i, v := range y {
		x[i] += v
	}
}

func rms(x, weight []float64) []float64 {
	var sum float64
	for _, v := range x {
		sum += v * v
	}
	scale := 1 / math.Sqrt(sum/float64(len(x))+float64(float32(1e-5)))
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = v * scale * weight[i]
	}
	return y
}

// TestArchitectures holds the engine to the definition of each architecture, with
// random weights of every tensor type. A missing bias, a wrong rotation or a head
// that reads its neighbour's keys shows as a difference of order one.
func TestArchitectures(t *testing.T) {
	for name, c := range tinies() {
		t.Run(name, func(t *testing.T) {
			file, reference := c.build(t)
			m, err := load(file, Options{Threads: 2})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			integers := false
			for i := range m.weights.layers {
				integers = integers || m.weights.layers[i].down.Integer()
			}
			random := rand.New(rand.NewPCG(3, 4))
			for _, length := range []int{1, 2, 31, 32, 33, 70} {
				tokens := make([]lm.Token, length)
				for i := range tokens {
					tokens[i] = lm.Token(random.IntN(c.vocab))
				}
				want := lm.LogSoftmax(reference.logits(tokens))
				session, err := m.Open(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				q, _ := session.New()
				scores, err := session.Step(context.Background(), []lm.Step{{Sequence: q, Tokens: tokens, Ask: lm.Ask{All: true}}})
				if err != nil {
					t.Fatal(err)
				}
				for i, w := range want {
					allowed := 2e-3
					if integers {
						// Activations are rounded; random weights give logits of 100.
						allowed = 5e-3 + 1e-4*math.Abs(w)
					}
					if got := scores[0].LogProbs[i]; !(math.Abs(got-w) < allowed) {
						t.Fatalf("%d tokens: log-probability of token %d is %v, by definition %v", length, i, got, w)
					}
				}
				session.Close()
			}
		})
	}
}
