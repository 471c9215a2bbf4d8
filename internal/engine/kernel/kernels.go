package kernel

// Kernels is the table of functions of one level. It does not change and is
// safe for concurrent use.
//
// Every function checks the lengths of its slices first and panics like a
// slice index does if one is too short: that is an error of the caller's code,
// never of a user's input.
type Kernels struct {
	level Level

	// tile multiplies rows of a by b; see Gemm. tileRows are the numbers of rows that it takes, in rising
	// order, as are those of the other tiles.
	tile     tileFunc
	tileRows []int
	unpack   [floatFormats]unpackFunc
	// direct states that the float32 of a packed panel can be read as they lie.
	direct bool

	// Products in integers, by the precision of activations; see MulQuantized.
	integers [precisions]integerFuncs
	// planes states that the integers of QuantizedMatrix lie as bytes: first their high ones, then
	// their low ones.
	planes bool

	// The same for products in bytes; see MulBytes.
	tileBytes       tileBytesFunc
	tileBytesTokens []int
	rotate          func(dst, x []float32)
	roundBytes      func(dst []uint32, x []float32)

	rowFuncs
}

// integerFuncs are products in integers with activations of one precision.
type integerFuncs struct {
	tile       tileIntFunc
	tileTokens []int
	// pair, if there is one, multiplies two panels at once, and fewer tokens.
	pair         tileIntFunc
	pairTokens   []int
	unpack       [formats]unpackIntFunc
	vector       [formats]vectorIntFunc
	vectorTokens int
	// quantize writes blocks of activations as QuantizedMatrix describes.
	quantize func(dst []uint32, x []float32)
	// fours states that integers lie as fours of bytes.
	fours bool
}

// blockWords is the size of a block of activations.
func (f *integerFuncs) blockWords() int {
	if f.fours {
		return fourWords
	}
	return pairWords
}

// groupWords is the size of 32 unpacked columns of a panel.
func (f *integerFuncs) groupWords() int {
	if f.fours {
		return (Block/4 + 2) * Panel
	}
	return (Block/2 + 2) * Panel
}

type (
	// unpackFunc fills dst with weights of a float format.
	unpackFunc func(dst []float32, src []byte)
	tileFunc   func(rows, depth int, a []float32, aStride int, b, c []float32, cStride int, add bool)
)

// rowFuncs work on slices of any length, all of the same.
type rowFuncs struct {
	add       func(dst, x []float32)
	scale     func(dst, x []float32, a float32)                           // dst = a*x
	scaleMul  func(dst, x, weight []float32, a float32)                   // dst = x*a*weight
	normalize func(dst, x, weight, bias []float32, mean, inverse float32) // dst = (x-mean)*inverse*weight + bias
	siluMul   func(dst, gate, up []float32)                               // dst = gate*sigmoid(gate)*up
	gelu      func(dst, x []float32)                                      // dst = x*Φ(x)
	geluMul   func(dst, gate, up []float32)                               // dst = gate*Φ(gate)*up, Φ by tanh
	ropePairs func(x, cos, sin []float32)                                 // turns the pairs (x[2i], x[2i+1])
	ropeHalf  func(low, high, cos, sin []float32)                         // turns the pairs (low[i], high[i])

	sum        func(x []float32) float32
	sumSquares func(x []float32, center float32) float32 // of x-center
	largest    func(x []float32) float32
	expSum     func(x []float32, scale, shift float32) float32 // sets x to exp(scale*x+shift) and returns the sum
	sumExp     func(x []float32, shift float32) float64        // returns the sum of exp(x+shift)
}

// Level returns the level of the kernels.
func (k *Kernels) Level() Level { return k.level }

// portable returns the table of the portable level, and what the others begin with.
func portable() *Kernels {
	k := &Kernels{
		tile: tilePortable, tileRows: []int{1, 2, 3, 4, 6, tileRows},
		tileBytes: tileBytesPortable, tileBytesTokens: []int{1, 2, 3, 4, 6, tileRows}, rotate: rotatePortable, roundBytes: roundBytesPortable,
		rowFuncs: rowFuncs{
			add:        addPortable,
			scale:      scalePortable,
			scaleMul:   scaleMulPortable,
			normalize:  normalizePortable,
			siluMul:    siluMulPortable,
			gelu:       geluPortable,
			geluMul:    geluMulPortable,
			ropePairs:  ropePairsPortable,
			ropeHalf:   ropeHalfPortable,
			sum:        sumPortable,
			sumSquares: sumSquaresPortable,
			largest:    largestPortable,
			expSum:     expSumPortable,
			sumExp:     sumExpPortable,
		},
	}
	for p := range precisions {
		i := &k.integers[p]
		i.tile, i.tileTokens = tileIntPortable, []int{1, 2, 3, 4, 6, tileRows}
		i.quantize = func(dst []uint32, x []float32) { quantizePortable(p.largest(), dst, x) }
		for f := range formats {
			if f >= floatFormats {
				i.unpack[f] = unpackIntPortable(f)
			}
		}
	}
	for f := range floatFormats {
		k.unpack[f] = unpackFloats(f)
	}
	return k
}
