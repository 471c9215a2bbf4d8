// Package kernel multiplies packed matrices of weights, and does the rest of a
// transformer's arithmetic, so that a result has the same bits however it was
// computed.
//
// # The one idea
//
// Every output of a matrix product is one chain of float32 fused
// multiply-adds,
//
//	y = fma(w[r][k], x[k], y), k = 0, 1, …, K-1, from y = +0.
//
// SIMD lanes are rows of the matrix, never pieces of one sum. So the number of
// tokens in a batch, the blocking for caches, the number of threads and the
// instruction set change when a chain is worked on, not what is in it: the
// portable code, AVX2 and AVX-512 give the same bits, alone and in any batch.
// Sums along a vector, in norms and softmax, have an order of their own that
// does not depend on the instruction set either: element i goes to chain
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
// The error of a product is at most K·2^-24 of the sum of the magnitudes of its
// terms (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1).
//
// # Weights
//
// Weights stay quantised in memory: [Pack] lays 32 rows of a GGUF tensor beside
// each other and keeps its quants and scales as they are. [Kernels.Mul] turns
// tiles of them into float32, exactly the values that [DequantizeRow] gives.
// Activations are float32. The instructions for 8-bit integers (VNNI) and the
// matrix units (AMX) are not used on purpose: they need quantised activations,
// whose error depends on the other values of the vector, and other machines
// would not give the same bits.
//
// The SIMD code is written by the generator in gen.
package kernel
