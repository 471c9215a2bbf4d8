// Package kernel multiplies packed matrices of weights, and does the rest of a
// transformer's arithmetic, so that a result has the same bits however it was
// computed.
//
// # One order of operations
//
// Every output of a matrix product is one chain of float32 fused
// multiply-adds, in an order that is fixed. For float weights its links are
// columns,
//
//	y = fma(w[r][k], x[k], y), k = 0, 1, …, K-1, from y = +0,
//
// and for quantised weights blocks of 32 of them, whose sums are exact integers:
//
//	y = fma(float32(Σ integer*q)*s, scale, y), see MulQuantized.
//
// SIMD lanes are rows of the matrix, never pieces of one chain, and integers may
// be added in any order. So the number of tokens in a batch, the blocking for
// caches, the number of threads and the instruction set change when a chain is
// worked on, not what is in it: all levels give the same bits, alone and in any
// batch. Sums along a vector, in norms and softmax, have an order of their own
// that does not depend on the instruction set either: element i goes to chain
// i mod 16, and the 16 chains are added in halves, 16 to 8 to 4 to 2 to 1.
// The exponential and the error function are polynomials of the same
// operations everywhere.
//
// # Guarantee
//
// For finite inputs without overflow, every function of [Kernels] gives the
// same bits at every [Level]. IEEE 754 defines the result of each operation
// that is used (addition, multiplication, division, square root, fused
// multiply-add, conversion), the order of operations is fixed as above, and the
// portable fused multiply-add is exact (Boldo and Melquiond, Emulation of FMA
// and correctly rounded sums: proved algorithms using rounding to odd, 2008).
// The tests compare bits, not within a tolerance.
//
// The error of a product in float32 is at most K·2^-24 of the sum of the
// magnitudes of its terms (Higham, Accuracy and Stability of Numerical
// Algorithms, section 3.1). In integers, rounding an activation adds at most
// 1/65024 of the largest of its block times the weight, in eight bits 1/254.
//
// # Weights and activations
//
// Weights stay quantised in memory: [Pack] lays 32 rows of a GGUF tensor beside
// each other and keeps its quants and scales as they are. [Kernels.MulQuantized]
// multiplies them by activations that [Kernels.Quantize] rounded to 16 bits, or to 8, with a
// scale for each 32, which depends on these 32 alone: not on other tokens, nor on
// other columns. [Kernels.Mul] takes float weights, and activations as they are.
// [Kernels.MulBytes] takes
// weights that [PackBytes] rounded to eight bits and activations of seven, both rotated: half
// of the work or less, for models that bear the error. The matrix units
// (AMX) are not used: they multiply bytes or bfloat16 only, and few machines have
// them.
//
// The SIMD code is written by the generator in gen.
package kernel
