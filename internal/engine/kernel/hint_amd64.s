#include "textflag.h"

// func Pause()
TEXT ·Pause(SB), NOSPLIT, $0-0
	PAUSE
	RET

// func Prefetch(x []float32)
TEXT ·Prefetch(SB), NOSPLIT, $0-24
	MOVQ x_base+0(FP), AX
	MOVQ x_len+8(FP), CX
	LEAQ (AX)(CX*4), CX

next:
	CMPQ AX, CX
	JGE  done
	PREFETCHT0 (AX)
	ADDQ $64, AX
	JMP  next

done:
	RET
