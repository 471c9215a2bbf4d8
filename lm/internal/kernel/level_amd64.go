package kernel

import "golang.org/x/sys/cpu"

//go:generate go -C gen run . ..

// best asks the CPU, and the operating system whether it keeps the registers.
func best() Level {
	x := &cpu.X86
	switch {
	case !x.HasAVX2 || !x.HasFMA || !x.HasF16C:
		return Portable
	case !x.HasAVX512F || !x.HasAVX512BW || !x.HasAVX512DQ || !x.HasAVX512VL:
		return AVX2
	}
	return AVX512
}

var tables = [...]*Kernels{Portable: portable(), AVX2: avx2(), AVX512: avx512()}

func table(l Level) *Kernels { return tables[l] }

func avx2() *Kernels {
	k := portable()
	k.level, k.direct = AVX2, true
	k.tile = []tileFunc{nil, tile1AVX2, tile2AVX2, tile3AVX2, tile4AVX2, tile5AVX2, tile6AVX2}
	k.unpack[packF16], k.unpack[packBF16] = unpackF16AVX2, unpackBF16AVX2
	k.unpack[pack4], k.vector[pack4] = unpack4AVX2, vector4AVX2
	k.unpack[pack4m], k.vector[pack4m] = unpack4mAVX2, vector4mAVX2
	k.unpack[pack4k], k.vector[pack4k] = unpack4kAVX2, vector4kAVX2
	k.unpack[pack8], k.vector[pack8] = unpack8AVX2, vector8AVX2
	k.unpack[pack8m], k.vector[pack8m] = unpack8mAVX2, vector8mAVX2
	k.unpack[pack8k], k.vector[pack8k] = unpack8kAVX2, vector8kAVX2
	k.unpack[pack6k], k.vector[pack6k] = unpack6kAVX2, vector6kAVX2
	k.rowFuncs = rowFuncs{
		add:        addAVX2,
		addScaled:  addScaledAVX2,
		scale:      scaleAVX2,
		scaleMul:   scaleMulAVX2,
		normalize:  normalizeAVX2,
		siluMul:    siluMulAVX2,
		gelu:       geluAVX2,
		ropePairs:  ropePairsAVX2,
		ropeHalf:   ropeHalfAVX2,
		sum:        sumAVX2,
		sumSquares: sumSquaresAVX2,
		largest:    largestAVX2,
		expSum:     expSumAVX2,
		sumExp:     sumExpAVX2,
	}
	return k
}

func avx512() *Kernels {
	k := portable()
	k.level, k.direct = AVX512, true
	k.tile = []tileFunc{
		nil, tile1AVX512, tile2AVX512, tile3AVX512, tile4AVX512, tile5AVX512, tile6AVX512,
		tile7AVX512, tile8AVX512, tile9AVX512, tile10AVX512, tile11AVX512, tile12AVX512,
	}
	k.unpack[packF16], k.unpack[packBF16] = unpackF16AVX512, unpackBF16AVX512
	k.unpack[pack4], k.vector[pack4] = unpack4AVX512, vector4AVX512
	k.unpack[pack4m], k.vector[pack4m] = unpack4mAVX512, vector4mAVX512
	k.unpack[pack4k], k.vector[pack4k] = unpack4kAVX512, vector4kAVX512
	k.unpack[pack8], k.vector[pack8] = unpack8AVX512, vector8AVX512
	k.unpack[pack8m], k.vector[pack8m] = unpack8mAVX512, vector8mAVX512
	k.unpack[pack8k], k.vector[pack8k] = unpack8kAVX512, vector8kAVX512
	k.unpack[pack6k], k.vector[pack6k] = unpack6kAVX512, vector6kAVX512
	k.rowFuncs = rowFuncs{
		add:        addAVX512,
		addScaled:  addScaledAVX512,
		scale:      scaleAVX512,
		scaleMul:   scaleMulAVX512,
		normalize:  normalizeAVX512,
		siluMul:    siluMulAVX512,
		gelu:       geluAVX512,
		ropePairs:  ropePairsAVX512,
		ropeHalf:   ropeHalfAVX512,
		sum:        sumAVX512,
		sumSquares: sumSquaresAVX512,
		largest:    largestAVX512,
		expSum:     expSumAVX512,
		sumExp:     sumExpAVX512,
	}
	return k
}
